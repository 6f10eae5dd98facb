"""Interfaces of Go, which a type implements by having their methods.

Methods are compared by name and by the number of parameters and results, as far as a signature is
stored whole. Types are not compared, so an implementation is never more than likely.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engine.reference_records import Certainty, Use
from engine.references.lookup import Lookup
from engine.references.resolve import Resolver, scope_of
from engine.references.sources import Occurrence, Source
from engine.references.subtypes import bases_in, name_there
from engine.store.symbols import SymbolRow

_MOST_EMBEDDED = 4  # levels of embedded types
_MOST_TYPES = 2000  # that are compared
#: Interfaces of the standard library that others embed most.
_STANDARD: Mapping[str, frozenset[str]] = {
    "error": frozenset({"Error"}),
    "Reader": frozenset({"Read"}),
    "Writer": frozenset({"Write"}),
    "Closer": frozenset({"Close"}),
    "ReadWriter": frozenset({"Read", "Write"}),
    "ReadCloser": frozenset({"Read", "Close"}),
    "WriteCloser": frozenset({"Write", "Close"}),
    "ReadWriteCloser": frozenset({"Read", "Write", "Close"}),
    "Seeker": frozenset({"Seek"}),
    "ReadSeeker": frozenset({"Read", "Seek"}),
    "ReadSeekCloser": frozenset({"Read", "Seek", "Close"}),
    "WriteSeeker": frozenset({"Write", "Seek"}),
    "ReaderAt": frozenset({"ReadAt"}),
    "WriterAt": frozenset({"WriteAt"}),
    "ByteReader": frozenset({"ReadByte"}),
    "ByteScanner": frozenset({"ReadByte", "UnreadByte"}),
    "ByteWriter": frozenset({"WriteByte"}),
    "RuneReader": frozenset({"ReadRune"}),
    "RuneScanner": frozenset({"ReadRune", "UnreadRune"}),
    "StringWriter": frozenset({"WriteString"}),
    "ReaderFrom": frozenset({"ReadFrom"}),
    "WriterTo": frozenset({"WriteTo"}),
    "Stringer": frozenset({"String"}),
    "Handler": frozenset({"ServeHTTP"}),
    "ResponseWriter": frozenset({"Header", "Write", "WriteHeader"}),
    "Flusher": frozenset({"Flush"}),
    "RoundTripper": frozenset({"RoundTrip"}),
    "Locker": frozenset({"Lock", "Unlock"}),
    "Context": frozenset({"Deadline", "Done", "Err", "Value"}),
    "Interface": frozenset({"Len", "Less", "Swap"}),
}
_SCOPE = re.compile(rb"(\w+)\.$")
_PARENTHESES = re.compile(r"[(\[{}\])]")

_Key = tuple[str, str]  # the folder of a package, and the name of a type
_Found = tuple[SymbolRow, Certainty, tuple[SymbolRow, ...]]


class _Methods(NamedTuple):
    """The methods that an interface wants."""

    wanted: dict[str, SymbolRow | None]  # None: of the standard library
    is_whole: bool  # all that it embeds is known


class Interfaces:
    """Compares the methods of types and interfaces within one snapshot."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._wanted: dict[_Key, _Methods] = {}

    def implementations(self, row: SymbolRow) -> Iterator[_Found]:
        """Yield the types with all methods of an interface, and these methods."""
        wanted = self._methods_of(row, _MOST_EMBEDDED)
        if not wanted.wanted:
            return
        owned = self._owners(wanted)
        certainty = Certainty.LIKELY if wanted.is_whole else Certainty.NAME
        for (folder, name), methods in owned.items():
            missing = wanted.wanted.keys() - methods.keys()
            if any(wanted.wanted[each] is not None for each in missing):
                continue
            type_row = self._type_of(folder, name)
            if type_row is not None and missing <= self._promoted(type_row):
                yield type_row, certainty, tuple(methods.values())

    def satisfied_by(self, row: SymbolRow) -> Iterator[_Found]:
        """Yield the interfaces whose methods a type has, and these methods of it."""
        if row.kind == "interface":
            return
        source = self._lookup.source(row.path)
        own = (os.path.dirname(row.path), row.name)
        interfaces = {}
        for name in sorted(self._names_of(row, source)):
            for method in self._lookup.definitions(name):
                if method.language == "go" and not method.signature.startswith("func"):
                    interface = self._type_of(os.path.dirname(method.path), scope_of(method))
                    if interface is not None and interface.kind == "interface":
                        interfaces[interface.path, interface.name] = interface
        for interface in interfaces.values():
            for found, certainty, methods in self.implementations(interface):
                if (os.path.dirname(found.path), found.name) == own:
                    yield interface, certainty, methods

    def _names_of(self, row: SymbolRow, source: Source | None) -> set[str]:
        """Return the names of the methods of a type, as the files of its package say them."""
        names = set()
        folder = os.path.dirname(row.path)
        for found in self._lookup.uses(row.name):
            if os.path.dirname(found.source.path) == folder:
                names |= {
                    span.name
                    for span in found.source.spans
                    if span.qualified_name == f"{row.qualified_name}.{span.name}"
                    and span.kind == "method"
                }
        return names

    def _methods_of(self, row: SymbolRow, depth: int) -> _Methods:
        """Return the methods of an interface with those that it embeds."""
        key = (row.path, row.qualified_name)
        if key in self._wanted:
            return self._wanted[key]
        self._wanted[key] = _Methods({}, True)  # it may embed itself
        source = self._lookup.source(row.path)
        span = next((each for each in source.spans if each.id == row.id), None) if source else None
        if source is None or span is None:
            return self._wanted[key]
        wanted: dict[str, SymbolRow | None] = {}
        is_whole = depth > 0
        for each in source.spans:
            if each.parent_id == span.id and each.kind == "method":
                rows = self._lookup.definitions(each.name)
                wanted[each.name] = next((one for one in rows if one.id == each.id), None)
        for occurrence in bases_in(source, span.byte_start, span.byte_end):
            embedded = self._embedded(source, occurrence, depth)
            wanted = {**embedded.wanted, **wanted}
            is_whole = is_whole and embedded.is_whole
        self._wanted[key] = _Methods(wanted, is_whole)
        return self._wanted[key]

    def _promoted(self, row: SymbolRow) -> frozenset[str]:
        """Return the methods that a struct has by embedding types of the standard library."""
        source = self._lookup.source(row.path)
        span = next((each for each in source.spans if each.id == row.id), None) if source else None
        if source is None or span is None:
            return frozenset()
        names = (
            name_there(source, each.offset)
            for each in bases_in(source, span.byte_start, span.byte_end)
            if _SCOPE.search(source.text, max(0, each.offset - 80), each.offset)
        )
        return frozenset().union(*(_STANDARD.get(name, ()) for name in names))

    def _embedded(self, source: Source, occurrence: Occurrence, depth: int) -> _Methods:
        name = name_there(source, occurrence.offset)
        is_qualified = _SCOPE.search(source.text, max(0, occurrence.offset - 80), occurrence.offset)
        rows = [each for each in self._lookup.definitions(name) if each.kind == "interface"]
        resolver = Resolver(source, name, rows, list(source.occurrences(name)))
        resolution = resolver.of(Occurrence(occurrence.offset, Use.TYPE))
        known = _STANDARD.get(name) if is_qualified or name == "error" else None
        if resolution.targets and resolution.certainty is Certainty.EXACT and depth:
            return self._methods_of(resolution.targets[0], depth - 1)
        if known is not None:
            return _Methods(dict.fromkeys(known), True)
        if resolution.targets and resolution.certainty is Certainty.LIKELY and depth:
            return self._methods_of(resolution.targets[0], depth - 1)
        return _Methods({}, False)

    def _owners(self, wanted: _Methods) -> dict[_Key, dict[str, SymbolRow]]:
        """Return which of the methods each type has, itself or by what it embeds."""
        owned: dict[_Key, dict[str, SymbolRow]] = {}
        for name, like in wanted.wanted.items():
            for row in self._lookup.definitions(name):
                if row.language != "go" or not row.signature.startswith("func"):
                    continue
                if scope_of(row) and (
                    like is None or is_alike(row.signature, like.signature, name)
                ):
                    key = (os.path.dirname(row.path), scope_of(row))
                    owned.setdefault(key, {})[name] = row
        level = dict(owned)
        for _ in range(_MOST_EMBEDDED):
            following: dict[_Key, dict[str, SymbolRow]] = {}
            for (folder, name), methods in level.items():
                for outer in self._embedding(folder, name):
                    mine = owned.setdefault(outer, {})
                    new = {method: row for method, row in methods.items() if method not in mine}
                    if new and len(owned) <= _MOST_TYPES:
                        mine |= new
                        following[outer] = mine
            level = following
        return owned

    def _embedding(self, folder: str, name: str) -> Iterator[_Key]:
        """Yield the structs that embed a type."""
        if self._type_of(folder, name) is None:
            return
        for found in self._lookup.uses(name):
            if found.occurrence.use is not Use.INHERIT:
                continue
            certainty, targets = found.resolution
            if certainty is Certainty.NAME:
                continue
            around = found.source.enclosing(found.occurrence.offset)
            is_meant = any(os.path.dirname(each.path) == folder for each in targets)
            if is_meant and around is not None and around.kind == "struct":
                yield os.path.dirname(found.source.path), around.qualified_name

    def _type_of(self, folder: str, name: str) -> SymbolRow | None:
        """Return a type by its package and its name."""
        return next(
            (
                each
                for each in self._lookup.definitions(name)
                if os.path.dirname(each.path) == folder and each.kind not in {"method", "function"}
            ),
            None,
        )


def is_alike(signature: str, other: str, name: str) -> bool:
    """Return whether two signatures of a method have as many parameters and results."""
    mine, theirs = _shape(signature, name), _shape(other, name)
    return mine is None or theirs is None or mine == theirs


def _shape(signature: str, name: str) -> tuple[int, int] | None:
    """Return the numbers of parameters and results; None if the signature is cut."""
    start = re.search(rf"\b{re.escape(name)}\s*\(", signature)
    if start is None:
        return None
    end = _closing(signature, start.end() - 1)
    if end is None:
        return None
    parameters = _count(signature[start.end() : end])
    rest = signature[end + 1 :].partition("//")[0].strip().removesuffix("{").strip()
    if not rest:
        return parameters, 0
    if not rest.startswith("("):
        return parameters, 1
    closing = _closing(rest, 0)
    return None if closing is None else (parameters, _count(rest[1:closing]))


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for found in _PARENTHESES.finditer(text, start):
        depth += 1 if found.group() in "([{" else -1
        if depth == 0:
            return found.start()
    return None


def _count(inner: str) -> int:
    """Return the number of parameters in a list."""
    depth = 0
    number = 1 if inner.strip().strip(",") else 0
    for letter in inner.strip().removesuffix(","):
        depth += (letter in "([{") - (letter in ")]}")
        number += letter == "," and depth == 0
    return number
