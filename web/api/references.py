"""References of one project: the uses of a name, who calls whom, and a map of it."""

from enum import StrEnum
from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from engine.reference_records import (
    CallAnswer,
    CallRequest,
    Direction,
    MapAnswer,
    MapRequest,
    ReferenceAnswer,
    ReferenceRequest,
)
from engine.telemetry.metrics import measured_search
from web.api.requests import in_url
from web.api.service import Service
from web.api.shapes import ProjectId


class Calls(StrEnum):
    """Which way to follow calls."""

    CALLERS = Direction.CALLERS
    CALLEES = Direction.CALLEES


@get(
    "/projects/{project_id:str}/references",
    operation_id="findReferences",
    summary="Uses of a name",
    tags=("symbols",),
    dependencies={"wanted": in_url(ReferenceRequest)},
)
async def find_references(
    service: Service, project_id: ProjectId, wanted: ReferenceRequest
) -> ReferenceAnswer:
    """Find the definitions, imports, calls and other uses of a name, the most certain first."""

    def find() -> ReferenceAnswer:
        with measured_search("references"):
            return service.index_of(project_id).references.find(wanted)

    return await service.executors.search.run(find)


@get(
    "/projects/{project_id:str}/calls",
    operation_id="followCalls",
    summary="Callers or callees",
    tags=("symbols",),
    dependencies={"wanted": in_url(CallRequest)},
)
async def follow_calls(
    service: Service,
    project_id: ProjectId,
    wanted: CallRequest,
    direction: Annotated[
        Calls, QueryParameter(description="who calls it, or whom it calls")
    ] = Calls.CALLERS,
) -> CallAnswer:
    """List the functions that call one, or that it calls, directly or through others."""

    def follow() -> CallAnswer:
        with measured_search("calls"):
            references = service.index_of(project_id).references
            return references.follow(wanted, Direction(direction.value))

    return await service.executors.search.run(follow)


@get(
    "/projects/{project_id:str}/map",
    operation_id="drawMap",
    summary="Map of the code",
    tags=("symbols",),
    dependencies={"wanted": in_url(MapRequest)},
)
async def draw_map(service: Service, project_id: ProjectId, wanted: MapRequest) -> MapAnswer:
    """List the most central definitions, those first that answer a query or that a path uses."""

    def draw() -> MapAnswer:
        with measured_search("map"):
            return service.index_of(project_id).code_map.draw(wanted)

    return await service.executors.search.run(draw)


HANDLERS = (find_references, follow_calls, draw_map)
