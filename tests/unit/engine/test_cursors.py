"""Cursors: what a list wrote comes back, and what nobody wrote is an error of the caller."""

import pytest

from engine.cursors import cursor_of, place_of
from engine.errors import InvalidInputError


@pytest.mark.parametrize("place", [b"", b"17/a", b"\xff\xfe/\x00", b"?>" * 99])
def test_a_place_comes_back_through_an_address(place: bytes) -> None:
    cursor = cursor_of(place)
    assert set(cursor).isdisjoint("+/?&#% ")
    assert place_of(cursor, bytes) == place


def test_without_a_cursor_a_list_begins() -> None:
    assert place_of(None, bytes) is None


@pytest.mark.parametrize("cursor", ["x", "é", "MTc=!", "MT c=", "MTc", "bm8=", "MTAwMDA=" * 2])
def test_what_no_list_wrote_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        place_of(cursor, int)
    assert caught.value.details["field"] == "cursor"


def test_a_number_that_no_database_holds_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        place_of(cursor_of(b"9" * 30), lambda place: int(place).to_bytes(8))
