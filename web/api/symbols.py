"""Symbols: definitions by name."""

from typing import Annotated, Literal

from litestar import get
from litestar.params import QueryParameter
from msgspec import UNSET, Meta, UnsetType

from engine.errors import EngineError
from engine.telemetry.recording import asking
from web.api.service import Service
from web.api.shapes import Answer, Line, ProjectFailure, shaped

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
    """Definitions, best first; of a file in the order of its text."""

    symbols: list[SymbolView]
    errors: list[ProjectFailure] | UnsetType = UNSET


@get("/symbols", operation_id="findSymbols", summary="Definitions by name", tags=("symbols",))
async def find_symbols(
    service: Service,
    name: Annotated[str, QueryParameter(description="a name, or Class.method", max_length=1000)],
    project: Annotated[
        list[str] | None,
        QueryParameter(max_items=_MOST_PROJECTS, description="ids or absolute paths"),
    ] = None,
    kind: Annotated[str | None, QueryParameter(description="such as function or type")] = None,
    match: Annotated[
        Literal["exact", "prefix", "fuzzy"],
        QueryParameter(description="exact: the same case first; fuzzy: parts, and typing errors"),
    ] = "exact",
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="the most symbols")] = 20,
) -> SymbolList:
    """Find definitions by name in one project or in several."""

    def find() -> dict[str, object]:
        with asking("symbols"):
            return found_in(project or service.roots())

    def found_in(asked: list[str]) -> dict[str, object]:
        found = []
        failures = []
        for each in asked:
            try:
                index = service.index_of(each)
                found += index.symbols(name, kind=kind, match=match, limit=limit)
            except EngineError as error:
                if len(asked) == 1 or error.code == "validation_error":
                    raise
                failure = {"project": each, "error": error.code, "message": error.message}
                failures.append(failure)
        found.sort(key=lambda symbol: -symbol.score)
        shown: dict[str, object] = {"symbols": found[:limit]}
        return {**shown, "errors": failures} if failures else shown

    return shaped(await service.lanes.search.run(find), SymbolList)


HANDLERS = (find_symbols,)
