"""Home: the search box, the projects with what goes on in them, and a folder to index."""

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

from litestar import Request, Response, get, post

from engine.browse_records import LanguageShare
from engine.errors import EngineError, InvalidPathError
from engine.records import ProjectSummary
from engine.status_records import ProjectStatus
from web.api.service import Service
from web.errors import outcome_of
from web.pages.forms import form_of
from web.pages.rendering import Pages, Visit, page, redirect, visit_of

_MOST_PATH = 4096
_MOST_LANGUAGES = 5  # that are named, and ...
_LEAST_SHARE = 0.01  # ... what each has at least; the rest are together


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of a bar of languages."""

    language: str  # empty: all the others
    start: float  # percent
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A project as it is shown."""

    summary: ProjectSummary
    status: ProjectStatus | None = None  # None: it cannot be read
    bars: tuple[Bar, ...] = ()
    error: str | None = None


@get("/")
async def home(request: Request[Any, Any, Any], service: Service, pages: Pages) -> Response[bytes]:
    """Show the search box, and all projects; for htmx the projects alone."""
    visit = visit_of(request)
    template = "parts/projects.html" if visit.is_fragment else "home.html"
    return page(await service.work(lambda: _home(service, pages, visit, template=template)))


@post("/", status_code=303)
async def index_folder(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Ask for a folder to be indexed, and lead to where its progress is shown."""
    visit = visit_of(request)
    path = (await form_of(request)).get("path", "").strip()
    try:
        job_id = await service.work(partial(_submit, service, path))
    except EngineError as error:
        told = error
    else:
        return redirect(f"/jobs/{job_id}")
    body = await service.work(lambda: _home(service, pages, visit, path=path, error=told))
    return page(body, status=outcome_of(told).http_status)


def _submit(service: Service, path: str) -> str:
    full = os.path.expanduser(path)
    if not full.startswith("/") or len(full) > _MOST_PATH:
        raise InvalidPathError(
            "wanted an absolute path, such as /home/me/src/app, or one that starts with ~",
            field="path",
        )
    return service.catalog.jobs.submit(full).job_id


def _home(
    service: Service,
    pages: Pages,
    visit: Visit,
    *,
    template: str = "home.html",
    path: str = "",
    error: EngineError | None = None,
) -> bytes:
    cards = [_card(service, summary) for summary in service.catalog.projects()]
    facts = {"cards": cards, "path": path, "error": error, "is_home": True}
    return pages.html(template, visit, facts)


def _card(service: Service, summary: ProjectSummary) -> Card:
    if summary.error is not None:
        return Card(summary=summary, error=summary.error)
    try:
        index = service.index_of(summary.project_id)
        bars = bars_of(index.browse.languages())
        return Card(summary=summary, status=index.status(), bars=bars)
    except EngineError as error:  # forgotten or damaged just now
        return Card(summary=summary, error=error.message)


def bars_of(shares: tuple[LanguageShare, ...]) -> tuple[Bar, ...]:
    """Give the parts of a bar, the largest first, the small ones as one at its end."""
    total = sum(share.size_bytes for share in shares)
    if not total:
        return ()
    parts = [
        (share.language, share.size_bytes)
        for share in shares[:_MOST_LANGUAGES]
        if share.size_bytes >= total * _LEAST_SHARE
    ]
    rest = total - sum(size for _, size in parts)
    bars = []
    start = 0.0
    for language, size in [*parts, *([("", rest)] if rest else [])]:
        width = 100 * size / total
        bars.append(Bar(language=language, start=round(start, 3), width=round(width, 3)))
        start += width
    return tuple(bars)
