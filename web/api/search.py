"""Search: by a query, or for code like that of a place."""

from typing import Annotated, Literal, NamedTuple

from litestar import get, post
from litestar.di import Provide
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from engine.errors import EngineError
from engine.project_filters import names_projects
from engine.records import Mode, RelatedRequest, SearchAnswer, SearchRequest
from web.api.paging import next_cursor, offset_of, page_within
from web.api.service import Service
from web.api.shapes import SearchResult, shaped
from web.schemas import answer_json

_TAGS = ("search",)
_MOST_PROJECTS = 100
_MOST_LINES = 1_000_000_000

ModeName = Literal["hybrid", "meaning", "keyword", "symbol", "regex"]
Query = Annotated[
    str,
    Meta(
        description='in the query language: words, "phrases", /patterns/ and filters such as'
        " `lang:go path:src/ -path:tests`",
        examples=["where is the session refreshed"],
    ),
]
Limit = Annotated[int, Meta(ge=1, le=100, description="the most hits of a page")]
MaxTokens = Annotated[
    int, Meta(ge=0, le=1_000_000, description="bounds the snippets: one token a 3 bytes")
]
Cursor = Annotated[str, Meta(description="`next_cursor` of the page before")]
Projects = Annotated[
    list[str],
    Meta(
        max_length=_MOST_PROJECTS,
        description="ids, or absolute paths of roots or of folders in them; none means those that"
        " are served, which are all unless cairn serve names some",
        examples=[["/home/me/src/app"]],
    ),
]
Filter = Annotated[str, Meta(description="as the filter of the same name in the query")]


class SearchQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question."""

    query: Query
    mode: ModeName = "hybrid"
    projects: Projects = []
    language: Filter | None = None
    path: Filter | None = None
    kind: Filter | None = None
    branch: Filter | None = None
    limit: Limit = 10
    cursor: Cursor | None = None
    max_tokens: MaxTokens | None = None
    context: Annotated[bool, Meta(description="with snippets")] = True
    explain: Annotated[bool, Meta(description="say how each score came about")] = False


class Filters(NamedTuple):
    """What is let through."""

    language: str | None
    path: str | None
    kind: str | None
    branch: str | None


class Extent(NamedTuple):
    """How much is given."""

    limit: int
    cursor: str | None
    max_tokens: int | None
    context: bool
    explain: bool


class Lines(NamedTuple):
    """A place in a file."""

    start: int
    end: int | None


def filters_given(
    language: Filter | None = None,
    path: Filter | None = None,
    kind: Filter | None = None,
    branch: Filter | None = None,
) -> Filters:
    """Gather the filters of a URL."""
    return Filters(language, path, kind, branch)


def extent_given(
    limit: Limit = 10,
    cursor: Cursor | None = None,
    max_tokens: MaxTokens | None = None,
    context: bool = True,
    explain: bool = False,
) -> Extent:
    """Gather what a URL says of how much is wanted."""
    return Extent(limit, cursor, max_tokens, context, explain)


def lines_given(
    line: Annotated[int, QueryParameter(ge=1, le=_MOST_LINES)],
    line_end: Annotated[int | None, QueryParameter(ge=1, le=_MOST_LINES)] = None,
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
    text: Annotated[Query, QueryParameter(name="query")],
    filters: Filters,
    extent: Extent,
    mode: ModeName = "hybrid",
    project: Projects | None = None,
) -> SearchResult:
    """Answer a question, best places first. `project` may be given several times."""
    asked = {**filters._asdict(), **extent._asdict()}
    question = SearchQuestion(query=text, mode=mode, projects=project or [], **asked)
    return await _answer(service, question)


@post("/search", operation_id="searchByBody", summary="Search", tags=_TAGS, status_code=200)
async def search_by_body(service: Service, data: SearchQuestion) -> SearchResult:
    """Answer a question that is too long for a URL, or should not stand in one."""
    return await _answer(service, data)


@get(
    "/related",
    operation_id="related",
    summary="Code like that of a place",
    tags=_TAGS,
    dependencies={"lines": Provide(lines_given, sync_to_thread=False)},
)
async def related(
    service: Service,
    project: Annotated[str, QueryParameter(description="an id, or an absolute path")],
    path: Annotated[str, QueryParameter(description="of an indexed file, from the root")],
    lines: Lines,
    limit: Limit = 5,
    context: bool = True,
) -> SearchResult:
    """Give code like that of a place, by the vectors that are stored."""
    wanted = RelatedRequest(
        path=path, line_start=lines.start, line_end=lines.end, limit=limit, context=context
    )
    answer = await service.lanes.search.run(lambda: service.index_of(project).related(wanted))
    return shaped(answer_json(answer), SearchResult)


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

    def ask() -> SearchAnswer:
        roots = _roots_of(service, question, request)
        return service.catalog.search_page(roots, page, offset)

    answer = await service.lanes.search.run(ask)
    cursor = next_cursor(answer, page, question.projects, offset)
    return shaped({**answer_json(answer), "next_cursor": cursor}, SearchResult)


def _roots_of(service: Service, question: SearchQuestion, request: SearchRequest) -> list[str]:
    """Give the roots to search; a project that is not there stays, for the search to report."""
    if not question.projects:
        return service.catalog.roots() if names_projects(request) else service.roots()
    if len(question.projects) == 1:
        return [service.index_of(question.projects[0]).root]
    roots = []
    for project in question.projects:
        try:
            roots.append(service.index_of(project).root)
        except EngineError:
            roots.append(project)
    return roots


HANDLERS = (search, search_by_body, related)
