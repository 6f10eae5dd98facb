"""Search results for people: hits grouped by file, as excerpts with marked matches."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from engine.errors import EngineError
from engine.project import Project
from engine.record_class import record
from engine.search_records import Hit, Mode, SearchAnswer
from engine.word_marks import words_in
from web.answers import explanation_lines, file_of
from web.pages.excerpts import Excerpt, Marks, Piece, Range, version_of
from web.pages.highlighting import Span, lines_of

_SHOWN_LINES = 4  # of a hit; the rest is loaded on demand
_REST_LINES = 2  # a rest of two lines is shown too
_SHOWN_HITS = 3  # of a file; the others are folded
_LINES_ABOVE = 1  # context above a mark
_SIGNATURE_CHARS = 24
_MAX_COLUMNS = 100  # before a match; behind more the snippet can begin
NO_NAMES: frozenset[str] = frozenset()
_BLANKS = re.compile(r"[ \t]*")
_PHRASE = re.compile(r'(?<!\S)"((?:[^"\\]|\\.)+)"')


def words_to_mark(query: str, mode: Mode, hits: Iterable[Hit]) -> list[str]:
    """Return the phrases of a query, its words found in the hits, and the names of symbols."""
    words = dict.fromkeys(match[1] for match in _PHRASE.finditer(query))
    for hit in hits:
        if hit.explain:
            words |= dict.fromkeys(match.word for match in hit.explain.words if match.columns)
        if mode is Mode.SYMBOL and hit.symbol:
            words[hit.symbol.rpartition(".")[2]] = None
    return list(words)


@record
class ShownHit:
    """A hit with its excerpt."""

    hit: Hit
    excerpt: Excerpt | None  # None if the search returned no code
    why: tuple[str, ...]  # explanation of the score, in lines

    @property
    def line(self) -> int:
        """The line to open: the first match of a pattern, or the first line."""
        return self.hit.matches[0].line if self.hit.matches else self.hit.line_start

    @property
    def subject(self) -> str:
        """The subject of a commit, whose summary is its date and its subject."""
        return (self.hit.summary or "").partition(" ")[2]


@record
class Group:
    """The hits of a file as shown, the best first."""

    project: str  # the root
    project_id: str
    path: str
    language: str
    is_stale: bool
    query_params: Mapping[str, str]  # parameters of the query for the file's address
    branch: str  # whose file it is; empty: the one whose files have pages
    branches: tuple[str, ...]  # on which all shown hits stand, if several were searched
    shown: tuple[ShownHit, ...]
    more: tuple[ShownHit, ...]  # folded
    elsewhere: int  # hits in the same file that are on other pages


class FileHits(NamedTuple):
    """The hits of a file, the best first."""

    project: str  # the root
    path: str
    hits: tuple[Hit, ...]
    elsewhere: int  # hits in the same file that are on other pages

    def branch(self, requested: str) -> str:
        """Return the branch whose file it is; empty if that is on disk, and so has a page.

        Args:
            requested: The only branch that the query names; empty for the one checked out.
        """
        if any(hit.fresh is not None for hit in self.hits):
            return ""
        return self.hits[0].branches[0] if self.hits[0].branches else requested


def files_of(answer: SearchAnswer, best: Sequence[Hit] = ()) -> list[FileHits]:
    """Group the hits of an answer by file, ordered by the best hit of each.

    Args:
        answer: The answer.
        best: The hits of all pages, as far as known.
    """
    files: dict[tuple[str, str, tuple[str, ...]], list[Hit]] = {}
    for hit in answer.hits:
        files.setdefault(file_of(hit), []).append(hit)
    in_all = Counter(map(file_of, best))
    return [
        FileHits(*place[:2], tuple(hits), max(0, in_all[place] - len(hits)))
        for place, hits in files.items()
    ]


#: Names of definitions by project and language.
Names = Mapping[tuple[str, str], frozenset[str]]


def linked_names(
    files: Iterable[FileHits], ids: Mapping[str, str], open_project: Callable[[str], Project]
) -> Names:
    """Return the names in the code of hits that are links, read once a project and language.

    Args:
        files: Files of an answer.
        ids: Ids of projects by their roots.
        open_project: Opens a project by its id.
    """
    return names_in((hit for file in files for hit in file.hits), ids, open_project)


def names_in(
    hits: Iterable[Hit], ids: Mapping[str, str], open_project: Callable[[str], Project]
) -> Names:
    """Return the names in the code of hits as ``linked_names`` does."""
    texts: dict[tuple[str, str], list[str]] = {}
    for hit in hits:
        if hit.kind != "commit":
            texts.setdefault((hit.project, hit.language), []).append(hit.snippet)
    names: dict[tuple[str, str], frozenset[str]] = {}
    for (root, language), found in texts.items():
        if root not in ids:
            continue
        with suppress(EngineError):  # the search tells of it
            places = open_project(ids[root]).places
            names[root, language] = places.defined_names("\n".join(found), language)
    return names


def group_of(
    file: FileHits,
    answer: SearchAnswer,
    ids: Mapping[str, str],
    *,
    branch: str = "",
    names: Names | None = None,
    scope: str = "",
) -> Group:
    """Prepare the hits of a file for the page.

    Args:
        file: A file of the answer.
        answer: The answer.
        ids: Ids of projects by their roots.
        branch: The only branch that the query names; empty for the checked out one.
        names: The names that are links.
        scope: Id of the project that the search is limited to; empty: none.
    """
    project_id = ids.get(file.project, "")
    branch = file.branch(branch)
    linked = {} if names is None or branch else names
    of_hits = {hit.branches for hit in file.hits}
    shown = [
        _shown(hit, answer, project_id, branch, linked.get((file.project, hit.language), NO_NAMES))
        for hit in file.hits
    ]
    return Group(
        project=file.project,
        project_id=project_id,
        path=file.path,
        language=file.hits[0].language,
        branch=branch,
        branches=next(iter(of_hits)) if len(of_hits) == 1 else (),
        is_stale=any(hit.fresh is False for hit in file.hits),
        query_params={**_query_params(answer, scope), **_version_of(file, branch)},
        shown=tuple(shown[:_SHOWN_HITS]),
        more=tuple(shown[_SHOWN_HITS:]),
        elsewhere=file.elsewhere,
    )


def _query_params(answer: SearchAnswer, scope: str) -> dict[str, str]:
    if not answer.query:
        return {}
    params = {"q": answer.query, "mode": str(answer.mode)}
    return {**params, "project": scope} if scope else params


def _version_of(file: FileHits, branch: str) -> dict[str, str]:
    """Return the parameter for the content of a branch's file: its page may show another one."""
    sha256 = file.hits[0].sha256
    return {"at": sha256} if branch and sha256 else {}


def _shown(
    hit: Hit, answer: SearchAnswer, project_id: str, branch: str, names: frozenset[str]
) -> ShownHit:
    """Return a hit with an excerpt of its best lines."""
    why = tuple(explanation_lines(hit.explain) if hit.explain else hit.why)
    if not hit.snippet:
        return ShownHit(hit=hit, excerpt=None, why=why)
    if hit.matches and hit.matches[0].start > _MAX_COLUMNS:
        names = NO_NAMES  # the snippet can begin within a long line
    marks = marks_of(hit, answer.query, answer.mode)
    excerpt = excerpt_for(hit, marks, project_id, branch=branch, names=names)
    return ShownHit(hit=hit, excerpt=excerpt, why=why)


def excerpt_for(
    hit: Hit,
    marks: Marks,
    project_id: str,
    *,
    branch: str = "",
    names: frozenset[str] = NO_NAMES,
    most: int = _SHOWN_LINES,
) -> Excerpt:
    """Return the best lines of a hit's code.

    Args:
        hit: The hit; it has code.
        marks: What to mark.
        project_id: Its project.
        branch: The requested one; empty for the checked out one.
        names: The names that are links.
        most: How many lines.
    """
    text = hit.snippet.replace("\r\n", "\n")
    first = hit.snippet_line or hit.line_start
    spans = _matches(hit, text, first) if hit.matches else words_in(text, marks.words)
    starts = _line_starts(text)
    low, high = _window(text, starts, spans, _defining_line(hit, text, starts), most)
    end = starts[high] if high < len(starts) else len(text)
    lines = lines_of(
        text[:end],
        hit.language,
        first_line=first + low,
        begin=starts[low],
        marks=spans,
        names=names,
    )
    piece = Piece(
        project_id=project_id,
        path=hit.path,
        hit=Range(hit.line_start, max(hit.line_start, hit.line_end)),
        shown=Range(lines[0].number, lines[-1].number),
        marks=marks,
        branch=branch,
        version=version_of(hit.sha256),
    )
    return Excerpt(piece=piece, lines=tuple(lines))


def marks_of(hit: Hit, query: str, mode: Mode) -> Marks:
    """Return the marks in and around a hit: matches of patterns, or words of the query."""
    if hit.matches:
        lines = hit.snippet.replace("\r\n", "\n").split("\n")
        first = hit.snippet_line or hit.line_start
        found = [
            lines[each.line - first][each.start : each.end]
            for each in hit.matches
            if 0 <= each.line - first < len(lines)
        ]
        return Marks.of(found, as_written=True)
    return Marks.of(words_to_mark(query, mode, (hit,)))


def _line_starts(text: str) -> list[int]:
    """Return the offsets of lines; a line break at the end starts no line."""
    return [0, *(match.end() for match in re.finditer("\n", text[:-1]))]


def _defining_line(hit: Hit, text: str, starts: Sequence[int]) -> int:
    """Return the index of the line that defines the hit's symbol, or 0 if it is not found."""
    signature = (hit.signature or "").strip()[:_SIGNATURE_CHARS]
    if signature and not hit.matches:
        for number, start in enumerate(starts):
            if text.startswith(signature, start + _blanks_at(text, start)):
                return number
    return 0


def _blanks_at(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() - at if match else 0


def _window(
    text: str, starts: Sequence[int], spans: Sequence[Span], defining: int, most_lines: int
) -> tuple[int, int]:
    """Choose the lines with the most different words.

    Ties go to the lines around the definition, which comes after the symbol's comment.
    """
    if len(starts) <= most_lines + _REST_LINES:
        return 0, len(starts)
    marked: dict[int, set[str]] = {}
    line = 0
    for start, end in sorted(spans):
        while line + 1 < len(starts) and starts[line + 1] <= start:
            line += 1
        marked.setdefault(line, set()).add(text[start:end].lower())
    most_low = len(starts) - most_lines
    lows = dict.fromkeys(min(max(0, at - _LINES_ABOVE), most_low) for at in (defining, *marked))
    best, most = 0, -1
    for low in lows:
        held = [marked[n] for n in range(low, low + most_lines) if n in marked]
        number = len(set().union(*held))
        if number > most:
            best, most = low, number
    return best, best + most_lines


def _matches(hit: Hit, text: str, first_line: int) -> list[Span]:
    """Return the matches of patterns as spans of the text."""
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
