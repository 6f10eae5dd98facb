"""References of one project: the uses of a name, who calls whom, and what a change affects."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from engine.reference_records import (
    CallAnswer,
    CallRequest,
    Direction,
    ImpactAnswer,
    ImpactRequest,
    ReferenceAnswer,
    ReferenceRequest,
)
from engine.telemetry.metrics import measured_search
from web.api.requests import in_url
from web.api.service import Service
from web.api.shapes import ProjectId


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
        Direction, QueryParameter(description="who calls it, or whom it calls")
    ] = Direction.CALLERS,
) -> CallAnswer:
    """List the functions that call one, or that it calls, directly or through others."""

    def follow() -> CallAnswer:
        with measured_search("calls"):
            references = service.index_of(project_id).references
            is_up = direction is Direction.CALLERS
            return references.callers(wanted) if is_up else references.callees(wanted)

    return await service.executors.search.run(follow)


@get(
    "/projects/{project_id:str}/impact",
    operation_id="findImpact",
    summary="What a change affects",
    tags=("symbols",),
    dependencies={"wanted": in_url(ImpactRequest)},
)
async def find_impact(
    service: Service, project_id: ProjectId, wanted: ImpactRequest
) -> ImpactAnswer:
    """List what depends on a definition, a file or the uncommitted changes, and the tests of it.

    Give one of `name`, `path` and `changed`.
    """

    def find() -> ImpactAnswer:
        with measured_search("impact"):
            return service.index_of(project_id).impact(wanted)

    return await service.executors.search.run(find)


HANDLERS = (find_references, follow_calls, find_impact)
