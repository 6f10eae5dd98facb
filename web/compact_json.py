"""Search answers as JSON within a budget."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.search_records import Hit, SearchAnswer
from web.answers import about_hit
from web.schemas import as_json

_OF_A_BRIEF_PLACE = ("path", "line_start", "line_end", "symbol")
_OF_A_PLACE = (
    "kind",
    "score",
    "confidence",
    "summary",
    "signature",
    "snippet",
    "snippet_line",
    "explain",
)


def compact_json(
    answer: SearchAnswer, *, is_brief: bool, following: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Return an answer as JSON for a budget: a hit has only what is known and worth its bytes.

    The project of all hits is told once.

    Args:
        answer: The answer.
        is_brief: Whether places are all that there is room for; then the answer does not repeat
            the question either.
        following: More keys; empty ones only if there is room.
    """
    several = len({hit.project for hit in answer.hits}) > 1
    shape = as_json(replace(answer, hits=()))
    coverage = shape["coverage"]
    if is_brief:
        shape = {name: shape[name] for name in shape if name not in ("query", "mode", "took_ms")}
        shape["coverage"] = {name: coverage[name] for name in ("files", "complete")}
    shape["hits"] = [_compact_hit(hit, several, is_brief=is_brief) for hit in answer.hits]
    if answer.hits and not several and not is_brief:
        shape = {"project": answer.hits[0].project, **shape}
    more = {name: each for name, each in (following or {}).items() if each or not is_brief}
    return {**shape, **more}


def _compact_hit(hit: Hit, several: bool, *, is_brief: bool) -> dict[str, Any]:
    """Return a hit as JSON; only what is sent is converted, as a budget has it written often."""
    names = ("project", *_OF_A_BRIEF_PLACE) if several else _OF_A_BRIEF_PLACE
    shape = _fields(hit, names, (None,))
    if hit.fresh is False:
        shape["fresh"] = False
    if hit.branches:
        shape["branches"] = as_json(hit.branches)
    if is_brief:
        return shape | _fields(hit, ("snippet", "snippet_line"), (None, "", 0))
    shape |= _fields(hit, _OF_A_PLACE, (None, ""))
    if hit.signature and about_hit(hit) != hit.signature:
        shape.pop("signature", None)
    return shape


def _fields(hit: Hit, names: Sequence[str], empty: tuple[object, ...]) -> dict[str, Any]:
    """Return the fields of a hit that are not empty."""
    shape = {name: as_json(getattr(hit, name)) for name in names}
    return {name: value for name, value in shape.items() if value not in empty}
