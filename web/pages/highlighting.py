"""Code as lines of pieces, each with the class of its colour; templates make HTML of them.

The text is of a repository, and a lexer is made of regular expressions: what is large or has very
long lines stays plain, and so does the rest of a text that takes too long.
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

MOST_CHARS = 200_000
_LONGEST_LINE = 1000
_DEADLINE_S = 0.5
_MOST_KEPT = 4_000  # characters of a text whose tokens are kept
#: Classes that code.css has a colour for; the others are text.
_CLASSES = frozenset(
    "k kd kn kr kc kp ow kt nc nn bp nf fm nd nt na s s1 s2 sa sb sc dl sd se sh si sx sr ss"
    " m mb mf mh mi mo il c ch cm c1 cs cp cpf gd gr gh gu gs ge".split()
)
#: Where Pygments calls a language otherwise.
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
_LONGEST_WORD = 200  # that is marked
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_LONG_LINE = re.compile(rf"[^\n]{{{_LONGEST_LINE}}}")


class Piece(NamedTuple):
    """A part of a line."""

    css: str  # its class; empty for plain text
    text: str  # safe to show, to be escaped for HTML
    is_marked: bool = False


class Line(NamedTuple):
    """A line of code."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def is_marked(self) -> bool:
        """Whether something in it is marked."""
        return any(piece.is_marked for piece in self.pieces)


#: From and to, in characters of the text.
Span = tuple[int, int]


def lines_of(
    text: str, language: str, *, first_line: int = 1, marks: Iterable[Span] = ()
) -> list[Line]:
    """Give a text as lines; a line break at its end makes no line of its own.

    Args:
        text: The code.
        language: Its name in the index; one that is not known stays plain.
        first_line: The number of its first line.
        marks: What to mark.
    """
    return list(each_line(text, language, first_line=first_line, marks=marks))


def each_line(
    text: str, language: str, *, first_line: int = 1, marks: Iterable[Span] = ()
) -> Iterator[Line]:
    """Give the same one by one, for whoever makes something else of them at once."""
    text = text.replace("\r\n", "\n")
    spans = _merged(marks)
    at = first_line
    pieces: list[Piece] = []
    for css, is_marked, part in _parts(_tokens(text, language), spans):
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
    """Give where words stand in a text, also as parts of names; words in a row may be joined.

    Args:
        text: Where they are looked for.
        words: What is looked for.
        as_written: Each is a text of which every character counts, blanks, signs and capitals.
    """
    pattern_of = re.escape if as_written else _pattern_of
    patterns = [pattern_of(word) for word in words if 1 < len(word.strip()) <= _LONGEST_WORD]
    patterns = [pattern for pattern in patterns if pattern]
    if not patterns:
        return []
    flags = 0 if as_written else re.IGNORECASE
    longest_first = sorted(patterns, key=len, reverse=True)
    return [match.span() for match in re.finditer("|".join(longest_first), text, flags)]


def _pattern_of(word: str) -> str:
    """Give the pattern of a word, or of words in a row with anything between them but words.

    What lies between is all passed over at once, and no word of a row begins or ends with what can
    lie there, so that nothing is tried twice, whatever is asked for in whatever text.
    """
    row = word.split()
    if len(row) > 1:
        row = [inner for each in row if (inner := _EDGES.sub("", each))]
    return r"[\W_]*+".join(map(re.escape, row))


def _tokens(text: str, language: str) -> Iterable[tuple[str, int, str]]:
    """Give class, place and text of each token; all of the text, in order.

    Those of short texts are kept: while somebody types, one answer has the hits of the last one.
    """
    return _kept_tokens(text, language) if len(text) <= _MOST_KEPT else _read(text, language)


@lru_cache(maxsize=256)
def _kept_tokens(text: str, language: str) -> tuple[tuple[str, int, str], ...]:
    return tuple(_read(text, language))


def _read(text: str, language: str) -> Iterator[tuple[str, int, str]]:
    at = 0
    is_read = len(text) <= MOST_CHARS and not _LONG_LINE.search(text)
    # A lexer that is made for the first time takes up to 170 ms.
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


def _parts(
    tokens: Iterable[tuple[str, int, str]], spans: Sequence[Span]
) -> Iterator[tuple[str, bool, str]]:
    """Cut tokens at the borders of marks, and join neighbours that look the same."""
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


def _merged(spans: Iterable[Span]) -> list[Span]:
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
    looked = kind
    while looked is not None and STANDARD_TYPES.get(looked, "") not in _CLASSES:
        looked = looked.parent
    return "" if looked is None else str(STANDARD_TYPES[looked])
