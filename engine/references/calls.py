"""Callers and callees: calls followed from function to function."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from engine.reference_records import CallEdge, Certainty, Direction, Use
from engine.references.lookup import RANK, Found, Lookup, row_of
from engine.references.resolve import Resolver, family_of
from engine.references.sources import Occurrence, Source
from engine.search.features import is_test
from engine.store.symbols import SymbolRow
from engine.syntax.references import Role, name_pattern

if TYPE_CHECKING:
    from engine.store.references import SpanRow

_MOST_FUNCTIONS = 400  # that are followed for callers of callers
_MOST_LINES = 20  # of calls in one edge
_C = family_of("c")


def _is_same(row: SymbolRow, key: tuple[str, str]) -> bool:
    """Return whether a path and a name mean a definition; in C, or its prototype."""
    path, name = key
    return name == row.qualified_name and (path == row.path or row.language in _C)


class Walk:
    """Follows calls from function to function, each once."""

    def __init__(self, lookup: Lookup, direction: Direction) -> None:
        self._lookup = lookup
        self._step = self._callers_of if direction is Direction.CALLERS else self._callees_of
        self.is_cut = False

    @property
    def notes(self) -> Sequence[str]:
        """What to know of the edges, after they were followed."""
        return ()

    def starts(self, asked: list[SymbolRow]) -> list[SymbolRow]:
        """Return those of the definitions of a name from which to start."""
        return asked

    def edges(self, start: Sequence[SymbolRow], depth: int) -> list[CallEdge]:
        """Return the functions that are reached, by depth, then the most certain first."""
        started = {(row.path, row.qualified_name) for row in start}
        seen: set[tuple[str, str]] = set()
        edges: list[CallEdge] = []
        level: list[tuple[SymbolRow, Certainty]] = [(row, Certainty.EXACT) for row in start]
        for distance in range(1, depth + 1):
            found: dict[tuple[str, str], CallEdge] = {}
            following: dict[tuple[str, str], tuple[SymbolRow, Certainty]] = {}
            for row, certainty in level:
                if len(edges) + len(found) >= _MOST_FUNCTIONS:
                    self.is_cut = True
                    break
                for edge, target in self._step(row, distance, certainty):
                    key = (edge.path, edge.name)
                    if key in seen or _is_same(row, key) or (distance > 1 and key in started):
                        continue
                    known = found.get(key)
                    if known and RANK[known.certainty] <= RANK[edge.certainty]:
                        continue
                    found[key] = edge
                    is_sure = edge.certainty is not Certainty.NAME
                    if target and is_sure and key not in started:
                        following[key] = (target, edge.certainty)
            seen.update(found)
            edges += sorted(
                found.values(),
                key=lambda edge: (RANK[edge.certainty], edge.is_test, edge.path, edge.line),
            )
            level = list(following.values())
        return edges

    def _callers_of(
        self, row: SymbolRow, depth: int, certainty: Certainty
    ) -> Iterator[tuple[CallEdge, SymbolRow | None]]:
        groups: dict[tuple[str, str], list[Found]] = {}
        around: dict[tuple[str, str], SpanRow | None] = {}
        for found in self._lookup.calls_of(row):
            span = found.source.enclosing(found.occurrence.offset)
            key = (found.source.path, span.qualified_name if span else "")
            groups.setdefault(key, []).append(found)
            around[key] = span
        for key, calls in groups.items():
            path, name = key
            span = around[key]
            best = min((call.resolution.certainty for call in calls), key=RANK.__getitem__)
            source = calls[0].source
            edge = CallEdge(
                name=name or path,
                path=path,
                line=span.line_start if span else 1,
                depth=depth,
                certainty=max(best, certainty, key=RANK.__getitem__),
                via=row.qualified_name,
                via_path=row.path,
                call_path=path,
                call_lines=lines_of(source, (call.occurrence.offset for call in calls)),
                is_test=is_test(path),
            )
            yield edge, row_of(span, source) if span else None

    def _callees_of(
        self, row: SymbolRow, depth: int, certainty: Certainty
    ) -> Iterator[tuple[CallEdge, SymbolRow | None]]:
        source = self._lookup.source(row.path)
        span = source.span(row.id) if source else None
        if source is None or span is None:
            return
        calls: dict[str, list[int]] = {}
        pattern = name_pattern(source.language)
        for reference in source.marks.within(span.byte_start, span.byte_end):
            name = pattern.match(source.text, reference.offset)
            if reference.role is Role.CALL and name:
                called = name.group().decode("utf-8", "replace")
                calls.setdefault(called, []).append(reference.offset)
        for called, offsets in calls.items():
            definitions = self._lookup.definitions(called)
            if not definitions:
                continue  # of another project
            occurrences = list(source.occurrences(called))
            resolver = Resolver(source, called, definitions, occurrences, self._lookup)
            best: dict[tuple[str, str], tuple[Certainty, SymbolRow, list[int]]] = {}
            for offset in offsets:
                resolution = resolver.of(Occurrence(offset, Use.CALL))
                if resolution.certainty is Certainty.NAME:
                    continue  # a name alone says nothing of where it leads
                for target in resolution.targets[:1]:
                    key = (target.path, target.qualified_name)
                    entry = best.setdefault(key, (resolution.certainty, target, []))
                    entry[2].append(offset)
            for own, target, lines in best.values():
                edge = CallEdge(
                    name=target.qualified_name,
                    path=target.path,
                    line=target.line_start,
                    depth=depth,
                    certainty=max(own, certainty, key=RANK.__getitem__),
                    via=row.qualified_name,
                    via_path=row.path,
                    call_path=source.path,
                    call_lines=lines_of(source, lines),
                    is_test=is_test(target.path),
                )
                yield edge, target


def lines_of(source: Source, offsets: Iterable[int]) -> tuple[int, ...]:
    """Return the lines of some offsets, the first few."""
    return tuple(sorted({source.line_of(offset) for offset in offsets}))[:_MOST_LINES]
