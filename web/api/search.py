"""Search by a query, or for code similar to a given place."""

from typing import Annotated, Literal, NamedTuple

from litestar import get, post
from litestar.di import Provide
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from engine.cross_project import names_projects
from engine.errors import EngineError
from engine.records import Mode, RelatedRequest, SearchAnswer, SearchRequest
from engine.telemetry.metrics import asking
from web.api.requests import in_query, next_cursor, offset_of, page_within
from web.api.service import Service
from web.api.shapes import SearchResult
from web.schemas import answer_json, converted

_TAGS = ("search",)
_MOST_PROJECTS = 100
_MOST_LINES = 1_000_000_000

ModeName = Literal["hybrid", "meaning", "keyword", "symbol", "regex"]
_QUERY = Meta(
    description='in the query language: words, "phrases", /patterns/ and filters, e.g.'
    " `lang:go path:src/ -path:tests`",
    examples=["where is the session refreshed"],
)
_LIMIT = Meta(ge=1, le=100, description="maximum number of hits per page")
_MAX_TOKENS = Meta(ge=0, le=1_000_000, description="budget for snippets: one token per 3 bytes")
_CURSOR = Meta(description="`next_cursor` of the previous page")
_MODE = Meta(description="search mode", examples=["hybrid"])
_CONTEXT = Meta(description="whether to include snippets")
_EXPLAIN = Meta(description="whether to explain each score")
_FILTER = Meta(description="like the filter of the same name in the query")
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
Filter = Annotated[str | None, _FILTER]
FilterAsked = Annotated[str | None, in_query(_FILTER)]
LimitAsked = Annotated[int, in_query(_LIMIT)]
ContextAsked = Annotated[bool, in_query(_CONTEXT)]


class SearchQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search."""

    query: Annotated[str, _QUERY]
    mode: Annotated[ModeName, _MODE] = "hybrid"
    projects: Projects = []
    language: Filter = None
    path: Filter = None
    kind: Filter = None
    branch: Filter = None
    limit: Annotated[int, _LIMIT] = 10
    cursor: Annotated[str | None, _CURSOR] = None
    max_tokens: Annotated[int, _MAX_TOKENS] | None = None
    context: Annotated[bool, _CONTEXT] = True
    explain: Annotated[bool, _EXPLAIN] = False


class Filters(NamedTuple):
    """The filters of a search."""

    language: str | None
    path: str | None
    kind: str | None
    branch: str | None


class Extent(NamedTuple):
    """How much a search returns."""

    limit: int
    cursor: str | None
    max_tokens: int | None
    context: bool
    explain: bool


class Lines(NamedTuple):
    """A range of lines."""

    start: int
    end: int | None


def filters_given(
    language: FilterAsked = None,
    path: FilterAsked = None,
    kind: FilterAsked = None,
    branch: FilterAsked = None,
) -> Filters:
    """Gather the filters of a URL."""
    return Filters(language, path, kind, branch)


def extent_given(
    limit: LimitAsked = 10,
    cursor: Annotated[str | None, in_query(_CURSOR)] = None,
    max_tokens: Annotated[int | None, in_query(_MAX_TOKENS)] = None,
    context: ContextAsked = True,
    explain: Annotated[bool, in_query(_EXPLAIN)] = False,
) -> Extent:
    """Gather the parameters of a URL that limit the answer."""
    return Extent(limit, cursor, max_tokens, context, explain)


def lines_given(
    line: Annotated[
        int, QueryParameter(ge=1, le=_MOST_LINES, description="first line, counted from 1")
    ],
    line_end: Annotated[
        int | None,
        QueryParameter(ge=1, le=_MOST_LINES, description="last line; by default the first"),
    ] = None,
) -> Lines:
    """Gather the lines of a URL."""
    return Lines(line, line_end)


@get(
    "/search",
    operation_id="search",
    summary="Search",
    tags=_TAGS,
    dependencies={
        "filters": Provide(filters_given, sync_to_thread=False),
        "extent": Provide(extent_given, sync_to_thread=False),
    },
)
async def search(
    service: Service,
    text: Annotated[str, in_query(_QUERY, name="query")],
    filters: Filters,
    extent: Extent,
    mode: Annotated[ModeName, in_query(_MODE)] = "hybrid",
    project: ProjectsAsked = None,
) -> SearchResult:
    """Search, best hits first. `project` may be repeated."""
    asked = {**filters._asdict(), **extent._asdict()}
    question = SearchQuestion(query=text, mode=mode, projects=project or [], **asked)
    return await _answer(service, question)


@post("/search", operation_id="searchByBody", summary="Search", tags=_TAGS, status_code=200)
async def search_by_body(service: Service, data: SearchQuestion) -> SearchResult:
    """Search with a query that is too long or too private for a URL."""
    return await _answer(service, data)


@get(
    "/related",
    operation_id="related",
    summary="Similar code",
    tags=_TAGS,
    dependencies={"lines": Provide(lines_given, sync_to_thread=False)},
)
async def related(
    service: Service,
    project: Annotated[str, QueryParameter(description="an id, a name, or an absolute path")],
    path: Annotated[str, QueryParameter(description="an indexed file, relative to the root")],
    lines: Lines,
    limit: LimitAsked = 5,
    context: ContextAsked = True,
) -> SearchResult:
    """Find code similar to a given place, by the stored vectors."""
    wanted = RelatedRequest(
        path=path, line_start=lines.start, line_end=lines.end, limit=limit, context=context
    )
    return await service.executors.search.run(
        lambda: _result(service.index_meant(project).related(wanted))
    )


async def _answer(service: Service, question: SearchQuestion) -> SearchResult:
    request = SearchRequest(
        query=question.query,
        mode=Mode(question.mode),
        language=question.language,
        path=question.path,
        kind=question.kind,
        branch=question.branch,
        limit=question.limit,
        max_tokens=question.max_tokens,
        context=question.context,
        explain=question.explain,
    )
    offset = offset_of(question.cursor, request, question.projects)
    page = page_within(request, offset)

    def ask() -> SearchResult:
        with asking(request.mode):
            roots = _roots_of(service, question, request)
            answer = service.search(roots, page, offset)
        cursor = next_cursor(answer, page, question.projects, offset)
        return _result(answer, next_cursor=cursor)

    return await service.executors.search.run(ask)


def _result(answer: SearchAnswer, **more: object) -> SearchResult:
    return converted({**answer_json(answer), **more}, SearchResult)


def _roots_of(service: Service, question: SearchQuestion, request: SearchRequest) -> list[str]:
    """Return the roots to search; an unknown project is kept, for the search to report."""
    if not question.projects:
        return service.catalog.roots() if names_projects(request) else service.roots()
    if len(question.projects) == 1:
        return [service.index_meant(question.projects[0]).root]
    roots = []
    for project in question.projects:
        try:
            roots.append(service.index_meant(project).root)
        except EngineError:
            roots.append(project)
    return roots


HANDLERS = (search, search_by_body, related)
