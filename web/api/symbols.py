"""Symbols: find definitions by name, or list those of a project."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter
from msgspec import UNSET, Meta, UnsetType

from engine.errors import EngineError, ProjectNotFoundError
from engine.records import SymbolListRequest, SymbolRequest, display_path
from engine.telemetry.metrics import asking
from web.answers import find_symbols as by_name
from web.answers import joined
from web.api.requests import in_url
from web.api.service import NOTHING_SERVED, Service
from web.api.shapes import Answer, Count, Line, ProjectFailure, ProjectId, shaped

_MOST_PROJECTS = 100


class SymbolView(Answer, frozen=True):
    """A definition."""

    project: str
    path: str
    name: Annotated[str, Meta(examples=["open_session"])]
    qualified_name: Annotated[str, Meta(examples=["SessionStore.open_session"])]
    kind: Annotated[str, Meta(examples=["method"])]
    signature: str
    doc: str
    language: str
    line_start: Line
    line_end: Line
    exported: bool
    score: float


class SymbolList(Answer, frozen=True):
    """Definitions, best first; those of one file in source order."""

    symbols: list[SymbolView]
    total: Annotated[
        Count | UnsetType,
        Meta(description="a lower bound if truncated; absent for a file's outline"),
    ] = UNSET
    truncated: Annotated[
        bool | UnsetType,
        Meta(description="whether there are more; narrow by kind or raise the limit"),
    ] = UNSET
    errors: list[ProjectFailure] | UnsetType = UNSET


class ListedSymbolView(Answer, frozen=True):
    """Summary of a definition."""

    path: str
    name: Annotated[str, Meta(examples=["open_session"])]
    scope: Annotated[
        str,
        Meta(description="the enclosing definition; empty at top level", examples=["SessionStore"]),
    ]
    kind: Annotated[str, Meta(examples=["method"])]
    signature: str
    language: str
    line_start: Line
    line_end: Line
    exported: bool


class SymbolPageView(Answer, frozen=True):
    """Definitions ordered by name; those that start with the requested name come first."""

    branch: str
    symbols: list[ListedSymbolView]
    total: Annotated[Count, Meta(description="on all pages")]
    kinds: Annotated[
        dict[str, int], Meta(description="number of each kind, regardless of the kind filter")
    ]
    languages: Annotated[dict[str, int], Meta(description="number in each language, likewise")]
    next_cursor: str | None


@get(
    "/symbols",
    operation_id="findSymbols",
    summary="Definitions by name",
    tags=("symbols",),
    dependencies={"wanted": in_url(SymbolRequest)},
)
async def find_symbols(
    service: Service,
    wanted: SymbolRequest,
    project: Annotated[
        list[str] | None,
        QueryParameter(max_items=_MOST_PROJECTS, description="ids, names or absolute paths"),
    ] = None,
) -> SymbolList:
    """Find definitions by name in one or more projects."""

    def find() -> dict[str, object]:
        with asking("symbols"):
            asked = project or service.roots()
            return found_in(asked) if asked else _of_none(service)

    def found_in(asked: list[str]) -> dict[str, object]:
        found = []
        failures = []
        for each in asked:
            try:
                found.append(by_name(service.index_meant(each), wanted))
            except EngineError as error:
                if len(asked) == 1 or error.code == "validation_error":
                    raise
                failure = {"project": each, "error": error.code, "message": error.message}
                failures.append(failure)
        shown = joined(found, wanted.limit).as_json()
        return {**shown, "errors": failures} if failures else shown

    return shaped(await service.executors.search.run(find), SymbolList)


def _of_none(service: Service) -> dict[str, object]:
    """Return an empty answer that names the served projects that were forgotten."""
    failures = [
        {
            "project": display_path(root),
            "error": ProjectNotFoundError.code,
            "message": NOTHING_SERVED,
        }
        for root in service.serving.served() or ()
    ]
    shown = joined([], 0).as_json()
    return {**shown, "errors": failures} if failures else shown


@get(
    "/projects/{project_id:str}/symbols",
    operation_id="listSymbols",
    summary="All definitions",
    tags=("symbols",),
    dependencies={"wanted": in_url(SymbolListRequest)},
)
async def list_symbols(
    service: Service, project_id: ProjectId, wanted: SymbolListRequest
) -> SymbolPageView:
    """List the definitions of a project, ordered by name, with counts by kind and language."""

    def find() -> SymbolPageView:
        page = service.index_of(project_id).browse.symbols(wanted)
        told = {"branch": page.branch, "total": page.total, "next_cursor": page.next_cursor}
        counts = {"kinds": page.kinds, "languages": page.languages}
        return shaped({"symbols": page.items, **counts, **told}, SymbolPageView)

    return await service.work(find)


HANDLERS = (find_symbols, list_symbols)
