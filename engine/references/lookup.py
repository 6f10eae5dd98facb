"""Definitions and uses of names within one snapshot of a branch, each read once."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.humanize import count
from engine.records import SearchRequest
from engine.reference_records import Certainty
from engine.references.resolve import Definitions, Resolution, Resolver, aliases_of
from engine.references.sources import Occurrence, Source
from engine.search.lexical import last_name_of, qualified_form
from engine.search.query import Query, storable
from engine.search.selection import filters_of
from engine.store import references, symbols
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.project import BranchRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import has_references
from engine.syntax.terms import words_of

_MOST_FILES = 2000  # in which a name is looked for
_MOST_DEFINITIONS = 500  # of a name

#: The order of certainties, the most certain first.
RANK = {certainty: place for place, certainty in enumerate(Certainty)}


class Found(NamedTuple):
    """A use of a name, resolved."""

    source: Source
    occurrence: Occurrence
    resolution: Resolution


class Lookup:
    """Reads definitions and uses of names within one snapshot."""

    def __init__(self, handle: Handle, branch: BranchRow) -> None:
        self._handle = handle
        self._branch = branch
        self._filters = filters_of(handle, Query(text=""), SearchRequest(query=""), branch.id)
        self._by_name: dict[str, list[SymbolRow]] = {}
        self._sources: dict[str, Source] = {}
        self._uses: dict[str, list[Found]] = {}
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

    def uses(self, name: str) -> Sequence[Found]:
        """Return all uses of a name, with what each means."""
        if name not in self._uses:
            self._uses[name] = list(self._read_uses(name)) if name else []
        return self._uses[name]

    def _read_uses(self, name: str) -> Iterator[Found]:
        definitions = Definitions(self._named(name))
        unread: set[str] = set()
        for source in self._sources_with(name):
            occurrences = list(source.occurrences(name))
            if not occurrences:
                continue
            if not source.is_marked and has_references(source.language):
                unread.add(source.path)
            resolver = Resolver(source, name, definitions, occurrences, self)
            for occurrence in occurrences:
                yield Found(source, occurrence, resolver.of(occurrence))
            for alias in aliases_of(source, name, occurrences):
                for occurrence in source.occurrences(alias):
                    if not source.text.endswith(b"as ", 0, occurrence.offset):  # its import
                        yield Found(source, occurrence, resolver.of(occurrence))
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


def can_mean(resolution: Resolution, row: SymbolRow) -> bool:
    """Return whether a use can mean a definition, or an overload of it."""
    if not resolution.targets:
        return False
    return any(
        (each.path, each.qualified_name) == (row.path, row.qualified_name)
        for each in resolution.targets
    )
