"""What can be saved and asked for, and how the rest is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import InvalidInputError
from engine.memories.limits import (
    check_limit,
    check_memory,
    check_query,
    clean_tags,
    read_tags,
)
from engine.memory_records import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    MAX_DESCRIPTION_BYTES,
    MAX_SUMMARY_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    NewMemory,
)
from engine.search_records import MAX_QUERY_CHARS


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def knot() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = [value] * 100
    return value


_CANARY = "mulberrycanary"

REFUSED: dict[str, tuple[str, Callable[[], NewMemory]]] = {
    "no summary": ("summary", lambda: NewMemory(summary="")),
    "blank summary": ("summary", lambda: NewMemory(summary=" \t\n\u2003")),
    "long summary": ("summary", lambda: NewMemory(summary="s" * (MAX_SUMMARY_CHARS + 1))),
    "nul in summary": ("summary", lambda: NewMemory(summary=f"{_CANARY}\0")),
    "half a pair in summary": ("summary", lambda: NewMemory(summary=f"{_CANARY}\ud800")),
    "summary of bytes": ("summary", lambda: NewMemory(summary=b"a")),  # type: ignore[arg-type]
    "large description": (
        "description",
        lambda: NewMemory(summary="s", description="é" * (MAX_DESCRIPTION_BYTES // 2) + "a"),
    ),
    "nul in description": (
        "description",
        lambda: NewMemory(summary="s", description=f"{_CANARY}\0"),
    ),
    "no description": (
        "description",
        lambda: NewMemory(summary="s", description=None),  # type: ignore[arg-type]
    ),
    "list for context": (
        "context",
        lambda: NewMemory(summary="s", context=["a"]),  # type: ignore[arg-type]
    ),
    "large context": (
        "context",
        lambda: NewMemory(summary="s", context={"a": "x" * MAX_CONTEXT_BYTES}),
    ),
    "deep context": (
        "context",
        lambda: NewMemory(summary="s", context=nested(MAX_CONTEXT_DEPTH + 1)),
    ),
    "context in itself": ("context", lambda: NewMemory(summary="s", context=knot())),
    "many values": ("context", lambda: NewMemory(summary="s", context={"a": [0] * 10_001})),
    "key of a number": (
        "context",
        lambda: NewMemory(summary="s", context={1: "a"}),  # type: ignore[dict-item]
    ),
    "nul in context": ("context", lambda: NewMemory(summary="s", context={"a": ["\0"]})),
    "not a number": ("context", lambda: NewMemory(summary="s", context={"a": float("nan")})),
    "endless number": ("context", lambda: NewMemory(summary="s", context={"a": 10**5000})),
    "object": ("context", lambda: NewMemory(summary="s", context={"a": object()})),
    "text for tags": ("tags", lambda: NewMemory(summary="s", tags="abc")),  # type: ignore[arg-type]
    "empty tag": ("tags", lambda: NewMemory(summary="s", tags=("a", " "))),
    "long tag": ("tags", lambda: NewMemory(summary="s", tags=("t" * (MAX_TAG_CHARS + 1),))),
    "comma in tag": ("tags", lambda: NewMemory(summary="s", tags=("a,b",))),
    "line break in tag": ("tags", lambda: NewMemory(summary="s", tags=("a\nb",))),
    "nul in tag": ("tags", lambda: NewMemory(summary="s", tags=("a\0",))),
    "exclusion as tag": ("tags", lambda: NewMemory(summary="s", tags=("!a",))),
    "tag of files": ("tags", lambda: NewMemory(summary="s", tags=("indexed",))),
    "other tag of files": ("tags", lambda: NewMemory(summary="s", tags=(" repository ",))),
    "many tags": (
        "tags",
        lambda: NewMemory(summary="s", tags=tuple(f"t{n}" for n in range(MAX_TAGS + 1))),
    ),
    "number as tag": ("tags", lambda: NewMemory(summary="s", tags=(1,))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_by_its_field(name: str) -> None:
    field, make = REFUSED[name]
    with pytest.raises(InvalidInputError) as refusal:
        check_memory(make())
    told = refusal.value.as_json()
    assert told["error"] == "validation_error"
    assert refusal.value.details["field"] == field
    assert _CANARY not in str(told)
    assert len(refusal.value.message) < 300


def test_what_just_fits_is_kept() -> None:
    check_memory(
        NewMemory(
            summary="é" * MAX_SUMMARY_CHARS,
            description="é" * (MAX_DESCRIPTION_BYTES // 2),
            context={"a": "x" * (MAX_CONTEXT_BYTES - 9)},
            tags=tuple(f"{n:0{MAX_TAG_CHARS}}" for n in range(MAX_TAGS)),
        )
    )
    check_memory(NewMemory(summary="s", context=nested(MAX_CONTEXT_DEPTH)))
    check_memory(NewMemory(summary="🚀", description="\x1b[31m \r\n", context={"": [None, 1.5]}))


def test_tags_are_kept_once_and_without_blanks() -> None:
    assert clean_tags([" b", "a ", "b", "a b"]) == ("b", "a", "a b")


def test_tags_of_a_search_are_wanted_or_refused() -> None:
    assert read_tags(["indexed", "!.md", "a", "a", "! b"]) == (("indexed", "a"), (".md", "b"))


@pytest.mark.parametrize("tags", ["abc", ["!"], [""], ["! "], ["a\0"], ["a,b"], ["a"] * 33, [None]])
def test_tags_of_a_search_that_cannot_be_read(tags: Any) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        read_tags(tags)
    assert refusal.value.details["field"] == "tags"


def test_questions_and_limits() -> None:
    check_query("q" * MAX_QUERY_CHARS)
    check_limit(1, 5)
    check_limit(5, 5)
    for query in ("", "  \n", "q" * (MAX_QUERY_CHARS + 1)):
        with pytest.raises(InvalidInputError) as refusal:
            check_query(query)
        assert refusal.value.details["field"] == "query"
    for limit in (0, -1, 6):
        with pytest.raises(InvalidInputError) as refusal:
            check_limit(limit, 5)
        assert refusal.value.details["field"] == "limit"
