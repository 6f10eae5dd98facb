"""References of one project: uses, calls, what a change affects, and a map of it."""

from enum import StrEnum
from typing import Annotated, Any

from litestar import Response, get
from litestar.params import QueryParameter

from engine.reference_records import (
    CallAnswer,
    CallRequest,
    Direction,
    ImpactAnswer,
    ImpactRequest,
    MapAnswer,
    MapRequest,
    ReferenceAnswer,
    ReferenceRequest,
)
from engine.telemetry.metrics import measured_search
from web.api.requests import in_url
from web.api.service import Service
from web.api.shapes import Budget, ProjectId, RecordResponse, within
from web.budget import Shown, json_within, whole_of
from web.impact import impact_part
from web.schemas import as_json


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
    service: Service,
    project_id: ProjectId,
    wanted: ReferenceRequest,
    max_tokens: Budget = None,
) -> Response[ReferenceAnswer]:
    """Find the definitions, imports, calls and other uses of a name, the most certain first."""

    def find() -> RecordResponse:
        with measured_search("references"):
            answer = service.index_of(project_id).references.find(wanted)
        return within(answer, max_tokens)

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
    max_tokens: Budget = None,
) -> Response[CallAnswer]:
    """List the functions that call one, or that it calls, directly or through others."""

    def follow() -> RecordResponse:
        with measured_search("calls"):
            references = service.index_of(project_id).references
            answer = references.follow(wanted, Direction(direction.value))
        return within(answer, max_tokens)

    return await service.executors.search.run(follow)


@get(
    "/projects/{project_id:str}/map",
    operation_id="drawMap",
    summary="Map of the code",
    tags=("symbols",),
    dependencies={"wanted": in_url(MapRequest)},
)
async def draw_map(
    service: Service,
    project_id: ProjectId,
    wanted: MapRequest,
    max_tokens: Budget = None,
) -> Response[MapAnswer]:
    """List the most central definitions, those first that answer a query or that a path uses."""

    def draw() -> RecordResponse:
        with measured_search("map"):
            answer = service.index_of(project_id).code_map.draw(wanted)
        return within(answer, max_tokens)

    return await service.executors.search.run(draw)


@get(
    "/projects/{project_id:str}/impact",
    operation_id="findImpact",
    summary="What a change affects",
    tags=("symbols",),
    dependencies={"wanted": in_url(ImpactRequest)},
)
async def find_impact(
    service: Service,
    project_id: ProjectId,
    wanted: ImpactRequest,
    max_tokens: Budget = None,
) -> Response[ImpactAnswer]:
    """List what depends on a definition, a file or the uncommitted changes, and the tests of it.

    Give one of `name`, `path` and `changed`.
    """

    def find() -> RecordResponse:
        with measured_search("impact"):
            answer = service.index_of(project_id).impact(wanted)
        if max_tokens is None:
            return RecordResponse(answer)

        def content(shown: Shown) -> dict[str, Any]:
            return as_json(impact_part(answer, shown))  # type: ignore[no-any-return]

        return RecordResponse(json_within(whole_of(answer), content, max_tokens))

    return await service.executors.search.run(find)


HANDLERS = (find_references, follow_calls, draw_map, find_impact)
