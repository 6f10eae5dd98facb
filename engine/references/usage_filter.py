"""Where a name is called, used, extended or imported, for the filters of a search."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from engine.humanize import count
from engine.reference_records import Certainty, Use
from engine.references.imported_names import imports_of, is_asked_module, module_word
from engine.references.imports import module_of
from engine.references.kept import Kept
from engine.references.lookup import Found, Lookup, can_mean
from engine.references.overriding import uses_that_may_mean
from engine.references.resolve import Resolution
from engine.references.sources import Occurrence, Source
from engine.search.lexical import last_name_of, pieces_of, qualified_form
from engine.search.name_uses import NameUses, UsedAt, UseTerm
from engine.search.query import storable
from engine.store.connection import Handle
from engine.store.project import BranchRow
from engine.store.references import SpanRow, read_chunk_starts, read_file_ids
from engine.syntax.languages import DOCUMENT_LANGUAGES
from engine.syntax.references import has_references, name_pattern

_USES = {
    "calls": frozenset({Use.CALL}),
    "extends": frozenset({Use.INHERIT}),
    "uses": frozenset(Use) - {Use.DEFINITION},
    "imports": frozenset({Use.IMPORT}),
}
_TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "type"})
_BEFORE_BYTES = 160
_MOST_NAMED = 5  # definitions in a note
_BETWEEN = rb"\s*(?:\.|::|->|\\)\s*"
_AS_WRITTEN = Resolution(Certainty.LIKELY, ())
# ``impl Trait for Type``: the name of the type.
_RUST_TYPE = re.compile(rb"[^{};]{0,200}?\bfor\s+(?:\w+::)*(\w+)")


class _Place(NamedTuple):
    source: Source
    used: UsedAt


def find_uses(
    handle: Handle, branch: BranchRow, terms: Sequence[UseTerm], kept: Kept
) -> list[NameUses]:
    """Return where a branch does with the names of filters what these say, in their order.

    Args:
        handle: A read transaction.
        branch: The branch.
        terms: The filters.
        kept: What the process keeps of the project.
    """
    lookups: dict[str, _NameLookup] = {}
    found = []
    for term in terms:
        if term.name not in lookups:
            lookups[term.name] = _NameLookup(
                Lookup(handle, branch, kept.branch(handle, branch.id)), term.name
            )
        name = lookups[term.name]
        places, notes = name.find(term.filter)
        uses = _uses_of(handle, term.filter, places)
        paths = sorted({place.source.path for place in places})
        found.append(
            replace(
                uses,
                file_ids=frozenset(read_file_ids(handle, branch.id, paths)),
                is_known=bool(places) or name.is_known,
                is_cut=name.lookup.is_cut,
                notes=(*name.lookup.notes, *notes),
            )
        )
    return found


class _NameLookup:
    """The uses of one name, or of a qualified one.

    Args:
        lookup: Of nothing else, since its notes are told for this name.
        name: As it is written in the filter.
    """

    def __init__(self, lookup: Lookup, name: str) -> None:
        self.lookup = lookup
        self.name = storable(name).strip()
        self.last = last_name_of(self.name)
        self.qualifiers = tuple(pieces_of(self.name)[:-1])
        defined = lookup.definitions(self.name)
        ending = f".{qualified_form(self.name)}".lower()
        is_inside = any(f".{row.qualified_name}".lower().endswith(ending) for row in defined)
        self.asked = defined if is_inside else []
        self.of_module = [] if is_inside else defined

    @property
    def is_known(self) -> bool:
        """Whether the name has a definition or a use."""
        return bool(self.asked or self.of_module or self._meant)

    def find(self, filter_: str) -> tuple[list[_Place], list[str]]:
        """Return the places that a filter is about, and notes on them."""
        if filter_ == "imports":
            places = self._imports()
            is_only_defined = not places and self.is_known
            return places, [f"nothing imports {self.name}"] if is_only_defined else []
        wanted = _USES[filter_]
        found = [each for each in self._meant if each.occurrence.use in wanted]
        places = [_place_of(each) for each in found]
        return places, list(self._notes(filter_, found))

    @cached_property
    def _meant(self) -> list[Found]:
        """The uses that can mean the name, definitions included."""
        if not any(map(str.isalnum, self.last)):
            return []
        uses = self.lookup.uses(self.last)
        if self.last == self.name:
            return list(uses)
        if self.asked:
            return list(uses_that_may_mean(uses, self.asked, self.lookup))
        written = _Written(self.qualifiers, self.last)
        found = []
        for each in uses:
            if any(can_mean(each.resolution, row) for row in self.of_module):
                found.append(each)
            elif written.is_at(each.source, each.occurrence):
                found.append(each.meaning(_AS_WRITTEN))
        return found

    def _imports(self) -> list[_Place]:
        """Return the imports of the name, or of the module that it names."""
        word = module_word(self.name)
        places = []
        for source in self.lookup.sources_with(word) if word else ():
            seen = set()
            for imported in imports_of(source):
                if is_asked_module(self.name, imported, source.language):
                    seen.add(imported.start)
                    used = UsedAt(imported.start, imported.end, Certainty.EXACT)
                    places.append(_Place(source, used))
            if word == self.name == self.last:
                places += [
                    _place_of_occurrence(source, each, Certainty.EXACT)
                    for each in source.occurrences(word)
                    if each.use is Use.IMPORT and each.offset not in seen
                ]
        return places

    def _notes(self, filter_: str, found: Sequence[Found]) -> Iterator[str]:
        meant = self._meant
        as_text = {
            each.source.path: each.source.language
            for each in meant
            if each.occurrence.use is Use.TEXT and not has_references(each.source.language)
        }
        code = {
            path: language
            for path, language in as_text.items()
            if language not in DOCUMENT_LANGUAGES
        }
        if filter_ == "uses" and as_text:
            yield (
                f"in {count(len(as_text), 'file')} ({_listed(as_text.values())}) references are"
                f" not read: each {self.last} there counts as a use"
            )
        elif code:
            yield (
                f"{count(len(code), 'file')} ({_listed(code.values())}) with {self.last}"
                f" {'is' if len(code) == 1 else 'are'} not looked at: references are not read there"
            )
        others = [each for each in meant if each.occurrence.use is not Use.DEFINITION]
        if others and not found:
            verb = filter_.removesuffix("s")
            yield (
                f"nothing {verb}s {self.name}; uses:{self.name} finds"
                f" {count(len(others), 'other use')}"
            )
        elif (self.asked or self.of_module) and not others:
            yield f"{self.name} is defined, but nothing uses it by name"
        elif not meant and self.qualifiers:
            known = dict.fromkeys(row.qualified_name for row in self.lookup.definitions(self.last))
            if known:
                yield f"{self.last} is defined as {', '.join(list(known)[:_MOST_NAMED])}"
        if meant and not (self.asked or self.of_module) and self.last != self.name:
            yield (
                f"{self.name} is not defined in this project: found is what is written so, or"
                " imported from there"
            )


class _Written:
    """Tells uses that are written with a qualifier, or imported from it.

    Args:
        qualifiers: The names before the last one.
        name: The last name.
    """

    def __init__(self, qualifiers: tuple[str, ...], name: str) -> None:
        self._qualifiers = qualifiers
        self._name = name
        self._of_files: dict[str, tuple[re.Pattern[bytes], bool]] = {}

    def is_at(self, source: Source, occurrence: Occurrence) -> bool:
        """Return whether an occurrence is one of them."""
        if occurrence.use is Use.IMPORT:
            return self._is_imported(source, occurrence)
        if source.path not in self._of_files:
            self._of_files[source.path] = self._read(source)
        before, is_imported = self._of_files[source.path]
        offset = occurrence.offset
        if before.search(source.text, max(0, offset - _BEFORE_BYTES), offset):
            return True
        last = source.text[max(0, offset - _BEFORE_BYTES) : offset].rstrip()[-1:]
        return is_imported and last not in (b".", b":", b">")

    def _read(self, source: Source) -> tuple[re.Pattern[bytes], bool]:
        """Return the pattern of what stands before a use, and whether the name is imported."""
        own = _BETWEEN.join(re.escape(each.encode()) for each in self._qualifiers)
        aliases = re.findall(rb"\b%s\s+as\s+(\w+)" % own, source.text)
        ways = b"|".join([own, *map(re.escape, dict.fromkeys(aliases))])
        is_imported = any(
            each.use is Use.IMPORT and self._is_imported(source, each)
            for each in source.occurrences(self._name)
        )
        return re.compile(rb"(?<![\w$.>:])(?:%s)%s$" % (ways, _BETWEEN)), is_imported

    def _is_imported(self, source: Source, occurrence: Occurrence) -> bool:
        module = module_of(source.text, occurrence.offset, source.language, source.path)
        return module is not None and module.segments[-len(self._qualifiers) :] == self._qualifiers


def _place_of(found: Found) -> _Place:
    return _place_of_occurrence(found.source, found.occurrence, found.resolution.certainty)


def _place_of_occurrence(source: Source, occurrence: Occurrence, certainty: Certainty) -> _Place:
    """Return a place; an alias can be longer or shorter than the name."""
    start = occurrence.offset
    name = name_pattern(source.language).match(source.text, start)
    return _Place(source, UsedAt(start, name.end() if name else start + 1, certainty))


def _uses_of(handle: Handle, filter_: str, places: Sequence[_Place]) -> NameUses:
    """Return the chunks and definitions in which places are."""
    starts = read_chunk_starts(handle, [place.source.blob_id for place in places])
    of_chunks: dict[int, set[UsedAt]] = defaultdict(set)
    of_symbols: dict[int, set[UsedAt]] = defaultdict(set)
    innermost: set[int] = set()
    passing: set[int] = set()
    for source, place in places:
        of_blob = starts.get(source.blob_id, [])
        at = max(0, bisect_right(of_blob, place.start, key=_byte_start) - 1)
        if not of_blob:
            continue
        around = _class_of(source, place.start) if filter_ == "extends" else None
        chain = [around] if around else list(_around(source, place.start))
        used = place._replace(symbol_id=chain[0].id if chain else 0)
        of_chunks[of_blob[at].id].add(used)
        passing.add(of_blob[at].id)
        if around:
            end = bisect_right(of_blob, around.byte_end - 1, key=_byte_start)
            first = max(0, bisect_right(of_blob, around.byte_start, key=_byte_start) - 1)
            passing.update(chunk.id for chunk in of_blob[first:end])
        innermost.update(span.id for span in chain[:1])
        for span in chain:
            of_symbols[span.id].add(used)
    return NameUses(
        places={id_: sorted(each) for id_, each in of_chunks.items()},
        chunk_ids=frozenset(passing),
        symbol_places={id_: sorted(each) for id_, each in of_symbols.items()},
        innermost=frozenset(innermost),
    )


def _around(source: Source, offset: int) -> Iterator[SpanRow]:
    """Yield the definitions around an offset, the innermost first."""
    span = source.enclosing(offset)
    by_id = {each.id: each for each in source.spans} if span else {}
    while span:
        yield span
        span = by_id.get(span.parent_id or 0)


def _class_of(source: Source, offset: int) -> SpanRow | None:
    """Return the class that extends the name at an offset."""
    span = next((each for each in _around(source, offset) if each.kind in _TYPES), None)
    if span or source.language != "rust":
        return span
    found = _RUST_TYPE.match(source.text, offset)
    wanted = found[1].decode("utf-8", "replace") if found else ""
    return next(
        (each for each in source.spans if each.name == wanted and each.kind in _TYPES), None
    )


def _byte_start(start: tuple[int, int]) -> int:
    return start[0]


def _listed(languages: Iterable[str]) -> str:
    return ", ".join(sorted(set(languages)))
