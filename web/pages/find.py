"""The file finder: files by letters of their path, in the dialog of the key ``t`` and as a page."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.params import QueryParameter

from engine.browse_records import FoundPath
from engine.errors import DamagedIndexError, EngineError, IndexTooNewError, NotFoundError
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from engine.roots import project_id_of
from engine.search_records import ProjectError
from web.api.service import Service
from web.pages.fuzzy import Pieces, pieces_of
from web.pages.rendering import (
    PageRequest,
    Pages,
    file_path,
    name_of,
    name_of_id,
    page,
    page_request_of,
    project_path,
)

_MAX_SHOWN = 50
_FUZZY_TIER = 4  # of a ``FoundPath``
_LINE = re.compile(r"(?P<path>.*):(?P<line>[1-9][0-9]{0,8})", re.DOTALL)

Text = Annotated[str, QueryParameter(name="q", max_length=1000)]


@record
class FoundFile:
    """A file whose path matches."""

    project: str  # name
    address: str
    pieces: Pieces  # of the path
    is_fuzzy: bool  # only its letters match, in their order


@record
class FailedProject:
    """A project that could not be searched."""

    project_id: str
    name: str
    message: str  # why
    remedy: str  # address of its doctor; empty: trying again may help


@get("/find")
async def find(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    text: Text = "",
    project: str = "",
) -> Response[bytes]:
    """Render the files whose paths match; for htmx the list only."""
    page_request = page_request_of(request)
    return page(
        await service.work(lambda: _find(service, pages, page_request, text.strip(), project))
    )


def _find(
    service: Service, pages: Pages, page_request: PageRequest, text: str, project: str
) -> bytes:
    opened, failed = open_projects(service)
    known = {each.project_id for each in opened} | {each.project_id for each in failed}
    wanted = project if project in known else ""
    chosen = [index for index in opened if wanted in (index.project_id, "")]
    found = files_found(service, chosen, failed, text, limit=_MAX_SHOWN)
    context = {
        "text": text,
        "project": wanted,
        "projects": [(index.project_id, name_of(display_path(index.root))) for index in opened],
        "found": found,
        "failed": [each for each in failed if wanted in (each.project_id, "")],
        "several": len(chosen) > 1,
        "elsewhere": len(known) > 1,
        "is_list": page_request.is_fragment,
        "is_cut": len(found) >= _MAX_SHOWN,
    }
    return pages.html(
        "parts/found.html" if page_request.is_fragment else "find.html", page_request, context
    )


def files_found(
    service: Service,
    chosen: Sequence[Project],
    failed: list[FailedProject],
    text: str,
    *,
    limit: int,
    nearest: str = "",
) -> list[FoundFile]:
    """Return the best files for a typed text, which may end in ``:line``.

    Args:
        service: Its catalog knows the names of projects.
        chosen: The projects to look in.
        failed: Receives those that fail.
        text: The text.
        limit: The maximum number.
        nearest: Id of a project whose files come before others that match as well.
    """
    match = _LINE.fullmatch(text)
    path, line = (match["path"], match["line"]) if match else (text, "")
    paths: list[tuple[FoundPath, Project]] = []
    for index in chosen:
        try:
            found = index.browse.folders.find(path, limit=limit)
        except EngineError as error:
            failed.append(_failed_project(service, index.project_id, error.code, error.message))
        else:
            paths += [(each, index) for each in found]

    def order(found: tuple[FoundPath, Project]) -> tuple[int, bool, int, int]:
        each, index = found
        return each.tier, index.project_id != nearest, each.cost, len(each.path)

    return [_shown(each, index, line) for each, index in sorted(paths, key=order)[:limit]]


def open_projects(service: Service) -> tuple[list[Project], list[FailedProject]]:
    """Return the projects that can be opened, and those that cannot."""
    opened, failed = [], []
    for project in service.catalog.roots_or_ids():
        try:
            opened.append(service.index_of(project))
        except NotFoundError:  # forgotten meanwhile
            continue
        except EngineError as error:
            failed.append(_failed_project(service, project, error.code, error.message))
    return opened, failed


def failed_projects(service: Service, errors: Iterable[ProjectError]) -> list[FailedProject]:
    """Return the failures of an answer with the names of projects, and what to do."""
    return [_failed_project(service, each.project, each.error, each.message) for each in errors]


def _failed_project(service: Service, project: str, code: str, message: str) -> FailedProject:
    is_root = project.startswith("/")  # otherwise the file cannot tell its folder
    project_id = project_id_of(project) if is_root else project
    is_damaged = code == DamagedIndexError.code  # details are on the doctor's page
    has_doctor = is_damaged or code == IndexTooNewError.code
    return FailedProject(
        project_id=project_id,
        name=name_of(display_path(project)) if is_root else name_of_id(service, project),
        message="its index is damaged" if is_damaged else message,
        remedy=f"{project_path(project_id)}/doctor" if has_doctor else "",
    )


def _shown(found: FoundPath, index: Project, line: str) -> FoundFile:
    return FoundFile(
        project=name_of(display_path(index.root)),
        address=file_path(index.project_id, found.path) + (f"#L{line}" if line else ""),
        pieces=pieces_of(found.path, found.marks),
        is_fuzzy=found.tier >= _FUZZY_TIER,
    )
