"""A file as it was indexed: its code with line anchors, its symbols, its folders, its like.

Addresses that open a file in an editor of this machine.

The one place where an address has a scheme other than this server's. The path is one that the
index has checked, and each of its bytes that could mean something in an address is escaped.

What a question matches in one file, so that a reader can go from match to match.

A whole file as HTML, in blocks of lines; the last ones are kept.

The templates of a line and of a piece of code are rendered once and cut where something goes. Of
those parts a line is joined in a microsecond, where a template took five.
"""

import os
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter
from markupsafe import Markup, escape

from engine.browse_records import FileContent
from engine.cache import KeptBytes
from engine.errors import EngineError, FileNotIndexedError
from engine.project import Index
from engine.records import (
    Hit,
    IndexOptions,
    Mode,
    PathExplanation,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
)
from engine.state_records import ACTIVE
from web.answers import index
from web.api.service import Service
from web.pages.facets import as_asked
from web.pages.highlighting import MOST_CHARS, Line, Span, each_line, words_in
from web.pages.rendering import Pages, Visit, page, redirect, tree_path, visit_of
from web.pages.results import files_of, group_of, words_to_mark
from web.pages.tree import Place, level_of
from web.security.serving import Serving

#: Names, and addresses with a path and a line, by the values of the setting ``editor``.
_EDITORS = {
    "vscode": ("VS Code", "vscode://file{path}:{line}"),
    "vscodium": ("VSCodium", "vscodium://file{path}:{line}"),
    "cursor": ("Cursor", "cursor://file{path}:{line}"),
    "zed": ("Zed", "zed://file{path}:{line}"),
    "idea": ("IDEA", "idea://open?file={path}&line={line}"),
    "sublime": ("Sublime Text", "subl://open?url=file://{path}&line={line}"),
}


class EditorLink(NamedTuple):
    """What opens a file in an editor."""

    name: str  # of the editor
    address: str  # ends with the number of the line


def editor_link(serving: Serving, index: Index, path: str, line: int) -> EditorLink | None:
    """Give what opens a file; None when no editor is wanted, or the file is not on this machine.

    Args:
        serving: Whose visitors are on this machine when it listens on loopback alone.
        index: The project.
        path: Of an indexed file.
        line: 1-based.
    """
    if serving.editor not in _EDITORS or not serving.is_loopback:
        return None
    try:
        place = index.browse.folders.place(path)
    except EngineError:
        return None
    return None if place is None else link_to(serving.editor, place, line)


def link_to(editor: str, place: str, line: int) -> EditorLink:
    """Give the address of an absolute path in an editor.

    Args:
        editor: A value of the setting, ``none`` excepted.
        place: As the disk spells it.
        line: 1-based.
    """
    name, form = _EDITORS[editor]
    path = "/" + quote(os.fsencode(place).lstrip(b"/"), safe="/")
    return EditorLink(name, form.format(path=path, line=line))


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


BLOCK = 200  # lines that a browser lays out together, once they are near
_MOST_KEPT_BYTES = 32 << 20
_NUMBER, _CODE = "\0", "\1"  # stand in templates where something goes; code has neither
_OTHER_PAGES = 2  # of servers in this process: in tests


class Listing(NamedTuple):
    """The lines of a file."""

    blocks: tuple[str, ...]
    text: str

    @property
    def size_bytes(self) -> int:
        """How much memory it takes."""
        return sum(map(sys.getsizeof, (*self.blocks, self.text)))


class Forms(dict[tuple[str, bool], tuple[str, str]]):
    """What stands before and after code of a class that is marked or not; and around a line.

    Args:
        pages: Have the templates.
    """

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self._pages = pages
        plain, self.end = self._line(is_picked=False)
        picked, _ = self._line(is_picked=True)
        #: The parts before, between and after the numbers of a line.
        self.plain, self.picked = plain.split(_NUMBER), picked.split(_NUMBER)

    def __missing__(self, look: tuple[str, bool]) -> tuple[str, str]:
        css, is_marked = look
        facts = {"css": css, "is_marked": is_marked, "text": _CODE}
        before, after = self._pages.part("parts/code_piece.html", facts).split(_CODE)
        self[look] = before, after
        return self[look]

    def _line(self, *, is_picked: bool) -> tuple[str, str]:
        facts = {"number": _NUMBER, "code": _CODE, "is_picked": is_picked}
        before, after = self._pages.part("parts/code_line.html", facts).split(_CODE)
        return before, after


_KEPT: KeptBytes[Listing] = KeptBytes(_MOST_KEPT_BYTES, lambda listing: listing.size_bytes)


def blocks_of(
    pages: Pages, text: str, language: str, *, marks: tuple[Span, ...] = (), picked: range
) -> list[Markup]:
    """Give the lines of a text as HTML.

    Args:
        pages: Make it.
        text: Of the file.
        language: That it is written in.
        marks: What to mark.
        picked: The numbers of lines that stand out.
    """
    forms = _forms(pages)

    def make() -> Listing:
        lines = each_line(text, language, marks=marks)
        blocks = iter(lambda: _html(forms, list(islice(lines, BLOCK))), "")
        return Listing(tuple(blocks), text)

    listing = _KEPT.get((text, language, marks), make)
    first = range(1, BLOCK * len(listing.blocks), BLOCK)
    # Each piece of code in it was escaped when the block was made.
    return [
        Markup(_with_picked(forms, html, range(at, at + BLOCK), picked))  # noqa: S704
        for at, html in zip(first, listing.blocks, strict=True)
    ]


def _html(forms: Forms, lines: Sequence[Line]) -> str:
    pieces = chain.from_iterable(line.pieces for line in lines)
    codes = iter(str(escape(_CODE.join(piece.text for piece in pieces))).split(_CODE))
    made: list[str] = []
    for line in lines:
        made.append(str(line.number).join(forms.plain))
        for css, _, is_marked in line.pieces:
            before, after = forms[css, is_marked]
            made += before, next(codes), after
        made.append(forms.end)
    return "".join(made)


def _with_picked(forms: Forms, html: str, lines: range, picked: range) -> str:
    """Let some lines of a block stand out; no code in it has what begins a line."""
    if picked.start <= lines.start and lines.stop <= picked.stop:
        return html.replace(forms.plain[0], forms.picked[0])
    for number in _both(lines, picked):
        html = html.replace(str(number).join(forms.plain), str(number).join(forms.picked), 1)
    return html


def _both(one: range, other: range) -> Iterable[int]:
    return range(max(one.start, other.start), min(one.stop, other.stop))


@lru_cache(maxsize=_OTHER_PAGES)
def _forms(pages: Pages) -> Forms:
    return Forms(pages)


_MOST_SYMBOLS = 500
_RELATED = 6
_WAIT_S = 5.0
_PLACE = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
_VERSION = re.compile(r"[0-9a-f]{7,64}")

Text = Annotated[str, QueryParameter(name="q", max_length=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A symbol of an outline."""

    symbol: SymbolHit
    depth: int  # of containers around it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the address of the page says."""

    asked: Asked  # the question that led here
    lines: str = ""  # 10-20: marked
    match: int = 0  # which of its matches is shown
    version: str = ""  # hash of the contents that the link is of


def wanted_of(
    lines: str = "", text: Text = "", mode: Mode = Mode.HYBRID, match: int = 0, at: str = ""
) -> Wanted:
    """Gather what the address of the page says."""
    asked = Asked(query=as_asked(text, mode), mode=mode)
    return Wanted(lines=lines, asked=asked, match=match, version=at)


@get(
    "/p/{project_id:str}/f/{path:path}",
    dependencies={"wanted": Provide(wanted_of, sync_to_thread=False)},
)
async def file(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str,
    wanted: Wanted,
) -> Response[bytes]:
    """Show a file, or say why there is none; a folder has a page of its own."""
    visit = visit_of(request)

    def show() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        try:
            content = place.index.browse.content(place.path)
        except FileNotIndexedError as error:
            return _not_indexed(pages, visit, place, error)
        facts = _facts(service, pages, place, content, wanted)
        return page(pages.html("file.html", visit, facts))

    lane = service.lanes.search.run if wanted.asked.query else service.work
    return await lane(show)


@post("/p/{project_id:str}/f/{path:path}", status_code=303)
async def index_file_again(service: Service, project_id: str, path: str) -> Response[bytes]:
    """Bring the index of one file up to date, and lead to it, or to a job that takes long."""

    def act() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        asked = index(
            service.catalog,
            place.index.root,
            IndexOptions(only=(place.stored,)),
            wait_s=_WAIT_S,
            enough=service.closing.is_set,
        )
        is_done = asked.job.status not in ACTIVE and not asked.job.error
        return redirect(place.address if is_done else f"/jobs/{asked.job.job_id}")

    return await service.lanes.waits.run(act)


@get("/p/{project_id:str}/related/{path:path}")
async def related(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str,
) -> Response[bytes]:
    """Show code like that of a file; for htmx the list alone."""
    visit = visit_of(request)

    def show() -> bytes:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        return _related(pages, visit, place)

    return page(await service.lanes.search.run(show))


def _facts(
    service: Service, pages: Pages, place: Place, content: FileContent, wanted: Wanted
) -> dict[str, Any]:
    stored = place.stored
    first, last = _range_of(wanted.lines, content)
    matches: Matches | None = None
    if wanted.asked.query:
        matches = matches_in(place, content, wanted.asked, number=wanted.match, line=first)
    explanation = place.index.why(stored)
    version = wanted.version if _VERSION.fullmatch(wanted.version) else ""
    return {
        "place": place,
        "content": content,
        "blocks": blocks_of(
            pages,
            content.text,
            content.language,
            marks=matches.spans if matches else (),
            picked=range(first, last + 1) if first else range(0),
        ),
        "is_plain": len(content.text) > MOST_CHARS,
        "matches": matches,
        "outline": _outline(place.index.outline(stored)),
        "level": level_of(place.index, "", place.path),
        "explanation": explanation,
        "since": _since(explanation, is_root_there=os.path.isdir(place.index.root)),
        "other_version": version if not content.sha256.startswith(version) else "",
        "permanent": f"{place.address}?at={content.sha256}",
        "editor": editor_link(service.serving, place.index, place.path, first or 1),
    }


def _since(explanation: PathExplanation, *, is_root_there: bool) -> str:
    """Say what became of the file since it was indexed; empty: nothing, or nobody knows."""
    if not is_root_there:
        return "folder gone"
    foreseen = explanation.facts.get("next_run")
    does = foreseen.get("does") if isinstance(foreseen, dict) else None
    if does == "remove":
        return "gone"
    if does == "skip":
        return "refused"
    return "changed" if explanation.fresh is False else ""


def _not_indexed(
    pages: Pages, visit: Visit, place: Place, error: FileNotIndexedError
) -> Response[bytes]:
    """Say why a file is not indexed and what to do about it; lead to a folder."""
    stored = place.stored
    explanation = place.index.why(stored)
    if explanation.outcome == "folder":
        return redirect(tree_path(place.index.project_id, place.path.rstrip("/")))
    foreseen = explanation.facts.get("next_run")
    facts = {
        "place": place,
        "message": error.message,
        "explanation": explanation,
        "foreseen": foreseen if isinstance(foreseen, dict) else {},
        "level": level_of(place.index, "", place.path),
    }
    return page(pages.html("unindexed.html", visit, facts), status=404)


def _range_of(lines: str, content: FileContent) -> tuple[int, int]:
    """Read the lines of an address; 0 and 0 when it has none."""
    match = _PLACE.fullmatch(lines)
    if match is None:
        return 0, 0
    ends = sorted((int(match[1]), int(match[2] or match[1])))
    return min(ends[0], content.lines), min(ends[1], content.lines)


def _outline(symbols: Sequence[SymbolHit]) -> list[Entry]:
    entries = []
    ends: list[int] = []  # last lines of the symbols around the present one
    for symbol in sorted(symbols, key=lambda each: (each.line_start, -each.line_end)):
        while ends and ends[-1] < symbol.line_end:
            ends.pop()
        entries.append(Entry(symbol=symbol, depth=min(len(ends), 4)))
        ends.append(symbol.line_end)
    return entries[:_MOST_SYMBOLS]


def _related(pages: Pages, visit: Visit, place: Place) -> bytes:
    answer: SearchAnswer | None = None
    problem = ""
    try:
        lines = max(place.index.browse.content(place.path).lines, 1)
        wanted = RelatedRequest(path=place.stored, line_start=1, line_end=lines, limit=_RELATED)
        answer = replace(place.index.related(wanted), query="")  # a place is no question
    except EngineError as error:
        if not visit.is_fragment:
            raise
        problem = error.message
    ids = {place.project: place.index.project_id}
    facts = {
        "place": place,
        "groups": [group_of(each, answer, ids) for each in files_of(answer)] if answer else [],
        "problem": problem,
        "several": False,
    }
    return pages.html("parts/related.html" if visit.is_fragment else "related.html", visit, facts)
