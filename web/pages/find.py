"""Find a file by a few letters of its path: what the key ``t`` opens, and a page of its own."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.params import QueryParameter

from engine.browse_records import FoundPath
from engine.errors import DamagedIndexError, EngineError, IndexCorruptError, NotFoundError
from engine.project import Index
from engine.records import display_path
from web.api.service import Service
from web.pages.rendering import (
    Pages,
    Visit,
    file_path,
    name_of,
    page,
    project_path,
    visit_of,
)

_MOST_SHOWN = 50
_ID_SHOWN = 12  # characters of the id of a project that nothing names
_LINE = re.compile(r"(?P<path>.*):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)

Text = Annotated[str, QueryParameter(name="q", max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file that may be meant."""

    project: str  # its name
    address: str
    pieces: tuple[tuple[str, bool], ...]  # of the path, and whether that was typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """A project that could not be asked."""

    project_id: str
    name: str
    message: str  # why
    remedy: str  # address of what helps; empty: it may be there when it is asked again


@get("/find")
async def find(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    text: Text = "",
    project: str = "",
) -> Response[bytes]:
    """Show the files whose paths fit; for htmx the list alone."""
    visit = visit_of(request)
    return page(await service.work(lambda: _found(service, pages, visit, text.strip(), project)))


def _found(service: Service, pages: Pages, visit: Visit, text: str, project: str) -> bytes:
    opened, unasked = _opened(service)
    known = {each.project_id for each in opened} | {each.project_id for each in unasked}
    wanted = project if project in known else ""
    chosen = [index for index in opened if wanted in (index.project_id, "")]
    match = _LINE.fullmatch(text)
    path, line = (match["path"], match["line"]) if match else (text, "")
    paths: list[tuple[FoundPath, Index]] = []
    for index in chosen:
        try:
            found = index.browse.folders.find(path, limit=_MOST_SHOWN)
        except EngineError as error:
            unasked.append(_unasked(service, index.project_id, error))
        else:
            paths += [(each, index) for each in found]
    paths.sort(key=lambda found: (found[0].rung, found[0].cost, len(found[0].path)))
    facts = {
        "text": text,
        "project": wanted,
        "projects": [(index.project_id, name_of(display_path(index.root))) for index in opened],
        "found": [_shown(each, index, line) for each, index in paths[:_MOST_SHOWN]],
        "unasked": [each for each in unasked if wanted in (each.project_id, "")],
        "several": len(chosen) > 1,
        "elsewhere": len(known) > 1,
        "is_list": visit.is_fragment,
        "is_cut": len(paths) >= _MOST_SHOWN,
    }
    return pages.html("parts/found.html" if visit.is_fragment else "find.html", visit, facts)


def _opened(service: Service) -> tuple[list[Index], list[Unasked]]:
    """Give the projects that can be opened, and the others."""
    opened, unasked = [], []
    for project in service.catalog.everywhere():
        try:
            opened.append(service.index_of(project))
        except NotFoundError:  # forgotten meanwhile
            continue
        except EngineError as error:
            unasked.append(_unasked(service, project, error))
    return opened, unasked


def _unasked(service: Service, project_id: str, error: EngineError) -> Unasked:
    is_damaged = isinstance(error, DamagedIndexError)
    is_torn = isinstance(error, IndexCorruptError)  # the doctor says how
    return Unasked(
        project_id=project_id,
        name=_name_of_damaged(service, project_id),
        message="its index is damaged" if is_torn else error.message,
        remedy=f"{project_path(project_id)}/doctor" if is_damaged else "",
    )


def _name_of_damaged(service: Service, project_id: str) -> str:
    try:
        return name_of(display_path(service.catalog.doctor_of_id(project_id).root))
    except EngineError:  # nothing tells it any more
        return project_id[:_ID_SHOWN]


def _shown(found: FoundPath, index: Index, line: str) -> Found:
    pieces, at = [], 0
    for start, end in found.marks:
        pieces += [(found.path[at:start], False), (found.path[start:end], True)]
        at = end
    pieces.append((found.path[at:], False))
    return Found(
        project=name_of(display_path(index.root)),
        address=file_path(index.project_id, found.path) + (f"#L{line}" if line else ""),
        pieces=tuple(piece for piece in pieces if piece[0]),
    )
