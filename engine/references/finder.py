"""References of a name, and who calls whom."""

from collections import Counter
from collections.abc import Sequence

from engine.parameters import check_request
from engine.records import SymbolHit, display_path
from engine.reference_records import (
    CallAnswer,
    CallRequest,
    Certainty,
    Definition,
    Direction,
    Reference,
    ReferenceAnswer,
    ReferenceRequest,
    Use,
)
from engine.references.calls import Walk
from engine.references.lookup import RANK, Found, Lookup, uses_that_may_mean
from engine.references.resolve import Resolver
from engine.search.features import NOT_SCORED, is_test
from engine.search.lexical import last_name_of
from engine.search.query import storable
from engine.search.searcher import Searcher
from engine.search.selection import branch_notes, path_predicate
from engine.search.symbols import ScoredSymbol, symbol_hit
from engine.source.git import read_branch
from engine.store.connection import Store
from engine.store.symbols import SymbolRow

_MOST_SHOWN = 20  # definitions in an answer


class References:
    """Answers who uses the names of one project.

    Args:
        store: The project's database.
        searcher: Of the project, for branches and coverage.
        root: The resolved root.
    """

    def __init__(self, store: Store, searcher: Searcher, root: str) -> None:
        self._store = store
        self._searcher = searcher
        self._root = root

    def find(self, wanted: ReferenceRequest) -> ReferenceAnswer:
        """Return the uses of a name, the most certain first, then code before tests, by place.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        check_request(wanted)
        checked_out = read_branch(self._root)
        with self._store.read() as handle:
            branch = self._searcher.branch(handle, None, checked_out)
            lookup = Lookup(handle, branch)
            asked = lookup.definitions(wanted.name)
            passes = path_predicate(wanted.path, position=None) if wanted.path else None
            last = last_name_of(storable(wanted.name).strip())
            uses_of = lookup.uses(last)
            if last != wanted.name:
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
            coverage = self._searcher.coverage(handle, branch)
            shown = found[: wanted.limit]
            return ReferenceAnswer(
                name=wanted.name,
                definitions=self._shown(asked),
                references=tuple(map(_reference_of, shown)),
                total=len(found),
                uses=dict(uses),
                certainties=dict(Counter(each.resolution.certainty.value for each in found)),
                truncated=len(found) > len(shown) or lookup.is_cut,
                coverage=coverage,
                notes=(
                    *branch_notes(branch, checked_out, is_elsewhere=branch.name != checked_out),
                    *lookup.notes,
                ),
            )

    def callers(self, wanted: CallRequest) -> CallAnswer:
        """Return the functions that call one, directly or through others.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        return self._calls(wanted, Direction.CALLERS)

    def callees(self, wanted: CallRequest) -> CallAnswer:
        """Return the functions of the project that one calls, directly or through others.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        return self._calls(wanted, Direction.CALLEES)

    def definitions_at(self, path: str, line: int, column: int) -> tuple[Definition, ...]:
        """Return the definitions that the name at a place can mean, the likeliest first.

        Args:
            path: Relative to the root.
            line: Counted from 1.
            column: In characters, counted from 1; anywhere in the name.
        """
        checked_out = read_branch(self._root)
        with self._store.read() as handle:
            lookup = Lookup(handle, self._searcher.branch(handle, None, checked_out))
            source = lookup.source(path)
            place = source.name_at(line, column) if source else None
            if source is None or place is None:
                return ()
            name, offset = place
            occurrences = list(source.occurrences(name))
            resolver = Resolver(source, name, lookup.definitions(name), occurrences, lookup)
            found = next((each for each in occurrences if each.offset == offset), None)
            if found is None:  # in a comment or a literal
                return ()
            resolution = resolver.of(found)
            return tuple(
                Definition(symbol=symbol, certainty=resolution.certainty)
                for symbol in self._shown(resolution.targets)
            )

    def _calls(self, wanted: CallRequest, direction: Direction) -> CallAnswer:
        check_request(wanted)
        checked_out = read_branch(self._root)
        with self._store.read() as handle:
            branch = self._searcher.branch(handle, None, checked_out)
            lookup = Lookup(handle, branch)
            asked = lookup.definitions(wanted.name)
            walk = Walk(lookup, direction)
            edges = walk.edges(asked, wanted.depth)
            return CallAnswer(
                name=wanted.name,
                direction=direction,
                definitions=self._shown(asked),
                edges=tuple(edges[: wanted.limit]),
                total=len(edges),
                truncated=len(edges) > wanted.limit or walk.is_cut or lookup.is_cut,
                coverage=self._searcher.coverage(handle, branch),
                notes=(
                    *branch_notes(branch, checked_out, is_elsewhere=branch.name != checked_out),
                    *lookup.notes,
                ),
            )

    def _shown(self, rows: Sequence[SymbolRow]) -> tuple[SymbolHit, ...]:
        return tuple(
            symbol_hit(ScoredSymbol(row, 1.0, NOT_SCORED), display_path(self._root))
            for row in rows[:_MOST_SHOWN]
        )


def _order(found: Found) -> tuple[int, bool, bool, str, int]:
    use = found.occurrence.use
    return (
        RANK[found.resolution.certainty],
        use is not Use.DEFINITION,
        is_test(found.source.path),
        found.source.path,
        found.occurrence.offset,
    )


def _reference_of(found: Found) -> Reference:
    source, (offset, use), resolution = found
    around = source.enclosing(offset)
    target = resolution.targets[0] if resolution.targets else None
    is_sure = target is not None and resolution.certainty is not Certainty.NAME
    return Reference(
        path=source.path,
        line=source.line_of(offset),
        column=source.column_of(offset),
        use=use,
        certainty=resolution.certainty,
        symbol=around.qualified_name if around else None,
        text=source.line_text(offset),
        is_test=is_test(source.path),
        target=target.qualified_name if target and is_sure else None,
        target_place=f"{target.path}:{target.line_start}" if target and is_sure else None,
    )
