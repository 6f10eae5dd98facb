"""Where the words of a query are in a text: as the keyword index compares words, by their stems.

Only at what begins like a wanted word the words around are read, so a text with few of them is
passed through by one regular expression.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from engine.store.fulltext import stem_of
from engine.syntax.terms import word_spans, words_of

_MAX_WORD_CHARS = 200  # longer words are not marked
_MAX_GAP_CHARS = 200  # between two words in a row
_RUN = re.compile(r"[^\W_]+")
_RUN_BEFORE = re.compile(r"[^\W_]*\Z")
_MAX_RUN_CHARS = 400  # longer runs of letters are data

#: Start and end, in characters of the text.
Span = tuple[int, int]
#: Stems of words in a row, by the first of them, the longest row first.
_Rows = dict[str, list[Sequence[str]]]


def words_in(text: str, words: Iterable[str], *, as_written: bool = False) -> list[Span]:
    """Find words in a text, also as parts of names; ``open session`` finds ``openSession``.

    Args:
        text: The text.
        words: Words, or several words in a row.
        as_written: Search literally: case, spaces and punctuation count.
    """
    wanted = [word for word in words if 1 < len(word.strip()) <= _MAX_WORD_CHARS]
    if as_written:
        longest_first = sorted(map(re.escape, wanted), key=len, reverse=True)
        found = re.finditer("|".join(longest_first), text) if wanted else iter(())
        return [match.span() for match in found]
    rows: _Rows = {}
    literal: list[str] = []
    for word in wanted:
        row = words_of(word)
        if not any(map(str.isspace, word)) and len("".join(row)) < sum(map(str.isalnum, word)):
            literal.append(word)  # a name with single letters, such as x1
        elif row:
            stems = tuple(map(stem_of, row))
            rows.setdefault(stems[0], []).append(stems)
    for each in rows.values():
        each.sort(key=len, reverse=True)
    whole = {word.lower() for word in wanted}
    return sorted([*_found(text, rows, whole), *_literal(text, literal)])


def _literal(text: str, names: Sequence[str]) -> list[Span]:
    if not names:
        return []
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def _found(text: str, rows: _Rows, whole: set[str]) -> Iterator[Span]:
    """Yield where words in a row are, and names that were written as one word."""
    if not rows:
        return
    # A stem differs from the beginning of its words in its last letter at most.
    begins = {stem[:-1] if len(stem) > 2 else stem for stem in rows}
    pattern = re.compile("|".join(map(re.escape, begins)), re.IGNORECASE)
    at = 0
    while (begin := pattern.search(text, at)) is not None:
        start = begin.start()
        if start > at and text[start - 1].isalnum():
            before = _RUN_BEFORE.search(text[max(at, start - _MAX_RUN_CHARS) : start])
            start -= len(before.group()) if before else 0
        run = _RUN.match(text, start)
        at = run.end() if run else begin.end()
        words = _words_in(text[start:at]) if at - start <= _MAX_RUN_CHARS else ()
        if len(words) > 1 and text[start:at].lower() in whole:
            yield start, at
            continue
        passed = start
        for first, last, stem in words:
            if stem in rows and start + first >= passed:
                ends = (_end_of(text, start + last, row) for row in rows[stem])
                passed = next((each for each in ends if each), 0)
                if passed:
                    yield start + first, passed
        at = max(at, passed)


@lru_cache(maxsize=20_000)
def _words_in(run: str) -> tuple[tuple[int, int, str], ...]:
    """Return begin, end and stem of the words in a run of letters; code repeats its names."""
    return tuple((first, last, stem_of(run[first:last].lower())) for first, last in word_spans(run))


def _end_of(text: str, at: int, row: Sequence[str]) -> int:
    """Return where a row ends whose first word ends at a place; 0: the others do not follow."""
    for stem in row[1:]:
        spans = word_spans(text, at, at + _MAX_GAP_CHARS + _MAX_WORD_CHARS)
        first, last = next(spans, (0, 0))
        if stem_of(text[first:last].lower()) != stem:
            return 0
        at = last
    return at
