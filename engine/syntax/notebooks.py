"""Find the cells of a notebook, and the symbols in them, in the text made by ``source.content``."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from engine.records import Symbol
from engine.syntax.languages import language_named

_HEADER = re.compile(rb"^# %% \[([\w.+#-]{1,40})\] cell (\d{1,7})$", re.MULTILINE)
#: The first line of a cell in another language; a line for the shell or the notebook itself.
_CELL_MAGIC = re.compile(rb"\s*%%(\w{1,40})[^\n]*")
_LINE_MAGIC = re.compile(rb"^([ \t]*)(?:%(?=%?\w)|[!?])", re.MULTILINE)
_MAX_LINE_BYTES = 1000
_MAX_SIGNATURE = 300  # characters


class Cell(NamedTuple):
    """A cell and its place in the text."""

    start: int  # of its header
    body_start: int
    end: int  # where the next one begins
    name: str
    language: str  # as the notebook names it


#: Parser of the text of a cell in a language, returning its symbols.
ParseCell = Callable[[bytes, str], list[Symbol]]


def is_notebook(text: bytes) -> bool:
    """Return whether a text is made from a notebook, not the notebook's JSON."""
    return not text or _HEADER.match(text) is not None


def cell_symbols(text: bytes, parse_cell: ParseCell) -> list[Symbol]:
    """Return each cell as a ``section``, followed by its definitions.

    A Markdown cell is named by its first heading, any other ``cell N``. A definition in a cell has
    the cell as its parent and keeps its own qualified name.

    Args:
        text: As made by ``source.content.notebook_text``.
        parse_cell: Parses one cell.
    """
    symbols: list[Symbol] = []
    line, counted = 1, 0
    for cell in _cells(text):
        line += text.count(b"\n", counted, cell.start)
        counted = cell.start
        body = text[cell.body_start : cell.end]
        language, readable = _readable(body, cell.language)
        inner = parse_cell(readable, language) if language else []
        name = cell.name
        signature = body.lstrip()[:_MAX_LINE_BYTES].split(b"\n", 1)[0].decode("utf-8", "replace")
        if language == "markdown" and inner:
            name, signature = inner[0].name, inner[0].signature
        place = len(symbols)
        end = cell.start + len(text[cell.start : cell.end].rstrip())
        symbols.append(
            Symbol(
                name=name,
                qualified_name=name,
                kind="section",
                signature=signature.strip()[:_MAX_SIGNATURE],
                doc="",
                byte_start=cell.start,
                byte_end=end,
                line_start=line,
                line_end=line + text.count(b"\n", cell.start, end),
                parent=-1,
                exported=True,
            )
        )
        first = 1 if language == "markdown" else 0  # the heading that names the cell
        symbols += _moved(inner[first:], cell.body_start, line, place, dropped=first)
    return symbols


def _cells(text: bytes) -> Iterator[Cell]:
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)] * bool(headers)
    for header, end in zip(headers, ends, strict=True):
        name = f"cell {header[2].decode()}"
        yield Cell(header.start(), min(header.end() + 1, end), end, name, header[1].decode())


def _readable(body: bytes, named: str) -> tuple[str | None, bytes]:
    """Return the language of a cell, None if unknown, and its text as a grammar can read it.

    The length and the lines are unchanged. Lines for the notebook become comments.
    """
    language = language_named(named)
    if language != "python":
        return (language if language != "jupyter" else None), body
    magic = _CELL_MAGIC.match(body)
    if magic is not None:
        other = language_named(magic[1].decode())
        if other not in (None, "python", "jupyter"):
            blank = re.sub(rb"[^\n]", b" ", magic.group())
            return other, blank + body[magic.end() :]
    return language, _LINE_MAGIC.sub(rb"\1#", body)


def _moved(
    symbols: list[Symbol], offset: int, header_line: int, cell: int, *, dropped: int
) -> Iterator[Symbol]:
    """Return the symbols of a cell with their positions in the whole text.

    Args:
        symbols: Of the cell, without the first ``dropped``.
        offset: Where the cell's body begins.
        header_line: The line before it.
        cell: Index of the cell's symbol; theirs follow it.
        dropped: How many were left out at the beginning.
    """
    for symbol in symbols:
        inside = symbol.parent - dropped
        yield symbol._replace(
            byte_start=symbol.byte_start + offset,
            byte_end=symbol.byte_end + offset,
            line_start=symbol.line_start + header_line,
            line_end=symbol.line_end + header_line,
            parent=cell + 1 + inside if inside >= 0 else cell,
        )
