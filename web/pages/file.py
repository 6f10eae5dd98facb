"""A file as it was indexed: its code with line anchors, its symbols, its neighbours, its like."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from litestar import Request, Response, get

from engine.browse_records import FileContent, ListRequest
from engine.errors import EngineError
from engine.index import Index
from engine.records import RelatedRequest, SearchAnswer, SymbolHit, display_path
from web.api.service import Service
from web.pages.highlighting import Line, lines_of
from web.pages.rendering import Pages, Visit, file_path, name_of, page, visit_of
from web.pages.results import groups_of

_BLOCK = 200  # lines that a browser lays out together, once they are near
_MOST_NEIGHBOURS = 200
_MOST_SYMBOLS = 500
_RELATED = 6
_PLACE = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A symbol of an outline."""

    symbol: SymbolHit
    depth: int  # of containers around it


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page is: a file of a project."""

    index: Index
    path: str

    @property
    def stored(self) -> str:
        """The path as the disk spells it."""
        return self.index.browse.stored_path(self.path)

    @property
    def project(self) -> str:
        """The root."""
        return display_path(self.index.root)

    @property
    def address(self) -> str:
        """Of the file's page."""
        return file_path(self.index.project_id, self.path)

    @property
    def crumbs(self) -> list[str]:
        """The names of the folders that it is in."""
        return self.path.split("/")[:-1]


@get("/p/{project_id:str}/f/{path:path}")
async def file(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    path: str,
    lines: str = "",
) -> Response[bytes]:
    """Show a file; ``lines=10-20`` marks some of it."""
    visit = visit_of(request)

    def show() -> bytes:
        place = Place(index=service.index_of(project_id), path=path.removeprefix("/"))
        return pages.html("file.html", visit, _facts(place, lines))

    return page(await service.work(show))


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


def _facts(place: Place, lines: str) -> dict[str, Any]:
    content = place.index.browse.content(place.path)
    stored = place.stored
    first, last = _range_of(lines, content)
    numbered = _lines_of(content.text, content.language)
    return {
        "place": place,
        "content": content,
        "blocks": [numbered[at : at + _BLOCK] for at in range(0, len(numbered), _BLOCK)],
        "first": first,
        "last": last,
        "outline": _outline(place.index.outline(stored)),
        "neighbours": _neighbours(place),
        "is_fresh": place.index.why(stored).fresh,
    }


@lru_cache(maxsize=8)
def _lines_of(text: str, language: str) -> Sequence[Line]:
    return lines_of(text, language)


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


def _neighbours(place: Place) -> list[tuple[str, str, bool]]:
    """Give name, address and whether it is this one, for the files of the same folder."""
    folder = "/".join(place.crumbs)
    found = place.index.browse.files(ListRequest(folder=folder, limit=_MOST_NEIGHBOURS)).items
    return [
        (name_of(each.path), file_path(place.index.project_id, each.path), each.path == place.path)
        for each in found
        if each.path.rpartition("/")[0] == folder
    ]


def _related(pages: Pages, visit: Visit, place: Place) -> bytes:
    answer: SearchAnswer | None = None
    problem = ""
    try:
        lines = max(place.index.browse.content(place.path).lines, 1)
        wanted = RelatedRequest(path=place.stored, line_start=1, line_end=lines, limit=_RELATED)
        answer = place.index.related(wanted)
    except EngineError as error:
        if not visit.is_fragment:
            raise
        problem = error.message
    ids = {place.project: place.index.project_id}
    facts = {
        "place": place,
        "groups": groups_of(answer, ids) if answer else [],
        "problem": problem,
        "several": False,
    }
    return pages.html("parts/related.html" if visit.is_fragment else "related.html", visit, facts)
