"""Search by a query, or for code similar to a given place."""

from typing import Annotated

from litestar import get, post
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from engine.cross_project import names_projects
from engine.errors import EngineError
from engine.records import RelatedRequest, SearchAnswer, SearchRequest
from engine.telemetry.metrics import measured_search
from web.api.requests import in_query, in_url, next_cursor, offset_of, page_within
from web.api.service import Service
from web.api.shapes import SearchResult
from web.parameters import request_from, with_parameters_of
from web.schemas import values_of

_TAGS = ("search",)
_MOST_PROJECTS = 100
_PROJECTS = (
    "ids, names, or absolute paths of roots or folders in them; none means all that are served:"
    " every project, unless cairn serve was given some"
)
Projects = Annotated[
    list[str],
    Meta(max_length=_MOST_PROJECTS, description=_PROJECTS, examples=[["/home/me/src/app"]]),
]
ProjectsAsked = Annotated[
    list[str] | None, QueryParameter(max_items=_MOST_PROJECTS, description=_PROJECTS)
]
_CURSOR = Meta(description="`next_cursor` of the previous page")


@with_parameters_of(SearchRequest)
class SearchQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search."""

    projects: Projects = []
    cursor: Annotated[str | None, _CURSOR] = None


@get(
    "/search",
    operation_id="search",
    summary="Search",
    tags=_TAGS,
    dependencies={"asked": in_url(SearchRequest)},
)
async def search(
    service: Service,
    asked: SearchRequest,
    project: ProjectsAsked = None,
    cursor: Annotated[str | None, in_query(_CURSOR)] = None,
) -> SearchResult:
    """Search, best hits first. `project` may be repeated."""
    return await _answer(service, asked, project or [], cursor)


@post("/search", operation_id="searchByBody", summary="Search", tags=_TAGS, status_code=200)
async def search_by_body(service: Service, data: SearchQuestion) -> SearchResult:
    """Search with a query that is too long or too private for a URL."""
    asked = request_from(SearchRequest, data)
    return await _answer(service, asked, data.projects, data.cursor)


@get(
    "/related",
    operation_id="related",
    summary="Similar code",
    tags=_TAGS,
    dependencies={"wanted": in_url(RelatedRequest)},
)
async def related(
    service: Service,
    project: Annotated[str, QueryParameter(description="an id, a name, or an absolute path")],
    wanted: RelatedRequest,
) -> SearchResult:
    """Find code similar to a given place, by the stored vectors."""
    return await service.executors.search.run(
        lambda: _result(service.resolve_project(project).related(wanted))
    )


async def _answer(
    service: Service, request: SearchRequest, projects: list[str], cursor: str | None
) -> SearchResult:
    offset = offset_of(cursor, request, projects)
    page = page_within(request, offset)

    def ask() -> SearchResult:
        with measured_search(request.mode):
            roots = _roots_of(service, projects, request)
            answer = service.search(roots, page, offset)
        following = next_cursor(answer, page, projects, offset)
        return _result(answer, next_cursor=following)

    return await service.executors.search.run(ask)


def _result(answer: SearchAnswer, next_cursor: str | None = None) -> SearchResult:
    return SearchResult(**values_of(answer), next_cursor=next_cursor)


def _roots_of(service: Service, projects: list[str], request: SearchRequest) -> list[str]:
    """Return the roots to search; an unknown project is kept, for the search to report."""
    if not projects:
        return service.catalog.roots() if names_projects(request) else service.roots()
    if len(projects) == 1:
        return [service.resolve_project(projects[0]).root]
    roots = []
    for project in projects:
        try:
            roots.append(service.resolve_project(project).root)
        except EngineError:
            roots.append(project)
    return roots


HANDLERS = (search, search_by_body, related)
