"""The page of a file as indexed: code with line anchors, matches, outline, tree, related code.

- Links to an editor on this machine are the only addresses with a foreign scheme. Their path was
  checked by the index, and every byte with a meaning in addresses is escaped.
"""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from litestar import Request, Response, get, post
from litestar.di import Provide

from engine.browse_records import FileContent, PathExplanation
from engine.errors import EngineError, FileNotIndexedError
from engine.index_records import IndexOptions
from engine.pattern_marks import PatternMarks, patterns_in
from engine.project import Project
from engine.record_class import record
from engine.search_records import Hit, Mode, RelatedRequest, SearchAnswer, SearchRequest, SymbolHit
from engine.state_records import ACTIVE
from engine.word_marks import words_in
from web.api.service import Service
from web.operations import Wait, index
from web.outline import tree_of
from web.pages.blame import ShownBlame, kept_blame, shown_blame
from web.pages.code_blocks import NO_LINKS, NameLinks, Selection, blocks_of
from web.pages.excerpts import read_version, version_of
from web.pages.facets import plain_value
from web.pages.file_params import FileParams, OriginQuery, read_origin, read_params, read_shown
from web.pages.highlighting import MAX_CHARS, Span
from web.pages.images import is_image
from web.pages.name_panel import (
    PANEL_ERROR,
    name_panel,
    names_elsewhere,
    read_name,
    vanished_panel,
)
from web.pages.previews import has_preview, preview_of, why_no_preview
from web.pages.rendering import (
    PageRequest,
    Pages,
    commits_path,
    page,
    page_request_of,
    redirect,
    tree_path,
)
from web.pages.results import files_of, group_of, linked_names, words_to_mark
from web.pages.tree import Place, level_of
from web.security.server_settings import ServerSettings

_MAX_HITS = 100
_MAX_MATCHES = 10_000  # of a pattern that are marked
_MAX_PATTERN_S = 1.0  # for finding them
_MAX_SYMBOLS = 500
_MAX_GAP_LINES = 10  # between two matching lines of a place
_MAX_PLACE_LINES = 40  # what fills a window
_RELATED = 6
_WAIT_S = 5.0
_LINE_RANGE = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")
#: Names and address formats by the values of the setting ``editor``.
_EDITORS = {
    "vscode": ("VS Code", "vscode://file{path}:{line}"),
    "vscodium": ("VSCodium", "vscodium://file{path}:{line}"),
    "cursor": ("Cursor", "cursor://file{path}:{line}"),
    "zed": ("Zed", "zed://file{path}:{line}"),
    "idea": ("IDEA", "idea://open?file={path}&line={line}"),
    "sublime": ("Sublime Text", "subl://open?url=file://{path}&line={line}"),
}


class EditorLink(NamedTuple):
    """A link that opens a file in an editor."""

    name: str  # of the editor
    address: str  # ends with the line number


def editor_link(
    settings: ServerSettings, index: Project, path: str, line: int
) -> EditorLink | None:
    """Return the link that opens a file, or None without an editor or a local file.

    Args:
        settings: Its clients are on this machine only if it listens on loopback.
        index: The project.
        path: The path of an indexed file.
        line: 1-based.
    """
    if settings.editor not in _EDITORS or not settings.is_loopback:
        return None
    try:
        place = index.browse.folders.place(path)
    except EngineError:
        return None
    return None if place is None else link_to(settings.editor, place, line)


def link_to(editor: str, place: str, line: int) -> EditorLink:
    """Return the link that opens an absolute path in an editor.

    Args:
        editor: A value of the setting except ``none``.
        place: The path as spelled on disk.
        line: 1-based.
    """
    name, form = _EDITORS[editor]
    path = "/" + quote(os.fsencode(place).lstrip(b"/"), safe="/")
    return EditorLink(name, form.format(path=path, line=line))


@record
class Matches:
    """The matches of a query in a file."""

    origin: OriginQuery
    spans: tuple[Span, ...]  # in characters of the text with ``\n`` line ends
    stops: tuple[int, ...]  # the first lines of the places to step through, in order
    number: int  # of matching lines
    is_whole: bool  # the patterns have no more matches
    by_meaning: bool  # the stops are semantic hits, without any of the words
    at: int  # the current stop, 1-based; 0: none
    problem: str  # error message of the query, or empty

    def line(self, by: int) -> tuple[int, int]:
        """Return number and line of the stop ``by`` steps away, wrapping around."""
        number = (self.at - 1 + by) % len(self.stops) + 1
        return number, self.stops[number - 1]


def matches_in(
    place: Place,
    content: FileContent,
    params: FileParams,
    *,
    line: int,
    outline: Sequence[SymbolHit],
) -> Matches:
    """Search one file.

    Args:
        place: The file.
        content: Its text.
        params: The query, and the number of the current stop; 0: the first from ``line`` on.
        line: 1-based; 0: the start of the file.
        outline: The symbols of the file.
    """
    origin, number = params.origin, params.match
    request = SearchRequest(
        query=origin.query,
        mode=origin.mode,
        file=place.stored,
        limit=_MAX_HITS,
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
    by_pattern = _pattern_marks(hits, text, origin)
    spans = [*by_pattern.spans, *words_in(text, _words_to_mark(hits, origin))] if hits else []
    lines = {line for span in spans for line in _lines_of(span, starts)}
    stops = _places_of(sorted(lines), outline) or sorted({hit.line_start for hit in hits})
    at = number if 1 <= number <= len(stops) else min(bisect_left(stops, line) + 1, len(stops))
    return Matches(
        origin=origin,
        spans=tuple(sorted(spans)),
        stops=tuple(stops),
        number=len(lines),
        is_whole=by_pattern.is_whole,
        by_meaning=not spans,
        at=at,
        problem=problem,
    )


def _places_of(lines: Sequence[int], outline: Sequence[SymbolHit]) -> list[int]:
    """Return the first lines of places: matching lines of a symbol that are close together."""
    borders = sorted({line for each in outline for line in (each.line_start, each.line_end + 1)})
    starts: list[int] = []
    for at, line in enumerate(lines):
        before = lines[at - 1] if at else -_MAX_GAP_LINES
        is_close = line - before <= _MAX_GAP_LINES and line - starts[-1] < _MAX_PLACE_LINES
        if not (is_close and bisect_right(borders, before) == bisect_right(borders, line)):
            starts.append(line)
    return starts


def _pattern_marks(hits: Iterable[Hit], text: str, origin: OriginQuery) -> PatternMarks:
    """Return the matches of the patterns, if they are why the file is found."""
    if not any(hit.matches for hit in hits):
        return PatternMarks([], is_whole=True)
    return patterns_in(
        text,
        origin.query,
        as_pattern=origin.mode is Mode.REGEX,
        most=_MAX_MATCHES,
        seconds=_MAX_PATTERN_S,
    )


def _lines_of(span: Span, starts: Sequence[int]) -> range:
    start, end = span
    return range(bisect_right(starts, start), bisect_right(starts, max(start, end - 1)) + 1)


def _words_to_mark(hits: Sequence[Hit], origin: OriginQuery) -> list[str]:
    """Return the words to mark in addition to matches of patterns."""
    if origin.mode is Mode.REGEX:
        return []
    is_by_pattern = any(hit.matches for hit in hits)
    return words_to_mark(origin.query, origin.mode, () if is_by_pattern else hits)


@record
class OutlineEntry:
    """A symbol of the outline."""

    symbol: SymbolHit
    depth: int  # number of containers around it


@get(
    "/p/{project_id:str}/f/{path:path}",
    dependencies={
        "version": Provide(read_version, sync_to_thread=False),
        "name_params": Provide(read_name, sync_to_thread=False),
        "origin": Provide(read_origin, sync_to_thread=False),
        "shown": Provide(read_shown, sync_to_thread=False),
        "params": Provide(read_params, sync_to_thread=False),
    },
)
async def file(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str,
    params: FileParams,
) -> Response[bytes]:
    """Render a file, or the reason why it is not indexed; redirect from a folder to its page.

    For htmx it is the panel of a name alone, or who changed the lines. The page shows the latter
    only if that is known or the address says to wait: its script asks for it otherwise.
    """
    page_request = page_request_of(request)

    def show() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        is_panel = page_request.is_fragment and params.name.is_asked
        try:
            if is_panel:
                context = {"panel": name_panel(service, place, params.name, params.kept)}
                return page(pages.html("parts/name_panel.html", page_request, context))
            content = place.index.browse.content(place.path)
            if page_request.is_fragment and params.has_blame:
                blame = shown_blame(place.index, place.stored, content)
                version = version_of(content.sha256)
                parts = {"place": place, "params": params, "blame": blame, "version": version}
                return page(pages.html("parts/blame.html", page_request, parts))
        except FileNotIndexedError as error:
            if is_panel:
                panel = vanished_panel(place, params.name)
                body = pages.html("parts/name_panel.html", page_request, {"panel": panel})
                return page(body, status=404, headers=PANEL_ERROR)
            return _not_indexed(pages, page_request, place, error)
        context = _facts(service, pages, place, content, params)
        return page(pages.html("file.html", page_request, context))

    reads_history = params.waits_for_blame or (page_request.is_fragment and params.has_blame)
    is_search = params.origin.query or params.name.is_asked or reads_history
    lane = service.executors.search.run if is_search else service.work
    return await lane(show)


@post("/p/{project_id:str}/f/{path:path}", status_code=303)
async def index_file_again(
    request: Request[Any, Any, Any], service: Service, project_id: str, path: str
) -> Response[bytes]:
    """Index one file again and redirect to the same page, or to the job if that takes long."""
    here = page_request_of(request).here

    def act() -> Response[bytes]:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        submitted = index(
            service.catalog,
            place.index.root,
            IndexOptions(only=(place.stored,)),
            Wait(_WAIT_S, stop=service.closing.is_set),
        )
        is_done = submitted.job.status not in ACTIVE and not submitted.job.error
        return redirect(here if is_done else f"/jobs/{submitted.job.job_id}")

    return await service.executors.waits.run(act)


@get("/p/{project_id:str}/related/{path:path}")
async def related(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str,
) -> Response[bytes]:
    """Render code similar to a file; for htmx the list only."""
    page_request = page_request_of(request)

    def show() -> bytes:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        return _related(pages, page_request, place)

    return page(await service.executors.search.run(show))


def _facts(
    service: Service, pages: Pages, place: Place, content: FileContent, params: FileParams
) -> dict[str, Any]:
    stored = place.stored
    first, last = _range_of(params.lines, content)
    outline = place.index.outline(stored)
    matches: Matches | None = None
    if params.origin.query:
        matches = matches_in(place, content, params, line=first, outline=outline)
    explanation = place.index.why(stored)
    can_preview = is_image(place.path) or has_preview(content)
    is_preview = can_preview and params.wants_preview
    name = params.name
    panel = name_panel(service, place, name, params.kept) if name.is_asked else None
    blame: ShownBlame | None = None
    if params.has_blame and not is_preview:
        read = shown_blame if params.waits_for_blame else kept_blame
        blame = read(place.index, stored, content)
    return {
        "place": place,
        "content": content,
        "can_preview": can_preview,
        "no_preview": "" if is_image(place.path) else why_no_preview(content),
        "is_preview": is_preview,
        "is_image": is_image(place.path),
        "preview": preview_of(place.index.project_id, content)
        if is_preview and not is_image(place.path)
        else "",
        "blocks": ()
        if is_preview
        else blocks_of(
            pages,
            content.text,
            content.language,
            marks=matches.spans if matches else (),
            links=_links(service, place, content, params),
            selected=Selection(
                range(first, last + 1) if first else range(0),
                (panel.at.line, panel.at.column) if panel and panel.at else None,
            ),
        ),
        "panel": panel,
        "version": version_of(content.sha256),
        "most_coloured": MAX_CHARS if len(content.text) > MAX_CHARS else 0,
        "matches": matches,
        "outline": _outline(outline),
        "level": level_of(place.index, "", place.path),
        "explanation": explanation,
        "since": _since(explanation, is_root_there=place.index.has_folder()),
        "other_version": params.version if not content.sha256.startswith(params.version) else "",
        "permanent": f"{place.address}?{urlencode({'at': content.sha256, **params.blame_part})}",
        "params": params,
        "blame": blame,
        "is_blame_due": params.has_blame and not is_preview and blame is None,
        "history": commits_path(place.index.project_id, f"path:{plain_value(f'/{place.path}')}"),
        "has_lines": bool(first),
        "line_history": commits_path(
            place.index.project_id, f"lines:{plain_value(f'{place.path}:{first or 1}-{last or 1}')}"
        ),
        "last_change": place.index.history.last_change(stored),
        "editor": editor_link(service.settings, place.index, place.path, first or 1),
    }


def _links(service: Service, place: Place, content: FileContent, params: FileParams) -> NameLinks:
    """Return which names are links; those of a plain file are not known."""
    if len(content.text) > MAX_CHARS:
        return NO_LINKS
    names = place.index.places.defined_names(content.text, content.language)
    names |= names_elsewhere(service, place, content.language)
    kept = urlencode([*params.kept, ("of", version_of(content.sha256))])
    return NameLinks(names, f"?{kept}&name=")


def _since(explanation: PathExplanation, *, is_root_there: bool) -> str:
    """Return what happened to the file since it was indexed; empty: nothing, or unknown."""
    if not is_root_there:
        return "folder missing"
    foreseen = explanation.facts.get("next_run")
    does = foreseen.get("does") if isinstance(foreseen, dict) else None
    if does == "remove":
        return "deleted"
    if does == "skip":
        return "excluded"
    return "changed" if explanation.fresh is False else ""


def _not_indexed(
    pages: Pages, page_request: PageRequest, place: Place, error: FileNotIndexedError
) -> Response[bytes]:
    """Render why a file is not indexed; redirect from a folder to its page."""
    stored = place.stored
    explanation = place.index.why(stored)
    if explanation.outcome == "folder":
        return redirect(tree_path(place.index.project_id, place.path.rstrip("/")))
    foreseen = explanation.facts.get("next_run")
    folder = Place(index=place.index, path=place.index.browse.folders.nearest(place.path))
    context = {
        "place": place,
        "message": error.message,
        "explanation": explanation,
        "foreseen": foreseen if isinstance(foreseen, dict) else {},
        "level": level_of(place.index, "", place.path),
        "folder": folder,
        "reachable": len(folder.path.split("/")) if folder.path else 0,
        "is_image": explanation.reason == "binary" and is_image(place.path),
    }
    return page(pages.html("unindexed.html", page_request, context), status=404)


def _range_of(lines: str, content: FileContent) -> tuple[int, int]:
    """Parse the lines of an address; (0, 0) for none."""
    match = _LINE_RANGE.fullmatch(lines)
    if match is None:
        return 0, 0
    ends = sorted((int(match[1]), int(match[2] or match[1])))
    return min(ends[0], content.lines), min(ends[1], content.lines)


def _outline(symbols: Sequence[SymbolHit]) -> list[OutlineEntry]:
    shown = islice(tree_of(symbols), _MAX_SYMBOLS)
    return [OutlineEntry(symbol=symbol, depth=min(depth, 4)) for depth, symbol in shown]


def _related(pages: Pages, page_request: PageRequest, place: Place) -> bytes:
    answer: SearchAnswer | None = None
    problem = ""
    try:
        lines = max(place.index.browse.content(place.path).lines, 1)
        params = RelatedRequest(
            path=place.stored, line_start=1, line_end=lines, limit=_RELATED, hashes=True
        )
        answer = replace(place.index.related(params), query="")  # no query to put into links
    except EngineError as error:
        if not page_request.is_fragment:
            raise
        problem = error.message
    ids = {place.project: place.index.project_id}
    files = files_of(answer) if answer else []
    names = linked_names(files, ids, lambda _: place.index)
    context = {
        "place": place,
        "groups": [group_of(each, answer, ids, names=names) for each in files] if answer else [],
        "problem": problem,
        "several": False,
    }
    return pages.html(
        "parts/related.html" if page_request.is_fragment else "related.html", page_request, context
    )
