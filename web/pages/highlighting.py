"""Syntax highlighting: code as lines of pieces with CSS classes, which templates turn into HTML.

The text is untrusted and lexers are built from regular expressions: large texts and texts with very
long lines stay plain, and so does the rest of a text after the deadline.
"""

import bisect
import re
import sys
import time
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import STANDARD_TYPES, Name
from pygments.util import ClassNotFound

from web.terminal import printable_block

MAX_CHARS = 200_000
_MAX_LINE_CHARS = 1000
_DEADLINE_S = 0.5  # of processor time
_LOOK_EVERY = 64  # tokens
_MAX_CACHED_CHARS = 4_000  # longer texts are not cached
#: The classes with a colour in code.css; others fall back to their parent, or to plain text.
CLASSES = frozenset(
    "k kd kn kr kc kp ow kt nc nn bp nf fm nd nt na s s1 s2 sa sb sc dl sd se sh si sx sr ss"
    " m mb mf mh mi mo il c ch cm c1 cs cp cpf gd gr gh gu gs ge".split()
)
#: Names of Pygments that differ from those of the index.
_ALIASES = {
    "tsx": "tsx",
    "jsx": "jsx",
    "csharp": "csharp",
    "text": "",
    "plain": "",
    "make": "makefile",
    "dockerfile": "docker",
    "hcl": "terraform",
    "jupyter": "python",
}
#: Options of lexers: a snippet of PHP begins within the code.
_OPTIONS = {"php": {"startinline": True}}
_PHP_START = re.compile(r"<\?(?:php|=|\s)", re.IGNORECASE)
#: Names that stand for no definition: of tags, entities, labels, and ``self``.
_NO_NAMES = (Name.Tag, Name.Entity, Name.Label, Name.Builtin.Pseudo)
#: An identifier; in some languages it can end with ``?`` or ``!``.
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*[?!]?")
_BORDER = "\0"  # shown code has none
_LONG_LINE = re.compile(rf"[^\n]{{{_MAX_LINE_CHARS}}}")


class Piece(NamedTuple):
    """A part of a line."""

    css: str  # class; empty for plain text
    text: str  # printable, not yet escaped for HTML
    is_marked: bool = False
    name: int = 0  # column of the linked name that it belongs to, counted from 1; 0: of none


class Line(NamedTuple):
    """A line of code."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def is_marked(self) -> bool:
        """Whether any piece is marked."""
        return any(piece.is_marked for piece in self.pieces)


def rows_of(
    lines: Sequence[Line], address: str, picked: Container[int] = (), version: str = ""
) -> Markup:
    """Return lines as HTML, each with its number, which leads to it.

    A template would take three times as long.

    Args:
        lines: The lines.
        address: The page of the file, to which numbers and names lead.
        picked: The numbers of lines that are told apart from the others.
        version: Of the file's content, which addresses of names have; empty: unknown.
    """
    address = str(escape(address))
    of = f"of={version}&amp;" if version else ""
    texts = [piece.text for line in lines for piece in line.pieces]
    codes = iter(str(escape(_BORDER.join(texts))).split(_BORDER))
    made: list[str] = []
    for number, pieces in lines:
        made.append(
            f'<div class="line{" picked" if number in picked else ""}"><a class="n"'
            f' href="{address}#L{number}" tabindex="-1" aria-label="Line {number}"'
            f' data-n="{number}"></a><code>'
        )
        name = 0  # of which the piece before is a part
        for css, _, is_marked, column in pieces:
            code = next(codes)
            if column != name:
                if name:
                    made.append("</a>")
                name = column
                if name:
                    to = f"{address}?{of}name={number}:{name}#L{number}"
                    made.append(f'<a href="{to}" tabindex="-1">')
            if is_marked:
                code = f'<mark class="{css}">{code}</mark>' if css else f"<mark>{code}</mark>"
            elif css:
                code = f'<span class="{css}">{code}</span>'
            made.append(code)
        made.append("</a></code></div>\n" if name else "</code></div>\n")
    return Markup("".join(made))  # noqa: S704 - code and address are escaped


#: Start and end, in characters of the text.
Span = tuple[int, int]


class Token(NamedTuple):
    """A token, or a part of one; tokens cover the whole text in order."""

    css: str
    start: int
    text: str
    is_name: bool = False


_NO_NAME = -1


def load_language(language: str) -> None:
    """Make its lexer before code is shown, which the first time takes up to 170 ms."""
    _lexer_of(language, "")


def lines_of(
    text: str,
    language: str,
    *,
    first_line: int = 1,
    begin: int = 0,
    marks: Iterable[Span] = (),
    names: Collection[str] = (),
) -> list[Line]:
    """Highlight a text; a line break at its end starts no new line.

    Args:
        text: The code.
        language: Its name in the index; an unknown one stays plain.
        first_line: The number of the first line that is given back.
        begin: Where it begins, in characters; what is before is only read.
        marks: Spans to mark.
        names: Names whose occurrences in code are linked.
    """
    made = each_line(text, language, first_line=first_line, begin=begin, marks=marks, names=names)
    return list(made)


def each_line(
    text: str,
    language: str,
    *,
    first_line: int = 1,
    begin: int = 0,
    marks: Iterable[Span] = (),
    names: Collection[str] = (),
) -> Iterator[Line]:
    """Yield the lines of ``lines_of`` one by one."""
    text = text.replace("\r\n", "\n")
    spans = _merge(marks)
    at = first_line
    start = offset = begin  # of the line and of the piece, in characters
    pieces: list[Piece] = []
    read = _tokens(text, language)
    tokens = _split_at_names(_from(read, begin) if begin else read, names)
    is_safe = printable_block(text) == text
    for css, name, is_marked, part in _split_at_marks(tokens, spans):
        if is_safe and "\n" not in part:
            pieces.append(Piece(css, part, is_marked, 0 if name == _NO_NAME else name - start + 1))
            offset += len(part)
            continue
        for number, piece in enumerate(part.split("\n")):
            if number:
                yield Line(at, tuple(pieces))
                at += 1
                offset += 1
                start = offset
                pieces = []
            if piece:
                shown = piece if is_safe else printable_block(piece)
                column = 0 if name == _NO_NAME else name - start + 1
                pieces.append(Piece(css, shown, is_marked, column))
                offset += len(piece)
    if pieces or at == first_line:
        yield Line(at, tuple(pieces))


def _tokens(text: str, language: str) -> Iterable[Token]:
    """Return the tokens of a text.

    Those of short texts are cached: answers while typing mostly repeat the hits of the answer
    before.
    """
    return (
        _cached_tokens(text, language) if len(text) <= _MAX_CACHED_CHARS else _lex(text, language)
    )


@lru_cache(maxsize=256)
def _cached_tokens(text: str, language: str) -> tuple[Token, ...]:
    return tuple(_lex(text, language))


def _lex(text: str, language: str) -> Iterator[Token]:
    at = 0
    is_read = len(text) <= MAX_CHARS and not _LONG_LINE.search(text)
    lexer = _lexer_of(language, text) if is_read else None
    if lexer is not None:
        deadline_s = time.thread_time() + _DEADLINE_S
        for number, (start, kind, value) in enumerate(lexer.get_tokens_unprocessed(text)):
            if start != at or (number % _LOOK_EVERY == 0 and time.thread_time() > deadline_s):
                break
            css, is_name = _look_of(kind)
            yield Token(css, start, value, is_name)
            at = start + len(value)
    if at < len(text):
        yield Token("", at, text[at:])


def _from(tokens: Iterable[Token], begin: int) -> Iterator[Token]:
    """Yield tokens from a place on, the first one from there."""
    for token in tokens:
        if token.start >= begin:
            yield token
        elif token.start + len(token.text) > begin:
            yield token._replace(start=begin, text=token.text[begin - token.start :])


def _split_at_names(
    tokens: Iterable[Token], names: Collection[str]
) -> Iterator[tuple[str, int, str, int]]:
    """Yield class, offset and text of each token, and the offset of the linked name that it is.

    A token can hold several names (a dotted module), or more than a name (a decorator).
    """
    for css, start, value, is_name in tokens:
        if not is_name or not names:
            yield css, start, value, _NO_NAME
        elif value in names:
            yield css, start, value, start
        elif value.isascii() and value.isidentifier():
            yield css, start, value, _NO_NAME
        else:
            at = 0
            for low, high in _names_in(value, names):
                if low > at:
                    yield css, start + at, value[at:low], _NO_NAME
                yield css, start + low, value[low:high], start + low
                at = high
            if at < len(value):
                yield css, start + at, value[at:], _NO_NAME


def _names_in(value: str, names: Collection[str]) -> Iterator[Span]:
    for found in _IDENTIFIER.finditer(value):
        word = found.group()
        if word in names:
            yield found.span()
        elif word[-1] in "?!" and word[:-1] in names:
            yield found.start(), found.end() - 1


def _split_at_marks(
    tokens: Iterable[tuple[str, int, str, int]], spans: Sequence[Span]
) -> Iterator[tuple[str, int, bool, str]]:
    """Split tokens at the borders of marks, and join neighbours with the same look and name."""
    borders = [*(border for span in spans for border in span), sys.maxsize]
    passed = 0  # borders
    held, look = "", ("", _NO_NAME, False)
    for css, start, value, name in tokens:
        end = start + len(value)
        while borders[passed] <= start:
            passed += 1
        if borders[passed] >= end:  # as for most tokens
            own = (css, name, passed % 2 == 1)
            if own == look:
                held += value
                continue
            if held:
                yield *look, held
            held, look = value, own
            continue
        inner = borders[passed : bisect.bisect_left(borders, end)]
        for place, low in enumerate((start, *inner)):
            own = (css, name, (passed + place) % 2 == 1)
            part = value[low - start : inner[place] - start if place < len(inner) else None]
            if own == look:
                held += part
                continue
            if held:
                yield *look, held
            held, look = part, own
    if held:
        yield *look, held


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@cache
def _lexer_class(language: str) -> type[Lexer] | None:
    name = _ALIASES.get(language, language)
    try:
        return find_lexer_class_by_name(name) if name else None
    except ClassNotFound:
        return None


def _lexer_of(language: str, text: str) -> Lexer | None:
    found = _lexer_class(language)
    if found is None:
        return None
    options = {} if _PHP_START.search(text) else _OPTIONS.get(language, {})
    return found(**options)


@cache
def _look_of(kind: Any) -> tuple[str, bool]:
    """Return the class of a kind of token, and whether it is the name of something in code."""
    is_name = kind in Name and not any(kind in other for other in _NO_NAMES)
    token = kind
    while token is not None and STANDARD_TYPES.get(token, "") not in CLASSES:
        token = token.parent
    return ("" if token is None else str(STANDARD_TYPES[token])), is_name
