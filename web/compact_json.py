"""Search answers as JSON within a budget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.search_records import Hit, SearchAnswer
from web.answers import MeasuredByHits, about_hit, once_per_hit
from web.schemas import as_json
from web.text import compact_text, size_of

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
    rest = replace(answer, hits=())
    shape = _without_hits(rest, _project_of(answer), following or {}, is_brief=is_brief)
    several = _is_of_several(answer)
    shape["hits"] = [{**_compact_hit(hit, several, is_brief)} for hit in answer.hits]
    return shape


def measured_json(
    following: Callable[[SearchAnswer, bool], Mapping[str, object]],
) -> MeasuredByHits:
    """Return what measures ``compact_json``.

    Args:
        following: Returns more keys of an answer, by whether it is brief.
    """

    def rest(answer: SearchAnswer, is_brief: bool) -> int:
        project, more = _project_of(answer), following(answer, is_brief)
        bare = replace(answer, hits=())
        return size_of(compact_text(_without_hits(bare, project, more, is_brief=is_brief)))

    def of_hits(hits: Sequence[Hit], is_brief: bool) -> int:
        several = len({hit.project for hit in hits}) > 1
        texts = sum(_size_of_hit(hit, several, is_brief) for hit in hits)
        return texts + len(", ") * max(len(hits) - 1, 0)

    return MeasuredByHits(rest, of_hits)


def _is_of_several(answer: SearchAnswer) -> bool:
    return len({hit.project for hit in answer.hits}) > 1


def _project_of(answer: SearchAnswer) -> str | None:
    """Return the project of all hits."""
    return answer.hits[0].project if answer.hits and not _is_of_several(answer) else None


def _without_hits(
    answer: SearchAnswer, project: str | None, more: Mapping[str, object], *, is_brief: bool
) -> dict[str, Any]:
    shape: dict[str, Any] = as_json(answer)
    if is_brief:
        coverage = {name: shape["coverage"][name] for name in ("files", "complete")}
        shape = {name: shape[name] for name in shape if name not in ("query", "mode", "took_ms")}
        shape["coverage"] = coverage
    elif project is not None:
        shape = {"project": project, **shape}
    return shape | {name: each for name, each in more.items() if each or not is_brief}


@once_per_hit
def _size_of_hit(hit: Hit, several: bool, is_brief: bool) -> int:
    return size_of(compact_text(_compact_hit(hit, several, is_brief)))


@once_per_hit
def _compact_hit(hit: Hit, several: bool, is_brief: bool) -> Mapping[str, Any]:
    """Return a hit as JSON; only what is sent is converted."""
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
