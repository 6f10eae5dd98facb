"""Answers of the code graph within a budget, as JSON, text and Markdown.

What an answer lists comes in its order, so a budget leaves the first of it.
"""

import sys
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from engine.records import bytes_within
from engine.reference_records import (
    MAX_REFERENCES,
    CallAnswer,
    ImpactAnswer,
    ImportGraph,
    MapAnswer,
    ReferenceAnswer,
    UnusedAnswer,
)
from web.markdown import closing_markdown
from web.terminal import Style, style_for
from web.text import closing_text, compact_text, coverage_text, size_of

_FEWEST = 5  # items: rather than fewer, they are shown in brief

GraphAnswer = ReferenceAnswer | CallAnswer | ImpactAnswer | MapAnswer | UnusedAnswer | ImportGraph
Cuttable = TypeVar("Cuttable", ReferenceAnswer, CallAnswer, MapAnswer, UnusedAnswer, ImportGraph)

#: What stands first in an answer, if anything, then what it lists.
_LISTS: dict[type, tuple[str | None, tuple[str, ...]]] = {
    ReferenceAnswer: ("definitions", ("references",)),
    CallAnswer: ("definitions", ("edges",)),
    ImpactAnswer: ("definitions", ("dependents", "tests")),
    MapAnswer: (None, ("symbols",)),
    UnusedAnswer: (None, ("definitions",)),
    ImportGraph: ("cycles", ("edges",)),
}


class Shown(NamedTuple):
    """How much of an answer is shown: the first definitions, and the first uses or functions."""

    definitions: int
    items: int
    is_brief: bool = False  # where they are, and nothing else


def whole_of(answer: GraphAnswer) -> Shown:
    """Return how much there is to show."""
    first, _ = _LISTS[type(answer)]
    return Shown(len(getattr(answer, first)) if first else 0, _listed(answer))


def _listed(answer: GraphAnswer) -> int:
    return sum(len(getattr(answer, name)) for name in _LISTS[type(answer)][1])


def most_within(whole: Shown, size: Callable[[Shown], int], max_bytes: int) -> Shown:
    """Return the most of an answer that fits; definitions leave half of the room to the rest.

    Args:
        whole: All of it.
        size: Returns the size of so much of it, in bytes.
        max_bytes: The room.
    """
    if size(whole) <= max_bytes:
        return whole
    found = _cut(whole, size, max_bytes)
    is_enough = found.items >= min(whole.items, _FEWEST) and size(found) <= max_bytes
    return found if is_enough else _cut(whole._replace(is_brief=True), size, max_bytes)


def _cut(whole: Shown, size: Callable[[Shown], int], max_bytes: int) -> Shown:
    """Return the most of an answer that fits; no code is left out for that."""

    def most(number: int, shown: Callable[[int], Shown], room: int) -> int:
        """Return how many of some things there is room for, 0 to all."""
        numbers = range(1, number + 1)
        return bisect_left(numbers, True, key=lambda many: size(shown(many)) > room)

    def named(many: int, items: int = 0) -> Shown:
        return whole._replace(definitions=many, items=items)

    definitions = most(whole.definitions, named, max_bytes // 2)
    items = most(whole.items, lambda many: named(definitions, many), max_bytes)
    definitions = most(whole.definitions, lambda many: named(many, items), max_bytes)
    return named(definitions, items)


def json_within(
    whole: Shown, content: Callable[[Shown], dict[str, Any]], max_tokens: int
) -> dict[str, Any]:
    """Return an answer as JSON within a budget.

    Args:
        whole: All of it.
        content: Returns so much of it.
        max_tokens: The budget.
    """

    def size(shown: Shown) -> int:
        return size_of(compact_text(content(shown))) + 1

    return content(most_within(whole, size, bytes_within(max_tokens)))


def with_coverage(
    content: dict[str, Any], answer: GraphAnswer, *, is_brief: bool = False
) -> dict[str, Any]:
    """Return compact JSON with the coverage and notes of its answer; in brief what is missing."""
    from web.schemas import as_json

    more: dict[str, Any] = {}
    if not (is_brief and answer.coverage.complete):
        more["coverage"] = as_json(answer.coverage)
    if answer.notes and not is_brief:
        more["notes"] = list(answer.notes)
    return {**content, **more}


def record_within(answer: Cuttable, max_tokens: int) -> dict[str, Any]:
    """Return an answer as JSON of the same shape within a budget, with fewer of what it lists.

    Args:
        answer: The answer.
        max_tokens: The budget.
    """
    from web.schemas import as_json

    whole = whole_of(answer)

    def content(shown: Shown) -> dict[str, Any]:
        return as_json(_part_of(answer, whole, shown))  # type: ignore[no-any-return]

    return json_within(whole, content, max_tokens)


def _part_of(answer: Cuttable, whole: Shown, shown: Shown) -> Cuttable:
    """Return an answer with the first of what it lists; in brief without notes."""
    first, [listed] = _LISTS[type(answer)]
    lists: dict[str, Any] = {listed: getattr(answer, listed)[: shown.items]}
    if first:
        lists[first] = getattr(answer, first)[: shown.definitions]
    if shown.is_brief:
        lists["notes"] = ()
        if isinstance(answer, ImportGraph):
            lists["external"] = ()
    return replace(answer, **lists, truncated=answer.truncated or shown[:2] != whole[:2])


def text_within(
    answer: GraphAnswer,
    whole: Shown,
    write: Callable[[Shown, Style], tuple[list[str], str]],
    max_tokens: int | None,
    *,
    is_markdown: bool = False,
) -> str:
    """Return an answer as text or Markdown within a budget, if there is one.

    Args:
        answer: The answer.
        whole: All of it.
        write: Returns so much of it as blocks of lines, and the line of its totals.
        max_tokens: The budget.
        is_markdown: Whether the blocks are Markdown.
    """

    def written(shown: Shown, style: Style) -> str:
        blocks, totals = write(shown, style)
        below = [totals]
        if not (shown.is_brief and answer.coverage.complete):
            below.append(coverage_text(answer.coverage))
        if more := _left_out(answer, whole, shown, has_budget=max_tokens is not None):
            below.append(more)
        notes = () if shown.is_brief else answer.notes
        if is_markdown:
            return "\n\n".join([*blocks, closing_markdown(notes, below)]) + "\n"
        blocks = [*blocks, closing_text(notes, below, style)]
        return ("\n" if shown.is_brief else "\n\n").join(blocks) + "\n"

    def size(shown: Shown) -> int:
        return size_of(written(shown, Style()))

    shown = most_within(whole, size, bytes_within(max_tokens)) if max_tokens else whole
    return written(shown, Style() if is_markdown else style_for(sys.stdout))


def _left_out(answer: GraphAnswer, whole: Shown, shown: Shown, *, has_budget: bool) -> str:
    """Say how many of an answer are left out, and how to get them; empty for all."""
    left = answer.total - _listed(answer) + sum(whole[:2]) - sum(shown[:2])
    if not answer.truncated and shown[:2] == whole[:2]:
        return ""
    cut = f"truncated, {left:,} more" if left > 0 else "truncated"
    listed = _listed(answer)
    helps = ["--limit"] if listed < min(answer.total, MAX_REFERENCES) else []
    helps += ["--max-tokens"] if has_budget and shown[:2] != whole[:2] else []
    return f"{cut}: raise {' and '.join(helps)}" if helps else f"{cut}: narrow it"
