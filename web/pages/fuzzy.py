"""Fuzzy matching of short titles, such as names of projects and of actions."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_LEAST_INSIDE = 3  # letters that are looked for inside words
_LEAST_SIMILAR = 4  # letters of a word that may have a typing error
_SIMILARITY = 75.0  # 0 to 100
_WORD = re.compile(r"[^\W_]+")

Span = tuple[int, int]
#: Parts of a text, and whether each was typed.
Pieces = tuple[tuple[str, bool], ...]


class Fit(NamedTuple):
    """How a title fits what was typed."""

    cost: int  # 0: each typed word begins a word of the title
    pieces: Pieces


def fit(typed: str, title: str, synonyms: str = "") -> Fit | None:
    """Return how a title fits, or None if a typed word does not occur in it.

    A typed word may begin a word of the title, be inside of one, be made of the beginnings of
    several (``iaf``: Index a folder), or have a typing error.

    Args:
        typed: Words, in any order.
        title: The text that is shown.
        synonyms: Further words, of which a typed one may be a beginning.
    """
    lower = _folded(title)
    spans: list[Span] = []
    cost = 0
    for word in _folded(typed).split():
        found = _found(word, lower)
        if found is None and any(each.startswith(word) for each in synonyms.split()):
            found = 1, []
        found = found or _similar(word, lower)
        if found is None:
            return None
        cost += found[0]
        spans += found[1]
    return Fit(cost, pieces_of(title, spans))


def _folded(text: str) -> str:
    """Return a text in lower case with its length unchanged: ``İ`` alone would become two."""
    return text.replace("İ", "i").lower()


def _found(word: str, text: str) -> tuple[int, list[Span]] | None:
    """Return the cost and the spans of a typed word in a text."""
    begun = re.search(rf"(?<![^\W_]){re.escape(word)}", text)
    if begun:
        return 0, [begun.span()]
    at = text.find(word)
    if at >= 0 and len(word) >= _LEAST_INSIDE:
        return 1, [(at, at + len(word))]
    starts = re.compile(r"(?:.*?(?<![^\W_]))?".join(f"({re.escape(each)})" for each in word))
    initials = re.search(rf"(?<![^\W_]){starts.pattern}", text) if len(word) > 1 else None
    if initials:
        return 2, [initials.span(number) for number in range(1, len(word) + 1)]
    return None


def _similar(word: str, text: str) -> tuple[int, list[Span]] | None:
    if len(word) < _LEAST_SIMILAR:
        return None
    from rapidfuzz import fuzz  # not needed for most of what is typed

    words = list(_WORD.finditer(text))
    best = max(words, key=lambda each: fuzz.ratio(word, each[0]), default=None)
    if best is None or fuzz.ratio(word, best[0]) < _SIMILARITY:
        return None
    return 3, [best.span()]


def pieces_of(text: str, spans: Iterable[Span]) -> Pieces:
    """Return the parts of a text, and whether each was typed.

    Args:
        text: The text.
        spans: What of it was typed, half-open; they may overlap.
    """
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in sorted(spans):
        begin = max(start, at)
        if begin < end:
            pieces += [(text[at:begin], False), (text[begin:end], True)]
            at = end
    pieces.append((text[at:], False))
    return tuple(piece for piece in pieces if piece[0])
