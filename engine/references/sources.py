"""The text of a file with its marks and symbols, and the occurrences of a name in it."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from engine.reference_records import Use
from engine.references.brackets import Brackets
from engine.references.candidates import CALLABLES, TYPES
from engine.references.imports import imported_modules
from engine.references.scopes import Scopes
from engine.store.compression import unpack_marks
from engine.store.references import SourceRow, SpanRow
from engine.syntax.references import Marks, name_pattern
from engine.syntax.symbols import MAX_DEPTH

_MOST_LINE_CHARS = 200
_WORD_BYTES = frozenset(
    byte for byte in range(256) if byte >= 0x80 or byte == 0x5F or chr(byte).isalnum()
)
#: What stands before the name of a decorator, which can stand in the text of a definition.
_DECORATES = re.compile(rb"@\s*(?:[\w$\x80-\xff]+\s*\.\s*)*$")
_DECORATOR_BYTES = 100
_HEAD_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Occurrence(NamedTuple):
    """A place where a name stands in code."""

    offset: int
    use: Use


def offsets_of(name: bytes, text: bytes) -> list[int]:
    """Return where a name stands as a whole word (a pattern takes ten times as long)."""
    found: list[int] = []
    size = len(name)
    at = text.find(name)
    while at >= 0:
        end = at + size
        if not (
            (at and text[at - 1] in _WORD_BYTES) or (end < len(text) and text[end] in _WORD_BYTES)
        ):
            found.append(at)
        at = text.find(name, end)
    return found


class Contents:
    """A stored text with its marks and symbols, whatever files have it. Thread-safe.

    Args:
        row: A file with the text, and its marks.
        text: The text.
        spans: Its symbols, in text order.
    """

    def __init__(self, row: SourceRow, text: bytes, spans: Sequence[SpanRow]) -> None:
        self.language = row.language
        self.blob_id = row.blob_id
        self.packed_marks = row.packed_marks
        self.text = text
        self.spans = spans

    @property
    def size_bytes(self) -> int:
        """The approximate memory, with what is read of it later: half of the text, as measured."""
        return 3 * len(self.text) // 2 + 8 * len(self.packed_marks or b"") + 600 * len(self.spans)

    @cached_property
    def starts(self) -> Sequence[int]:
        """Where its symbols begin."""
        return array("q", (span.byte_start for span in self.spans))

    @cached_property
    def place_of(self) -> dict[int, int]:
        """The place of each symbol by its id."""
        return {span.id: place for place, span in enumerate(self.spans)}

    @cached_property
    def named(self) -> dict[str, list[SpanRow]]:
        """The symbols by name."""
        found: dict[str, list[SpanRow]] = {}
        for span in self.spans:
            found.setdefault(span.name, []).append(span)
        return found

    @cached_property
    def marks(self) -> Marks:
        """The marks of its references."""
        packed = self.packed_marks
        return Marks(unpack_marks(packed) if packed is not None else ())

    @cached_property
    def brackets(self) -> Brackets:
        """The pairs of its brackets."""
        return Brackets(self.text, self.marks)

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names under which it imports modules (Python)."""
        return imported_modules(self.text) if self.language == "python" else frozenset()

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of its symbols by qualified name."""
        return {span.qualified_name: span.kind for span in self.spans}

    @cached_property
    def types(self) -> dict[str, list[SpanRow]]:
        """Its types by qualified name."""
        found: dict[str, list[SpanRow]] = {}
        for span in self.spans:
            if span.kind in TYPES:
                found.setdefault(span.qualified_name, []).append(span)
        return found


class Source:
    """A file as references see it, within one answer.

    Args:
        path: Of the file.
        contents: What it contains.
    """

    def __init__(self, path: str, contents: Contents) -> None:
        self.path = path
        self.contents = contents
        self.language = contents.language
        self.blob_id = contents.blob_id
        self.is_marked = contents.packed_marks is not None
        self.text = contents.text
        self.spans = contents.spans
        self._words: dict[str, list[int]] = {}
        self._heads: dict[int, list[str]] = {}

    @property
    def marks(self) -> Marks:
        """The marks of its references."""
        return self.contents.marks

    @property
    def brackets(self) -> Brackets:
        """The pairs of its brackets."""
        return self.contents.brackets

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of its symbols by qualified name."""
        return self.contents.kinds

    @property
    def types(self) -> dict[str, list[SpanRow]]:
        """Its types by qualified name."""
        return self.contents.types

    @cached_property
    def scopes(self) -> Scopes:
        """Its local variables."""
        return Scopes(self)

    def span(self, symbol_id: int) -> SpanRow | None:
        """Return a symbol by its id."""
        place = self.contents.place_of.get(symbol_id)
        return None if place is None else self.spans[place]

    def words(self, name: str) -> list[int]:
        """Return where a name stands outside of comments and literals."""
        if name not in self._words:
            found = offsets_of(name.encode(), self.text) if name else []
            self._words[name] = [each for each in found if not self.marks.is_text(each)]
        return self._words[name]

    def words_of_head(self, span: SpanRow) -> list[str]:
        """Return the names in the head of a type, among which are those of its bases."""
        if span.id not in self._heads:
            found = _HEAD_NAME.findall(span.signature)
            self._heads[span.id] = list(dict.fromkeys(found))
        return self._heads[span.id]

    def occurrences(self, name: str) -> Iterator[Occurrence]:
        """Yield where a name stands outside of comments and literals, in text order."""
        found = offsets_of(name.encode(), self.text) if name else []
        if not found:
            return
        marks = self.marks
        if not self.is_marked:
            defined = self._definitions(name, found)
            for offset in found:
                yield Occurrence(offset, Use.DEFINITION if offset in defined else Use.TEXT)
            return
        roles = {offset: marks.role_at(offset) for offset in found}
        plain = [offset for offset in found if roles[offset] or not marks.is_text(offset)]
        defined = self._definitions(name, [offset for offset in plain if roles[offset] is None])
        for offset in plain:
            role = roles[offset]
            if offset in defined:
                yield Occurrence(offset, Use.DEFINITION)
            else:
                yield Occurrence(offset, Use(role.value) if role else Use.USE)

    def enclosing(self, offset: int) -> SpanRow | None:
        """Return the innermost symbol around an offset."""
        place = bisect_right(self.contents.starts, offset) - 1
        while place >= 0:
            span = self.spans[place]
            if span.byte_end > offset:
                return span
            parent = self.contents.place_of.get(span.parent_id or 0, -1)
            # The parent of a method can be a type that stands elsewhere.
            place = parent if 0 <= parent < place else place - 1
        return None

    def owner(self, offset: int) -> SpanRow | None:
        """Return the outermost function around an offset, or else the innermost symbol."""
        found = span = self.enclosing(offset)
        for _ in range(MAX_DEPTH):
            if span is None:
                break
            if span.kind in CALLABLES:
                found = span
            span = self.parent_of(span)
        return found

    def parent_of(self, span: SpanRow) -> SpanRow | None:
        """Return the symbol around another, None at top level."""
        place = self.contents.place_of.get(span.parent_id or 0)
        return None if place is None else self.spans[place]

    def span_of(self, qualified_name: str) -> SpanRow | None:
        """Return the first symbol of a qualified name."""
        return next((each for each in self.spans if each.qualified_name == qualified_name), None)

    def defined_at(self, line: int) -> SpanRow | None:
        """Return the outermost definition that begins in a line, or the innermost one around it."""
        begins = next((span for span in self.spans if span.line_start == line), None)
        if begins is not None:
            return begins
        lines = self.text.split(b"\n", line)
        if len(lines) < line:
            return None
        before = sum(map(len, lines[: line - 1])) + line - 1
        return self.enclosing(before + len(lines[line - 1]) - len(lines[line - 1].lstrip()))

    def line_of(self, offset: int) -> int:
        """Return the line of an offset, counted from 1."""
        return self.text.count(b"\n", 0, offset) + 1

    def column_of(self, offset: int) -> int:
        """Return the column of an offset in characters, counted from 1."""
        start = self.text.rfind(b"\n", 0, offset) + 1
        return len(self.text[start:offset].decode("utf-8", "replace")) + 1

    def name_at(self, line: int, column: int) -> tuple[str, int] | None:
        """Return the name at a place and its offset, or None if there is none.

        Args:
            line: Counted from 1.
            column: In characters, counted from 1.
        """
        lines = self.text.split(b"\n", line)
        if not 1 <= line <= len(lines):
            return None
        start = sum(map(len, lines[: line - 1])) + line - 1
        head = self.text[start:].split(b"\n", 1)[0].decode("utf-8", "replace")[: column - 1]
        offset = start + len(head.encode())
        for match in name_pattern(self.language).finditer(self.text, start):
            if match.start() > offset:
                return None
            if match.end() > offset:
                return match.group().decode("utf-8", "replace"), match.start()
        return None

    def line_text(self, offset: int) -> str:
        """Return the line of an offset without blanks around it, cut when it is long."""
        start = self.text.rfind(b"\n", 0, offset) + 1
        end = self.text.find(b"\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        return line.decode("utf-8", "replace").strip()[:_MOST_LINE_CHARS]

    def _definitions(self, name: str, offsets: Sequence[int]) -> set[int]:
        """Return those of some offsets at which symbols of this name have it."""
        found = set()
        for span in self.contents.named.get(name, ()):
            for offset in offsets:
                start = max(span.byte_start, offset - _DECORATOR_BYTES)
                is_inside = span.byte_start <= offset < span.byte_end
                if is_inside and not _DECORATES.search(self.text, start, offset):
                    found.add(offset)
                    break
        return found
