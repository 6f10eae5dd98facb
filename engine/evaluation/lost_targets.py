"""Which targets of golden queries no answer can hold, because the index does not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.evaluation.golden import GoldenQuery, LostTarget, Target
from engine.evaluation.measures import is_same_file
from engine.records import PathExplanation
from engine.store import files
from engine.store.connection import Handle

_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What targets come to on one branch."""

    lost: tuple[LostTarget, ...]  # in the order of the queries
    notes: tuple[str, ...]


def reach_of(
    handle: Handle,
    branch_id: int,
    queries: Iterable[GoldenQuery],
    why: Callable[[str], PathExplanation],
) -> Reach:
    """Look every target up in the index.

    Args:
        handle: A read transaction.
        branch_id: The branch that is searched.
        queries: With their targets.
        why: Explains a path that the index does not hold.
    """
    lines = _lines_of(queries)
    by_name: dict[str, list[str]] = {}
    for path in files.read_known_files(handle, branch_id):
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    lost = []
    several: dict[str, int] = {}
    for target, numbers in lines.items():
        name = target.path.rpartition("/")[2]
        found = [path for path in by_name.get(name, ()) if is_same_file(path, target.path)]
        if len(found) > 1:
            several[target.path] = len(found)
        if not found:
            explanation = why(target.path)
            reason = explanation.reason or explanation.outcome
            lost.append(_lost(target, numbers, reason, explanation.detail))
        elif target.line_start > 1:
            longest = max(_line_count(handle, branch_id, path) for path in found)
            if target.line_start > longest:
                detail = f"the file has {longest:,} lines"
                lost.append(_lost(target, numbers, "past_the_end", detail))
    return Reach(lost=tuple(lost), notes=tuple(_notes(several)))


def _lines_of(queries: Iterable[GoldenQuery]) -> Mapping[Target, Sequence[int]]:
    lines: dict[Target, list[int]] = {}
    for query in queries:
        for target in query.relevant:
            lines.setdefault(target, []).append(query.line)
    return lines


def _line_count(handle: Handle, branch_id: int, path: str) -> int:
    facts = files.read_file(handle, branch_id, path)
    return facts.line_count if facts else 0


def _lost(target: Target, lines: Sequence[int], reason: str, detail: str) -> LostTarget:
    return LostTarget(
        path=target.path,
        line_start=target.line_start,
        line_end=target.line_end,
        lines=tuple(lines),
        reason=reason,
        detail=detail,
    )


def _notes(several: Mapping[str, int]) -> Iterable[str]:
    """Say which targets are the end of several paths."""
    if several:
        shown = [f"{path} ({number})" for path, number in list(several.items())[:_NAMES_SHOWN]]
        more = ", …" if len(several) > _NAMES_SHOWN else ""
        yield (
            f"{len(several):,} of the targets fit several files, any of which counts: "
            f"{', '.join(shown)}{more}"
        )
