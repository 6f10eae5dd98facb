"""The search page: box, facets and results by file, as a page or as the parts that change."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Any, Literal

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.browse_records import BranchSummary
from engine.cross_project import is_about_commits, names_projects
from engine.errors import (
    DamagedIndexError,
    EngineError,
    InvalidQueryError,
    NotFoundError,
    UnavailableError,
)
from engine.record_class import record
from engine.records import display_path
from engine.roots import project_id_of, resolve
from engine.search_records import (
    MAX_HITS,
    MAX_QUERY_CHARS,
    UNFINISHED,
    Hit,
    Mode,
    ProjectError,
    SearchAnswer,
    SearchRequest,
)
from web.answers import search_markdown
from web.api.requests import next_cursor, offset_of, page_within
from web.api.service import Chosen, Service
from web.pages.facets import Filter, clean_query, facets_of, filters_in, with_filter, without
from web.pages.find import failed_projects
from web.pages.forms import query_error_response
from web.pages.rendering import (
    PageRequest,
    Pages,
    box_scope,
    name_of,
    page,
    page_request_of,
    scope_of_damaged,
)
from web.pages.results import FileHits, files_of, group_of, linked_names
from web.pages.suggest import is_unfinished

_PAGE = 20
# Hits rendered at once while typing: they fill a window; the rest is loaded at a pause.
_FIRST_HITS = 8
_MAX_RELAXED = 5
_MAX_BRANCHED = 8  # projects with listed branches
_MAX_EXCLUDED = 3  # searched projects; of more, no skips are shown
_MAX_SKIPS = 6  # reasons for skips
_MAX_LEFT = 8  # names of projects that are not searched
_MARKDOWN_HITS = 10
_PREVIEW_COOKIE = "cairn_preview"
_UNFINISHED_HEADER = "X-Unfinished"  # response header: the last filter is still being typed

Text = Annotated[str, QueryParameter(name="q", max_length=MAX_QUERY_CHARS)]
Files = Annotated[int, QueryParameter(name="rest", ge=0, le=_PAGE)]
PageCount = Annotated[int, QueryParameter(name="pages", ge=1, le=MAX_HITS // _PAGE)]


@record
class SearchParams:
    """Parameters of the address."""

    query: str
    mode: Mode
    minds_case: bool
    cursor: str | None
    rest: int  # number of files already shown; for htmx only
    pages: int = 1  # of results shown at once: those that were loaded before one left the page
    project: str = ""  # id of the only searched project; empty: all

    @property
    def projects(self) -> list[str]:
        """The named projects, as cursors know them."""
        return [self.project] if self.project else []

    @property
    def request(self) -> SearchRequest:
        """The request for the engine."""
        text = self.query
        if self.minds_case and not any(each.name == "case" for each in self.filters):
            text = f"{text} case:yes"
        return SearchRequest(
            query=text, mode=self.mode, limit=_PAGE * self.pages, explain=True, hashes=True
        )

    @property
    def branch(self) -> str:
        """The first branch in the query; empty for the checked out one."""
        return next(iter(self.branches), "")

    @property
    def branches(self) -> list[str]:
        """The branches that the query names, searched or refused."""
        return [each.value for each in self.filters if each.name == "branch"]

    @property
    def filters(self) -> list[Filter]:
        """The filters in the query, in order."""
        return filters_in(self.query, as_pattern=self.is_pattern)

    @property
    def is_pattern(self) -> bool:
        """Whether the query apart from its filters is a pattern."""
        return self.mode == Mode.REGEX

    @property
    def lists(self) -> bool:
        """Whether the query has only filters, which list what passes."""
        query = self.query
        for each in reversed(self.filters):
            query = without(query, each)
        return not query.strip()

    def address(self, *, base: str = "/search", **changed: str) -> dict[str, str]:
        """Return the parameters of the page's address, some of them changed."""
        parts = {
            "q": self.query,
            "mode": self.mode,
            "case": "yes" if self.minds_case else "",
            "project": self.project,
        }
        return {name: value for name, value in {**parts, **changed}.items() if value}

    def research_address(self) -> dict[str, str]:
        """Return the parameters of the page with the best passages for the same question."""
        parts = {"q": self.query, "project": self.project}
        return {name: value for name, value in parts.items() if value}

    @property
    def is_about_commits(self) -> bool:
        """Whether it searches commits, not code."""
        return is_about_commits(self.query)

    def of_project(self, name: str) -> str:
        """Return the query limited to one project."""
        return with_filter(self.query, "project", name)

    def inside(self, path: str) -> str:
        """Return the query limited to one file."""
        query = self.query
        for each in reversed(self.filters):
            if each.name == "path" and not each.is_negated:
                query = without(query, each)
        return with_filter(query, "path", path)


@record
class RelaxedQuery:
    """The query without one of its filters, and how much it finds."""

    filter: str
    query: str
    total: int


@record
class Excluded:
    """The reasons for skips in a project."""

    project_id: str
    project: str
    reasons: tuple[tuple[str, int], ...]  # with the number of files or folders, the most first


@record
class Scope:
    """All projects, and the searched ones."""

    everywhere: list[str]
    roots: list[str]
    is_lost: bool  # none is searched, as all projects that the server was limited to are forgotten

    @property
    def ids(self) -> dict[str, str]:
        """Ids of projects by the roots in hits."""
        return {display_path(root): project_id_of(resolve(root)) for root in self.everywhere}


@record
class ShownPart:
    """The part of the results that is asked for."""

    cursor: str | None
    rest: int
    pages: int


def read_part(cursor: str | None = None, rest: Files = 0, page_count: PageCount = 1) -> ShownPart:
    """Collect the parameters of the address that choose a part of the results."""
    return ShownPart(cursor=cursor, rest=rest, pages=page_count)


def read_params(
    part: ShownPart,
    text: Text = "",
    mode: Mode = Mode.HYBRID,
    case: Literal["", "yes"] = "",
    project: str = "",
    context_name: Annotated[str, QueryParameter(name="context")] = "",
) -> SearchParams:
    """Collect the parameters of the address; a context becomes a filter of the query."""
    query = clean_query(text, mode)
    return SearchParams(
        query=with_filter(query, "context", context_name) if context_name else query,
        mode=mode,
        minds_case=bool(case),
        cursor=part.cursor,
        rest=part.rest,
        pages=part.pages,
        project=project,
    )


_PARAMS = {
    "part": Provide(read_part, sync_to_thread=False),
    "params": Provide(read_params, sync_to_thread=False),
}


@get("/search", dependencies=_PARAMS)
async def search(
    request: Request[Any, Any, Any], service: Service, pages: Pages, params: SearchParams
) -> Response[bytes]:
    """Render the results of a query; for htmx the changing parts."""
    page_request = page_request_of(request)
    context: dict[str, Any] = {
        "params": params,
        "modes": tuple(Mode),
        "scope": box_scope(params.project),
        "error": None,
        "may_be_tried_again": False,
        "answer": None,
        "has_preview": request.cookies.get(_PREVIEW_COOKIE) != "closed",
    }
    try:
        body = await service.executors.search.run(
            lambda: _answered(service, pages, page_request, context)
        )
    except EngineError as error:
        return await _query_error(service, pages, page_request, context, error)
    return page(body, headers=context.get("headers", {}))


@get("/search/markdown", dependencies=_PARAMS)
async def markdown(service: Service, params: SearchParams) -> Response[str]:
    """Return the results as Markdown for a prompt."""
    request = replace(params.request, limit=_MARKDOWN_HITS, explain=False)

    def ask() -> SearchAnswer:
        return _search(service, scope_of(service, request, params.project), request)

    return Response(
        search_markdown(await service.executors.search.run(ask)), media_type="text/markdown"
    )


def _answered(
    service: Service, pages: Pages, page_request: PageRequest, context: dict[str, Any]
) -> bytes:
    params: SearchParams = context["params"]
    request = params.request
    scope = scope_of(service, request, params.project)
    if params.project:
        context["scope"] = box_scope(params.project, scope.roots[0])
    if not (params.query and scope.roots):
        context |= {
            "is_empty": not scope.everywhere,
            "lost": lost_in(scope),
        }
        template = "parts/results.html" if page_request.is_fragment else "search.html"
        return pages.html(template, page_request, context)
    offset = offset_of(params.cursor, request, params.projects)
    wanted = page_within(request, offset)
    answer, best, is_cut = _ask_for_page(service, scope, wanted, offset)
    files = files_of(answer, best)
    shown = _visible_files(files, page_request, params)
    missing_roots = _missing_roots(service, answer, scope)
    # Names of another branch lead nowhere: its files have no pages.
    on_disk = [each for each in files[shown] if not each.branch(params.branch)]
    names = linked_names(on_disk, scope.ids, service.index_of)
    context |= {
        "is_empty": False,
        "answer": answer,
        "is_lower_bound": is_cut and not params.is_about_commits,  # these are all counted
        "groups": [
            group_of(
                each,
                answer,
                scope.ids,
                branch=params.branch,
                names=names,
                scope=params.project,
            )
            for each in files[shown]
        ],
        "first_hidden": shown.stop,
        "left": len(files) - shown.stop,
        "number_shown": offset + len(answer.hits),
        "next_pages": offset // _PAGE + params.pages + 1,
        "next": next_cursor(answer, wanted, params.projects, offset),
        "several": len(service.catalog.chosen_projects(scope.roots, request)) > 1,
        "served": _served(scope),
        "missing_roots": missing_roots,
        "notes": _notes(answer),
        "without_branch": [each for each in answer.errors if _lacks_branch(each, params)],
        "failed": failed_projects(
            service, (each for each in answer.errors if not _lacks_branch(each, params))
        ),
        "stale": len(
            {
                (hit.project, hit.path)
                for hit in answer.hits
                if hit.fresh is False and hit.project not in missing_roots
            }
        ),
    }
    if page_request.is_fragment and (params.rest or offset):
        template = "parts/groups.html" if offset else "parts/group_items.html"
        return pages.html(template, page_request, context)
    if answer.hits:
        is_of_code = not offset and not params.is_about_commits
        branches = _branches(service, best) if is_of_code else ()
        context["facets"] = facets_of(params.query, best, branches, as_pattern=params.is_pattern)
    else:
        context["relaxed"] = _relaxed(service, params)
        context["excluded"] = () if params.is_about_commits else _excluded(service, scope, request)
        context["headers"] = _unfinished_header(service, page_request, params)
    template = "parts/results.html" if page_request.is_fragment else "search.html"
    return pages.html(template, page_request, context)


def _notes(answer: SearchAnswer) -> list[str]:
    """Return the notes, without the one that a banner already tells with numbers."""
    is_told = not answer.coverage.complete and answer.coverage.indexed != 1
    return [each for each in answer.notes if not (is_told and each.endswith(UNFINISHED))]


def _missing_roots(service: Service, answer: SearchAnswer, scope: Scope) -> dict[str, str]:
    """Return ids by root of projects with hits whose folders are missing on disk, or emptied."""
    missing: dict[str, str] = {}
    for root in dict.fromkeys(hit.project for hit in answer.hits if hit.fresh is False):
        with suppress(EngineError):  # forgotten meanwhile
            if root in scope.ids and not service.index_of(scope.ids[root]).has_folder():
                missing[root] = scope.ids[root]
    return missing


def _lacks_branch(error: ProjectError, params: SearchParams) -> bool:
    """Return whether a project failed only for lack of a branch that the query names."""
    return any(error.message == f"branch {each!r} is not indexed" for each in params.branches)


def _visible_files(
    files: Sequence[FileHits], page_request: PageRequest, params: SearchParams
) -> slice:
    """Return the files to render: all, or while typing only those that fill a window."""
    if not page_request.is_fragment or params.cursor:
        return slice(0, len(files))
    if params.rest:
        return slice(params.rest, len(files))
    hits = accumulate(len(each.hits) for each in files)
    filling = next((at for at, sum_ in enumerate(hits, 1) if sum_ >= _FIRST_HITS), len(files))
    return slice(0, filling)


def _ask_for_page(
    service: Service, scope: Scope, wanted: SearchRequest, offset: int
) -> tuple[SearchAnswer, Sequence[Hit], bool]:
    """Return the answer of a page, the best hits of all pages, and whether there are more.

    The facets count the best hits. One search suffices: it ranks all of them anyway, and hits
    without snippets are cheap.
    """
    if offset:
        answer = _search(service, scope, wanted, offset)
        return answer, answer.hits, answer.truncated
    limit = wanted.limit
    found = _search(service, scope, replace(wanted, limit=MAX_HITS, detailed=limit))
    is_cut = found.truncated or len(found.hits) > limit
    return replace(found, hits=found.hits[:limit], truncated=is_cut), found.hits, found.truncated


def _served(scope: Scope) -> dict[str, list[str]]:
    """Return names of searched and unsearched projects, or nothing if all are searched."""
    left = [root for root in scope.everywhere if root not in scope.roots]
    if not left:
        return {}
    return {
        "searched": [name_of(root) for root in scope.roots],
        "left": [name_of(root) for root in left if root.startswith("/")][:_MAX_LEFT],
    }


def lost_in(scope: Scope) -> dict[str, list[str]] | None:
    """Return names of the projects that could be searched, if none of the served ones is left."""
    return _served(scope) if scope.is_lost else None


def scope_of(service: Service, request: SearchRequest, project: str) -> Scope:
    """Return the projects to search: the chosen one, the named ones, or the served ones."""
    if project:
        root = service.index_of(project).root
        return Scope(everywhere=[root], roots=[root], is_lost=False)
    everywhere = service.catalog.roots_or_ids()
    served = None if request.query and names_projects(request) else service.served_roots()
    return Scope(
        everywhere=everywhere,
        roots=everywhere if served is None else served,
        is_lost=bool(everywhere) and served == [],
    )


def _search(
    service: Service, scope: Scope, request: SearchRequest, offset: int = 0
) -> SearchAnswer:
    return service.search(Chosen(scope.roots), request, offset)


def _relaxed(service: Service, params: SearchParams) -> list[RelaxedQuery]:
    """Return the query without each of its filters, as far as that finds more; the most first.

    Each is searched for where its own page searches: that may depend on the filter left out.
    """
    relaxed = []
    for each in params.filters[:_MAX_RELAXED]:
        query = without(params.query, each)
        if not query.strip():
            continue
        request = replace(params, query=query).request
        request = replace(request, limit=1, context=False, explain=False)
        try:
            scope = scope_of(service, request, params.project)
            answer = _search(service, scope, request) if scope.roots else None
        except InvalidQueryError:  # only negations are left
            continue
        if answer and answer.total:
            relaxed.append(RelaxedQuery(filter=each.text, query=query, total=answer.total))
    return sorted(relaxed, key=lambda each: -each.total)


def _excluded(service: Service, scope: Scope, request: SearchRequest) -> list[Excluded]:
    """Return the skips of the searched projects; nothing for many projects."""
    chosen = service.catalog.chosen_projects(scope.roots, request)
    found = []
    for root in chosen if len(chosen) <= _MAX_EXCLUDED else ():
        try:
            status = service.index_of(root).status()
        except EngineError:  # damaged, as the answer says
            continue
        reasons = sorted(status.skips.items(), key=lambda each: (-each[1], each[0]))[:_MAX_SKIPS]
        found.append(
            Excluded(project_id=status.project_id, project=status.path, reasons=tuple(reasons))
        )
    return [each for each in found if each.reasons]


def _branches(service: Service, hits: Sequence[Hit]) -> tuple[BranchSummary, ...]:
    """Return the branches of the hits' projects, one of each name."""
    found: dict[str, BranchSummary] = {}
    for project in list(dict.fromkeys(hit.project for hit in hits))[:_MAX_BRANCHED]:
        try:
            branches = service.index_of(project).browse.branches()
        except EngineError:  # root not UTF-8, or just forgotten
            continue
        for each in branches:
            found[each.name] = each
    return tuple(found.values())


async def _query_error(
    service: Service,
    pages: Pages,
    page_request: PageRequest,
    context: dict[str, Any],
    error: EngineError,
) -> Response[bytes]:
    """Show the error of a query at the box; the last results stay."""
    params: SearchParams = context["params"]
    position = error.position if isinstance(error, InvalidQueryError) else None
    if isinstance(error, NotFoundError):
        first = next((each.start for each in params.filters), None)
        found = error.details.get("position", first)
        position = found if isinstance(found, int) else None
    context |= {
        "error": error,
        "position": None if position is None else min(position, len(params.query)),
        "may_be_tried_again": isinstance(error, UnavailableError),
        "answer": None,
        "is_empty": False,
        "lost": None,
    }
    template = "parts/problem.html" if page_request.is_fragment else "search.html"

    def show() -> Response[bytes]:
        if isinstance(error, DamagedIndexError):
            context["scope"] = scope_of_damaged(service, params.project)
        answer = query_error_response(
            pages.html(template, page_request, context), page_request, error
        )
        answer.headers.update(_unfinished_header(service, page_request, params))
        return answer

    return await service.work(show)


def _unfinished_header(
    service: Service, page_request: PageRequest, params: SearchParams
) -> dict[str, str]:
    """Return the header that tells the script to wait: the query is not finished yet."""
    if not page_request.is_fragment:
        return {}
    return (
        {_UNFINISHED_HEADER: "yes"} if is_unfinished(service, params.query, params.project) else {}
    )
