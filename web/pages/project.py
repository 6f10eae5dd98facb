"""A project: what is indexed of it, what is not and why, and what can be done with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, get, post

from engine.browse_records import ListRequest
from engine.errors import EngineError, InvalidInputError
from engine.records import IndexOptions, display_path
from web.api.service import Service
from web.errors import outcome_of
from web.pages.forms import form_of
from web.pages.home import bars_of
from web.pages.rendering import Pages, Visit, name_of, page, project_path, redirect, visit_of

_MOST_SKIPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which project, and which of its skips."""

    project_id: str
    reason: str = ""  # of the skips that are listed; empty: none are
    cursor: str | None = None
    error: EngineError | None = None  # of what was just asked for


@get("/p/{project_id:str}")
async def project(  # the skips that are wanted stand in the address
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    skips: str = "",
    cursor: str | None = None,
) -> Response[bytes]:
    """Show a project; ``skips=REASON`` lists what was skipped for it; for htmx what changes."""
    visit = visit_of(request)
    wanted = Wanted(project_id=project_id, reason=skips, cursor=cursor)
    return page(await service.work(lambda: _project(service, pages, visit, wanted)))


@post("/p/{project_id:str}/index", status_code=303)
async def index_again(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Ask for the project to be indexed, all of it anew when the form says so."""
    form = await form_of(request)
    options = IndexOptions(force=form.get("force") == "yes")

    def act() -> str:
        submitted = service.catalog.jobs.submit(service.index_of(project_id).root, options)
        return f"/jobs/{submitted.job_id}"

    return await _acted(request, service, pages, project_id, act)


@post("/p/{project_id:str}/forget", status_code=303)
async def forget(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Delete the index, when the name of the project was typed; the folder is not touched."""
    typed = (await form_of(request)).get("name", "")

    def act() -> str:
        name = name_of(display_path(service.index_of(project_id).root))
        if typed.strip() != name:
            raise InvalidInputError(f"the name is {typed[:100]!r}, wanted {name!r}", field="name")
        service.catalog.forget_id(project_id)
        return "/"

    return await _acted(request, service, pages, project_id, act)


async def _acted(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    act: Callable[[], str],
) -> Response[bytes]:
    """Do something with a project, and lead to where that is seen; or say what was wrong."""
    visit = visit_of(request)
    try:
        return redirect(await service.work(act))
    except EngineError as error:
        wanted = Wanted(project_id=project_id, error=error)
        status = outcome_of(error).http_status
    body = await service.work(lambda: _project(service, pages, visit, wanted))
    return page(body, status=status)


def _project(service: Service, pages: Pages, visit: Visit, wanted: Wanted) -> bytes:
    index = service.index_of(wanted.project_id)
    found = None
    if wanted.reason:
        asked = ListRequest(limit=_MOST_SKIPS, cursor=wanted.cursor)
        found = index.browse.skips(asked, reason=wanted.reason)
    status = index.status()
    facts = {
        "status": status,
        "name": name_of(status.path),
        "here": project_path(wanted.project_id),
        "languages": index.browse.languages(),
        "card": {"bars": bars_of(index.browse.languages())},
        "reason": wanted.reason,
        "found": found,
        "error": wanted.error,
    }
    template = "parts/project.html" if visit.is_fragment else "project.html"
    return pages.html(template, visit, facts)
