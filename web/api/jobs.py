"""Jobs: list, show, cancel and retry them, and list the events of one."""

from functools import partial
from typing import Annotated, Literal, NamedTuple

from litestar import get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.record_class import record
from engine.state_records import (
    Job,
    JobEvent,
    JobFilter,
    JobOrigin,
    JobPage,
    JobState,
    SubmittedJob,
)
from web.api.requests import PAGING, Paging
from web.api.service import Service
from web.api.shapes import JobId

_TAGS = ("jobs",)
_BASE = "/jobs/{job_id:str}"

Status = Literal["pending", "running", "blocked", "completed", "failed", "cancelled"]
Moment = Annotated[str | None, QueryParameter(description="ISO 8601, e.g. 2025-10-17T09:00:00Z")]


@record
class EventList:
    """The history of a job, in order."""

    events: tuple[JobEvent, ...]
    truncated: Annotated[bool, "more follow: ask for those `after` the last `sequence`"]


class Period(NamedTuple):
    """A range of creation times."""

    after: str | None
    before: str | None


def period_given(created_after: Moment = None, created_before: Moment = None) -> Period:
    """Gather the time range of a URL."""
    return Period(created_after, created_before)


@get(
    "/jobs",
    operation_id="listJobs",
    summary="Jobs",
    tags=_TAGS,
    dependencies={"period": Provide(period_given, sync_to_thread=False), **PAGING},
)
async def list_jobs(
    service: Service,
    period: Period,
    paging: Paging,
    status: Annotated[
        Status | None, QueryParameter(description="only jobs with this status")
    ] = None,
    target: Annotated[
        str | None, QueryParameter(description="a project's id or name, or a path inside it")
    ] = None,
    origin: Annotated[
        Literal["request", "watch"] | None, QueryParameter(description="what requested the jobs")
    ] = None,
) -> JobPage:
    """List the jobs of all projects, newest first."""

    def find() -> JobPage:
        root = None if target is None else service.resolve_project(target).root
        wanted = JobFilter(
            status=None if status is None else JobState(status),
            target=root,
            origin=None if origin is None else JobOrigin(origin),
            created_after=period.after,
            created_before=period.before,
            limit=paging.limit,
            cursor=paging.cursor,
        )
        return service.catalog.jobs.list(wanted)

    return await service.work(find)


@get(_BASE, operation_id="showJob", summary="A job", tags=_TAGS)
async def show_job(service: Service, job_id: JobId) -> Job:
    """Return the current state of a job."""
    return await service.work(partial(service.catalog.jobs.show, job_id))


@post(
    f"{_BASE}/cancel", operation_id="cancelJob", summary="Cancel a job", tags=_TAGS, status_code=200
)
async def cancel_job(service: Service, job_id: JobId) -> Job:
    """Request that a job stop, which takes at most 5 s; its work so far is kept."""
    return await service.work(partial(service.catalog.jobs.cancel, job_id))


@post(f"{_BASE}/retry", operation_id="retryJob", summary="Retry a job", tags=_TAGS, status_code=200)
async def retry_job(service: Service, job_id: JobId) -> SubmittedJob:
    """Submit a new job with the parameters of a failed or cancelled one."""
    return await service.work(partial(service.catalog.jobs.retry, job_id))


@get(f"{_BASE}/events", operation_id="listJobEvents", summary="A job's history", tags=_TAGS)
async def list_job_events(
    service: Service,
    job_id: JobId,
    after: Annotated[
        int, QueryParameter(ge=0, le=2**53, description="the last sequence number already known")
    ] = 0,
    limit: Annotated[
        int, QueryParameter(ge=1, le=1000, description="maximum number of events")
    ] = 1000,
) -> EventList:
    """List the events of a job, in order."""
    act = partial(service.catalog.jobs.events, job_id, after=after, limit=limit + 1)
    found = await service.work(act)
    return EventList(events=found[:limit], truncated=len(found) > limit)


HANDLERS = (list_jobs, show_job, cancel_job, retry_job, list_job_events)
