"""Fuzzy matching of short titles, such as names of projects and of actions."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from engine.records import folded

_LEAST_INSIDE = 3  # letters that are looked for inside words
_MOST_INITIALS = 30  # letters of a word that may be the beginnings of several
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
    lower = folded(title)
    spans: list[Span] = []
    cost = 0
    for word in folded(typed).split():
        found = _found(word, lower)
        if found is None and any(each.startswith(word) for each in synonyms.split()):
            found = 1, []
        found = found or _similar(word, lower)
        if found is None:
            return None
        cost += found[0]
        spans += found[1]
    return Fit(cost, pieces_of(title, spans))


def _found(word: str, text: str) -> tuple[int, list[Span]] | None:
    """Return the cost and the spans of a typed word in a text."""
    begun = re.search(rf"(?<![^\W_]){re.escape(word)}", text)
    if begun:
        return 0, [begun.span()]
    at = text.find(word)
    if at >= 0 and len(word) >= _LEAST_INSIDE:
        return 1, [(at, at + len(word))]
    initials = _initials(word, text) if 1 < len(word) <= _MOST_INITIALS else None
    return None if initials is None else (2, initials)


def _initials(word: str, text: str) -> list[Span] | None:
    """Return the spans of a word's letters: each begins a word, or follows the one before it."""
    starts = [at for at in range(len(text)) if not at or not text[at - 1].isalnum()]
    failed: set[tuple[int, int]] = set()

    def rest(number: int, at: int) -> list[Span] | None:
        """Return the spans from a letter on, looked for from here."""
        if number == len(word):
            return []
        if (number, at) in failed:
            return None
        for each in [at, *(start for start in starts if start > at)] if number else starts:
            if text[each : each + 1] == word[number]:
                found = rest(number + 1, each + 1)
                if found is not None:
                    return [(each, each + 1), *found]
        failed.add((number, at))
        return None

    return rest(0, 0)


def _similar(word: str, text: str) -> tuple[int, list[Span]] | None:
    if len(word) < _LEAST_SIMILAR:
        return None
    from rapidfuzz import fuzz, process  # not needed for most of what is typed

    words = list(_WORD.finditer(text))
    each_word = [each[0] for each in words]
    best = process.extractOne(word, each_word, scorer=fuzz.ratio, score_cutoff=_SIMILARITY)
    return None if best is None else (3, [words[best[2]].span()])


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
