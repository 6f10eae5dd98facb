"""The map of meaning: a scatter plot of files by the mean of their vectors."""

from functools import lru_cache
from typing import Any, NamedTuple

from litestar import Request, Response, get
from markupsafe import Markup, escape

from engine.browse_records import MIN_MAPPED_FILES, FilePoint, MeaningMap
from engine.records import display_path
from web.api.service import Service
from web.pages.rendering import (
    PageRequest,
    Pages,
    box_scope,
    file_path,
    name_of,
    page,
    page_request_of,
    project_path,
)
from web.terminal import printable

_WIDTH, _HEIGHT = 880, 520  # of the drawing
_MARGIN = 10
_MAX_CACHED = 4  # drawings of about 1 MB
_MAX_NAMED = 10  # languages in the legend


class Cloud(NamedTuple):
    """The files of a language on the map."""

    language: str
    number: int
    dots: Markup  # up to 2,000 links, which a template would take longer to write


@get("/p/{project_id:str}/map")
async def meaning_map(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Render the map; for htmx as a section of the project's page."""
    page_request = page_request_of(request)
    body = await service.executors.pictures.run(
        lambda: _map(service, pages, page_request, project_id)
    )
    return page(body)


def _map(service: Service, pages: Pages, page_request: PageRequest, project_id: str) -> bytes:
    index = service.index_of(project_id)
    found = index.browse.overview.meaning_map()
    clouds = _clouds(project_id, found)
    context = {
        "name": name_of(display_path(index.root)),
        "scope": box_scope(project_id, index.root),
        "here": project_path(project_id),
        "map": found,
        "least": MIN_MAPPED_FILES,
        "without": sum(each.files for each in index.browse.languages()) - found.files,
        "clouds": clouds,
        "named": clouds[:_MAX_NAMED],
        "others": sum(cloud.number for cloud in clouds[_MAX_NAMED:]),
        "width": _WIDTH,
        "height": _HEIGHT,
        "is_part": page_request.is_fragment,
    }
    return pages.html(
        "parts/meaning.html" if page_request.is_fragment else "meaning.html", page_request, context
    )


@lru_cache(maxsize=_MAX_CACHED)
def _clouds(project_id: str, found: MeaningMap) -> tuple[Cloud, ...]:
    """Group the dots by language, the most frequent first, so that rare ones are drawn on top."""
    dots: dict[str, list[str]] = {}
    for point in found.points:
        dots.setdefault(point.language, []).append(_dot(project_id, point))
    clouds = [
        Cloud(language, len(each), Markup("".join(each)))  # noqa: S704 - escaped below
        for language, each in dots.items()
    ]
    return tuple(sorted(clouds, key=lambda cloud: (-cloud.number, cloud.language)))


def _dot(project_id: str, point: FilePoint) -> str:
    x = round(_MARGIN + point.x * (_WIDTH - 2 * _MARGIN), 1)
    y = round(_MARGIN + point.y * (_HEIGHT - 2 * _MARGIN), 1)
    href, title = escape(file_path(project_id, point.path)), escape(printable(point.path))
    return f'<a href="{href}"><title>{title}</title><circle cx="{x}" cy="{y}" r="3.5"/></a>\n'
