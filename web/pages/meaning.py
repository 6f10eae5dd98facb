"""The map of meaning: every file a dot, where the mean of its code's vectors puts it."""

from functools import lru_cache
from typing import Any, NamedTuple

from litestar import Request, Response, get

from engine.browse_records import FilePoint, MeaningMap
from engine.records import display_path
from web.api.service import Service
from web.pages.rendering import Pages, Visit, file_path, name_of, page, project_path, visit_of
from web.terminal import printable

_WIDTH, _HEIGHT = 880, 520  # what it is drawn on
_MARGIN = 10
_MOST_KEPT = 4  # drawings, of a megabyte each
_MOST_NAMED = 10  # languages that the legend names


class Dot(NamedTuple):
    """A file, drawn."""

    x: float
    y: float
    href: str
    title: str


class Cloud(NamedTuple):
    """The files of a language, drawn."""

    language: str
    number: int
    dots: tuple[Dot, ...]


@get("/p/{project_id:str}/map")
async def meaning_map(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Show the map; for htmx the part of a project's page that it is."""
    visit = visit_of(request)
    body = await service.lanes.pictures.run(lambda: _map(service, pages, visit, project_id))
    return page(body)


def _map(service: Service, pages: Pages, visit: Visit, project_id: str) -> bytes:
    index = service.index_of(project_id)
    found = index.browse.overview.meaning_map()
    clouds = _clouds(project_id, found)
    facts = {
        "name": name_of(display_path(index.root)),
        "here": project_path(project_id),
        "map": found,
        "clouds": clouds,
        "named": clouds[:_MOST_NAMED],
        "others": sum(cloud.number for cloud in clouds[_MOST_NAMED:]),
        "width": _WIDTH,
        "height": _HEIGHT,
        "is_part": visit.is_fragment,
    }
    return pages.html("parts/meaning.html" if visit.is_fragment else "meaning.html", visit, facts)


@lru_cache(maxsize=_MOST_KEPT)
def _clouds(project_id: str, found: MeaningMap) -> tuple[Cloud, ...]:
    """Give the dots by language, the most frequent one first, so that rare ones lie on top."""
    dots: dict[str, list[Dot]] = {}
    for point in found.points:
        dots.setdefault(point.language, []).append(_dot(project_id, point))
    clouds = [Cloud(language, len(each), tuple(each)) for language, each in dots.items()]
    return tuple(sorted(clouds, key=lambda cloud: (-cloud.number, cloud.language)))


def _dot(project_id: str, point: FilePoint) -> Dot:
    return Dot(
        round(_MARGIN + point.x * (_WIDTH - 2 * _MARGIN), 1),
        round(_MARGIN + point.y * (_HEIGHT - 2 * _MARGIN), 1),
        file_path(project_id, point.path),
        printable(point.path),
    )
