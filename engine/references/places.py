"""What the name at a place means, who uses that, and what is around a definition.

Unlike ``References``, which is asked by name, this is asked by place, so that of several
definitions of a name exactly one is meant.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from engine.cache import EntryCache
from engine.records import display_path
from engine.reference_records import (
    MAX_REFERENCES,
    CallAnswer,
    Certainty,
    Definition,
    Direction,
    FoundUses,
    ImpactAnswer,
    ImpactRequest,
    NameAtPlace,
    SymbolBrief,
    SymbolRelations,
    Use,
    UsesRequest,
)
from engine.references.calls import Walk
from engine.references.impact import answer_from, start_at
from engine.references.inheritance import InheritanceWalk
from engine.references.kept import Kept
from engine.references.lookup import RANK, Found, can_mean, reference_of
from engine.references.resolve import family_of, scope_of
from engine.references.snapshot import Snapshot, read_snapshot
from engine.references.sources import Occurrence, Source
from engine.references.subtypes import TYPES
from engine.search.features import NOT_SCORED, is_test
from engine.search.searcher import Searcher
from engine.search.symbols import ScoredSymbol, symbol_hit
from engine.search_records import SymbolHit
from engine.source.git import read_branch
from engine.store.connection import Store
from engine.store.fulltext import count_chunks_with
from engine.store.project import count_changes
from engine.store.references import read_places
from engine.store.symbols import SymbolRow, defined_names, outline
from engine.syntax.references import Role, name_pattern
from engine.syntax.terms import words_of

_MOST_DEFINITIONS = 20  # of a name
_MOST_EDGES = 200  # in one direction
_INHERITANCE_DEPTH = 5
_COMMON = 400  # chunks with the words of a name; with fewer, most relations take below 50 ms
_MOST_CACHED_FILES = 64
_RECORD_BYTES = 1000  # of a use or an edge, roughly
_MOST_CHARS = 500_000  # of a text whose names are looked up
#: An identifier; in some languages it can end with ``?`` or ``!``.
_MAX_WORD_CHARS = 200  # longer ones are not looked up
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*[?!]?")
_ALL = UsesRequest()
#: Keywords that are names nowhere but as members.
_RESERVED = frozenset("if else for while do switch case return break continue".split())
_AFTER_OWNER = re.compile(rb"(?:\.|->|::)\s{0,100}\Z")


class Places:
    """Answers questions about places in the files of one project.

    Args:
        store: The project's database.
        searcher: Of the project, for branches and coverage.
        root: The resolved root.
        kept: What the process keeps of the project.
    """

    def __init__(self, store: Store, searcher: Searcher, root: str, kept: Kept) -> None:
        self._store = store
        self._searcher = searcher
        self._root = root
        self._kept = kept
        self._imported: EntryCache[frozenset[str]] = EntryCache(_MOST_CACHED_FILES)

    def defined_names(self, text: str, language: str) -> frozenset[str]:
        """Return the words of a text that are names of definitions its language can refer to.

        Of a text of more than half a million characters none are returned.
        """
        if len(text) > _MOST_CHARS:
            return frozenset()
        words = {word for word in _IDENTIFIER.findall(text) if len(word) <= _MAX_WORD_CHARS}
        words |= {word[:-1] for word in words if word[-1] in "?!"}
        family = family_of(language)
        with self._read() as snapshot:
            known = snapshot.kept.defined(family)
            unknown = sorted(word for word in words if word not in known)
            if unknown:
                handle, branch = snapshot.handle, snapshot.branch
                found = set(defined_names(handle, branch.id, unknown, sorted(family)))
                known.update((word, word in found) for word in unknown)
            return frozenset(word for word in words if known.get(word))

    def imported_names(self, path: str) -> frozenset[str]:
        """Return the names that a file imports, as they are called where they come from."""
        with self._read() as snapshot:
            key = (count_changes(snapshot.handle), snapshot.branch.id, path)

            def read() -> frozenset[str]:
                source = snapshot.lookup.source(path)
                if source is None:
                    return frozenset()
                pattern = name_pattern(source.language)
                found = (
                    pattern.match(source.text, each.offset)
                    for each in source.marks.within(0, len(source.text))
                    if each.role is Role.IMPORT
                )
                return frozenset(each.group().decode("utf-8", "replace") for each in found if each)

            return self._imported.get(key, read)

    def name_at(
        self, path: str, line: int, column: int, wanted: UsesRequest = _ALL
    ) -> NameAtPlace | None:
        """Return what the name at a place means, or None if there is no name in code.

        If the place means a definition by its name alone, all definitions of the name are returned,
        and all its uses.

        Args:
            path: Relative to the root.
            line: Counted from 1.
            column: In characters, counted from 1; anywhere in the name.
            wanted: Which uses to return.
        """
        with self._read() as snapshot:
            lookup = snapshot.lookup
            source = lookup.source(path)
            place = source.name_at(line, column) if source else None
            here = lookup.found_at(source, line, column) if source else None
            if source is None or place is None or here is None:
                return None
            name, offset = place
            known = lookup.definitions(name)
            if is_keyword(source, name, here.occurrence, is_defined=bool(known)):
                return None
            resolution = here.resolution
            targets: Sequence[SymbolRow] = resolution.targets
            is_sure = bool(targets) and resolution.certainty is not Certainty.NAME
            family = family_of(source.language)
            if not is_sure:
                likelier = list(targets)
                others = (row for row in known if row.language in family and row not in likelier)
                targets = [*likelier, *others]
            found = [
                each
                for each in lookup.uses(name)
                if (not is_sure and _is_within(family, each))
                or (
                    each.source.language in family
                    and any(can_mean(each.resolution, row) for row in targets)
                )
            ]
            return NameAtPlace(
                name=name,
                line=source.line_of(offset),
                column=source.column_of(offset),
                use=here.occurrence.use,
                definitions=tuple(
                    Definition(symbol=self._hit(row), certainty=resolution.certainty)
                    for row in targets[:_MOST_DEFINITIONS]
                ),
                found=self._uses(snapshot, found, wanted, first=path),
            )

    def symbol(self, path: str, name: str, line: int) -> SymbolBrief | None:
        """Return a definition alone, which takes few milliseconds; None without one.

        Args:
            path: Relative to the root.
            name: As for ``relations``.
            line: As for ``relations``.
        """
        with self._read() as snapshot:
            row = _symbol_at(snapshot, path, name, line)
            if row is None:
                return None
            return SymbolBrief(
                symbol=self._hit(row),
                overloads=self._overloads(snapshot, row),
                is_common=_is_common(snapshot, row.name),
            )

    def relations(
        self, path: str, name: str, line: int, wanted: UsesRequest = _ALL
    ) -> SymbolRelations | None:
        """Return a definition with what is around it, or None without one.

        Args:
            path: Relative to the root.
            name: Its qualified name; empty: any that begins in the line.
            line: Of several definitions of the name, the nearest one is meant.
            wanted: Which uses to return.
        """
        with self._read() as snapshot:
            row = _symbol_at(snapshot, path, name, line)
            if row is None:
                return None
            key = (row.path, row.qualified_name, row.line_start, wanted, snapshot.branch_notes)
            relations = snapshot.kept.relations.get(key)
            if relations is None:
                relations = self._relations_of(snapshot, row, wanted)
                snapshot.kept.relations.put(key, relations, _size_of(relations))
            return relations

    def _relations_of(
        self, snapshot: Snapshot, row: SymbolRow, wanted: UsesRequest
    ) -> SymbolRelations:
        found = snapshot.lookup.uses_of(row)
        depth = _INHERITANCE_DEPTH if row.kind in TYPES or scope_of(row) else 0
        return SymbolRelations(
            symbol=self._hit(row),
            callers=self._follow(snapshot, row, Direction.CALLERS),
            callees=self._follow(snapshot, row, Direction.CALLEES),
            implementations=self._follow(snapshot, row, Direction.IMPLEMENTATIONS, depth=depth),
            bases=self._follow(snapshot, row, Direction.BASES, depth=depth),
            found=self._uses(snapshot, found, wanted, first=row.path),
        )

    def tests_of(self, path: str, name: str, line: int) -> ImpactAnswer | None:
        """Return the tests that a change of a definition affects; None if it is not there.

        Args:
            path: Relative to the root.
            name: As for ``relations``.
            line: As for ``relations``.
        """
        with self._read() as snapshot:
            row = _symbol_at(snapshot, path, name, line)
            if row is None:
                return None
            return answer_from(
                start_at(snapshot.lookup, [row]),
                ImpactRequest(name=row.qualified_name, depth=1, limit=MAX_REFERENCES),
                snapshot.lookup,
                coverage=snapshot.coverage,
                notes=snapshot.notes,
            )

    def _read(self) -> AbstractContextManager[Snapshot]:
        return read_snapshot(self._store, self._searcher, read_branch(self._root), self._kept)

    def _overloads(self, snapshot: Snapshot, row: SymbolRow) -> tuple[SymbolHit, ...]:
        found = [
            each
            for each in snapshot.lookup.definitions(row.name)
            if each.qualified_name == row.qualified_name
            and (each.path, each.line_start) != (row.path, row.line_start)
            and each.language in family_of(row.language)
        ]
        return tuple(map(self._hit, found[:_MOST_DEFINITIONS]))

    def _follow(
        self,
        snapshot: Snapshot,
        row: SymbolRow,
        direction: Direction,
        *,
        depth: int = 1,
    ) -> CallAnswer:
        """Return what is reached in a direction; no depth: nothing."""
        is_call = direction in (Direction.CALLERS, Direction.CALLEES)
        walk = (Walk if is_call else InheritanceWalk)(snapshot.lookup, direction)
        edges = walk.edges([row], depth)
        return CallAnswer(
            name=row.qualified_name,
            direction=direction,
            definitions=(self._hit(row),),
            edges=tuple(edges[:_MOST_EDGES]),
            total=len(edges),
            certainties=dict(Counter(edge.certainty.value for edge in edges)),
            truncated=len(edges) > _MOST_EDGES or walk.is_cut or snapshot.lookup.is_cut,
            coverage=snapshot.coverage,
            notes=(*snapshot.notes, *walk.notes),
        )

    def _uses(
        self, snapshot: Snapshot, found: Sequence[Found], wanted: UsesRequest, *, first: str
    ) -> FoundUses:
        """Return the uses that are wanted, and count all.

        Args:
            snapshot: From which they were read.
            found: All of them.
            wanted: Which to return.
            first: The path of the file that comes first.
        """
        passing = [
            each
            for each in found
            if wanted.use in (None, each.occurrence.use)
            and (not wanted.in_tests or is_test(each.source.path))
        ]
        passing.sort(key=lambda each: _order(each, first))
        end = wanted.offset + wanted.limit
        return FoundUses(
            references=tuple(map(reference_of, passing[wanted.offset : end])),
            total=len(passing),
            uses=dict(Counter(each.occurrence.use.value for each in found)),
            in_tests=sum(is_test(each.source.path) for each in found),
            by_name=sum(each.resolution.certainty is Certainty.NAME for each in found),
            truncated=snapshot.lookup.is_cut,
            coverage=snapshot.coverage,
            notes=snapshot.notes,
        )

    def _hit(self, row: SymbolRow) -> SymbolHit:
        return symbol_hit(ScoredSymbol(row, 1.0, NOT_SCORED), display_path(self._root))


def is_keyword(source: Source, name: str, occurrence: Occurrence, *, is_defined: bool) -> bool:
    """Return whether a word belongs to the syntax, as far as that is known without parsing."""
    from engine.syntax.keywords import keywords_of  # loads a grammar, which few questions need

    if occurrence.use is Use.DEFINITION or name not in keywords_of(source.language):
        return False
    before = source.text[max(0, occurrence.offset - 102) : occurrence.offset]
    if _AFTER_OWNER.search(before):
        return False
    is_plain = occurrence.use in (Use.USE, Use.TEXT)
    return name in _RESERVED or (is_plain and not is_defined)


def _is_common(snapshot: Snapshot, name: str) -> bool:
    words = words_of(name)
    if not words:  # a name of single letters, for which all files are read
        places = read_places(snapshot.handle, snapshot.branch.id, _COMMON)
        return len(places) == _COMMON
    phrase = 'body : "{}"'.format(" ".join(words))
    return count_chunks_with(snapshot.handle, phrase, _COMMON) == _COMMON


def _size_of(relations: SymbolRelations) -> int:
    answers = (relations.callers, relations.callees, relations.implementations, relations.bases)
    edges = sum(len(each.edges) for each in answers)
    return _RECORD_BYTES * (1 + edges + len(relations.found.references))


def _is_within(family: Collection[str], found: Found) -> bool:
    """Return whether a use can belong to a family of languages; what others define cannot."""
    return found.occurrence.use is not Use.DEFINITION or found.source.language in family


def _order(found: Found, first: str) -> tuple[bool, bool, bool, str, int, int]:
    path = found.source.path
    certainty = found.resolution.certainty
    return (
        certainty is Certainty.NAME,
        is_test(path),
        path != first,
        path,
        found.occurrence.offset,
        RANK[certainty],
    )


def _symbol_at(snapshot: Snapshot, path: str, name: str, line: int) -> SymbolRow | None:
    rows = outline(snapshot.handle, snapshot.branch.id, path)
    if name:
        named = [row for row in rows if row.qualified_name == name]
        return min(named, key=lambda row: abs(row.line_start - line), default=None)
    here = [row for row in rows if row.line_start == line]
    return min(here, key=lambda row: len(row.qualified_name), default=None)
