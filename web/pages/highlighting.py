"""Syntax highlighting: code as lines of pieces with CSS classes, which templates turn into HTML.

The text is untrusted and lexers are built from regular expressions: large texts and texts with very
long lines stay plain, and so does the rest of a text after the deadline.
"""

import bisect
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from web.terminal import printable_block

MAX_CHARS = 200_000
_MAX_LINE_CHARS = 1000
_DEADLINE_S = 0.5
_MAX_CACHED_CHARS = 4_000  # longer texts are not cached
#: The classes with a colour in code.css; others fall back to their parent, or to plain text.
_CLASSES = frozenset(
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
}
_MAX_WORD_CHARS = 200  # longer words are not marked
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_LONG_LINE = re.compile(rf"[^\n]{{{_MAX_LINE_CHARS}}}")


class Piece(NamedTuple):
    """A part of a line."""

    css: str  # class; empty for plain text
    text: str  # printable, not yet escaped for HTML
    is_marked: bool = False


class Line(NamedTuple):
    """A line of code."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def is_marked(self) -> bool:
        """Whether any piece is marked."""
        return any(piece.is_marked for piece in self.pieces)


#: Start and end, in characters of the text.
Span = tuple[int, int]


def lines_of(
    text: str, language: str, *, first_line: int = 1, marks: Iterable[Span] = ()
) -> list[Line]:
    """Highlight a text; a line break at its end starts no new line.

    Args:
        text: The code.
        language: Its name in the index; an unknown one stays plain.
        first_line: The number of the first line.
        marks: Spans to mark.
    """
    return list(each_line(text, language, first_line=first_line, marks=marks))


def each_line(
    text: str, language: str, *, first_line: int = 1, marks: Iterable[Span] = ()
) -> Iterator[Line]:
    """Yield the lines of ``lines_of`` one by one."""
    text = text.replace("\r\n", "\n")
    spans = _merge(marks)
    at = first_line
    pieces: list[Piece] = []
    for css, is_marked, part in _split_at_marks(_tokens(text, language), spans):
        is_safe = printable_block(part) == part
        for number, piece in enumerate(part.split("\n")):
            if number:
                yield Line(at, tuple(pieces))
                at += 1
                pieces = []
            if piece:
                shown = piece if is_safe else printable_block(piece)
                pieces.append(Piece(css, shown, is_marked))
    if pieces or at == first_line:
        yield Line(at, tuple(pieces))


def words_in(text: str, words: Iterable[str], *, as_written: bool = False) -> list[Span]:
    """Find words in a text, also as parts of names; ``open session`` finds ``openSession``.

    Args:
        text: The text.
        words: Words, or several words in a row.
        as_written: Search literally: case, spaces and punctuation count.
    """
    pattern_of = re.escape if as_written else _pattern_of
    patterns = [pattern_of(word) for word in words if 1 < len(word.strip()) <= _MAX_WORD_CHARS]
    patterns = [pattern for pattern in patterns if pattern]
    if not patterns:
        return []
    flags = 0 if as_written else re.IGNORECASE
    longest_first = sorted(patterns, key=len, reverse=True)
    return [match.span() for match in re.finditer("|".join(longest_first), text, flags)]


def _pattern_of(word: str) -> str:
    """Return the pattern of a word, or of words in a row with only punctuation between them.

    The gap is possessive, and no word of a row begins or ends with a character that a gap can
    match, so there is no backtracking, whatever the query and the text.
    """
    row = word.split()
    if len(row) > 1:
        row = [inner for each in row if (inner := _EDGES.sub("", each))]
    return r"[\W_]*+".join(map(re.escape, row))


def _tokens(text: str, language: str) -> Iterable[tuple[str, int, str]]:
    """Return class, offset and text of each token, covering the whole text in order.

    Short texts are cached: answers while typing mostly repeat the hits of the answer before.
    """
    return (
        _cached_tokens(text, language) if len(text) <= _MAX_CACHED_CHARS else _lex(text, language)
    )


@lru_cache(maxsize=256)
def _cached_tokens(text: str, language: str) -> tuple[tuple[str, int, str], ...]:
    return tuple(_lex(text, language))


def _lex(text: str, language: str) -> Iterator[tuple[str, int, str]]:
    at = 0
    is_read = len(text) <= MAX_CHARS and not _LONG_LINE.search(text)
    # Creating a lexer for the first time takes up to 170 ms.
    lexer = _lexer_of(language) if is_read else None
    if lexer is not None:
        deadline_s = time.monotonic() + _DEADLINE_S
        for start, kind, value in lexer.get_tokens_unprocessed(text):
            if start != at or time.monotonic() > deadline_s:
                break
            yield _class_of(kind), start, value
            at = start + len(value)
    if at < len(text):
        yield "", at, text[at:]


def _split_at_marks(
    tokens: Iterable[tuple[str, int, str]], spans: Sequence[Span]
) -> Iterator[tuple[str, bool, str]]:
    """Split tokens at the borders of marks, and join neighbours with the same look."""
    borders = [border for span in spans for border in span]
    held, look = "", ("", False)
    for css, start, value in tokens:
        end = start + len(value)
        if not borders and css == look[0]:
            held += value
            continue
        first, last = bisect.bisect_right(borders, start), bisect.bisect_left(borders, end)
        cuts = [start, *borders[first:last], end]
        for place, (low, high) in enumerate(pairwise(cuts)):
            is_marked = bool((first + place) % 2)
            if (css, is_marked) != look:
                if held:
                    yield *look, held
                held, look = "", (css, is_marked)
            held += value[low - start : high - start]
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


def _lexer_of(language: str) -> Lexer | None:
    found = _lexer_class(language)
    return None if found is None else found()


@cache
def _class_of(kind: Any) -> str:
    token = kind
    while token is not None and STANDARD_TYPES.get(token, "") not in _CLASSES:
        token = token.parent
    return "" if token is None else str(STANDARD_TYPES[token])
