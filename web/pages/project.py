"""A project: what is indexed of it, what is not and why, and what can be done with it."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from litestar import Request, Response, get, post

from engine.browse_records import ListRequest
from engine.errors import DamagedIndexError, EngineError, InvalidInputError
from engine.project import Index
from engine.records import IndexOptions, display_path
from web.api.service import Service
from web.pages.doctor import doctor_facts, refused
from web.pages.forms import acted, form_of
from web.pages.home import bars_of
from web.pages.rendering import (
    Pages,
    Visit,
    forgotten_path,
    name_of,
    page,
    project_path,
    redirect,
    visit_of,
)
from web.pages.treemap import FRAME, TONES, treemap_of

_MOST_SKIPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which project, which of its skips, and which of its folders."""

    project_id: str
    reason: str = ""  # of the skips that are listed; empty: none are
    cursor: str | None = None
    folder: str = ""  # that the treemap shows; empty: all of the project
    error: EngineError | None = None  # of what was just asked for


@get("/p/{project_id:str}")
async def project(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Show a project; for htmx what changes.

    In the address, ``skips=REASON`` lists what was skipped for it, and ``folder=PATH`` is what the
    treemap shows. An index that is damaged has a doctor's page instead.
    """
    visit = visit_of(request)
    asked = request.query_params
    wanted = Wanted(
        project_id=project_id,
        reason=asked.get("skips", ""),
        cursor=asked.get("cursor"),
        folder=asked.get("folder", ""),
    )
    try:
        return page(await service.work(lambda: _project(service, pages, visit, wanted)))
    except DamagedIndexError as error:
        return await refused(service, pages, visit, project_id, error)


@get("/p/{project_id:str}/folders")
async def folders(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    folder: str = "",
) -> Response[bytes]:
    """Show the treemap alone, to htmx; it is asked for while nothing is indexed yet."""
    visit = visit_of(request)
    if not visit.is_fragment:
        return redirect(f"{project_path(project_id)}#folders")
    wanted = Wanted(project_id=project_id, folder=folder)
    return page(await service.work(lambda: _folders(service, pages, visit, wanted)))


@post("/p/{project_id:str}/index", status_code=303)
async def index_again(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Ask for the project to be indexed, all anew when the form says so; it is served then."""
    form = await form_of(request)
    options = IndexOptions(force=form.get("force") == "yes")

    def act() -> str:
        root = service.index_of(project_id).root
        submitted = service.catalog.jobs.submit(root, options)
        service.serving.join(root)
        return f"/jobs/{submitted.job_id}"

    return await _acted(request, service, pages, project_id, act)


@post("/p/{project_id:str}/forget", status_code=303)
async def forget(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Delete the index, when the name of the project was typed; the folder is not touched."""
    typed = (await form_of(request)).get("name", "")

    def act() -> str:
        path = display_path(service.index_of(project_id).root)
        name = name_of(path)
        if typed.strip() != name:
            raise InvalidInputError(f"the name is {typed[:100]!r}, wanted {name!r}", field="name")
        service.catalog.forget_id(project_id)
        service.farewells.note(project_id, path)
        return forgotten_path(project_id)

    answer = await _acted(request, service, pages, project_id, act)
    if answer.status_code == HTTPStatus.SEE_OTHER:
        service.treatments.forget(project_id)
    return answer


async def _acted(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    act: Callable[[], str],
) -> Response[bytes]:
    """Do something with a project, and lead to where that is seen; or say what was wrong."""
    visit = visit_of(request)

    def show(error: EngineError) -> bytes:
        return _project(service, pages, visit, Wanted(project_id=project_id, error=error))

    return await acted(service, act, show)


def _project(service: Service, pages: Pages, visit: Visit, wanted: Wanted) -> bytes:
    index = service.index_of(wanted.project_id)
    found = None
    if wanted.reason:
        asked = ListRequest(limit=_MOST_SKIPS, cursor=wanted.cursor)
        found = index.browse.skips(asked, reason=wanted.reason)
    status = index.status()
    facts = {
        **doctor_facts(service, index, wanted.project_id),
        "status": status,
        "name": name_of(status.path),
        "here": project_path(wanted.project_id),
        "card": {"bars": bars_of(index.browse.languages())},
        "reason": wanted.reason,
        "listed": found,
        "error": wanted.error,
        "why_unwatched": service.serving.why_unwatched(status.path),
        "watches": service.serving.watches,
    }
    if visit.is_fragment:
        return pages.html("parts/project.html", visit, facts)
    return pages.html("project.html", visit, {**facts, **_treemap(index, wanted)})


def _folders(service: Service, pages: Pages, visit: Visit, wanted: Wanted) -> bytes:
    facts = _treemap(service.index_of(wanted.project_id), wanted)
    here = project_path(wanted.project_id)
    return pages.html("parts/treemap.html", visit, {**facts, "here": here})


def _treemap(index: Index, wanted: Wanted) -> dict[str, object]:
    view = index.browse.overview.folder(wanted.folder)
    name = name_of(display_path(index.root))
    return {
        "treemap": treemap_of(wanted.project_id, name, view),
        "frame": FRAME,
        "tones": TONES,
    }
