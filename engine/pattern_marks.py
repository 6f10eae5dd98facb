"""Where the patterns of a query match in a text, as the search for patterns compares them."""

from typing import NamedTuple

from engine.search.grep import Deadline, DeadlineExceeded, matches_in
from engine.search.patterns import patterns_of
from engine.search.query import parse_query

#: Start and end, in characters of the text.
Span = tuple[int, int]


class PatternMarks(NamedTuple):
    """The matches of the patterns of a query."""

    spans: list[Span]  # of one pattern after the other, in text order
    is_whole: bool  # there are no more


def patterns_in(
    text: str, query: str, *, as_pattern: bool, most: int, seconds: float
) -> PatternMarks:
    """Find the patterns of a query in a text, except negated ones.

    Args:
        text: The text.
        query: The query.
        as_pattern: Parse it as mode ``regex`` does.
        most: Matches of a pattern after which the rest of the text is skipped.
        seconds: The time that it may take.

    Raises:
        InvalidQueryError: The query or a pattern is invalid.
    """
    deadline = Deadline(seconds)
    data = text.encode(errors="replace")
    spans: list[Span] = []
    is_whole = True
    for pattern in patterns_of(parse_query(query, as_pattern=as_pattern)):
        if pattern.negated:
            continue
        found = []
        try:
            for _, span in matches_in(data, [(0, len(data))], pattern, deadline, most):
                found.append(span)
        except DeadlineExceeded:
            is_whole = False
        is_whole = is_whole and len(found) < most
        spans += _in_characters(data, found)
    return PatternMarks(spans, is_whole)


def _in_characters(data: bytes, spans: list[Span]) -> list[Span]:
    """Turn spans of bytes, in order and without overlaps, into spans of characters."""
    if data.isascii():
        return spans
    made = []
    passed = characters = 0
    for start, end in spans:
        low = characters + len(data[passed:start].decode())
        characters = low + len(data[start:end].decode())
        passed = end
        made.append((low, characters))
    return made
