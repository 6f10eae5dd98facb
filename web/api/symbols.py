"""Symbols: find definitions by name, or list those of a project."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from engine.browse_records import SymbolListRequest, SymbolPage
from engine.errors import EngineError
from engine.record_class import record
from engine.records import WHEN_ANY
from engine.search_records import ProjectError, SymbolHit, SymbolRequest
from engine.telemetry.metrics import measured_search
from web.api.requests import in_url
from web.api.service import Service
from web.api.shapes import ProjectId
from web.operations import FoundSymbols, merged
from web.operations import find_symbols as by_name

_MOST_PROJECTS = 100


@record
class SymbolList:
    """Definitions, best first; those of one file in source order."""

    symbols: tuple[SymbolHit, ...]
    total: Annotated[int | None, WHEN_ANY, "a lower bound if truncated; absent in outlines"] = None
    truncated: Annotated[bool | None, WHEN_ANY, "narrow by kind or raise the limit if so"] = None
    errors: Annotated[tuple[ProjectError, ...], WHEN_ANY] = ()
    notes: Annotated[tuple[str, ...], WHEN_ANY, "on files that have changed"] = ()


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

    def find() -> SymbolList:
        with measured_search("symbols"):
            asked = project or service.roots()
            if not asked:
                return SymbolList(symbols=(), total=0, truncated=False, errors=service.forgotten())
            return found_in(asked)

    def found_in(asked: list[str]) -> SymbolList:
        found: dict[str, FoundSymbols] = {}
        failures: list[tuple[str, EngineError]] = []
        for each in asked:
            try:
                index = service.resolve_project(each)
                if index.root not in found:
                    found[index.root] = by_name(index, wanted)
            except EngineError as error:
                if error.code == "validation_error":
                    raise
                failures.append((each, error))
        if not found:
            raise failures[0][1]
        errors = tuple(
            ProjectError(project=each, error=error.code, message=error.message)
            for each, error in failures
        )
        return SymbolList(**merged([*found.values()], wanted.limit).as_json(), errors=errors)

    return await service.executors.search.run(find)


@get(
    "/projects/{project_id:str}/symbols",
    operation_id="listSymbols",
    summary="All definitions",
    tags=("symbols",),
    dependencies={"wanted": in_url(SymbolListRequest)},
)
async def list_symbols(
    service: Service, project_id: ProjectId, wanted: SymbolListRequest
) -> SymbolPage:
    """List the definitions of a project, ordered by name, with counts by kind and language."""
    return await service.work(lambda: service.index_of(project_id).browse.symbols(wanted))


HANDLERS = (find_symbols, list_symbols)
