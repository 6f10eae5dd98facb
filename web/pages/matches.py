"""What a question matches in one file, so that a reader can go from match to match."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from engine.browse_records import FileContent
from engine.errors import EngineError
from engine.records import Hit, Mode, SearchRequest
from web.pages.highlighting import Span, words_in
from web.pages.marked_words import words_to_mark
from web.pages.places import Place

_MOST_HITS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question that led to a file."""

    query: str = ""
    mode: Mode = Mode.HYBRID

    @property
    def parts(self) -> dict[str, str]:
        """Give what the addresses of the results and of the file have of it."""
        return {"q": self.query, "mode": self.mode.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Where a file answers a question."""

    asked: Asked
    spans: tuple[Span, ...]  # characters of the text, line ends as ``\n``
    stops: tuple[int, ...]  # the lines to go to, in order
    by_meaning: bool  # passages that are meant, which hold none of the words
    at: int  # the stop that is shown, 1-based; 0: there is none
    problem: str  # why the question cannot be answered; empty: it can

    def line(self, by: int) -> tuple[int, int]:
        """Give number and line of the stop so many after this one, or before it."""
        number = (self.at - 1 + by) % len(self.stops) + 1
        return number, self.stops[number - 1]


def matches_in(
    place: Place, content: FileContent, asked: Asked, *, number: int, line: int
) -> Matches:
    """Put a question to one file.

    Args:
        place: The file.
        content: Its text.
        asked: The question.
        number: Which stop to show; 0: that of the line.
        line: From which on a stop is looked for; 0: the first one.
    """
    request = SearchRequest(
        query=asked.query,
        mode=asked.mode,
        file=place.stored,
        limit=_MOST_HITS,
        explain=True,
        context=False,
    )
    hits: Sequence[Hit] = ()
    problem = ""
    try:
        hits = place.index.search(request).hits
    except EngineError as error:
        problem = error.message
    text = content.text.replace("\r\n", "\n")
    starts = [0, *accumulate(len(each) + 1 for each in text.split("\n"))]
    spans = [*_of_patterns(hits, starts), *words_in(text, _words(hits, asked))] if hits else []
    lines = {bisect_right(starts, start) for start, _ in spans}
    stops = sorted(lines or {hit.line_start for hit in hits})
    at = number if 1 <= number <= len(stops) else min(bisect_left(stops, line) + 1, len(stops))
    return Matches(
        asked=asked,
        spans=tuple(sorted(spans)),
        stops=tuple(stops),
        by_meaning=not spans,
        at=at,
        problem=problem,
    )


def _of_patterns(hits: Iterable[Hit], starts: Sequence[int]) -> list[Span]:
    return [
        (starts[match.line - 1] + match.start, starts[match.line - 1] + match.end)
        for hit in hits
        for match in hit.matches
        if match.line < len(starts)
    ]


def _words(hits: Sequence[Hit], asked: Asked) -> list[str]:
    """Give the words to mark beside what patterns match."""
    if asked.mode is Mode.REGEX:
        return []
    is_by_pattern = any(hit.matches for hit in hits)
    return words_to_mark(asked.query, asked.mode, () if is_by_pattern else hits)
