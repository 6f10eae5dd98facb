"""Search: the box, the filters, and results by file; as a whole page, or the parts that change."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError, InvalidQueryError, NotFoundError
from engine.project_filters import names_projects
from engine.records import Mode, SearchAnswer, SearchRequest, display_path
from web.api.paging import next_cursor, offset_of, page_within
from web.api.service import Service
from web.errors import outcome_of
from web.markdown import search_markdown
from web.pages.facets import facets_of, filters_in, without
from web.pages.rendering import Pages, Visit, page, visit_of
from web.pages.results import groups_of

_PAGE = 20
_LOOKED_AT = 100
_MOST_BLAMED = 5
_OF_AGENTS = 10

ModeName = Literal["hybrid", "meaning", "keyword", "symbol", "regex"]
Text = Annotated[str, QueryParameter(name="q", max_length=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the address of the page says."""

    query: str
    mode: str
    minds_case: bool
    cursor: str | None

    @property
    def request(self) -> SearchRequest:
        """The question, as the engine takes it."""
        text = self.query
        if self.minds_case and not any(each.name == "case" for each in filters_in(text)):
            text = f"{text} case:yes"
        return SearchRequest(query=text, mode=Mode(self.mode), limit=_PAGE, explain=True)

    def address(self, *, base: str = "/search", **changed: str) -> dict[str, str]:
        """Give the parts of the page's address, some of them changed."""
        parts = {"q": self.query, "mode": self.mode, "case": "yes" if self.minds_case else ""}
        return {name: value for name, value in {**parts, **changed}.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """How much more is found without a filter."""

    filter: str
    query: str
    total: int


def asked_for(
    text: Text = "",
    mode: ModeName = "hybrid",
    case: Literal["", "yes"] = "",
    cursor: str | None = None,
) -> Asked:
    """Gather what the address of the page says."""
    return Asked(query=text.strip(), mode=mode, minds_case=bool(case), cursor=cursor)


_ASKED = {"asked": Provide(asked_for, sync_to_thread=False)}


@get("/search", dependencies=_ASKED)
async def search(
    request: Request[Any, Any, Any], service: Service, pages: Pages, asked: Asked
) -> Response[bytes]:
    """Show the answer to a question; for htmx only the parts that change."""
    visit = visit_of(request)
    try:
        body = await service.lanes.search.run(lambda: _answered(service, pages, visit, asked))
    except EngineError as error:
        return await _refused(service, pages, visit, asked, error)
    return page(body)


@get("/search/markdown", dependencies=_ASKED)
async def markdown(service: Service, asked: Asked) -> Response[str]:
    """Give the answer as Markdown, to be pasted into a prompt."""
    request = replace(asked.request, limit=_OF_AGENTS, explain=False)
    answer = await service.lanes.search.run(lambda: _ask(service, request))
    return Response(search_markdown(answer), media_type="text/markdown")


def _answered(service: Service, pages: Pages, visit: Visit, asked: Asked) -> bytes:
    roots = service.roots()
    facts: dict[str, Any] = {"asked": asked, "modes": tuple(Mode), "error": None, "answer": None}
    if not asked.query or not roots:
        template = "parts/results.html" if visit.is_fragment else "search.html"
        return pages.html(template, visit, {**facts, "is_empty": not roots})
    request = asked.request
    offset = offset_of(asked.cursor, request, [])
    wanted = page_within(request, offset)
    answer, best = _ask_for_page(service, request, wanted, offset)
    facts |= {
        "is_empty": False,
        "answer": answer,
        "groups": groups_of(answer, _ids(service)),
        "facets": facets_of(asked.query, best.hits),
        "blamed": _blamed(service, asked) if not answer.hits else [],
        "next": next_cursor(answer, wanted, [], offset),
        "several": len({hit.project for hit in answer.hits}) > 1,
    }
    template = "search.html"
    if visit.is_fragment:
        template = "parts/groups.html" if asked.cursor else "parts/results.html"
    return pages.html(template, visit, facts)


def _ask_for_page(
    service: Service, request: SearchRequest, wanted: SearchRequest, offset: int
) -> tuple[SearchAnswer, SearchAnswer]:
    """Give the hits of a page, and the best ones, whose properties the filters count.

    Snippets cost more than a second search, unless that would look through all texts again.
    """
    if request.mode is Mode.REGEX and not offset:
        best = _ask(service, replace(request, limit=_LOOKED_AT))
        is_cut = best.truncated or len(best.hits) > _PAGE
        return replace(best, hits=best.hits[:_PAGE], truncated=is_cut), best
    answer = _ask(service, wanted, offset)
    if offset or len(answer.hits) < _PAGE:
        return answer, answer
    looked_at = replace(request, limit=_LOOKED_AT, context=False, explain=False)
    return answer, _ask(service, looked_at)


def _ask(service: Service, request: SearchRequest, offset: int = 0) -> SearchAnswer:
    roots = service.catalog.roots() if names_projects(request) else service.roots()
    return service.catalog.search_page(roots, request, offset)


def _blamed(service: Service, asked: Asked) -> list[Blame]:
    """Say of each filter how much is found without it, the most first."""
    blamed = []
    for each in filters_in(asked.query)[:_MOST_BLAMED]:
        query = without(asked.query, each)
        if not query:
            continue
        request = replace(asked, query=query).request
        answer = _ask(service, replace(request, limit=1, context=False, explain=False))
        if answer.total:
            blamed.append(Blame(filter=each.text, query=query, total=answer.total))
    return sorted(blamed, key=lambda each: -each.total)


def _ids(service: Service) -> dict[str, str]:
    """Give the ids of projects by the roots that hits name."""
    ids = {}
    for root in service.catalog.roots():
        index = service.catalog.open(root)
        ids[display_path(index.root)] = index.project_id
    return ids


async def _refused(
    service: Service, pages: Pages, visit: Visit, asked: Asked, error: EngineError
) -> Response[bytes]:
    """Explain at the box what is wrong; what was found before stays."""
    position = error.position if isinstance(error, InvalidQueryError) else None
    if isinstance(error, NotFoundError):
        position = next((each.start for each in filters_in(asked.query)), None)
    facts = {
        "asked": asked,
        "modes": tuple(Mode),
        "error": error,
        "position": None if position is None else min(position, len(asked.query)),
        "answer": None,
        "is_empty": False,
    }
    template = "parts/problem.html" if visit.is_fragment else "search.html"
    body = await service.work(lambda: pages.html(template, visit, facts))
    headers = {"HX-Retarget": "#problem", "HX-Reswap": "outerHTML"} if visit.is_fragment else {}
    return page(body, status=outcome_of(error).http_status, headers=headers)
