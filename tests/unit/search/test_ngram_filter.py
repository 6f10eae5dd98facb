"""Texts are ruled out by their n-grams, and none that contains the literal is."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.ngram_filter import BLOCK_BYTES, MAX_LITERAL_BYTES, Signatures, fold

_PIECES = st.sampled_from((b"open", b"_", b"Session", b"\n", b"  ", "é".encode(), b"x" * 4000))
_TEXTS = st.lists(st.lists(_PIECES, max_size=12).map(b"".join), max_size=12)


@settings(max_examples=200)
@given(_TEXTS, st.integers(0, 12), st.data())
def test_a_text_that_holds_a_literal_is_never_ruled_out(
    texts: list[bytes], cut: int, data: st.DataObject
) -> None:
    signatures = Signatures.empty().with_texts(texts[:cut]).with_texts(texts[cut:])
    whole = fold(data.draw(st.sampled_from(texts or [b"abc"])))
    start = data.draw(st.integers(0, len(whole)))
    literal = whole[start : start + data.draw(st.integers(3, 100))] or b"none"
    may_contain = signatures.may_contain([literal])
    assert len(may_contain) == len(texts)
    assert all(may_contain[at] for at, text in enumerate(texts) if literal in fold(text))


@pytest.mark.parametrize("size", [1, 3, 40, MAX_LITERAL_BYTES, 500])
def test_a_literal_is_found_wherever_blocks_of_a_text_meet(size: int) -> None:
    literal = bytes(random.Random(size).choices(b"abcdefghij", k=size))
    for before in range(BLOCK_BYTES - size - 1, BLOCK_BYTES + 2):
        text = b"-" * before + literal + b"-" * BLOCK_BYTES
        signatures = Signatures.empty().with_texts([b"first", text, b"last"])
        assert signatures.may_contain([literal])[1]


def test_what_a_text_does_not_hold_rules_it_out() -> None:
    texts = [b"%d: def %s(): pass\n" % (n, name) * 400 for n, name in enumerate(_names())]
    signatures = Signatures.empty().with_texts(texts)
    for number, name in enumerate(_names()):
        may_contain = signatures.may_contain([name])
        assert may_contain[number]
        assert may_contain.sum() < 10  # of a hundred: those in blocks with it, and few by chance
    assert signatures.may_contain([b"no such thing anywhere"]).sum() == 0
    both = signatures.may_contain([next(_names()), list(_names())[50]])
    assert both[0]
    assert both[50]


def _names() -> Iterator[bytes]:
    letters = random.Random(3)
    for _ in range(100):
        yield bytes(letters.choices(b"abcdefghijklmnopqrstuvwxyz_", k=12))


@pytest.mark.parametrize(
    "texts", [[], [b""], [b"a"], [b"ab", b"", b"c"], [b"abc"], [b""] * 3000, [b"\xff\xfe\0" * 9000]]
)
def test_texts_of_any_size_are_counted(texts: list[bytes]) -> None:
    signatures = Signatures.empty().with_texts(texts)
    assert signatures.size == len(signatures.may_contain([b"abcd"])) == len(texts)


def test_letters_are_alike_that_a_search_without_case_takes_for_the_same() -> None:
    assert fold("\u212aELVIN \u017ftraße Ä".encode()) == "kelvin straße Ä".encode()
