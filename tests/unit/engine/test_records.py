"""Requests: what callers may set, and the bounds of each value."""

import pytest

from engine.browse_records import SymbolListRequest
from engine.errors import InvalidInputError
from engine.parameters import check_request, parameters_of
from engine.records import MIN_TOKENS
from engine.search_records import MAX_NAME_CHARS, RelatedRequest, SearchRequest, SymbolRequest


def test_internal_fields_are_no_parameters() -> None:
    offered = {each.field for each in parameters_of(SearchRequest)}
    assert "query" in offered
    assert offered.isdisjoint({"file", "detailed", "choose", "summaries"})


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest(query="", limit=1, max_tokens=MIN_TOKENS),
        SearchRequest(query="x", limit=100),
        RelatedRequest(path="", line_start=1, limit=100),
        SymbolRequest(name="x" * MAX_NAME_CHARS, match="fuzzy", limit=1000),
        SymbolListRequest(),
    ],
)
def test_values_at_their_bounds_are_taken(request_: object) -> None:
    check_request(request_)


@pytest.mark.parametrize(
    ("request_", "field", "message"),
    [
        (SearchRequest(query="x", limit=0), "limit", "limit is 0, wanted 1 to 100"),
        (SearchRequest(query="x", limit=101), "limit", "limit is 101, wanted 1 to 100"),
        (
            SearchRequest(query="x", max_tokens=99),
            "max_tokens",
            "max_tokens is 99, wanted 100 or more",
        ),
        (SearchRequest(query="x", mode="best"), "mode", "mode is 'best', wanted one of hybrid, "),  # type: ignore[arg-type]
        (RelatedRequest(path="a", line_start=0), "line", "line is 0, wanted 1 or more"),
        (SymbolRequest(name="x", match="near"), "match", "match is 'near', wanted one of exact, "),  # type: ignore[arg-type]
        (SymbolRequest(name="x" * 1001), "name", "the name has 1001 characters, at most 1000 "),
        (SymbolListRequest(path="x" * 1001), "path", "the path has 1001 characters, at most 1000 "),
    ],
)
def test_values_out_of_their_bounds_are_named(request_: object, field: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check_request(request_)
    assert raised.value.message.startswith(message)
    assert raised.value.details["field"] == field
