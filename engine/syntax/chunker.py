"""Cut a text into chunks, the units of search results, along its symbols.

Chunks tile the text. A function, method or small class is one chunk, together with the comment
before it; anything larger is split: a class into its header and its members, a long body at blank
lines or where the indentation is lowest. Small neighbours in one container are joined. The chunker
looks at the text and the spans only, never at a tree, in time linear in both.

The symbol of a chunk is the definition that fills at least half of it; otherwise the container that
its definitions share; otherwise, at top level, the first of them; otherwise the symbol that the
piece was cut from.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from engine.records import ChunkSpan, Symbol
from engine.syntax.comments import comment_start
from engine.syntax.languages import LANGUAGES

TARGET_BYTES = 1500  # size of cut pieces, and the limit for joining small neighbours
MAX_BYTES = 3000  # no chunk is larger; a function up to this size stays whole
MIN_BYTES = 300  # below this a neighbour is small

_CONTAINERS = frozenset(
    {"class", "struct", "interface", "trait", "enum", "module", "instance", "section"}
)
_OPEN_CONTAINERS = frozenset({"namespace"})  # never a chunk: it wraps whole files

_PAGED = frozenset({"pdf"})  # whose pages are never joined: a hit names its page

#: A byte of a word; text without one is closing brackets and blank lines.
_WORD = re.compile(rb"[^\W_]|[\x80-\xff]")
_AFTER_BLANK = re.compile(rb"\n[ \t\r]*\n(?:[ \t\r]*\n)*([ \t]*)")
_LINE = re.compile(rb"\n([ \t]*)")
_INDENT_COST = 40  # one column of indentation, in bytes of distance from the ideal cut


_NONE_KNOWN: Mapping[int, int] = MappingProxyType({})


class _Unit(NamedTuple):
    """A piece that is not cut further; units tile the text."""

    start: int
    end: int
    symbol: int
    container: int
    is_definition: bool


def chunks_of(
    text: bytes,
    symbols: list[Symbol],
    language: str,
    comment_starts: Mapping[int, int] = _NONE_KNOWN,
) -> list[ChunkSpan]:
    """Cut a text into chunks.

    Args:
        text: The whole text.
        symbols: Its symbols, in parser order.
        language: A name of ``languages.LANGUAGES``.
        comment_starts: Start of the comment before a symbol, by the symbol's ``byte_start``; it
            is searched for where none is given.

    Returns:
        Spans that tile the text, in order, none of them empty. They begin at line starts, but for
        lines longer than ``MAX_BYTES``, which are cut between characters.
    """
    if not text:
        return []
    units = _Cutter(text, symbols, language, comment_starts).units()
    return _numbered(text, _joined(text, units, is_paged=language in _PAGED))


class _Cutter:
    """Converter of nested spans into units."""

    def __init__(
        self,
        text: bytes,
        symbols: list[Symbol],
        language: str,
        comment_starts: Mapping[int, int],
    ) -> None:
        self._text = text
        self._comment_starts = comment_starts
        self._symbols = symbols
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._children: dict[int, list[int]] = {-1: []}
        self._comments = LANGUAGES[language].comments
        self._nest()

    def _nest(self) -> None:
        """Assign each symbol its lines, including the comment before it, and its parent."""
        text, size = self._text, len(self._text)
        style, known = self._comments, self._comment_starts
        find, rfind = text.find, text.rfind
        starts, ends, children = self._starts, self._ends, self._children
        used = {-1: 0}  # container: where its last child ends
        stack = [(size, -1)]  # end of the symbol, its index
        for index, symbol in enumerate(self._symbols):
            begin, finish = symbol.byte_start, symbol.byte_end
            if not 0 <= begin < finish <= size:
                continue
            while stack[-1][0] <= begin or stack[-1][0] < finish:
                if len(stack) == 1:
                    break
                stack.pop()
            container = stack[-1][1]
            top = floor = used[container]
            if begin >= floor:
                above = known.get(begin, -1)
                if above < 0:
                    above = comment_start(text, begin, style)
                top = max(rfind(b"\n", floor, above) + 1, floor)
            elif finish <= floor:  # on a line with the one before it
                continue
            bottom = find(b"\n", finish - 1) + 1 or size
            if container >= 0:
                bottom = min(bottom, ends[container])
            if top >= bottom:
                continue
            starts[index], ends[index] = top, bottom
            used[container], used[index] = bottom, top
            children.setdefault(container, []).append(index)
            stack.append((finish, index))

    def units(self) -> list[_Unit]:
        """Cut the whole text."""
        units: list[_Unit] = []
        symbols, starts, ends, children = self._symbols, self._starts, self._ends, self._children
        # Each entry is an open container: its index, where it ends, its children yet to come, and
        # where the text that is not yet in a unit begins.
        stack = [(-1, len(self._text), iter(children[-1]), 0)]
        while stack:
            owner, end, rest, position = stack.pop()
            child = next(rest, None)
            if child is None:
                self._add_pieces(units, position, end, owner)
                continue
            top, bottom = starts[child], ends[child]
            self._add_pieces(units, position, top, owner)
            stack.append((owner, end, rest, bottom))
            inner = children.get(child)
            if self._is_whole(symbols[child].kind, bottom - top, is_nested=inner is not None):
                units.append(_Unit(top, bottom, child, owner, True))
            else:
                stack.append((child, bottom, iter(inner or ()), top))
        return units

    def _is_whole(self, kind: str, size: int, *, is_nested: bool) -> bool:
        if not is_nested:
            return size <= MAX_BYTES
        if kind in _OPEN_CONTAINERS:
            return False
        return size <= (TARGET_BYTES if kind in _CONTAINERS else MAX_BYTES)

    def _add_pieces(self, units: list[_Unit], start: int, end: int, owner: int) -> None:
        if start == end:
            return
        # Closing brackets and blank lines belong to the preceding unit.
        word = _WORD.search(self._text, start, end)
        split = end if word is None else self._text.rfind(b"\n", start, word.start()) + 1
        if start < split < end and split - start <= MIN_BYTES:
            units.append(_Unit(start, split, owner, owner, False))
            start = split
        for piece_start, piece_end in _pieces(self._text, start, end):
            units.append(_Unit(piece_start, piece_end, owner, owner, False))


def _pieces(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a span into pieces near the target size, unless it is small enough."""
    if end - start > MAX_BYTES:
        left = max(2, round((end - start) / TARGET_BYTES))
        while left > 1 or end - start > MAX_BYTES:
            ideal = start + (end - start) // max(left, 2)
            cut = _cut_near(text, start, ideal, end)
            if cut >= end:
                break
            yield start, cut
            start = cut
            left -= 1
    if start < end:
        yield start, end


def _cut_near(text: bytes, start: int, ideal: int, end: int) -> int:
    """Find the best place to cut near ``ideal``; always after ``start``."""
    ideal = min(ideal, start + TARGET_BYTES * 5 // 4)
    half = (ideal - start) // 2
    low, high = start + half, min(ideal + half, start + MAX_BYTES, end)
    for pattern in (_AFTER_BLANK, _LINE):
        best, best_cost = -1, 1 << 62
        for match in pattern.finditer(text, low, high):
            cut = match.start(1)
            indent = min(match.end(1) - cut, 20)
            cost = indent * _INDENT_COST + abs(cut - ideal)
            if cost < best_cost and cut < end:
                best, best_cost = cut, cost
        if best > start:
            return best
    limit = min(start + MAX_BYTES, end)
    newline = text.rfind(b"\n", start, limit)
    if newline >= 0:
        return newline + 1
    if limit == end:
        return end
    cut = limit
    while cut > limit - 4 and text[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut


class _Chunk:
    """A chunk under construction, joined from units."""

    __slots__ = ("container", "definitions", "end", "first", "largest", "largest_bytes", "start")

    def __init__(self, unit: _Unit) -> None:
        self.start = unit.start
        self.container = unit.container
        self.definitions = 0
        self.first = unit.symbol
        self.largest = -1
        self.largest_bytes = 0
        self.add(unit)

    def add(self, unit: _Unit) -> None:
        """Append the next unit."""
        self.end = unit.end
        if unit.is_definition:
            if not self.definitions:
                self.first = unit.symbol
                self.container = unit.container
            self.definitions += 1
            size = unit.end - unit.start
            if size > self.largest_bytes:
                self.largest, self.largest_bytes = unit.symbol, size

    def symbol(self) -> int:
        """Return the symbol of the chunk."""
        if 2 * self.largest_bytes >= self.end - self.start:
            return self.largest
        if self.definitions > 1 and self.container >= 0:
            return self.container
        return self.first


def _joined(text: bytes, units: list[_Unit], *, is_paged: bool) -> list[_Chunk]:
    """Join small neighbouring units into chunks; those of several pages stay apart."""
    chunks: list[_Chunk] = []
    current: _Chunk | None = None
    for position, unit in enumerate(units):
        if current is None:
            current = _Chunk(unit)
            continue
        is_next_page = is_paged and unit.symbol not in (-1, current.first)
        if not is_next_page and _goes_on(text, current, units, position):
            current.add(unit)
        else:
            chunks.append(current)
            current = _Chunk(unit)
    if current is not None:
        chunks.append(current)
    return chunks


def _goes_on(text: bytes, chunk: _Chunk, units: list[_Unit], position: int) -> bool:
    """Return whether a unit joins the chunk before it."""
    unit = units[position]
    size, unit_size = chunk.end - chunk.start, unit.end - unit.start
    if size + unit_size > MAX_BYTES:
        return False
    if not unit.is_definition and unit_size < MIN_BYTES:
        if _WORD.search(text, unit.start, unit.end) is None:
            return True
        # Loose lines (a comment over several definitions) join the unit after them.
        following = units[position + 1] if position + 1 < len(units) else None
        if following is not None and following.container == unit.container:
            together = size + unit_size
            if not _fits(chunk, together, following.end - following.start, unit.container):
                return size < MIN_BYTES and together <= TARGET_BYTES and not chunk.definitions
    return _fits(chunk, size, unit_size, unit.container)


def _fits(chunk: _Chunk, size: int, unit_size: int, container: int) -> bool:
    if size >= MIN_BYTES and unit_size >= MIN_BYTES:
        return False
    if not chunk.definitions and size < MIN_BYTES:
        return size + unit_size <= MAX_BYTES  # a header joins its first member
    return chunk.container == container and size + unit_size <= TARGET_BYTES


def _numbered(text: bytes, chunks: list[_Chunk]) -> list[ChunkSpan]:
    """Add the line numbers."""
    spans = []
    count = text.count
    line = 1
    for chunk in chunks:
        start, end = chunk.start, chunk.end
        last = line + count(b"\n", start, end - 1)
        spans.append(ChunkSpan(start, end, line, last, chunk.symbol()))
        line = last + (text[end - 1] == 10)
    return spans
