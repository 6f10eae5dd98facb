"""Packed texts come back whole, in part, or not at all."""

import pytest

from engine.store.compression import pack_text, unpack_text

_SMALL = "a(b)\r\nä €".encode()
_LARGE = b"def name():\n    pass\n" * 500


@pytest.mark.parametrize("text", [b"", b"a", _SMALL, b"(" * 1024, b"(" * 1025, _LARGE])
def test_texts_come_back(text: bytes) -> None:
    packed = pack_text(text)
    assert unpack_text(packed) == text
    for end in (1, len(text) // 2 + 1, len(text) + 1):
        assert unpack_text(packed, end)[:end] == text[:end]


def test_large_texts_are_packed_and_small_ones_are_not() -> None:
    assert pack_text(_SMALL) == _SMALL
    assert len(pack_text(_LARGE)) < len(_LARGE) // 10


def test_a_text_that_is_cut_off_is_not_taken_for_a_shorter_one() -> None:
    with pytest.raises(Exception, match="too early"):
        unpack_text(pack_text(_LARGE)[:-3])
