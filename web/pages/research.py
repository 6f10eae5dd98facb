"""The research page: a question's best passages, grouped by what each is for it.

The address holds the question and its options, so the page can be shared and printed. Its text for
an agent is that of ``cairn research``.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import DamagedIndexError, EngineError
from engine.record_class import record
from engine.records import MIN_TOKENS
from engine.research_records import Passage, ResearchAnswer, ResearchRequest, Role
from engine.search_records import MAX_QUERY_CHARS, Mode, SearchRequest
from web.api.service import Chosen, Service
from web.errors import outcome_of
from web.pages.excerpts import Excerpt, Marks
from web.pages.facets import clean_query, with_filter
from web.pages.find import failed_projects
from web.pages.rendering import (
    Pages,
    box_scope,
    page,
    page_request_of,
    scope_of_damaged,
)
from web.pages.results import Names, excerpt_for, names_in
from web.pages.search import Scope, lost_in, scope_of
from web.research import (
    BUDGETS,
    DEFAULT_BUDGET,
    TITLES,
    project_count,
    research_markdown,
    research_notes,
)

_SHOWN_LINES = 20  # of a passage; the rest is loaded on demand
_MAX_TOKENS = 100_000

Text = Annotated[str, QueryParameter(name="q", max_length=MAX_QUERY_CHARS)]
Budget = Annotated[int, QueryParameter(ge=MIN_TOKENS, le=_MAX_TOKENS)]


@record
class ResearchParams:
    """Parameters of the address."""

    query: str
    project: str = ""  # id of the only searched project; empty: all
    max_tokens: int = DEFAULT_BUDGET  # of the text for an agent

    def address(self, **changed: str) -> dict[str, str]:
        """Return the parameters of the address, some of them changed."""
        budget = "" if self.max_tokens == DEFAULT_BUDGET else str(self.max_tokens)
        parts = {"q": self.query, "project": self.project, "max_tokens": budget, **changed}
        return {name: value for name, value in parts.items() if value}

    @property
    def search(self) -> dict[str, str]:
        """The parameters of the search for the same question."""
        return self.address(max_tokens="")

    def of_project(self, name: str) -> str:
        """Return the question limited to one project."""
        return with_filter(self.query, "project", name)

    @property
    def budgets(self) -> list[int]:
        """The budgets to choose from."""
        return sorted({*BUDGETS, self.max_tokens})


@record
class ShownPassage:
    """A passage with its excerpt."""

    passage: Passage
    project_id: str
    excerpt: Excerpt | None  # None if there is no code


@record
class ShownRole:
    """The passages of a role."""

    role: Role
    title: str
    passages: tuple[ShownPassage, ...]


def read_params(
    text: Text = "", project: str = "", max_tokens: Budget = DEFAULT_BUDGET
) -> ResearchParams:
    """Collect the parameters of the address."""
    query = clean_query(text, Mode.HYBRID)
    return ResearchParams(query=query, project=project, max_tokens=max_tokens)


_PARAMS = {"params": Provide(read_params, sync_to_thread=False)}


@get("/research", dependencies=_PARAMS)
async def research(
    request: Request[Any, Any, Any], service: Service, pages: Pages, params: ResearchParams
) -> Response[bytes]:
    """Render the best passages for a question."""
    page_request = page_request_of(request)
    context: dict[str, Any] = {
        "params": params,
        "scope": box_scope(params.project),
        "error": None,
        "answer": None,
        "is_empty": False,
        "lost": None,
    }

    def show() -> bytes:
        _answer(service, params, context)
        return pages.html("research.html", page_request, context)

    try:
        return page(await service.executors.search.run(show))
    except EngineError as error:
        context |= {"error": error, "position": _position_of(error, params)}
        is_damaged = isinstance(error, DamagedIndexError)
        status = outcome_of(error).http_status

    def show_error() -> bytes:
        if is_damaged:
            context["scope"] = scope_of_damaged(service, params.project)
        return pages.html("research.html", page_request, context)

    return page(await service.work(show_error), status=status)


def _position_of(error: EngineError, params: ResearchParams) -> int | None:
    position = error.details.get("position")
    return min(position, len(params.query)) if isinstance(position, int) else None


@get("/research/markdown", dependencies=_PARAMS)
async def markdown(service: Service, params: ResearchParams) -> Response[str]:
    """Return the passages as Markdown for an agent, within the budget."""

    def ask() -> str:
        answer = _ask(service, _scope_of(service, params), params)
        return research_markdown(answer, params.max_tokens)

    return Response(await service.executors.search.run(ask), media_type="text/markdown")


def _scope_of(service: Service, params: ResearchParams) -> Scope:
    return scope_of(service, SearchRequest(query=params.query), params.project)


def _ask(service: Service, scope: Scope, params: ResearchParams) -> ResearchAnswer:
    return service.research(Chosen(scope.roots), ResearchRequest(query=params.query, hashes=True))


def _answer(service: Service, params: ResearchParams, context: dict[str, Any]) -> None:
    """Add to the context what is known; of an error it still has the project."""
    scope = _scope_of(service, params)
    context |= {"is_empty": not scope.everywhere, "lost": lost_in(scope)}
    if params.project:
        context["scope"] = box_scope(params.project, scope.roots[0])
    if not (params.query and scope.roots):
        return
    answer = _ask(service, scope, params)
    context |= {
        "answer": answer,
        "failed": failed_projects(service, answer.errors),
        "roles": tuple(_roles_of(service, answer, scope)),
        "several": project_count(answer) > 1,
        "notes": research_notes(answer),
    }


def _roles_of(service: Service, answer: ResearchAnswer, scope: Scope) -> Iterator[ShownRole]:
    ids = scope.ids
    marks = Marks.of(answer.words)
    names = names_in((each.hit for each in answer.passages), ids, service.index_of)
    for role in Role:
        shown = tuple(
            _shown(each, marks, ids.get(each.hit.project, ""), names)
            for each in answer.passages
            if each.role is role
        )
        if shown:
            yield ShownRole(role=role, title=TITLES[role], passages=shown)


def _shown(passage: Passage, marks: Marks, project_id: str, known: Names) -> ShownPassage:
    hit = passage.hit
    names = known.get((hit.project, hit.language), frozenset())
    excerpt = None
    if hit.snippet:
        excerpt = excerpt_for(hit, marks, project_id, names=names, most=_SHOWN_LINES)
    return ShownPassage(passage=passage, project_id=project_id, excerpt=excerpt)
