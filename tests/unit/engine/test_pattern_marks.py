"""The patterns of a query are found in a whole text, and placed by characters."""

import pytest

from engine.errors import InvalidQueryError
from engine.pattern_marks import patterns_in

_TEXT = "é one\nßtwo ONE\n\none"


def _found(query: str, *, as_pattern: bool = False, most: int = 9) -> tuple[list[str], bool]:
    marks = patterns_in(_TEXT, query, as_pattern=as_pattern, most=most, seconds=60)
    return [_TEXT[start:end] for start, end in marks.spans], marks.is_whole


def test_each_pattern_is_found_as_a_search_compares_it() -> None:
    assert _found("one", as_pattern=True) == (["one", "ONE", "one"], True)
    assert _found("one$ case:yes", as_pattern=True) == (["one", "one"], True)
    assert _found("word /ß.+ / /^one/ -/two/") == (["ßtwo ", "one"], True)
    assert _found(r"/e\nß/") == (["e\nß"], True)
    assert _found("^", as_pattern=True) == ([""] * 4, True)
    assert _found("one") == ([], True)


def test_of_very_many_the_first_are_found() -> None:
    assert _found("one", as_pattern=True, most=2) == (["one", "ONE"], False)
    assert _found("/one/ /ß/", most=2) == (["one", "ONE", "ß"], False)


def test_no_time_is_no_error() -> None:
    assert not patterns_in(_TEXT, "/one/", as_pattern=False, most=9, seconds=-1).is_whole


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(InvalidQueryError):
        patterns_in(_TEXT, "(", as_pattern=True, most=9, seconds=60)
