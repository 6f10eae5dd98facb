"""A file as it was indexed: its code with line anchors, its symbols, its folders, its like."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.browse_records import FileContent
from engine.errors import EngineError, FileNotIndexedError
from engine.job_records import ACTIVE
from engine.records import (
    IndexOptions,
    Mode,
    PathExplanation,
    RelatedRequest,
    SearchAnswer,
    SymbolHit,
)
from web.api.service import Service
from web.indexing import index
from web.pages.editors import editor_link
from web.pages.facets import as_asked
from web.pages.highlighting import MOST_CHARS
from web.pages.listing import blocks_of
from web.pages.matches import Asked, Matches, matches_in
from web.pages.places import Place, level_of
from web.pages.rendering import Pages, Visit, page, redirect, tree_path, visit_of
from web.pages.results import files_of, group_of

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
