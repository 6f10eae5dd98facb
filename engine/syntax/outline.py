"""Turn the entries that a scanner finds into symbols: nesting, lines, signatures, docs.

Scanners of our own replace grammars that fail on much real code (dialects of SQL, computed names in
makefiles) and read languages with a simple structure. ``SCANNED_LANGUAGES`` lists them.
"""

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from engine.records import Symbol
from engine.syntax.captures import MAX_NAME_BYTES, MAX_SIGNATURE, without_comments
from engine.syntax.comments import comment_start, doc_of
from engine.syntax.language_table import CommentStyle
from engine.syntax.symbols import MAX_DEPTH, joined_name

_TAIL = " {;:=,\\"

#: Module and function of each; imported on first use: their patterns take 8 ms to compile.
_PLACES = {
    "css": ("stylesheets", "entries_of_stylesheet"),
    "dockerfile": ("dockerfiles", "entries_of_dockerfile"),
    "html": ("html", "entries_of_html"),
    "less": ("stylesheets", "entries_of_stylesheet"),
    "makefile": ("makefiles", "entries_of_makefile"),
    "scss": ("stylesheets", "entries_of_stylesheet"),
    "sql": ("sql", "entries_of_sql"),
    "template": ("html", "entries_of_html"),
}

#: The languages read by scanners.
SCANNED_LANGUAGES = frozenset(_PLACES)


class Entry(NamedTuple):
    """A definition found by a scanner; offsets are bytes."""

    start: int
    end: int
    head_end: int  # where the signature ends
    kind: str
    name: str
    receiver: str = ""  # container that does not enclose it, with dots
    doc: str = ""  # used if no comment precedes it


class _Container(NamedTuple):
    start: int
    end: int
    symbol: int


def symbols_of_entries(
    text: bytes, entries: Iterable[Entry], style: CommentStyle
) -> tuple[list[Symbol], bool]:
    """Make the symbols of a text.

    Args:
        text: The whole text.
        entries: In any order; one that starts inside another but ends after it is not nested in it.
        style: Comment syntax, for docs and signatures.

    Returns:
        The symbols by ``byte_start``, then longer first; and whether some were nested too deep.
    """
    symbols: list[Symbol] = []
    stack: list[_Container] = []
    line, counted = 1, 0
    is_too_deep = False
    for entry in sorted(entries, key=_text_order):
        start, end = entry.start, entry.end
        if not entry.name or len(entry.name) > MAX_NAME_BYTES:
            continue
        while stack and (stack[-1].end <= start or stack[-1].end < end):
            stack.pop()
        parent = stack[-1].symbol if stack else -1
        if stack and (stack[-1].start, stack[-1].end) == (start, end):
            parent = symbols[parent].parent  # of two names of one thing, the first is the container
        elif len(stack) >= MAX_DEPTH:
            is_too_deep = True
            continue
        else:
            stack.append(_Container(start, end, len(symbols)))
        line += text.count(b"\n", counted, start)
        counted = start
        outer = symbols[parent].qualified_name if parent >= 0 else ""
        symbols.append(
            Symbol(
                name=entry.name,
                qualified_name=joined_name(outer, entry.receiver, entry.name),
                kind=entry.kind,
                signature=_signature(text[start : entry.head_end], style),
                doc=_doc(text, start, style) or entry.doc,
                byte_start=start,
                byte_end=end,
                line_start=line,
                line_end=line + text.count(b"\n", start, end),
                parent=parent,
                exported=True,
            )
        )
    return symbols, is_too_deep


def _text_order(entry: Entry) -> tuple[int, int]:
    return entry.start, -entry.end


def _signature(head: bytes, style: CommentStyle) -> str:
    line = head[: 4 * MAX_SIGNATURE].replace(b"\\\n", b" \n")
    raw = without_comments(line, style).strip() or line  # a comment itself: -- name: query
    return " ".join(raw.decode("utf-8", "replace").split())[:MAX_SIGNATURE].rstrip(_TAIL)


def _doc(text: bytes, start: int, style: CommentStyle) -> str:
    top = comment_start(text, start, style)
    return doc_of(text[top:start], style) if top < start else ""


#: Scanner of the definitions of any text in time linear in its length.
Scanner = Callable[[bytes], list[Entry]]


@functools.cache
def scanner_of(language: str) -> Scanner:
    """Return the scanner of one of ``SCANNED_LANGUAGES``."""
    module, function = _PLACES[language]
    scanner: Scanner = getattr(importlib.import_module(f"engine.syntax.{module}"), function)
    return scanner
