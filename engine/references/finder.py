"""References of a name, and who calls whom."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.humanize import count
from engine.parameters import check_request
from engine.records import SearchRequest, SymbolHit, display_path
from engine.reference_records import (
    CallAnswer,
    CallEdge,
    CallRequest,
    Certainty,
    Definition,
    Direction,
    Reference,
    ReferenceAnswer,
    ReferenceRequest,
    Use,
)
from engine.references.resolve import Resolution, Resolver, aliases_of
from engine.references.sources import Occurrence, Source
from engine.search.features import NOT_SCORED, is_test
from engine.search.lexical import last_name_of, qualified_form
from engine.search.query import Query, storable
from engine.search.searcher import Searcher
from engine.search.selection import branch_notes, filters_of, path_predicate
from engine.search.symbols import ScoredSymbol, symbol_hit
from engine.source.git import read_branch
from engine.store import references, symbols
from engine.store.compression import unpack_text
from engine.store.connection import Handle, Store
from engine.store.project import BranchRow
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import Role, has_references, name_pattern
from engine.syntax.terms import words_of

_MOST_FILES = 2000  # in which a name is looked for
_MOST_DEFINITIONS = 500  # of a name
_MOST_SHOWN = 20  # definitions in an answer
_MOST_FUNCTIONS = 400  # that are followed for callers of callers
_MOST_LINES = 20  # of calls in one edge
_RANK = {certainty: place for place, certainty in enumerate(Certainty)}


class _Found(NamedTuple):
    """A use of a name, resolved."""

    source: Source
    occurrence: Occurrence
    resolution: Resolution


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
            lookup = _Lookup(handle, branch)
            asked = lookup.definitions(wanted.name)
            passes = path_predicate(wanted.path, position=None) if wanted.path else None
            found = [
                each
                for each in lookup.uses(last_name_of(storable(wanted.name).strip()))
                if _may_mean(each.resolution, asked, wanted.name)
                and (passes is None or passes(each.source.path, each.source.language))
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
            lookup = _Lookup(handle, self._searcher.branch(handle, None, checked_out))
            source = lookup.source(path)
            place = source.name_at(line, column) if source else None
            if source is None or place is None:
                return ()
            name, offset = place
            occurrences = list(source.occurrences(name))
            resolver = Resolver(source, name, lookup.definitions(name), occurrences)
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
            lookup = _Lookup(handle, branch)
            asked = lookup.definitions(wanted.name)
            walk = _Walk(lookup, direction)
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


class _Lookup:
    """Reads definitions and uses of names within one snapshot."""

    def __init__(self, handle: Handle, branch: BranchRow) -> None:
        self._handle = handle
        self._branch = branch
        self._filters = filters_of(handle, Query(text=""), SearchRequest(query=""), branch.id)
        self._by_name: dict[str, list[SymbolRow]] = {}
        self._sources: dict[str, Source] = {}
        self._uses: dict[str, list[_Found]] = {}
        self.is_cut = False
        self.notes: list[str] = []

    def definitions(self, name: str) -> list[SymbolRow]:
        """Return the definitions of a name in its case, public ones first."""
        name = storable(name).strip()
        last = last_name_of(name)
        rows = self._named(last)
        if last != name:
            qualifier = qualified_form(name).lower()
            rows = [
                row for row in rows if f".{row.qualified_name.lower()}".endswith(f".{qualifier}")
            ]
        return rows

    def _named(self, last: str) -> list[SymbolRow]:
        if last not in self._by_name:
            rows = symbols.find_symbols(
                self._handle, [last.lower()], self._filters, _MOST_DEFINITIONS
            )
            if len(rows) == _MOST_DEFINITIONS:
                self.is_cut = True
                self.notes.append(f"only {_MOST_DEFINITIONS} definitions of {last} were compared")
            rows = [row for row in rows if row.name == last]
            # A symbol row has one path; files of equal contents each define the name.
            paths = references.read_paths(
                self._handle, self._branch.id, [row.blob_id for row in rows]
            )
            self._by_name[last] = [
                row._replace(path=path) for row in rows for path in paths.get(row.blob_id, ())
            ][:_MOST_DEFINITIONS]
        return self._by_name[last]

    def uses(self, name: str) -> Sequence[_Found]:
        """Return all uses of a name, with what each means."""
        if name not in self._uses:
            self._uses[name] = list(self._read_uses(name)) if name else []
        return self._uses[name]

    def _read_uses(self, name: str) -> Iterator[_Found]:
        definitions = self._named(name)
        unread: set[str] = set()
        for source in self._sources_with(name):
            occurrences = list(source.occurrences(name))
            if not occurrences:
                continue
            if not source.is_marked and has_references(source.language):
                unread.add(source.path)
            resolver = Resolver(source, name, definitions, occurrences)
            for occurrence in occurrences:
                yield _Found(source, occurrence, resolver.of(occurrence))
            for alias in aliases_of(source, name, occurrences):
                for occurrence in source.occurrences(alias):
                    if not source.text.endswith(b"as ", 0, occurrence.offset):  # its import
                        yield _Found(source, occurrence, resolver.of(occurrence))
        if unread:
            self.notes.append(
                f"in {count(len(unread), 'file')} {name} is found as text: the references there"
                " were not read in time, or an earlier version indexed them (run cairn index)"
            )

    def source(self, path: str) -> Source | None:
        """Return a file of the branch."""
        if path not in self._sources:
            rows = references.read_sources(self._handle, self._branch.id, 1, path=path)
            self._keep(rows)
        return self._sources.get(path)

    def _sources_with(self, name: str) -> list[Source]:
        words = words_of(name)
        limit = _MOST_FILES + 1
        if words:
            match = 'body : "{}"'.format(" ".join(words))
            rows = references.read_sources_with(self._handle, self._branch.id, match, limit)
        else:  # a name of single letters, which the keyword index leaves out
            rows = references.read_sources(self._handle, self._branch.id, limit)
        if len(rows) == limit:
            self.is_cut = True
            note = f"{name} may stand in more than {_MOST_FILES:,} files; only these were read"
            if note not in self.notes:
                self.notes.append(note)
        rows = rows[:_MOST_FILES]
        self._keep(rows, name)
        return [self._sources[row.path] for row in rows if row.path in self._sources]

    def _keep(self, rows: Sequence[references.SourceRow], name: str = "") -> None:
        """Keep the files that have a name; the keyword index also gives those with its words."""
        new = [row for row in rows if row.path not in self._sources]
        texts = {row.path: unpack_text(row.packed_text) for row in new}
        new = [row for row in new if name.encode() in texts[row.path]]
        spans = references.read_symbol_spans(self._handle, [row.blob_id for row in new])
        for row in new:
            self._sources[row.path] = Source(row, texts[row.path], spans.get(row.blob_id, []))


class _Walk:
    """Follows calls from function to function, each once."""

    def __init__(self, lookup: _Lookup, direction: Direction) -> None:
        self._lookup = lookup
        self._step = self._callers_of if direction is Direction.CALLERS else self._callees_of
        self.is_cut = False

    def edges(self, start: Sequence[SymbolRow], depth: int) -> list[CallEdge]:
        """Return the functions that are reached, by depth, then the most certain first."""
        seen = {(row.path, row.qualified_name) for row in start}
        edges: list[CallEdge] = []
        level: list[tuple[SymbolRow, Certainty]] = [(row, Certainty.EXACT) for row in start]
        for distance in range(1, depth + 1):
            found: dict[tuple[str, str], CallEdge] = {}
            following: list[tuple[SymbolRow, Certainty]] = []
            for row, certainty in level:
                if len(edges) + len(found) >= _MOST_FUNCTIONS:
                    self.is_cut = True
                    break
                for edge, target in self._step(row, distance, certainty):
                    key = (edge.path, edge.name)
                    if key in seen:
                        continue
                    known = found.get(key)
                    if known is None or _RANK[edge.certainty] < _RANK[known.certainty]:
                        found[key] = edge
                    if known is None and target and edge.certainty is not Certainty.NAME:
                        following.append((target, edge.certainty))
            seen.update(found)
            edges += sorted(
                found.values(),
                key=lambda edge: (_RANK[edge.certainty], edge.is_test, edge.path, edge.line),
            )
            level = following
        return edges

    def _callers_of(
        self, row: SymbolRow, depth: int, certainty: Certainty
    ) -> Iterator[tuple[CallEdge, SymbolRow | None]]:
        groups: dict[tuple[str, str], list[_Found]] = {}
        around: dict[tuple[str, str], SpanRow | None] = {}
        for found in self._lookup.uses(row.name):
            if found.occurrence.use is not Use.CALL or not _means(found.resolution, row):
                continue
            span = found.source.enclosing(found.occurrence.offset)
            key = (found.source.path, span.qualified_name if span else "")
            groups.setdefault(key, []).append(found)
            around[key] = span
        for key, calls in groups.items():
            path, name = key
            span = around[key]
            best = min((call.resolution.certainty for call in calls), key=_RANK.__getitem__)
            source = calls[0].source
            edge = CallEdge(
                name=name or path,
                path=path,
                line=span.line_start if span else 1,
                depth=depth,
                certainty=max(best, certainty, key=_RANK.__getitem__),
                via=row.qualified_name,
                via_path=row.path,
                call_path=path,
                call_lines=_lines(source, (call.occurrence.offset for call in calls)),
                is_test=is_test(path),
            )
            yield edge, _row_of(span, source) if span else None

    def _callees_of(
        self, row: SymbolRow, depth: int, certainty: Certainty
    ) -> Iterator[tuple[CallEdge, SymbolRow | None]]:
        source = self._lookup.source(row.path)
        span = next((each for each in source.spans if each.id == row.id), None) if source else None
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
            resolver = Resolver(source, called, definitions, occurrences)
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
                    certainty=max(own, certainty, key=_RANK.__getitem__),
                    via=row.qualified_name,
                    via_path=row.path,
                    call_path=source.path,
                    call_lines=_lines(source, lines),
                    is_test=is_test(target.path),
                )
                yield edge, target


def _row_of(span: SpanRow, source: Source) -> SymbolRow:
    return SymbolRow(
        span.id,
        span.blob_id,
        source.path,
        source.language,
        False,
        span.name,
        span.qualified_name,
        span.kind,
        span.signature,
        "",
        span.line_start,
        span.line_start,
        True,
    )


def _lines(source: Source, offsets: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({source.line_of(offset) for offset in offsets}))[:_MOST_LINES]


def _means(resolution: Resolution, row: SymbolRow) -> bool:
    """Return whether a use can mean a definition, or an overload of it."""
    if not resolution.targets:
        return False
    return any(
        (each.path, each.qualified_name) == (row.path, row.qualified_name)
        for each in resolution.targets
    )


def _may_mean(resolution: Resolution, asked: Sequence[SymbolRow], name: str) -> bool:
    """Return whether a use can mean one of the definitions that were asked for."""
    if last_name_of(name) == name:
        return True
    return any(_means(resolution, row) for row in asked)


def _order(found: _Found) -> tuple[int, bool, bool, str, int]:
    use = found.occurrence.use
    return (
        _RANK[found.resolution.certainty],
        use is not Use.DEFINITION,
        is_test(found.source.path),
        found.source.path,
        found.occurrence.offset,
    )


def _reference_of(found: _Found) -> Reference:
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
