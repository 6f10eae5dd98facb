"""Hits as a person reads them: by file, with their code, what matched marked in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.records import Hit, Mode, SearchAnswer
from web.console.render import explanation_lines
from web.pages.highlighting import Line, Span, lines_of, words_in

_SHOWN_LINES = 9  # of a hit; the rest unfolds
_SHOWN_HITS = 3  # of a file; likewise
_MOST_LINES = 120
_PHRASE = re.compile(r'(?<!\S)"((?:[^"\\]|\\.)+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A hit."""

    hit: Hit
    head: tuple[Line, ...]
    rest: tuple[Line, ...]  # unfolds
    is_cut: bool  # there is still more, in the file
    why: tuple[str, ...]  # how its score came about, in lines

    @property
    def line(self) -> int:
        """Where to go: the first line that is marked by a pattern, or the first one."""
        return self.hit.matches[0].line if self.hit.matches else self.hit.line_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The hits of a file, the best first."""

    project: str  # the root
    project_id: str
    path: str
    language: str
    is_stale: bool
    shown: tuple[Shown, ...]
    more: tuple[Shown, ...]  # unfolds


def groups_of(answer: SearchAnswer, ids: Mapping[str, str]) -> list[Group]:
    """Put the hits of an answer together by file, in the order of the best hit of each.

    Args:
        answer: What was found.
        ids: Ids of projects, by their roots.
    """
    files: dict[tuple[str, str], list[Hit]] = {}
    for hit in answer.hits:
        files.setdefault((hit.project, hit.path), []).append(hit)
    return [
        Group(
            project=project,
            project_id=ids.get(project, ""),
            path=path,
            language=hits[0].language,
            is_stale=any(hit.fresh is False for hit in hits),
            shown=tuple(shown_of(hit, answer.query, answer.mode) for hit in hits[:_SHOWN_HITS]),
            more=tuple(shown_of(hit, answer.query, answer.mode) for hit in hits[_SHOWN_HITS:]),
        )
        for (project, path), hits in files.items()
    ]


def shown_of(hit: Hit, query: str = "", mode: Mode = Mode.HYBRID) -> Shown:
    """Give a hit with its code in lines."""
    text = hit.snippet.replace("\r\n", "\n")
    first = hit.snippet_line or hit.line_start
    marks = _marks(hit, text, first) if hit.matches else _words(hit, text, query, mode)
    lines = lines_of(text, hit.language, first_line=first, marks=marks) if text else []
    kept = lines[:_MOST_LINES]
    fold = _SHOWN_LINES if len(kept) > _SHOWN_LINES + 2 else len(kept)
    return Shown(
        hit=hit,
        head=tuple(kept[:fold]),
        rest=tuple(kept[fold:]),
        is_cut=len(lines) > _MOST_LINES,
        why=tuple(explanation_lines(hit.explain) if hit.explain else hit.why),
    )


def _marks(hit: Hit, text: str, first_line: int) -> list[Span]:
    """Give the matches of patterns as places in the text."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    marks = []
    for match in hit.matches:
        place = match.line - first_line
        if 0 <= place < len(starts) - 1:
            end = starts[place + 1] - 1
            low, high = starts[place] + match.start, starts[place] + match.end
            marks.append((min(low, end), min(high, end)))
    return marks


def _words(hit: Hit, text: str, query: str, mode: Mode) -> list[Span]:
    """Give the words of the question, and its phrases, as places in the text."""
    words: Sequence[str] = [match[1] for match in _PHRASE.finditer(query)]
    if hit.explain:
        words = [*words, *(match.word for match in hit.explain.words if match.columns)]
    if mode is Mode.SYMBOL and hit.symbol:
        words = [*words, hit.symbol.rpartition(".")[2]]
    return words_in(text, words)
