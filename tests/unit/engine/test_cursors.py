"""Cursors: what a list wrote comes back, and what nobody wrote is an error of the caller."""

import pytest

from engine.cursors import SHOWN, SearchCursor, cursor_of, place_of
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


_ASKED = {"query": "parse", "mode": "hybrid", "path": None, "projects": ["/a\udcff"]}


@pytest.mark.parametrize("shown", sorted(SHOWN))
def test_a_cursor_of_a_search_is_that_of_its_question(shown: str) -> None:
    cursor = SearchCursor(_ASKED, most=100).at(7)
    assert SearchCursor({**_ASKED, shown: 1}, most=100).offset_of(cursor) == 7
    assert SearchCursor(dict(reversed(_ASKED.items())), most=100).offset_of(cursor) == 7
    assert SearchCursor(_ASKED, most=100).offset_of(None) == 0
    for other in (*_ASKED, "new"):
        with pytest.raises(InvalidInputError, match="another query"):
            SearchCursor({**_ASKED, other: "x"}, most=100).offset_of(cursor)


@pytest.mark.parametrize("offset", [-1, 0, 100, 10**30])
def test_an_offset_that_no_page_has_is_refused(offset: int) -> None:
    cursor = SearchCursor(_ASKED, most=100)
    with pytest.raises(InvalidInputError) as caught:
        cursor.offset_of(cursor.at(offset))
    assert caught.value.details["field"] == "cursor"


@pytest.mark.parametrize("text", ["", "x", "é", "%00", "Ny8=", "N"])
def test_what_no_search_wrote_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="another query"):
        SearchCursor(_ASKED, most=100).offset_of(text)
