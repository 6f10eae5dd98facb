"""Fixtures of pytest: the functions that get what they return, and what that is.

A fixture reaches the functions with a parameter of its name: those of its file, or, from a
``conftest.py``, those of the folder and below. What a fixture constructs is what such a parameter
can be.
"""

import os
import re

from engine.references.candidates import CALLABLES
from engine.references.lookup import Found, Lookup
from engine.references.resolve import scope_of
from engine.search.features import is_test
from engine.store.symbols import SymbolRow

_SHARED = "conftest.py"
_MOST_BASES = 20
_RECEIVER = re.compile(rb"\b(\w+)\s*\.\s*$")
_RECEIVER_BYTES = 100
_MADE = re.compile(rb"(?:return|yield|=)\s+(?:\w+\.)*([A-Z]\w*)\(")
_WORDS = re.compile(r"\w+")


class Fixtures:
    """The fixtures of a branch.

    Args:
        lookup: Definitions and uses.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._types: dict[tuple[str, str], frozenset[str]] = {}
        self._with_bases: dict[str, frozenset[str]] = {}

    def uses_of(self, row: SymbolRow) -> list[Found]:
        """Return where functions take what a definition returns, if that is a fixture."""
        if not self._is_fixture(row):
            return []
        own = {each.path for each in self._lookup.definitions(row.name) if each.path != row.path}
        pattern = re.compile(rf"[(,]\s*{re.escape(row.name)}\s*[,:)=]")
        found = []
        for each in self._lookup.uses(row.name):
            path = each.source.path
            if not _reaches(row.path, path) or path in own:
                continue
            around = each.source.enclosing(each.occurrence.offset)
            if around and around.kind in CALLABLES and pattern.search(around.signature + ")"):
                found.append(each)
        return found

    def is_made(self, found: Found, row: SymbolRow) -> bool:
        """Return whether a use in a test is a member of what a fixture constructs."""
        source, offset = found.source, found.occurrence.offset
        if source.language != "python" or not scope_of(row) or not is_test(source.path):
            return False
        receiver = _RECEIVER.search(source.text, max(0, offset - _RECEIVER_BYTES), offset)
        if receiver is None:
            return False
        owner = scope_of(row).rpartition(".")[2]
        return owner in self._types_of(receiver[1].decode(), source.path)

    def _types_of(self, name: str, path: str) -> frozenset[str]:
        """Return the classes, with their bases, that the fixtures of a name construct."""
        key = (name, os.path.dirname(path))
        if key not in self._types:
            types: set[str] = set()
            for row in self._lookup.definitions(name):
                if _reaches(row.path, path) and self._is_fixture(row):
                    for made in _MADE.findall(self._body_of(row)):
                        types |= self._bases_of(made.decode("utf-8", "replace"))
            self._types[key] = frozenset(types)
        return self._types[key]

    def _bases_of(self, name: str) -> frozenset[str]:
        """Return a class and all that its definitions say they extend."""
        if name not in self._with_bases:
            found = [name]
            for each in found:  # which grows
                for row in self._lookup.definitions(each)[:_MOST_BASES]:
                    words = _WORDS.findall(row.signature) if row.kind == "class" else ()
                    found += [word for word in words if word not in found and word[0].isupper()]
                if len(found) > _MOST_BASES:
                    break
            self._with_bases[name] = frozenset(found)
        return self._with_bases[name]

    def _is_fixture(self, row: SymbolRow) -> bool:
        return is_test(row.path) and b"fixture" in self._body_of(row).partition(b"def ")[0]

    def _body_of(self, row: SymbolRow) -> bytes:
        source = self._lookup.source(row.path)
        span = source.span_of(row.qualified_name) if source else None
        return source.text[span.byte_start : span.byte_end] if source and span else b""


def _reaches(fixture: str, path: str) -> bool:
    """Return whether a file sees the fixtures of another one."""
    folder = os.path.dirname(fixture)
    is_shared = os.path.basename(fixture) == _SHARED
    return fixture == path or (is_shared and path.startswith(f"{folder}/" if folder else ""))
