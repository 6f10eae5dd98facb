"""Search: the box, the filters, and results by file; as a whole page, or the parts that change."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated, Any, Literal

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.browse_records import BranchSummary
from engine.cross_project import chosen_projects, names_projects
from engine.errors import EngineError, InvalidQueryError, NotFoundError, UnavailableError
from engine.records import Hit, Mode, ProjectError, SearchAnswer, SearchRequest, display_path
from engine.roots import project_id_of, resolve
from web.api.requests import next_cursor, offset_of, page_within
from web.api.service import Service
from web.pages.facets import as_asked, facets_of, filters_in, with_filter, without
from web.pages.forms import problem
from web.pages.rendering import Pages, Visit, name_of, page, visit_of
from web.pages.results import FileHits, files_of, group_of
from web.pages.suggest import is_unfinished
from web.text import search_markdown

_PAGE = 20
# Of a page, while one types: so many fill a window, and the rest is asked for when one pauses.
_AT_ONCE = 8
_LOOKED_AT = 100
_MOST_BLAMED = 5
_MOST_BRANCHED = 8  # projects whose branches are listed
_MOST_EXCLUDED = 3  # projects that tell what they do not index
_MOST_SKIPS = 6  # reasons that are named
_MOST_LEFT = 8  # projects that are not asked and are named
_OF_AGENTS = 10
_PREVIEW_COOKIE = "cairn_preview"
_UNFINISHED = "X-Unfinished"  # of an answer to a query whose last filter is being typed

ModeName = Literal["hybrid", "meaning", "keyword", "symbol", "regex"]
Text = Annotated[str, QueryParameter(name="q", max_length=4096)]
Files = Annotated[int, QueryParameter(name="rest", ge=0, le=_PAGE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the address of the page says."""

    query: str
    mode: str
    minds_case: bool
    cursor: str | None
    rest: int  # files of the page that are shown already; only of a part of a page

    @property
    def request(self) -> SearchRequest:
        """The question, as the engine takes it."""
        text = self.query
        if self.minds_case and not any(each.name == "case" for each in filters_in(text)):
            text = f"{text} case:yes"
        return SearchRequest(query=text, mode=Mode(self.mode), limit=_PAGE, explain=True)

    @property
    def branch(self) -> str:
        """The branch that is named; empty for the one checked out."""
        return next((each.value for each in filters_in(self.query) if each.name == "branch"), "")

    @property
    def lists(self) -> bool:
        """Whether it is filters and nothing to look for."""
        query = self.query
        for each in reversed(filters_in(query)):
            query = without(query, each)
        return not query.strip()

    def address(self, *, base: str = "/search", **changed: str) -> dict[str, str]:
        """Give the parts of the page's address, some of them changed."""
        parts = {"q": self.query, "mode": self.mode, "case": "yes" if self.minds_case else ""}
        return {name: value for name, value in {**parts, **changed}.items() if value}

    def of_project(self, name: str) -> str:
        """Give the query for one project alone."""
        return with_filter(self.query, "project", name)

    def inside(self, path: str) -> str:
        """Give the query for one file alone."""
        query = self.query
        for each in reversed(filters_in(query)):
            if each.name == "path" and not each.text.startswith("-"):
                query = without(query, each)
        return with_filter(query, "path", path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """How much more is found without a filter."""

    filter: str
    query: str
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """What a project does not index, and why."""

    project_id: str
    project: str
    reasons: tuple[tuple[str, int], ...]  # with how many files or folders, the most first


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """The projects that there are, and those that a question is put to."""

    everywhere: list[str]
    roots: list[str]
    is_lost: bool  # what is served alone is forgotten, so that none is asked though there are some

    @property
    def ids(self) -> dict[str, str]:
        """The ids of projects by the roots that hits name."""
        return {display_path(root): project_id_of(resolve(root)) for root in self.everywhere}


def asked_for(
    text: Text = "",
    mode: ModeName = "hybrid",
    case: Literal["", "yes"] = "",
    cursor: str | None = None,
    rest: Files = 0,
) -> Asked:
    """Gather what the address of the page says."""
    query = as_asked(text, mode)
    return Asked(query=query, mode=mode, minds_case=bool(case), cursor=cursor, rest=rest)


_ASKED = {"asked": Provide(asked_for, sync_to_thread=False)}


@get("/search", dependencies=_ASKED)
async def search(
    request: Request[Any, Any, Any], service: Service, pages: Pages, asked: Asked
) -> Response[bytes]:
    """Show the answer to a question; for htmx only the parts that change."""
    visit = visit_of(request)
    facts: dict[str, Any] = {
        "asked": asked,
        "modes": tuple(Mode),
        "error": None,
        "may_be_tried_again": False,
        "answer": None,
        "has_preview": request.cookies.get(_PREVIEW_COOKIE) != "closed",
    }
    try:
        body = await service.lanes.search.run(lambda: _answered(service, pages, visit, facts))
    except EngineError as error:
        return await _refused(service, pages, visit, facts, error)
    return page(body, headers=facts.get("headers", {}))


@get("/search/markdown", dependencies=_ASKED)
async def markdown(service: Service, asked: Asked) -> Response[str]:
    """Give the answer as Markdown, to be pasted into a prompt."""
    request = replace(asked.request, limit=_OF_AGENTS, explain=False)

    def ask() -> SearchAnswer:
        return _ask(service, _projects_of(service, request), request)

    return Response(
        search_markdown(await service.lanes.search.run(ask)), media_type="text/markdown"
    )


def _answered(service: Service, pages: Pages, visit: Visit, facts: dict[str, Any]) -> bytes:
    asked: Asked = facts["asked"]
    request = asked.request
    asking = _projects_of(service, request)
    if not (asked.query and asking.roots):
        facts |= {
            "is_empty": not asking.everywhere,
            "lost": _served(service, asking) if asking.is_lost else None,
        }
        template = "parts/results.html" if visit.is_fragment else "search.html"
        return pages.html(template, visit, facts)
    offset = offset_of(asked.cursor, request, [])
    wanted = page_within(request, offset)
    answer, best, is_bound = _ask_for_page(service, asking, wanted, offset)
    files = files_of(answer, best)
    shown = _part(files, visit, asked)
    gone = _gone(answer, asking)
    facts |= {
        "is_empty": False,
        "answer": answer,
        "is_bound": is_bound,
        "groups": [
            group_of(each, answer, asking.ids, branch=asked.branch) for each in files[shown]
        ],
        "first_left": shown.stop,
        "left": len(files) - shown.stop,
        "next": next_cursor(answer, wanted, [], offset),
        "looked_at": len(best),
        "several": len(chosen_projects(asking.roots, request)) > 1,
        "served": _served(service, asking),
        "gone": gone,
        "branchless": [each for each in answer.errors if _is_branchless(each, asked)],
        "stale": len(
            {
                (hit.project, hit.path)
                for hit in answer.hits
                if hit.fresh is False and hit.project not in gone
            }
        ),
    }
    if visit.is_fragment and (asked.rest or offset):
        template = "parts/groups.html" if offset else "parts/group_items.html"
        return pages.html(template, visit, facts)
    if answer.hits:
        branches = () if offset else _branches(service, best)
        facts["facets"] = facets_of(asked.query, best, branches)
    else:
        facts["blamed"] = _blamed(service, asking, asked)
        facts["excluded"] = _excluded(service, asking, request)
        facts["headers"] = _unfinished(service, visit, asked)
    template = "parts/results.html" if visit.is_fragment else "search.html"
    return pages.html(template, visit, facts)


def _gone(answer: SearchAnswer, asking: _Asking) -> dict[str, str]:
    """Give the ids of projects with hits whose folders are not on the disk, by their roots."""
    stale = dict.fromkeys(hit.project for hit in answer.hits if hit.fresh is False)
    return {
        root: asking.ids[root]
        for root in stale
        if root in asking.ids and not os.path.isdir(resolve(root))
    }


def _is_branchless(error: ProjectError, asked: Asked) -> bool:
    """Say whether a project could not answer as it has no branch of the name that was asked for."""
    return bool(asked.branch) and error.message == f"branch {asked.branch!r} is not indexed"


def _part(files: Sequence[FileHits], visit: Visit, asked: Asked) -> slice:
    """Say which files of a page are shown: all, but while one types those that fill a window."""
    if not visit.is_fragment or asked.cursor:
        return slice(0, len(files))
    if asked.rest:
        return slice(asked.rest, len(files))
    hits = accumulate(len(each.hits) for each in files)
    filling = next((at for at, sum_ in enumerate(hits, 1) if sum_ >= _AT_ONCE), len(files))
    return slice(0, filling)


def _ask_for_page(
    service: Service, asking: _Asking, wanted: SearchRequest, offset: int
) -> tuple[SearchAnswer, Sequence[Hit], bool]:
    """Give the answer for a page, and the best hits of all pages, which the filters count.

    With them comes whether the total is a lower bound, which it is not when all were looked at.
    The question is put once: what ranks the first hits has ranked the others, and those cost
    little without their texts.
    """
    if offset:
        answer = _ask(service, asking, wanted, offset)
        return answer, answer.hits, answer.truncated
    found = _ask(service, asking, replace(wanted, limit=_LOOKED_AT, detailed=_PAGE))
    is_cut = found.truncated or len(found.hits) > _PAGE
    return replace(found, hits=found.hits[:_PAGE], truncated=is_cut), found.hits, found.truncated


def _served(service: Service, asking: _Asking) -> dict[str, list[str]]:
    """Give the names of projects that are asked alone, and of those that are not; empty for all."""
    left = [root for root in asking.everywhere if root not in asking.roots]
    if not left:
        return {}
    return {
        "asked": [name_of(root) for root in asking.roots],
        "left": [name_of(root) for root in left if root.startswith("/")][:_MOST_LEFT],
    }


def _projects_of(service: Service, request: SearchRequest) -> _Asking:
    everywhere = service.catalog.everywhere()
    served = None if request.query and names_projects(request) else service.served()
    return _Asking(
        everywhere=everywhere,
        roots=everywhere if served is None else served,
        is_lost=bool(everywhere) and served == [],
    )


def _ask(
    service: Service, asking: _Asking, request: SearchRequest, offset: int = 0
) -> SearchAnswer:
    return service.search(asking.roots, request, offset)


def _blamed(service: Service, asking: _Asking, asked: Asked) -> list[Blame]:
    """Say of each filter how much is found without it, the most first."""
    blamed = []
    for each in filters_in(asked.query)[:_MOST_BLAMED]:
        query = without(asked.query, each)
        if not query.strip():
            continue
        request = replace(asked, query=query).request
        request = replace(request, limit=1, context=False, explain=False)
        try:
            answer = _ask(service, asking, request)
        except InvalidQueryError:  # what is left only leaves out
            continue
        if answer.total:
            blamed.append(Blame(filter=each.text, query=query, total=answer.total))
    return sorted(blamed, key=lambda each: -each.total)


def _excluded(service: Service, asking: _Asking, request: SearchRequest) -> list[Excluded]:
    """Say what the projects that were asked do not index; of many projects, nothing."""
    chosen = chosen_projects(asking.roots, request)
    found = []
    for root in chosen if len(chosen) <= _MOST_EXCLUDED else ():
        try:
            status = service.index_of(root).status()
        except EngineError:  # damaged: the answer has said so
            continue
        reasons = sorted(status.skips.items(), key=lambda each: (-each[1], each[0]))[:_MOST_SKIPS]
        found.append(
            Excluded(project_id=status.project_id, project=status.path, reasons=tuple(reasons))
        )
    return [each for each in found if each.reasons]


def _branches(service: Service, hits: Sequence[Hit]) -> tuple[BranchSummary, ...]:
    """Give the branches of the projects that hits are in, each name once."""
    found: dict[str, BranchSummary] = {}
    for project in list(dict.fromkeys(hit.project for hit in hits))[:_MOST_BRANCHED]:
        try:
            branches = service.index_of(project).browse.branches()
        except EngineError:  # its root is not UTF-8, or it was forgotten just now
            continue
        for each in branches:
            known = found.get(each.name)
            files = each.files + (known.files if known else 0)
            found[each.name] = replace(each, files=files)
    return tuple(found.values())


async def _refused(
    service: Service, pages: Pages, visit: Visit, facts: dict[str, Any], error: EngineError
) -> Response[bytes]:
    """Explain at the box what is wrong; what was found before stays."""
    asked: Asked = facts["asked"]
    position = error.position if isinstance(error, InvalidQueryError) else None
    if isinstance(error, NotFoundError):
        position = next((each.start for each in filters_in(asked.query)), None)
    facts |= {
        "error": error,
        "position": None if position is None else min(position, len(asked.query)),
        "may_be_tried_again": isinstance(error, UnavailableError),
        "answer": None,
        "is_empty": False,
        "lost": None,
    }
    template = "parts/problem.html" if visit.is_fragment else "search.html"

    def show() -> Response[bytes]:
        answer = problem(pages.html(template, visit, facts), visit, error)
        answer.headers.update(_unfinished(service, visit, asked))
        return answer

    return await service.work(show)


def _unfinished(service: Service, visit: Visit, asked: Asked) -> dict[str, str]:
    """Give the header that tells a script which asks while one types that nothing is wrong yet."""
    if not visit.is_fragment:
        return {}
    return {_UNFINISHED: "yes"} if is_unfinished(service, asked.query) else {}
