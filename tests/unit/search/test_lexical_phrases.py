"""Exact phrases."""

import pytest

from engine.search.lexical import holds_phrases
from engine.search.query import parse_query


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"open a file"', True),
        ('"open  a\tfile"', True),
        ('"Open a File"', False),  # an upper-case letter asks for the same case
        ('"Open a File" case:no', True),
        ('"open a file" case:yes', True),
        ('"a file open"', False),
        ('-"open a file"', False),
        ('-"close"', True),
        ('"open" "file"', True),
        ('"open" "door"', False),
        ('"open" OR "door"', True),
        ('"door" OR "close"', False),
        ('"file" ("open" OR "door") NOT "close"', True),
    ],
)
def test_phrases(query: str, expected: bool) -> None:
    assert holds_phrases("def f():\n    open a\n    file now", parse_query(query)) is expected
