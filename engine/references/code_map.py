"""A map of a project: its most central definitions, for a reader who has never seen it."""

import threading
from collections.abc import Sequence

import numpy as np

from engine.parameters import check_request
from engine.reference_records import MapAnswer, MappedSymbol, MapRequest
from engine.references.kept import Kept
from engine.references.name_graph import Floats, NameGraph, read_name_graph
from engine.references.snapshot import read_snapshot
from engine.search.query import Query
from engine.search.searcher import Searcher
from engine.search.selection import FilePredicate, filters_of, path_passes
from engine.search_records import Hit, SearchRequest
from engine.source.git import read_branch
from engine.store import symbols
from engine.store.connection import Handle, Store
from engine.store.filters import BranchSet
from engine.store.project import BranchRow, count_changes
from engine.store.symbols import SymbolRow

_MOST_HITS = 20  # of the query
#: How the attention of a reader with a query or a path is split: there, and everywhere.
_ELSEWHERE = 0.05
#: What the definitions of a file share of its rank because the reader begins there.
_OWN_SHARE = 0.5
_HIT_SHARE = 0.5  # what a hit's own definition has of its attention
_READ_AT_ONCE = 200


class CodeMap:
    """Draws maps of one project, and keeps its graph until the index changes. Thread-safe.

    Args:
        store: The project's database.
        searcher: Of the project, for branches, coverage, and what a query finds.
        root: The resolved root.
        kept: What the process keeps of the project.
    """

    def __init__(self, store: Store, searcher: Searcher, root: str, kept: Kept) -> None:
        self._store = store
        self._searcher = searcher
        self._root = root
        self._texts = kept
        self._lock = threading.Lock()
        self._kept: tuple[tuple[int | None, int], NameGraph] | None = None

    @property
    def size_bytes(self) -> int:
        """The memory of what is kept."""
        kept = self._kept
        return kept[1].size_bytes if kept else 0

    def evict(self) -> None:
        """Drop what is kept."""
        self._kept = None

    def draw(self, wanted: MapRequest) -> MapAnswer:
        """Return the most central definitions, by rank; those of tests only if the path is theirs.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        check_request(wanted)
        checked_out = read_branch(self._root)
        hits = self._hits(wanted.query, checked_out)
        with read_snapshot(self._store, self._searcher, checked_out, self._texts) as snapshot:
            handle, branch = snapshot.handle, snapshot.branch
            graph = self._graph_of(handle, branch)
            passes = path_passes(handle, wanted.path)
            begins = _Beginnings(graph, hits, wanted.path, passes)
            files = graph.file_ranks(begins.attention)
            ranks = graph.definition_ranks(files) + begins.own_ranks(files)
            for number, share in begins.found(handle, branch).items():
                ranks[number] += share
            if begins.is_nowhere:
                ranks[:] = 0
            ranks *= begins.file_worth()[graph.file_of]
            shown = self._shown(handle, branch, graph, ranks, wanted.limit)
            total = int(np.count_nonzero(ranks))
            return MapAnswer(
                symbols=tuple(shown),
                total=total,
                files=len(graph.paths),
                truncated=total > len(shown),
                coverage=snapshot.coverage,
                notes=(
                    *snapshot.notes,
                    *snapshot.stale_notes(each.path for each in shown),
                    *begins.notes,
                ),
            )

    def _hits(self, query: str | None, checked_out: str) -> Sequence[Hit]:
        if not query or not query.strip():
            return ()
        request = SearchRequest(query=query, limit=_MOST_HITS, context=False)
        return self._searcher.search(request, checked_out).hits

    def _graph_of(self, handle: Handle, branch: BranchRow) -> NameGraph:
        state = (count_changes(handle), branch.id)
        with self._lock:
            if self._kept is None or self._kept[0] != state:
                self._kept = state, read_name_graph(handle, branch.id)
            return self._kept[1]

    def _shown(
        self, handle: Handle, branch: BranchRow, graph: NameGraph, ranks: Floats, limit: int
    ) -> list[MappedSymbol]:
        """Return the definitions with the highest ranks; overloads are one."""
        filters = filters_of(
            handle, Query(text=""), SearchRequest(query=""), BranchSet((branch.id,))
        )
        order = np.argsort(-ranks, kind="stable")
        order = order[: int(np.count_nonzero(ranks))]
        shown: dict[tuple[str, str], MappedSymbol] = {}
        for start in range(0, len(order), _READ_AT_ONCE):
            numbers = order[start : start + _READ_AT_ONCE].tolist()
            ids = [int(graph.symbol_ids[number]) for number in numbers]
            rows = symbols.read_symbols(handle, ids, filters)
            for number, symbol_id in zip(numbers, ids, strict=True):
                row = rows.get(symbol_id)
                if row and (row.path, row.qualified_name) not in shown:
                    mapped = _mapped(row, float(ranks[number]), int(graph.users[number]))
                    shown[row.path, row.qualified_name] = mapped
                if len(shown) == limit:
                    return list(shown.values())
        return list(shown.values())


class _Beginnings:
    """Where a reader with a query or a path begins to read."""

    def __init__(
        self,
        graph: NameGraph,
        hits: Sequence[Hit],
        path: str | None,
        passes: FilePredicate | None,
    ) -> None:
        self._graph = graph
        self._number_of = {each: number for number, each in enumerate(graph.paths)}
        self._hits = [hit for hit in hits if hit.path in self._number_of]
        self._places = np.zeros(len(graph.paths), dtype=np.float32)
        self.notes: list[str] = []
        inside: list[int] = []
        if passes:
            inside = [number for each, number in self._number_of.items() if passes(each, "")]
            if not inside:
                self.notes.append(f"no indexed file is below {path}")
        self._inside = inside
        if inside:
            self._places[inside] = 1.0 / len(inside)
        for place, hit in enumerate(self._hits):
            self._places[self._number_of[hit.path]] += _share_of(place)

    @property
    def is_nowhere(self) -> bool:
        """Whether the path has no file, and nothing else is asked for."""
        return bool(self.notes) and not self._hits

    @property
    def attention(self) -> Floats | None:
        """How much each file is wanted; None for everywhere alike."""
        total = self._places.sum()
        return self._places / total + np.float32(_ELSEWHERE / len(self._places)) if total else None

    def own_ranks(self, file_ranks: Floats) -> Floats:
        """Return what definitions have because the reader begins in their file."""
        graph = self._graph
        each = np.bincount(graph.file_of, minlength=len(graph.paths))
        shares = np.where(self._places > 0, _OWN_SHARE * file_ranks / np.maximum(each, 1), 0.0)
        return shares[graph.file_of].astype(np.float32)

    def found(self, handle: Handle, branch: BranchRow) -> dict[int, float]:
        """Return what the definitions that the query found have for that."""
        by_path: dict[str, dict[str, float]] = {}
        for place, hit in enumerate(self._hits):
            if hit.symbol:
                by_path.setdefault(hit.path, {}).setdefault(hit.symbol, _share_of(place))
        shares = {
            row.id: shares[row.qualified_name]
            for path, shares in by_path.items()
            for row in symbols.outline(handle, branch.id, path)
            if row.qualified_name in shares
        }
        ids = self._graph.symbol_ids
        return {
            int(number): _HIT_SHARE * shares[int(ids[number])]
            for number in np.flatnonzero(np.isin(ids, list(shares)))
        }

    def file_worth(self) -> Floats:
        """Return what the definitions of each file count: those of tests nothing, as a rule."""
        graph = self._graph
        worth = np.where(graph.is_test, np.float32(0.0), graph.worth)
        if self._inside:
            worth[self._inside] = 1.0
        return worth


def _share_of(place: int) -> float:
    """Return the attention of the hit at a place; those of all hits sum up to 1 at most."""
    return 1.0 / ((place + 2) * 3)


def _mapped(row: SymbolRow, rank: float, users: int) -> MappedSymbol:
    return MappedSymbol(
        path=row.path,
        line=row.line_start,
        name=row.qualified_name,
        kind=row.kind,
        signature=row.signature,
        rank=round(rank, 6),
        users=users,
    )
