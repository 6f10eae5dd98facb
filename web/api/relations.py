"""How the code of one project hangs together: bases, unused code, imports."""

from enum import StrEnum
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.params import QueryParameter

from engine.cancellation import CancelToken
from engine.reference_records import (
    CallAnswer,
    Direction,
    ImportGraph,
    ImportsRequest,
    InheritanceRequest,
    UnusedAnswer,
    UnusedRequest,
)
from engine.telemetry.metrics import measured_search
from web.api.long_work import run_long
from web.api.requests import in_url
from web.api.service import Service
from web.api.shapes import Budget, ProjectId, RecordResponse, within


class Inheritance(StrEnum):
    """Which way to follow bases."""

    IMPLEMENTATIONS = Direction.IMPLEMENTATIONS
    BASES = Direction.BASES


@get(
    "/projects/{project_id:str}/inheritance",
    operation_id="followInheritance",
    summary="Implementations or bases",
    tags=("symbols",),
    dependencies={"wanted": in_url(InheritanceRequest)},
)
async def follow_inheritance(
    service: Service,
    project_id: ProjectId,
    wanted: InheritanceRequest,
    direction: Annotated[
        Inheritance, QueryParameter(description="what implements it, or what it implements")
    ] = Inheritance.IMPLEMENTATIONS,
    max_tokens: Budget = None,
) -> Response[CallAnswer]:
    """List the subtypes and implementations of a type, or its bases; of a method its overrides."""

    def follow() -> RecordResponse:
        with measured_search("inheritance"):
            references = service.index_of(project_id).references
            answer = references.follow(wanted, Direction(direction.value))
        return within(answer, max_tokens)

    return await service.executors.search.run(follow)


@get(
    "/projects/{project_id:str}/unused",
    operation_id="findUnused",
    summary="Unused definitions",
    tags=("symbols",),
    dependencies={"wanted": in_url(UnusedRequest)},
)
async def find_unused(
    service: Service,
    request: Request[Any, Any, Any],
    project_id: ProjectId,
    wanted: UnusedRequest,
    max_tokens: Budget = None,
) -> Response[UnusedAnswer]:
    """List definitions whose name stands nowhere else in the code. Reads all texts: seconds.

    It ends when the client disconnects.
    """

    def find(cancelled: CancelToken) -> RecordResponse:
        with measured_search("unused"):
            answer = service.index_of(project_id).references.unused(wanted, cancelled)
        return within(answer, max_tokens)

    return await run_long(service, find, awaited_by=request)


@get(
    "/projects/{project_id:str}/imports",
    operation_id="findImports",
    summary="Imports and cycles",
    tags=("symbols",),
    dependencies={"wanted": in_url(ImportsRequest)},
)
async def find_imports(
    service: Service,
    request: Request[Any, Any, Any],
    project_id: ProjectId,
    wanted: ImportsRequest,
    max_tokens: Budget = None,
) -> Response[ImportGraph]:
    """List which folders or files import which, and the cycles. Reads all texts: seconds.

    It ends when the client disconnects.
    """

    def find(cancelled: CancelToken) -> RecordResponse:
        with measured_search("imports"):
            answer = service.index_of(project_id).references.imports(wanted, cancelled)
        return within(answer, max_tokens)

    return await run_long(service, find, awaited_by=request)


HANDLERS = (follow_inheritance, find_unused, find_imports)
