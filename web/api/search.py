"""Search by a query, or for code similar to a given place."""

from dataclasses import replace
from typing import Annotated

from litestar import Response, get, post
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from engine.budget import compose_measured, with_further_hits, with_more_files
from engine.cross_project import names_projects
from engine.search_records import RelatedRequest, SearchAnswer, SearchRequest
from engine.telemetry.metrics import measured_search
from web.api.requests import cursor_at, in_query, in_url, next_cursor, offset_of, page_within
from web.api.service import Chosen, Service
from web.api.shapes import Projects, ProjectsAsked, RecordResponse, SearchResult
from web.compact_json import compact_json, measured_json
from web.parameters import request_from, with_parameters_of
from web.schemas import values_of

_TAGS = ("search",)
_PROJECT = Meta(description="one more of `projects`")
_CURSOR = Meta(description="`next_cursor` of the previous page")


@with_parameters_of(SearchRequest)
class SearchQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search."""

    projects: Projects = []
    project: Annotated[str | None, _PROJECT] = None
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
) -> Response[SearchResult]:
    """Search, best hits first. `project` may be repeated."""
    return await _answer(service, asked, project or [], cursor)


@post("/search", operation_id="searchByBody", summary="Search", tags=_TAGS, status_code=200)
async def search_by_body(service: Service, data: SearchQuestion) -> Response[SearchResult]:
    """Search with a query that is too long or too private for a URL."""
    asked = request_from(SearchRequest, data)
    projects = [*data.projects, *([] if data.project is None else [data.project])]
    return await _answer(service, asked, projects, data.cursor)


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
) -> Response[SearchResult]:
    offset = offset_of(cursor, request, projects)
    page = page_within(request, offset)

    def ask() -> RecordResponse:
        with measured_search(request.mode):
            chosen = chosen_for(service, projects, request)
            if page.max_tokens is None:
                answer = service.search(chosen, page, offset)
            else:
                whole = replace(page, limit=offset + page.limit)
                answer = service.search(chosen, with_further_hits(whole), 0)
        if page.max_tokens is not None:
            return RecordResponse(_within_budget(answer, page, projects, offset))
        following = next_cursor(answer, page, projects, offset)
        return RecordResponse(_result(answer, next_cursor=following))

    return await service.executors.search.run(ask)


def _within_budget(
    wider: SearchAnswer, page: SearchRequest, projects: list[str], offset: int
) -> dict[str, object]:
    """Return an answer as JSON within the budget of the request.

    Args:
        wider: The answer from the first page on, with further hits.
        page: The request.
        projects: That were searched.
        offset: Hits of earlier pages.
    """
    whole = with_more_files(wider, offset + page.limit)
    whole = replace(whole, hits=whole.hits[offset:])
    found = len(whole.hits)
    last = next_cursor(whole, page, projects, offset) if whole.truncated else None

    def following(answer: SearchAnswer) -> dict[str, object]:
        shown = len(answer.hits)
        if shown == found:
            return {"next_cursor": last}
        return {"next_cursor": cursor_at(offset + shown, page, projects) if shown else None}

    measure = measured_json(lambda answer, _: following(answer))
    shown, is_brief = compose_measured(whole, measure, max_tokens=page.max_tokens)
    return compact_json(shown, is_brief=is_brief, following=following(shown))


def _result(answer: SearchAnswer, next_cursor: str | None = None) -> SearchResult:
    return SearchResult(**values_of(answer), next_cursor=next_cursor)


def chosen_for(service: Service, projects: list[str], request: SearchRequest) -> Chosen:
    """Return what to search: the projects given, or else those that the query may choose from."""
    if not projects and names_projects(request):
        return Chosen(service.catalog.roots_or_ids())
    return service.chosen(projects)


HANDLERS = (search, search_by_body, related)
