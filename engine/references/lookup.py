"""Definitions and uses of names within one snapshot of a branch, each read once."""

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from engine.humanize import count
from engine.reference_records import Certainty, Reference, Use
from engine.references.exports import Modules
from engine.references.imports import path_segments
from engine.references.kept import KeptBranch
from engine.references.resolve import Definitions, Resolution, Resolver, aliases_of, family_of
from engine.references.sources import Contents, Occurrence, Source, offsets_of
from engine.search.features import is_test
from engine.search.lexical import last_name_of, qualified_form
from engine.search.query import Query, storable
from engine.search.selection import filters_of
from engine.search_records import SearchRequest
from engine.store import references, symbols
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.filters import BranchSet
from engine.store.project import BranchRow
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import has_references
from engine.syntax.terms import words_of

_MOST_FILES = 2000  # in which a name is looked for
_FIRST_READ = 8  # files that are read at first, then twice as many each time ...
_MOST_READ = 64  # ... up to so many
_MOST_DEFINITIONS = 500  # of a name
_MOST_HEADS = 30  # names of types and functions that are looked up for what they inherit or return
_MOST_ALIKE = 10  # types of a name that are read

_PLACE = re.compile(r"(.+?):([1-9]\d{0,8})(?::([1-9]\d{0,5}))?")

#: The order of certainties, the most certain first.
RANK = {certainty: place for place, certainty in enumerate(Certainty)}


class Found:
    """A use of a name; what it means is found when it is first asked for.

    Args:
        source: The file.
        occurrence: The place.
        meaning: What it means, or what can tell.
    """

    __slots__ = ("_meaning", "occurrence", "source")

    def __init__(
        self, source: Source, occurrence: Occurrence, meaning: Resolver | Resolution
    ) -> None:
        self.source = source
        self.occurrence = occurrence
        self._meaning = meaning

    @property
    def resolution(self) -> Resolution:
        """What it means."""
        if isinstance(self._meaning, Resolver):
            self._meaning = self._meaning.of(self.occurrence)
        return self._meaning

    def meaning(self, resolution: Resolution) -> "Found":
        """Return the same use with another meaning."""
        return Found(self.source, self.occurrence, resolution)


#: Uses, numbered in their order, by path and qualified name of what they can mean. Uses that can
#: mean the same definitions, often hundreds, share a list.
_Groups = dict[tuple[str, str], list[list[tuple[int, Found]]]]

#: Files by path, each with the id of its text.
_Places = Sequence[tuple[str, int]]
#: A name, and the only languages in which its uses are asked for; None: all.
_Asked = tuple[str, frozenset[str] | None]


class Lookup:
    """Reads definitions and uses of names within one snapshot.

    Args:
        handle: The transaction.
        branch: The branch.
        kept: What the process keeps of the branch.
    """

    def __init__(self, handle: Handle, branch: BranchRow, kept: KeptBranch) -> None:
        self._handle = handle
        self._branch = branch
        self._kept = kept
        self._filters = filters_of(
            handle, Query(text=""), SearchRequest(query=""), BranchSet((branch.id,))
        )
        self._by_name: dict[str, list[SymbolRow]] = {}
        self._sources: dict[str, Source] = {}
        self._heads: dict[str, tuple[references.HeadRow, ...]] = {}
        self._uses: dict[_Asked, list[Found]] = {}
        self._marked: dict[_Asked, list[Found]] = {}
        self._calls: dict[tuple[str, frozenset[str]], _Groups] = {}  # by name and languages
        self.modules = Modules(self.source)
        self.is_cut = False
        self.notes: list[str] = []

    def definitions(self, name: str) -> list[SymbolRow]:
        """Return the definitions of a name in its case, public ones first.

        What stands before its last dots is the class around it, or else its module or folder, and
        its case counts unless nothing else is called so.
        """
        name = storable(name).strip()
        last = last_name_of(name)
        rows = self._named(last)
        if last == name:
            return rows
        ending = f".{qualified_form(name)}"
        inside = [row for row in rows if f".{row.qualified_name}".endswith(ending)]
        if inside := inside or _of_module(rows, ending[1:].split(".")):
            return inside
        ending = ending.lower()
        return [row for row in rows if f".{row.qualified_name.lower()}".endswith(ending)]

    def asked(self, name: str) -> list[SymbolRow]:
        """Return the definitions of a name, or of what stands at a place.

        Args:
            name: A name as for ``definitions``; ``path:line`` for the definition that begins in the
                line, or else is around it; ``path:line:column`` for what the name there means.
        """
        place = _PLACE.fullmatch(name.strip())
        source = self.source(place[1].removeprefix("./")) if place else None
        if place is None or source is None:
            return self.definitions(name)
        line = int(place[2])
        if place[3]:
            found = self.found_at(source, line, int(place[3]))
            return list(found.resolution.targets) if found else []
        span = source.defined_at(line)
        rows = self.definitions(span.name) if span else []
        return [
            row
            for row in rows
            if span and (row.path, row.qualified_name) == (source.path, span.qualified_name)
        ]

    def last_name(self, name: str, asked: Sequence[SymbolRow]) -> str:
        """Return the name as which the uses of a name, or of what it asked for, are written."""
        return asked[0].name if asked else last_name_of(storable(name).strip())

    def found_at(self, source: Source, line: int, column: int) -> Found | None:
        """Return the use of a name at a place of a file, resolved, or None if there is none.

        Args:
            source: The file.
            line: Counted from 1.
            column: In characters, counted from 1; anywhere in the name.
        """
        place = source.name_at(line, column)
        if place is None:
            return None
        name, offset = place
        occurrences = list(source.occurrences(name))
        here = next((each for each in occurrences if each.offset == offset), None)
        if here is None:  # in a comment or a literal
            return None
        resolver = Resolver(source, name, self.definitions(name), occurrences, self)
        return Found(source, here, resolver.of(here))

    def heads(self, name: str) -> Sequence[references.HeadRow] | None:
        """Return the types and functions of a name, or None if too many names were asked for."""
        if name not in self._heads:
            if len(self._heads) >= _MOST_HEADS:
                return None
            rows = references.read_heads(self._handle, self._branch.id, name, _MOST_ALIKE)
            self._heads[name] = tuple(rows)
        return self._heads[name]

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

    def outline(self, path: str) -> list[SymbolRow]:
        """Return the definitions of a file in text order."""
        return symbols.outline(self._handle, self._branch.id, path)

    def assume(self, rows: Iterable[SymbolRow]) -> None:
        """Add definitions that the index does not have, before their names are looked for."""
        for row in rows:
            named = self._named(row.name)
            key = (row.path, row.qualified_name)
            if key not in {(each.path, each.qualified_name) for each in named}:
                named.append(row)

    def uses(self, name: str, languages: frozenset[str] | None = None) -> Sequence[Found]:
        """Return all uses of a name; at least those in some languages, if any are given."""
        asked = (name, None if (name, None) in self._uses else languages)
        if asked not in self._uses:
            self._uses[asked] = list(self._read_uses(*asked)) if name else []
        return self._uses[asked]

    def uses_of(self, row: SymbolRow) -> list[Found]:
        """Return the uses that can mean a definition, or an overload of it.

        What code in other languages means, which cannot refer to it, is not found out.
        """
        family = family_of(row.language)
        uses = (each for each in self.uses(row.name, family) if each.source.language in family)
        return [each for each in uses if can_mean(each.resolution, row)]

    def calls_of(self, row: SymbolRow) -> Sequence[Found]:
        """Return the calls that can mean a definition, or an overload of it."""
        family = family_of(row.language)
        if (row.name, family) not in self._calls:
            found = self.marked_uses(row.name, family)
            calls = (
                each
                for each in found
                if each.occurrence.use is Use.CALL and each.source.language in family
            )
            self._calls[row.name, family] = _by_targets(calls)
        groups = self._calls[row.name, family].get(_key_of(row), ())
        return [found for _, found in heapq.merge(*groups, key=itemgetter(0))]

    def marked_uses(self, name: str, languages: frozenset[str] | None = None) -> Sequence[Found]:
        """Return uses of a name among which are all that call, import or extend it, or are a type.

        At least those in some languages, if any are given. Only files that are known to refer to it
        are read.
        """
        asked = (name, languages)
        known = self._uses.get((name, None), self._uses.get(asked))
        if known is not None:
            return known
        if asked not in self._marked:
            self._marked[asked] = list(self._read_marked(*asked))
        return self._marked[asked]

    def has_languages(self, languages: Iterable[str]) -> bool:
        """Return whether there are texts in one of some languages."""
        return not self._kept.languages(self._handle).isdisjoint(languages)

    def in_languages(self, places: _Places, languages: frozenset[str] | None) -> _Places:
        """Return those of some files that are in some languages; None: all."""
        if languages is None:
            return places
        known = references.read_languages_of(self._handle, [blob_id for _, blob_id in places])
        return [place for place in places if known.get(place[1]) in languages]

    def places_with(self, name: str) -> _Places:
        """Return path and text of the first files that may have a name, by path."""
        known = self._kept.places_with(name)
        return (self._places_of_words(name) if known is None else known)[:_MOST_FILES]

    def places_marked(self, name: str) -> _Places | None:
        """Return path and text of the files that may call, import or extend a name, by path.

        Or in which it is a type; None if that is not known.
        """
        blob_ids = self._kept.names(self._handle).texts_with(name) if name else set()
        if blob_ids is None:
            return None
        paths = references.read_paths(self._handle, self._branch.id, list(blob_ids))
        return sorted((path, blob_id) for blob_id, each in paths.items() for path in each)

    def first_of(self, places: _Places, name: str) -> _Places:
        """Return as many of the files that may have a name as are read; note if that is less."""
        if len(places) <= _MOST_FILES:
            return places
        self.is_cut = True
        note = f"{name} may stand in more than {_MOST_FILES:,} files; only these were read"
        if note not in self.notes:
            self.notes.append(note)
        return places[:_MOST_FILES]

    def uses_at(self, places: _Places, name: str) -> Iterator[list[Found]]:
        """Yield the uses of a name in each of some files that has it.

        Files are read a few at a time, as the answer is asked for.
        """
        definitions = Definitions(self._named(name))
        at, size = 0, _FIRST_READ
        while at < len(places):
            for source in self._sources_at(places[at : at + size], name):
                yield list(self._uses_in_one(source, name, definitions))
            at += size
            size = min(2 * size, _MOST_READ)

    def _read_marked(self, name: str, languages: frozenset[str] | None) -> Iterator[Found]:
        self._named(name)  # whose notes come first
        places = self.places_marked(name)
        if places is None:
            return self._uses_in(self._sources_with(name, languages), name)
        return self._uses_in(self._sources_at(places, name, languages), name)

    def _read_uses(self, name: str, languages: frozenset[str] | None) -> Iterator[Found]:
        self._named(name)  # whose notes come first
        return self._uses_in(self._sources_with(name, languages), name)

    def _uses_in(self, sources: Iterable[Source], name: str) -> Iterator[Found]:
        definitions = Definitions(self._named(name))
        unread: set[str] = set()
        for source in sources:
            found = list(self._uses_in_one(source, name, definitions))
            if found and not source.is_marked and has_references(source.language):
                unread.add(source.path)
            yield from found
        if unread:
            self.notes.append(
                f"in {count(len(unread), 'file')} {name} is found as text: the references there"
                " were not read in time, or an earlier version indexed them (run cairn index)"
            )

    def _uses_in_one(self, source: Source, name: str, definitions: Definitions) -> Iterator[Found]:
        occurrences = list(source.occurrences(name))
        if occurrences:
            resolver = Resolver(source, name, definitions, occurrences, self)
            for occurrence in (*occurrences, *_of_aliases(source, name, occurrences)):
                yield Found(source, occurrence, resolver)

    def source(self, path: str) -> Source | None:
        """Return a file of the branch."""
        if path not in self._sources:
            for row in references.read_source(self._handle, self._branch.id, path):
                self._sources[path] = Source(path, self._contents_of(row))
        return self._sources.get(path)

    def _contents_of(self, row: references.SourceRow) -> Contents:
        kept = self._kept.texts.get(row.blob_id)
        if kept is not None:
            return kept
        spans = references.read_symbol_spans(self._handle, [row.blob_id])
        text = unpack_text(row.packed_text)
        return self._keep(Contents(row, text, spans.get(row.blob_id, [])))

    def _keep(self, contents: Contents) -> Contents:
        self._kept.texts.put(contents.blob_id, contents, contents.size_bytes)
        return contents

    def sources_with(self, text: str) -> list[Source]:
        """Return the files that have a text, by path."""
        return [each for each in self._sources_with(text) if text.encode() in each.text]

    def _sources_with(self, name: str, languages: frozenset[str] | None = None) -> list[Source]:
        known = self._kept.places_with(name)
        places = self._places_of_words(name) if known is None else known
        found = self._sources_at(places, name, languages)
        if known is None and languages is None and len(places) <= _MOST_FILES:
            said = name.encode()
            kept = [(each.path, each.blob_id) for each in found if offsets_of(said, each.text)]
            self._kept.keep_places(name, kept)
        return found

    def _places_of_words(self, name: str) -> list[tuple[str, int]]:
        """Return path and text of the files with the words of a name, one more than are read."""
        words = words_of(name)
        limit = _MOST_FILES + 1
        if not words:  # a name of single letters, which the keyword index leaves out
            return references.read_places(self._handle, self._branch.id, limit)
        match = 'body : "{}"'.format(" ".join(words))
        return references.read_places_with(self._handle, self._branch.id, match, limit)

    def _sources_at(
        self, places: _Places, name: str, languages: frozenset[str] | None = None
    ) -> list[Source]:
        """Return the first of some files that have a name, or were read before."""
        places = self.in_languages(self.first_of(places, name), languages)
        self._read_sources(places, name)
        found = (self._sources.get(path) for path, _ in places)
        return [source for source in found if source is not None]

    def _read_sources(self, places: _Places, name: str) -> None:
        """Read the files that have a name; the keyword index also gives those with its words."""
        said = name.encode()
        new = [place for place in places if place[0] not in self._sources]
        contents: dict[int, Contents] = {}
        unknown: list[int] = []
        for blob_id in {blob_id for _, blob_id in new}:
            kept = self._kept.texts.get(blob_id)
            if kept is not None and offsets_of(said, kept.text):
                contents[blob_id] = kept
            elif kept is None:
                unknown.append(blob_id)
        texts: dict[int, bytes] = {}
        for blob_id, packed in references.read_texts(self._handle, unknown):
            text = unpack_text(packed)
            if said in text and offsets_of(said, text):
                texts[blob_id] = text
        marks = references.read_marks(self._handle, list(texts))
        spans = references.read_symbol_spans(self._handle, list(texts))
        for path, blob_id in new:
            if blob_id in texts and blob_id not in contents:
                language, packed_marks = marks[blob_id]
                row = references.SourceRow(path, blob_id, language, b"", packed_marks)
                read = Contents(row, texts[blob_id], spans.get(blob_id, []))
                contents[blob_id] = self._keep(read)
            if blob_id in contents:
                self._sources[path] = Source(path, contents[blob_id])


def reference_of(found: Found) -> Reference:
    """Return the public record of a use."""
    source, resolution = found.source, found.resolution
    offset, use = found.occurrence
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


def _of_aliases(
    source: Source, name: str, occurrences: Sequence[Occurrence]
) -> Iterator[Occurrence]:
    """Yield where an imported name stands under the other name that its import gives it."""
    for alias in aliases_of(source, name, occurrences):
        for occurrence in source.occurrences(alias):
            if not source.text.endswith(b"as ", 0, occurrence.offset):  # its import
                yield occurrence


def _of_module(rows: Sequence[SymbolRow], words: Sequence[str]) -> list[SymbolRow]:
    """Return the definitions whose module, or else whose folder, the first of some words name.

    The rest of the words is the name of the definition with what is around it.
    """
    in_file, in_folder = [], []
    for row in rows:
        own = row.qualified_name.split(".")
        module = (*words[: -len(own)],)
        if not module or [*words[-len(own) :]] != own:
            continue
        segments = path_segments(row.path)
        if segments[-len(module) :] == module:
            in_file.append(row)
        elif segments[:-1][-len(module) :] == module:
            in_folder.append(row)
    return in_file or in_folder


def _key_of(row: SymbolRow) -> tuple[str, str]:
    return row.path, row.qualified_name


def _by_targets(found: Iterable[Found]) -> _Groups:
    by_identity: dict[int, list[tuple[int, Found]]] = {}
    for number, each in enumerate(found):
        by_identity.setdefault(id(each.resolution.targets), []).append((number, each))
    groups: _Groups = {}
    for same in by_identity.values():
        for key in {_key_of(each) for each in same[0][1].resolution.targets}:
            groups.setdefault(key, []).append(same)
    return groups


def can_mean(resolution: Resolution, row: SymbolRow) -> bool:
    """Return whether a use can mean a definition, or an overload of it."""
    if not resolution.targets:
        return False
    return any(
        (each.path, each.qualified_name) == (row.path, row.qualified_name)
        for each in resolution.targets
    )


def row_of(span: SpanRow, source: Source) -> SymbolRow:
    """Return a symbol of a file as symbols are looked up."""
    return SymbolRow(
        id=span.id,
        blob_id=span.blob_id,
        path=source.path,
        language=source.language,
        is_generated=False,
        name=span.name,
        qualified_name=span.qualified_name,
        kind=span.kind,
        signature=span.signature,
        doc="",
        line_start=span.line_start,
        line_end=span.line_start,
        is_exported=True,
    )
