"""Compose an answer within a budget: all places first, then the code that answers.

A budget counts everything that is sent, in tokens of 3.5 bytes, so the text of an answer is written
to be measured, or the texts of its parts once. What does not fit is left out in this order: code,
beginning with the last hit; what places say of themselves; further files; the last places; notes.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from engine.errors import InvalidQueryError
from engine.parameters import check_request
from engine.records import bytes_within
from engine.search.lexical import lexical_of
from engine.search.query import parse_query
from engine.search_records import MAX_HITS, Hit, Mode, SearchAnswer, SearchRequest

#: Of the code in an answer without a budget of its own.
CODE_TOKENS = 1000

_MORE_FILES = 20  # named behind the hits
_MOST_FILES = 40  # if the budget is large; so many further hits are ranked
_SHARE_OF_FILES = 0.25  # of a budget goes to them at most
_MIN_TOKENS_FOR_FILES = 300  # in a smaller budget code is worth more
_MIN_LIMIT = 10  # of hits; who wants fewer wants no other files, but likely hits
_SURE = 0.7  # confidence of a best hit that stands out
_UNSURE = 0.05  # of hits that are left out then, and whose code is in no budget
_RANKED = frozenset({Mode.HYBRID, Mode.MEANING, Mode.KEYWORD})

_WIDEST_MS = 99_999.999_999  # measured instead of the time, so that equal answers have equal sizes
_SHARE = 0.45  # of the room that is left goes to the code of the next hit
_MIN_CODE_BYTES = 60
_MIN_CODE_LINES = 3  # of code that is cut
_MAX_TRIES = 8  # to make code as long as its share
_MIN_STEM_CHARS = 3
_ENDING_CHARS = 2  # of a word, which differ between its forms


class Writer(Protocol):
    """Writes an answer as it is sent."""

    def __call__(self, answer: SearchAnswer, *, is_brief: bool) -> str:
        """Return the text.

        Args:
            answer: The answer; hits without code have an empty snippet.
            is_brief: Whether places are all that there is room for.
        """


class Measure(Protocol):
    """Measures an answer as it is sent."""

    def __call__(self, answer: SearchAnswer, hits: Sequence[Hit], *, is_brief: bool) -> int:
        """Return the size of the text in UTF-8.

        Args:
            answer: The answer.
            hits: Sent instead of its own: the first of them, with other code at most.
            is_brief: As for ``Writer``.
        """


def with_further_hits(request: SearchRequest) -> SearchRequest:
    """Return the request for an answer that is to be composed: all its code, and further hits.

    Raises:
        InvalidInputError: A parameter of the request is out of its bounds.
    """
    check_request(request)
    whole = replace(request, max_tokens=None, summaries=True)
    if request.mode not in _RANKED:
        return whole
    limit = request.limit

    def chosen(hits: Sequence[Hit]) -> set[int]:
        likely = [number for number, hit in enumerate(hits) if not _is_unsure(hit)]
        return {*range(min(limit, len(hits))), *likely[:limit]}

    further = _MOST_FILES if limit >= _MIN_LIMIT else _MIN_LIMIT
    return replace(whole, limit=min(limit + further, MAX_HITS), choose=chosen)


def stands_out(answer: SearchAnswer) -> bool:
    """Return whether the best hit is so likely that unlikely ones are left out beside it."""
    return bool(answer.hits) and (answer.hits[0].confidence or 0.0) >= _SURE


def with_more_files(answer: SearchAnswer, limit: int) -> SearchAnswer:
    """Return an answer with so many hits, the files of further ones in ``more_files``.

    If the best hit stands out, unlikely ones are left out, and it is not truncated by that: a
    higher limit shows no more. If all hits are likely, those that were not ranked may be so too.
    """
    if stands_out(answer):
        likely = [hit for hit in answer.hits if not _is_unsure(hit)]
        is_cut = answer.truncated and len(likely) == len(answer.hits)
        return replace(answer, hits=tuple(likely[:limit]), truncated=is_cut or len(likely) > limit)
    several = len({hit.project for hit in answer.hits}) > 1
    hits = answer.hits[:limit]
    known = {(hit.project, hit.path) for hit in hits}
    further: Collection[tuple[str, str]] = ()
    if limit >= _MIN_LIMIT:
        further = dict.fromkeys((hit.project, hit.path) for hit in answer.hits[limit:])
    more = [
        f"{project}/{path}" if several else path
        for project, path in further
        if (project, path) not in known
    ]
    return replace(
        answer,
        hits=hits,
        truncated=answer.truncated or len(answer.hits) > limit,
        more_files=tuple(more),
    )


class Composed(NamedTuple):
    """An answer that fits its budget."""

    answer: SearchAnswer
    is_brief: bool  # as it is to be written


def compose(
    answer: SearchAnswer,
    write: Writer,
    *,
    max_tokens: int | None = None,
    code_tokens: int | None = None,
) -> Composed:
    """Cut an answer until it fits.

    Args:
        answer: With all its code.
        write: Writes what is sent.
        max_tokens: The most tokens of what is sent, ``MIN_TOKENS`` or more; None for no bound.
        code_tokens: The most tokens that code may add to the places; None for no bound.
    """

    def measure(answer: SearchAnswer, hits: Sequence[Hit], *, is_brief: bool) -> int:
        text = write(replace(answer, hits=tuple(hits)), is_brief=is_brief)
        return len(text.encode("utf-8", "replace"))

    return compose_measured(answer, measure, max_tokens=max_tokens, code_tokens=code_tokens)


def compose_measured(
    answer: SearchAnswer,
    measure: Measure,
    *,
    max_tokens: int | None = None,
    code_tokens: int | None = None,
) -> Composed:
    """Cut an answer until it fits; as ``compose`` for a caller that measures without writing."""
    if max_tokens is None and code_tokens is None:
        return Composed(answer, is_brief=False)
    composer = _Composer(answer, measure, max_tokens, code_tokens)
    composed, is_brief = composer.compose()
    return Composed(replace(composed, took_ms=answer.took_ms), is_brief)


def within_budget(answer: SearchAnswer, max_tokens: int | None) -> SearchAnswer:
    """Cut an answer for a caller who writes places, symbols, summaries and code as plain text."""
    return compose(answer, _plain_text, max_tokens=max_tokens).answer


def _plain_text(answer: SearchAnswer, *, is_brief: bool) -> str:
    several = len({hit.project for hit in answer.hits}) > 1
    lines = []
    for hit in answer.hits:
        place = f"{hit.path}:{hit.line_start}-{hit.line_end} {hit.symbol or ''}"
        about = (hit.summary or hit.signature or "") if not is_brief else ""
        lines += [hit.project if several else "", place, about, hit.snippet]
    lines += [*answer.notes, *answer.missing, *(each.message for each in answer.errors)]
    return "\n".join(lines)


class _Composer:
    """Cuts one answer."""

    def __init__(
        self,
        answer: SearchAnswer,
        measure: Measure,
        max_tokens: int | None,
        code_tokens: int | None,
    ) -> None:
        self._whole = replace(answer, took_ms=_WIDEST_MS)
        self._measure = measure
        self._max_bytes = math.inf if max_tokens is None else bytes_within(max_tokens)
        self._max_code_bytes = math.inf if code_tokens is None else bytes_within(code_tokens)

    def compose(self) -> tuple[SearchAnswer, bool]:
        whole = self._whole = self._with_fewer_files(self._without_unsure_code(self._whole))
        bare = replace(whole, hits=tuple([_with_code(hit, "") for hit in whole.hits]))
        if self._fits_whole(bare):
            return whole, False
        if self._max_bytes < math.inf:
            bare = replace(bare, truncated=True)
        for is_brief in (False, True):
            if self._size(bare, bare.hits, is_brief=is_brief) <= self._max_bytes:
                return self._with_code(bare, is_brief=is_brief), is_brief
        return self._with_code(self._fewer_places(bare), is_brief=True), True

    def _fits_whole(self, bare: SearchAnswer) -> bool:
        whole = self._whole
        code = sum(len(hit.snippet.strip().encode("utf-8", "replace")) for hit in whole.hits)
        if code > self._max_bytes:  # as it is sent it is no shorter, and takes a while to write
            return False
        size = self._size(whole, whole.hits)
        if size > self._max_bytes:
            return False
        return size - self._size(bare, bare.hits) <= self._max_code_bytes

    def _without_unsure_code(self, answer: SearchAnswer) -> SearchAnswer:
        """Return the answer to a budget without the code of further hits that hardly answer."""
        if self._max_bytes == math.inf:
            return answer
        shown = [
            _with_code(hit, "") if place and _is_unsure(hit) else hit
            for place, hit in enumerate(answer.hits)
        ]
        is_cut = shown != [*answer.hits]
        return replace(answer, hits=tuple(shown), truncated=answer.truncated or is_cut)

    def _with_fewer_files(self, answer: SearchAnswer) -> SearchAnswer:
        """Return the answer with as many further files as its budget is worth."""
        if self._max_bytes < bytes_within(_MIN_TOKENS_FOR_FILES):
            return replace(answer, more_files=())
        room: float = self._max_bytes * _SHARE_OF_FILES
        kept = []
        for path in answer.more_files[: _MORE_FILES if room == math.inf else _MOST_FILES]:
            room -= len(path.encode("utf-8", "replace")) + 4
            if room < 0:
                break
            kept.append(path)
        return replace(answer, more_files=tuple(kept))

    def _size(self, answer: SearchAnswer, hits: Sequence[Hit], *, is_brief: bool = False) -> int:
        return self._measure(answer, hits, is_brief=is_brief)

    def _fewer_places(self, bare: SearchAnswer) -> SearchAnswer:
        """Return the answer with the most places that fit; notes go if not even one does."""
        fewer = replace(bare, more_files=())
        shorter = replace(fewer, notes=(), missing=(), errors=bare.errors[:1])
        shortest = replace(shorter, errors=(), query="")
        for tried in (fewer, shorter, shortest):
            number = self._most_places(tried)
            if number:
                return replace(tried, hits=tried.hits[:number])
        return replace(shortest, hits=())

    def _most_places(self, answer: SearchAnswer) -> int:
        low, high = 0, len(answer.hits)
        while low < high:
            middle = (low + high + 1) // 2
            if self._size(answer, answer.hits[:middle], is_brief=True) <= self._max_bytes:
                low = middle
            else:
                high = middle - 1
        return low

    def _with_code(self, places: SearchAnswer, *, is_brief: bool) -> SearchAnswer:
        """Add code to the best hits: to each a share of the room that is left."""
        words = _words_of(places)
        size = self._size(places, places.hits, is_brief=is_brief)
        room = min(self._max_bytes - size, self._max_code_bytes)
        hits = list(places.hits)
        for number, hit in enumerate(self._whole.hits[: len(hits)]):
            share = room * max(_SHARE, 1 / (len(hits) - number))
            if share < _MIN_CODE_BYTES:
                break
            longest: float = len(hit.snippet.encode("utf-8", "replace"))
            for _ in range(_MAX_TRIES if hit.snippet else 0):
                tried = [*hits]
                tried[number] = _with_passage(hit, words, min(longest, share))
                if not tried[number].snippet:  # no room, so there is none for worse hits
                    return replace(places, hits=tuple(hits))
                cost = self._size(places, tried, is_brief=is_brief) - size
                if cost <= share:
                    hits, room, size = tried, room - cost, size + cost
                    break
                longest = min(longest, share) * min(0.95, share / cost)
        return replace(places, hits=tuple(hits))


def _is_unsure(hit: Hit) -> bool:
    return hit.confidence is not None and hit.confidence < _UNSURE


def _with_code(hit: Hit, code: str, line: int | None = None) -> Hit:
    return replace(hit, snippet=code, snippet_line=None if line == hit.line_start else line)


def _with_passage(hit: Hit, words: Sequence[str], max_bytes: float) -> Hit:
    """Return a hit with the lines of its code that answer."""
    first = hit.snippet_line or hit.line_start
    if hit.matches:
        matching = Counter(match.line - first for match in hit.matches)
        passage = best_passage(hit.snippet, max_bytes, matching=matching)
    else:
        passage = best_passage(hit.snippet, max_bytes, words=words)
    if passage is None:
        return _with_code(hit, "")
    at, code = passage
    return _with_code(hit, code, first + at)


def best_passage(
    code: str,
    max_bytes: float,
    *,
    words: Sequence[str] = (),
    matching: Counter[int] | None = None,
) -> tuple[int, str] | None:
    """Return the lines of a code that answer a query.

    They are the whole code if it is short enough, else the lines in a row with the most words of
    the query, where a word and its stem count by the share of lines without them; of several the
    first.

    Args:
        code: The code.
        max_bytes: The most bytes of UTF-8 to return.
        words: The words of the query, in lower case.
        matching: How often each line, numbered from 0, matches; instead of words.

    Returns:
        The number of lines before it, and the passage; None when only a crumb would fit.
    """
    if len(code.encode("utf-8", "replace")) <= max_bytes:
        return 0, code
    lines = code.split("\n")
    worth = (
        _worth_by_words(lines, words)
        if matching is None
        else [matching[n] for n in range(len(lines))]
    )
    sizes = [len(line.encode("utf-8", "replace")) + 1 for line in lines]
    best, least, size, value, start = (0, 0), 0.0, 0, 0.0, 0
    for end in range(len(lines)):
        size += sizes[end]
        value += worth[end]
        while size > max_bytes:
            size -= sizes[start]
            value -= worth[start]
            start += 1
        is_longer = end + 1 - start > best[1] - best[0]
        if value > least + 1e-9 or (abs(value - least) <= 1e-9 and is_longer):
            best, least = (start, end + 1), value
    chosen = range(*best)
    kept = [number for number in chosen if any(map(str.isalnum, lines[number]))]
    if len(kept) < _MIN_CODE_LINES:
        return None
    start, end = kept[0], chosen[-1] + 1
    return start, "\n".join(lines[start:end]).rstrip()


def _worth_by_words(lines: Sequence[str], words: Sequence[str]) -> list[float]:
    worth = [0.0] * len(lines)
    folded = [line.lower() for line in lines]
    for word in words:
        for part in (word, word[: max(_MIN_STEM_CHARS, len(word) - _ENDING_CHARS)]):
            having = [number for number, line in enumerate(folded) if part in line]
            for number in having:
                worth[number] += 1 - len(having) / (len(lines) + 1)
    return worth


def _words_of(answer: SearchAnswer) -> Sequence[str]:
    """Return the words of the query of an answer; none if it is not in the query language."""
    try:
        query = parse_query(answer.query, as_pattern=answer.mode is Mode.REGEX)
    except InvalidQueryError:
        return ()
    return lexical_of(query).words
