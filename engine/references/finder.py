"""References of a name, and who calls whom."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken, never
from engine.parameters import check_request
from engine.records import display_path
from engine.reference_records import (
    CallAnswer,
    CallRequest,
    Definition,
    Direction,
    ImpactAnswer,
    ImpactRequest,
    ImportGraph,
    ImportsRequest,
    InheritanceRequest,
    Reference,
    ReferenceAnswer,
    ReferenceRequest,
    Relations,
    UnusedAnswer,
    UnusedRequest,
    Use,
)
from engine.references.calls import Walk
from engine.references.impact import Start, answer_from, check_one, start_of
from engine.references.inheritance import InheritanceWalk
from engine.references.kept import Kept
from engine.references.lookup import RANK, Found, reference_of
from engine.references.overriding import languages_of, uses_that_may_mean
from engine.references.relations import relations_of
from engine.references.snapshot import Snapshot, read_snapshot
from engine.references.telling import TellingUses
from engine.search.features import NOT_SCORED, is_test
from engine.search.lexical import last_name_of
from engine.search.missing_paths import missing_file
from engine.search.searcher import Searcher
from engine.search.selection import path_passes
from engine.search.symbols import ScoredSymbol, symbol_hit
from engine.search_records import SymbolHit
from engine.source.git import read_branch
from engine.store import files
from engine.store.connection import Store
from engine.store.symbols import SymbolRow
from engine.syntax.languages import kinds_of

if TYPE_CHECKING:
    from engine.indexing.workers import WorkerPool

_MOST_SHOWN = 20  # definitions in an answer
_MOST_TRIED = 100  # files in which uses of an unknown name are counted


class References:
    """Answers who uses the names of one project.

    Args:
        store: The project's database.
        searcher: Of the project, for branches and coverage.
        root: The resolved root.
        kept: What the process keeps of the project.
        pool: Returns the workers that parse what changed.
    """

    def __init__(
        self,
        store: Store,
        searcher: Searcher,
        root: str,
        kept: Kept,
        pool: "Callable[[], WorkerPool]",
    ) -> None:
        self._store = store
        self._searcher = searcher
        self._root = root
        self._kept = kept
        self._pool = pool

    def find(self, wanted: ReferenceRequest) -> ReferenceAnswer:
        """Return the uses of a name: the most certain first, then code, tests and prose, by place.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        check_request(wanted)
        with self._read() as snapshot:
            lookup = snapshot.lookup
            asked = lookup.asked(wanted.name)
            passes = path_passes(snapshot.handle, wanted.path)
            last = lookup.last_name(wanted.name, asked)
            if last == wanted.name:
                uses_of = lookup.uses(last)
            else:
                uses_of = lookup.uses(last, languages_of(asked))
                uses_of = list(uses_that_may_mean(uses_of, asked, lookup))
            found = [
                each
                for each in uses_of
                if passes is None or passes(each.source.path, each.source.language)
            ]
            uses = Counter(each.occurrence.use.value for each in found)
            if wanted.use is not None:
                found = [each for each in found if each.occurrence.use is wanted.use]
            found.sort(key=_order)
            shown = found[: wanted.limit]
            paths = [*(each.source.path for each in shown), *_paths_of(asked)]
            return ReferenceAnswer(
                name=wanted.name,
                definitions=self._shown(asked),
                references=tuple(map(reference_of, shown)),
                total=len(found),
                uses=dict(uses),
                certainties=dict(Counter(each.resolution.certainty.value for each in found)),
                truncated=len(found) > len(shown) or lookup.is_cut,
                coverage=snapshot.coverage,
                notes=(
                    *snapshot.notes,
                    *snapshot.stale_notes(paths),
                    *snapshot.path_notes(wanted.path, is_empty=not found),
                ),
            )

    def uses_of_no_symbol(self, name: str) -> tuple[tuple[Reference, ...], bool]:
        """Return the uses of a name that no symbol has, and whether there may be more of them.

        None of a keyword, and none that is only in prose. Few files are read.
        """
        from engine.references.places import is_keyword  # for a name that is not found

        with self._read() as snapshot:
            lookup = snapshot.lookup
            places = [] if lookup.asked(name) else lookup.places_with(name)
            found = [
                use
                for uses in lookup.uses_at(places[:_MOST_TRIED], name)
                for use in uses
                if not is_keyword(use.source, name, use.occurrence, is_defined=False)
            ]
            if all(each.occurrence.use is Use.TEXT for each in found):
                return (), False
            return tuple(map(reference_of, found)), len(places) > _MOST_TRIED

    def warm(self) -> None:
        """Read which files refer to which names, in a process that answers many questions."""
        with self._read() as snapshot:
            snapshot.kept.names(snapshot.handle)

    @contextmanager
    def telling(self, name: str) -> Iterator[TellingUses]:
        """Open the uses of a name that say most about it."""
        with self._read() as snapshot:
            yield TellingUses(snapshot.lookup, name, snapshot.kept)

    def callers(self, wanted: CallRequest) -> CallAnswer:
        """Return the functions that call one, directly or through others.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        return self.follow(wanted, Direction.CALLERS)

    def callees(self, wanted: CallRequest) -> CallAnswer:
        """Return the functions of the project that one calls, directly or through others.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        return self.follow(wanted, Direction.CALLEES)

    def implementations(self, wanted: InheritanceRequest) -> CallAnswer:
        """Return the subtypes and implementations of a type, or what overrides a method.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        return self.follow(wanted, Direction.IMPLEMENTATIONS)

    def bases(self, wanted: InheritanceRequest) -> CallAnswer:
        """Return the bases of a type, or what a method overrides.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        return self.follow(wanted, Direction.BASES)

    def follow(self, wanted: CallRequest | InheritanceRequest, direction: Direction) -> CallAnswer:
        """Return what is found in one direction from a name, directly or through others.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        check_request(wanted)
        with self._read() as snapshot:
            lookup = snapshot.lookup
            asked = lookup.asked(wanted.name)
            is_call = direction in (Direction.CALLERS, Direction.CALLEES)
            walk = Walk(lookup, direction) if is_call else InheritanceWalk(lookup, direction)
            asked = walk.starts(asked)
            edges = walk.edges(asked, wanted.depth)
            shown = edges[: wanted.limit]
            called = (path for each in shown for path in (each.path, each.call_path))
            is_empty = direction is Direction.CALLEES and not edges
            gaps = snapshot.gap_notes([each.path for each in asked]) if is_empty else ()
            return CallAnswer(
                name=wanted.name,
                direction=direction,
                definitions=self._shown(asked),
                edges=tuple(shown),
                total=len(edges),
                certainties=dict(Counter(edge.certainty.value for edge in edges)),
                truncated=len(edges) > wanted.limit or walk.is_cut or lookup.is_cut,
                coverage=snapshot.coverage,
                notes=(
                    *snapshot.notes,
                    *walk.notes,
                    *snapshot.stale_notes([*called, *_paths_of(asked)]),
                    *gaps,
                ),
            )

    def impact(self, wanted: ImpactRequest) -> ImpactAnswer:
        """Return what depends on a definition, on a file or on the uncommitted changes.

        Raises:
            InvalidInputError: A field of the request is invalid, or there is no git repository
                to tell what changed.
            FileNotIndexedError: The file is not in the index.
        """
        check_request(wanted)
        check_one(wanted)
        checked_out = read_branch(self._root)
        changed = self._changed(checked_out) if wanted.changed else None
        with read_snapshot(self._store, self._searcher, checked_out, self._kept) as snapshot:
            lookup = snapshot.lookup
            if wanted.path is not None:
                _check_indexed(snapshot, wanted.path)
            start = changed or start_of(lookup, wanted)
            lookup.assume(start.rows)
            return answer_from(
                start,
                wanted,
                lookup,
                coverage=snapshot.coverage,
                notes=snapshot.branch_notes,
            )

    def definitions(self, name: str, kind: str | None = None) -> list[SymbolHit]:
        """Return the definitions that a qualified name means, such as ``module.Class``.

        Args:
            name: The name; one without a qualifier means nothing here.
            kind: A kind or a group of kinds.
        """
        if last_name_of(name) == name:
            return []
        kinds = kinds_of(kind) if kind else None
        with self._read() as snapshot:
            rows = snapshot.lookup.definitions(name)
            return [*self._shown([row for row in rows if kinds is None or row.kind in kinds])]

    def definitions_at(self, path: str, line: int, column: int) -> tuple[Definition, ...]:
        """Return the definitions that the name at a place can mean, the likeliest first.

        Args:
            path: Relative to the root.
            line: Counted from 1.
            column: In characters, counted from 1; anywhere in the name.
        """
        with self._read() as snapshot:
            lookup = snapshot.lookup
            source = lookup.source(path)
            found = lookup.found_at(source, line, column) if source else None
            if found is None:
                return ()
            resolution = found.resolution
            return tuple(
                Definition(symbol=symbol, certainty=resolution.certainty)
                for symbol in self._shown(resolution.targets)
            )

    def _changed(self, checked_out: str) -> Start:
        """Return the uncommitted changes.

        Git's files are read, and texts parsed, while no transaction is open.
        """
        from engine.references.changes import read_changes, stale_note, start_at_changes

        with self._store.read() as handle:
            branch = self._searcher.branch(handle, None, checked_out)
            known = files.read_paths(handle, branch.id)
        changes = read_changes(self._root, known)
        start = start_at_changes(changes, self._pool)
        with self._store.read() as handle:
            facts = (files.read_file(handle, branch.id, each.path) for each in changes.files)
            paths = (each.path for each in changes.files)
            stored = {
                path: each.content_hash for path, each in zip(paths, facts, strict=True) if each
            }
        start.notes += stale_note(changes.files, stored)
        return start

    def relations(self, path: str) -> list[Relations]:
        """Return what the definitions of a file refer to; empty for one that is not indexed.

        Args:
            path: Relative to the root.
        """
        with self._read() as snapshot:
            source = snapshot.lookup.source(path)
            return relations_of(source, snapshot.lookup) if source else []

    def unused(self, wanted: UnusedRequest, cancelled: CancelToken = never) -> UnusedAnswer:
        """Return the definitions that nothing uses, the most certain first.

        Args:
            wanted: Which.
            cancelled: Polled while files are read.

        Raises:
            InvalidInputError: A field of the request is invalid.
            Cancelled: ``cancelled`` returned true.
        """
        from engine.references.unused import find_unused

        check_request(wanted)
        with self._read() as snapshot:
            found = find_unused(
                snapshot.handle, snapshot.branch, snapshot.lookup, wanted, cancelled
            )
            asked = [each for each in found.definitions if wanted.exported or not each.exported]
            return UnusedAnswer(
                definitions=tuple(asked[: wanted.limit]),
                total=len(asked),
                exported=len(found.definitions) - len(asked),
                left_out=found.left_out,
                truncated=len(asked) > wanted.limit or found.is_cut,
                coverage=snapshot.coverage,
                notes=(
                    *snapshot.notes,
                    *snapshot.path_notes(wanted.path, is_empty=not asked),
                    *found.notes,
                ),
            )

    def imports(self, wanted: ImportsRequest, cancelled: CancelToken = never) -> ImportGraph:
        """Return which folders or files import which, and their cycles.

        Args:
            wanted: Which.
            cancelled: Polled while files are read.

        Raises:
            InvalidInputError: A field of the request is invalid.
            Cancelled: ``cancelled`` returned true.
        """
        from engine.references.import_graph import find_imports

        check_request(wanted)
        with self._read() as snapshot:
            found = find_imports(snapshot.handle, snapshot.branch.id, wanted, cancelled)
            is_cut = max(len(found.edges), len(found.cycles)) > wanted.limit
            late = () if found.is_whole else ("not all files could be read in time",)
            return ImportGraph(
                edges=tuple(found.edges[: wanted.limit]),
                total=len(found.edges),
                cycles=tuple(found.cycles[: wanted.limit]),
                total_cycles=len(found.cycles),
                imports=found.imports,
                external=tuple(found.external),
                external_imports=found.external_imports,
                missing=found.missing,
                truncated=is_cut or not found.is_whole,
                coverage=snapshot.coverage,
                notes=(
                    *snapshot.notes,
                    *snapshot.path_notes(wanted.path, is_empty=not found.edges),
                    *late,
                ),
            )

    def _read(self) -> AbstractContextManager[Snapshot]:
        return read_snapshot(self._store, self._searcher, read_branch(self._root), self._kept)

    def _shown(self, rows: Sequence[SymbolRow]) -> tuple[SymbolHit, ...]:
        return tuple(
            symbol_hit(ScoredSymbol(row, 1.0, NOT_SCORED), display_path(self._root))
            for row in rows[:_MOST_SHOWN]
        )


def _check_indexed(snapshot: Snapshot, path: str) -> None:
    if files.read_file(snapshot.handle, snapshot.branch.id, path) is None:
        raise missing_file(snapshot.handle, snapshot.branch.id, path)


def _paths_of(rows: Sequence[SymbolRow]) -> list[str]:
    """Return the files of the definitions that an answer shows."""
    return [row.path for row in rows[:_MOST_SHOWN]]


def _order(found: Found) -> tuple[int, bool, bool, bool, str, int]:
    use = found.occurrence.use
    return (
        RANK[found.resolution.certainty],
        use is Use.TEXT,
        use is not Use.DEFINITION,
        is_test(found.source.path),
        found.source.path,
        found.occurrence.offset,
    )
