"""Implementations and bases: types followed from base to subtype, or from subtype to base.

Of a method they are the methods that override it, and those that it overrides. A type of Go
implements an interface by having its methods; ``interfaces`` finds these.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.reference_records import CallEdge, Certainty, Direction, Use
from engine.references.calls import Walk
from engine.references.imports import imported_as, module_of
from engine.references.interfaces import Interfaces
from engine.references.lookup import RANK, Lookup, can_mean, row_of
from engine.references.resolve import Resolution, Resolver, family_of, scope_of
from engine.references.sources import Occurrence, Source
from engine.references.subtypes import (
    HAS_BLOCKS,
    TYPES,
    UNMARKED,
    Subtype,
    bases_in,
    is_base,
    name_there,
    subtype_of,
)
from engine.search.features import is_test
from engine.store.symbols import SymbolRow

_ONLY_TYPES = TYPES - {"instance"}
_HEADINGS = frozenset({"section", "selector", "target"})
_NAMED_LIKE_TYPES = _HEADINGS | {"constructor", "instance"}
_MOST_PASSED = 200  # types between a method and those that it overrides
_MOST_LINES = 20  # of the methods of an interface
_MOST_OUTSIDE = 20  # that are named
_MOST_CANDIDATES = 5  # of a base that is known by its name alone


class Relation(NamedTuple):
    """One end of the edge between a type and its base."""

    name: str
    path: str
    line: int
    row: SymbolRow | None
    certainty: Certainty
    place: str  # the file that says so
    lines: tuple[int, ...]  # there


class InheritanceWalk(Walk):
    """Follows bases and subtypes of types and methods, each once.

    Args:
        lookup: Reads definitions and uses.
        direction: Implementations or bases.
    """

    def __init__(self, lookup: Lookup, direction: Direction) -> None:
        super().__init__(lookup, direction)
        self._types = _Types(lookup)
        is_down = direction is Direction.IMPLEMENTATIONS
        self._related = self._types.below if is_down else self._types.above
        self._step = self._relations_of
        self._known: dict[tuple[str, str], list[Relation]] = {}

    @property
    def notes(self) -> Sequence[str]:
        """The bases that no definition of the project can be."""
        outside = sorted(self._types.outside)
        more = ", …" if len(outside) > _MOST_OUTSIDE else ""
        shown = ", ".join(outside[:_MOST_OUTSIDE])
        return (f"bases outside of the project: {shown}{more}",) if outside else ()

    def starts(self, asked: list[SymbolRow]) -> list[SymbolRow]:
        """Leave out what only has the name of a type: constructors, instances, headings."""
        kept = [each for each in asked if each.kind not in _NAMED_LIKE_TYPES]
        return kept or [each for each in asked if each.kind not in _HEADINGS]

    def _relations_of(
        self, row: SymbolRow, depth: int, certainty: Certainty
    ) -> Iterator[tuple[CallEdge, SymbolRow | None]]:
        of_type = row.kind in TYPES
        for relation in self._of(row) if of_type else self._of_member(row):
            edge = CallEdge(
                name=relation.name,
                path=relation.path,
                line=relation.line,
                depth=depth,
                certainty=max(relation.certainty, certainty, key=RANK.__getitem__),
                via=row.qualified_name,
                via_path=row.path,
                call_path=relation.place,
                call_lines=relation.lines,
                is_test=is_test(relation.path),
            )
            yield edge, relation.row

    def _of(self, row: SymbolRow) -> list[Relation]:
        key = (row.path, row.qualified_name)
        if key not in self._known:
            self._known[key] = _merged(self._related(row))
        return self._known[key]

    def _of_member(self, row: SymbolRow) -> Iterator[Relation]:
        """Yield the nearest members of this name below or above the type of a member."""
        level = [(each, Certainty.EXACT) for each in self._types.of_member(row)]
        seen = {(each.path, each.qualified_name) for each, _ in level}
        while level:
            following: list[tuple[SymbolRow, Certainty]] = []
            for type_row, so_far in level:
                for relation in self._of(type_row):
                    key = (relation.path, relation.name)
                    if relation.row is None or key in seen:
                        continue
                    seen.add(key)
                    certainty = max(relation.certainty, so_far, key=RANK.__getitem__)
                    members = self._types.members(relation.row, row.name)
                    yield from (_member_relation(each, certainty) for each in members)
                    if not members and certainty is not Certainty.NAME:
                        following.append((relation.row, certainty))
            if len(seen) > _MOST_PASSED:
                self.is_cut = True
                return
            level = following


def _member_relation(row: SymbolRow, certainty: Certainty) -> Relation:
    lines = (row.line_start,)
    return Relation(row.qualified_name, row.path, row.line_start, row, certainty, row.path, lines)


class _Types:
    """The types directly below and above a type."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._interfaces = Interfaces(lookup)
        self._subtypes: dict[str, list[tuple[Occurrence, Subtype]]] = {}
        self.outside: set[str] = set()

    def below(self, row: SymbolRow) -> Iterator[Relation]:
        """Yield the types that name a type as their base, or implement it by their methods."""
        if row.kind == "instance":
            return
        family = family_of(row.language)
        unmarked = UNMARKED & family
        has_unmarked = unmarked and self._lookup.has_languages(unmarked)
        uses_of = self._lookup.uses if has_unmarked else self._lookup.marked_uses
        for found in uses_of(row.name, family):
            source, occurrence = found.source, found.occurrence
            if not is_base(source, occurrence):
                continue
            resolution = found.resolution
            if not resolution.targets or resolution.targets[0].kind not in _ONLY_TYPES:
                resolution = self._resolved(source, row.name, occurrence)
            if not can_mean(resolution, row):
                continue
            subtype = subtype_of(self._lookup, source, occurrence)
            if subtype is not None and not _is(subtype.row, row):
                yield _relation(subtype, source, occurrence, resolution.certainty)
        if row.language == "go" and row.kind == "interface":
            yield from self._by_methods(self._interfaces.implementations(row))

    def above(self, row: SymbolRow) -> Iterator[Relation]:
        """Yield the bases that a type names, and the interfaces that it implements."""
        for source in self._sources_of(row):
            for occurrence, subtype in self._subtypes_in(source):
                if _is(subtype.row, row):
                    yield from self._base_at(source, occurrence)
        if row.language == "go":
            yield from self._by_methods(self._interfaces.satisfied_by(row))

    def of_member(self, row: SymbolRow) -> list[SymbolRow]:
        """Return the type of a member."""
        scope = scope_of(row)
        if not scope:
            return []
        rows = [
            each
            for each in self._lookup.definitions(scope)
            if each.qualified_name == scope and each.kind in TYPES
        ] or self._instances(row, scope)
        return _nearest(rows, row)

    def members(self, row: SymbolRow, name: str) -> list[SymbolRow]:
        """Return the members of a type that have a name."""
        rows = [
            each
            for each in self._lookup.definitions(name)
            if scope_of(each) == row.qualified_name and each.kind not in TYPES
        ]
        return _nearest(rows, row)

    def _instances(self, row: SymbolRow, scope: str) -> list[SymbolRow]:
        """Return the instance of a type class, whose name is no word."""
        source = self._lookup.source(row.path)
        spans = source.spans if source else ()
        return [
            row_of(span, source)
            for span in spans
            if source and span.qualified_name == scope and span.kind in TYPES
        ]

    def _sources_of(self, row: SymbolRow) -> list[Source]:
        """Return the files that can name the bases of a type."""
        own = self._lookup.source(row.path)
        sources = {own.path: own} if own else {}
        if row.language in HAS_BLOCKS:
            for found in self._lookup.uses(row.name, family_of(row.language)):
                sources[found.source.path] = found.source
        return list(sources.values())

    def _subtypes_in(self, source: Source) -> list[tuple[Occurrence, Subtype]]:
        """Return all places of a file that name a base, with what does."""
        if source.path not in self._subtypes:
            places = bases_in(source, 0, len(source.text))
            found = [(each, subtype_of(self._lookup, source, each)) for each in places]
            self._subtypes[source.path] = [(each, subtype) for each, subtype in found if subtype]
        return self._subtypes[source.path]

    def _base_at(self, source: Source, occurrence: Occurrence) -> Iterator[Relation]:
        """Yield the definitions that the base at a place can be."""
        name = name_there(source, occurrence.offset)
        if not self._lookup.definitions(name):
            name = imported_as(source.text, name) or name
        certainty, targets = self._resolved(source, name, occurrence)
        types = tuple(each for each in targets if each.kind in TYPES)
        # A base can be what a function returns, but a name alone does not say so.
        targets = types or (() if certainty is Certainty.NAME else targets)
        if not targets:
            self.outside.add(name)
        for target in targets[:_MOST_CANDIDATES]:
            yield Relation(
                target.qualified_name,
                target.path,
                target.line_start,
                target,
                certainty,
                source.path,
                (source.line_of(occurrence.offset),),
            )

    def _resolved(self, source: Source, name: str, occurrence: Occurrence) -> Resolution:
        """Return what a base means: a type before a constructor or an instance of its name."""
        every = self._lookup.definitions(name)
        definitions = [each for each in every if each.kind in _ONLY_TYPES] or every
        occurrences = list(source.occurrences(name))
        resolution = Resolver(source, name, definitions, occurrences).of(occurrence)
        if not resolution.targets and source.language == "rust":
            return _of_crate(source, occurrences, definitions)
        return resolution

    def _by_methods(
        self, found: Iterable[tuple[SymbolRow, Certainty, tuple[SymbolRow, ...]]]
    ) -> Iterator[Relation]:
        for row, certainty, methods in found:
            place = methods[0].path if methods else row.path
            lines = sorted(each.line_start for each in methods if each.path == place)
            lines = lines[:_MOST_LINES]
            yield Relation(
                row.qualified_name, row.path, row.line_start, row, certainty, place, tuple(lines)
            )


def _is(row: SymbolRow | None, other: SymbolRow) -> bool:
    return row is not None and (row.path, row.qualified_name) == (other.path, other.qualified_name)


def _merged(relations: Iterable[Relation]) -> list[Relation]:
    """Join the relations to what has one name in one file, such as classes without a name."""
    found: dict[tuple[str, str, str], Relation] = {}
    for each in relations:
        key = (each.path, each.name, each.place)
        known = found.get(key, each)
        lines = tuple(sorted({*known.lines, *each.lines})[:_MOST_LINES])
        surest = min(known, each, key=lambda one: RANK[one.certainty])
        found[key] = surest._replace(lines=lines, line=min(known.line, each.line))
    return list(found.values())


def _of_crate(
    source: Source, occurrences: Iterable[Occurrence], definitions: Iterable[SymbolRow]
) -> Resolution:
    """Return the definitions in the folder of an imported crate, which has the end of its name."""
    for occurrence in occurrences:
        if occurrence.use is not Use.IMPORT:
            continue
        module = module_of(source.text, occurrence.offset, source.language, source.path)
        if module and module.segments:
            crate = module.segments[0]
            names = {crate, crate.replace("_", "-"), crate.rpartition("_")[2]}
            found = [each for each in definitions if not names.isdisjoint(each.path.split("/"))]
            if found:
                return Resolution(Certainty.LIKELY, tuple(found))
    return Resolution(Certainty.NAME, ())


def _relation(
    subtype: Subtype, source: Source, occurrence: Occurrence, certainty: Certainty
) -> Relation:
    path = subtype.row.path if subtype.row else source.path
    lines = (source.line_of(occurrence.offset),)
    return Relation(subtype.name, path, subtype.line, subtype.row, certainty, source.path, lines)


def _nearest(rows: list[SymbolRow], row: SymbolRow) -> list[SymbolRow]:
    """Return the rows in the file of another, or else in its folder, or else anywhere."""
    family = family_of(row.language)
    rows = [each for each in rows if each.language in family]
    folder = os.path.dirname(row.path)
    return (
        [each for each in rows if each.path == row.path]
        or [each for each in rows if os.path.dirname(each.path) == folder]
        or rows
    )
