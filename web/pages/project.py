"""The page of a project: what is indexed, what is not and why, and its actions."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from litestar import Request, Response, get, post
from markupsafe import Markup

from engine.browse_records import MIN_MAPPED_FILES, FolderPage, ListRequest
from engine.errors import (
    DamagedIndexError,
    EngineError,
    FileNotIndexedError,
    InvalidInputError,
)
from engine.index_records import IndexOptions
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from web.api.service import Service
from web.pages.doctor import doctor_error_page, doctor_facts
from web.pages.forms import perform, read_form
from web.pages.home import bars_of
from web.pages.previews import has_preview, preview_of
from web.pages.rendering import (
    PageRequest,
    Pages,
    forgotten_path,
    name_of,
    page,
    page_request_of,
    project_path,
    redirect,
)
from web.pages.tree import Place
from web.pages.treemap import FRAME, TONES, treemap_of
from web.terminal import printable_block

_MAX_SKIPS = 100
_MAX_ENTRIES = 200
_MAX_RECENT = 8
_MAX_README_CHARS = 20_000
_READMES = ("readme.md", "readme.markdown", "readme.rst", "readme.txt", "readme")


@record
class ProjectParams:
    """Parameters of the address, and the error of an action."""

    project_id: str
    reason: str = ""  # of the listed skips; empty: none are listed
    cursor: str | None = None
    folder: str = ""  # of the treemap; empty: the root
    error: EngineError | None = None  # of the action just requested


@get("/p/{project_id:str}")
async def project(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Render a project; for htmx the changing part.

    In the address, ``skips=REASON`` lists the paths skipped for a reason, and ``folder=PATH``
    selects the treemap's folder. A damaged index gets the doctor's page instead.
    """
    page_request = page_request_of(request)
    query = request.query_params
    params = ProjectParams(
        project_id=project_id,
        reason=query.get("skips", ""),
        cursor=query.get("cursor"),
        folder=query.get("folder", ""),
    )
    try:
        return page(await service.work(lambda: _project(service, pages, page_request, params)))
    except DamagedIndexError as error:
        return await doctor_error_page(service, pages, page_request, project_id, error)


@get("/p/{project_id:str}/folders")
async def folders(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    folder: str = "",
) -> Response[bytes]:
    """Render the treemap only, for htmx, which requests it until something is indexed."""
    page_request = page_request_of(request)
    if not page_request.is_fragment:
        return redirect(f"{project_path(project_id)}#folders")
    params = ProjectParams(project_id=project_id, folder=folder)
    return page(await service.work(lambda: _folders(service, pages, page_request, params)))


@post("/p/{project_id:str}/index", status_code=303)
async def index_again(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Submit a job to index the project, with ``force`` all of it, and serve it from now on."""
    form = await read_form(request)
    options = IndexOptions(force=form.get("force") == "yes")

    def act() -> str:
        root = service.index_of(project_id).root
        submitted = service.catalog.jobs.submit(root, options)
        service.settings.add_folder(root)
        return f"/jobs/{submitted.job_id}"

    return await _perform(request, service, pages, project_id, act)


@post("/p/{project_id:str}/forget", status_code=303)
async def forget(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Remove the project if its name was typed; the folder is not touched."""
    typed = (await read_form(request)).get("name", "")

    def act() -> str:
        path = display_path(service.index_of(project_id).root)
        name = name_of(path)
        if not typed or typed.strip() != name.strip():  # blanks are not seen
            raise InvalidInputError(f"type {name!r} to confirm, not {typed[:100]!r}", field="name")
        left = service.catalog.forget_id(project_id)
        service.recently_deleted.note(project_id, path, left)
        return forgotten_path(project_id)

    answer = await _perform(request, service, pages, project_id, act)
    if answer.status_code == HTTPStatus.SEE_OTHER:
        service.maintenance.forget(project_id)
    return answer


async def _perform(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    act: Callable[[], str],
) -> Response[bytes]:
    """Perform an action on a project and redirect, or render the project with the error."""
    page_request = page_request_of(request)

    def show(error: EngineError) -> bytes:
        return _project(
            service, pages, page_request, ProjectParams(project_id=project_id, error=error)
        )

    return await perform(service, act, show)


def _project(
    service: Service, pages: Pages, page_request: PageRequest, params: ProjectParams
) -> bytes:
    index = service.index_of(params.project_id)
    found = None
    if params.reason:
        query = ListRequest(limit=_MAX_SKIPS, cursor=params.cursor)
        found = index.browse.skips(query, reason=params.reason)
    status = index.status()
    context = {
        **doctor_facts(service, index, params.project_id),
        "status": status,
        "name": name_of(status.path),
        "here": project_path(params.project_id),
        "card": {"bars": bars_of(index.browse.languages())},
        "reason": params.reason,
        "listed": found,
        "error": params.error,
        "unwatched_reason": service.settings.unwatched_reason(status.path),
        "watches": service.settings.watches,
    }
    if page_request.is_fragment:
        return pages.html("parts/project.html", page_request, context)
    context |= _first_look(index)
    context["may_be_mapped"] = min(status.files, status.embeddings) >= MIN_MAPPED_FILES
    return pages.html("project.html", page_request, {**context, **_treemap(index, params)})


class Readme(NamedTuple):
    """The text that introduces a project."""

    path: str
    html: Markup


def _first_look(index: Project) -> dict[str, object]:
    """Return what a reader wants first: the files, the text that introduces them, and changes."""
    found = index.browse.folders.entries("", limit=_MAX_ENTRIES)
    return {
        "place": Place(index=index, path=""),
        "listing": found,
        "readme": _readme(index, found),
        "recent": index.browse.folders.recent(most=_MAX_RECENT),
    }


def _readme(index: Project, found: FolderPage) -> Readme | None:
    names = {each.path.lower(): each.path for each in found.entries if each.files}
    path = next((names[name] for name in _READMES if name in names), None)
    if path is None:
        return None
    try:
        content = index.browse.content(path)
    except FileNotIndexedError:  # removed meanwhile
        return None
    if has_preview(content):
        return Readme(path, preview_of(index.project_id, content))
    text = printable_block(content.text[:_MAX_README_CHARS])
    return Readme(path, Markup('<pre tabindex="0">{}</pre>').format(text))


def _folders(
    service: Service, pages: Pages, page_request: PageRequest, params: ProjectParams
) -> bytes:
    context = _treemap(service.index_of(params.project_id), params)
    here = project_path(params.project_id)
    return pages.html("parts/treemap.html", page_request, {**context, "here": here})


def _treemap(index: Project, params: ProjectParams) -> dict[str, object]:
    view = index.browse.overview.folder(params.folder)
    name = name_of(display_path(index.root))
    return {
        "treemap": treemap_of(params.project_id, name, view),
        "frame": FRAME,
        "tones": TONES,
    }
