"""Health of the server, at a cost that does not depend on its load; metrics; connected agents."""

import time
from datetime import UTC, datetime
from importlib import metadata
from typing import Annotated

from litestar import Response, get
from litestar.enums import MediaType

from engine.record_class import record
from engine.state_records import ACTIVE, Job, JobState, WatchState
from engine.telemetry.agents import AgentActivity
from web.api.service import Service


@record
class Health:
    """The state of the server."""

    status: Annotated[str, "ok, or degraded when a job or a watcher needs attention"]
    active_jobs: Annotated[int, "pending, running and blocked jobs"]
    running_jobs: int
    blocked_jobs: int
    blocked_watchers: Annotated[int, "projects whose changes cannot be indexed for now"]
    oldest_running_age_seconds: Annotated[
        float | None, "since the first start of the oldest running job"
    ]
    uptime_seconds: float
    version: str


@get("/health", operation_id="health", summary="State of the server", tags=["server"])
async def health(service: Service) -> Health:
    """Return the status of the server, the number of active jobs, and the age of the oldest one."""
    return await service.work(lambda: health_of(service))


def health_of(service: Service) -> Health:
    """Return the state of the server; may block."""
    activities = service.catalog.activity.poll()
    jobs = [job for each in activities for job in each.jobs if job.status in ACTIVE]
    watches = [each.watch for each in activities if each.watch]
    blocked_watchers = sum(watch.state is WatchState.BLOCKED for watch in watches)
    is_degraded = blocked_watchers > 0 or any(job.flagged for job in jobs)
    running = [job for job in jobs if job.status is JobState.RUNNING]
    return Health(
        status="degraded" if is_degraded else "ok",
        active_jobs=len(jobs),
        running_jobs=len(running),
        blocked_jobs=sum(job.status is JobState.BLOCKED for job in jobs),
        blocked_watchers=blocked_watchers,
        oldest_running_age_seconds=max(map(_age_s, running), default=None),
        uptime_seconds=round(time.monotonic() - service.started_s, 3),
        version=version(),
    )


def version() -> str:
    """Return the installed version, or "0" when run from source."""
    try:
        return metadata.version("codecairn")
    except metadata.PackageNotFoundError:
        return "0"


def _age_s(job: Job) -> float:
    started = datetime.fromisoformat(job.started_at or job.created_at)
    return round(max(0.0, (datetime.now(UTC) - started).total_seconds()), 3)


@get(
    "/metrics",
    operation_id="metrics",
    summary="Metrics for Prometheus",
    tags=["server"],
    media_type=MediaType.TEXT,
)
async def metrics(service: Service) -> Response[bytes]:
    """Return all metrics in the Prometheus text format."""
    text = await service.work(service.observer.exposition)
    return Response(text, media_type=service.observer.content_type)


@get("/agents", operation_id="listAgents", summary="Agents and their calls", tags=("server",))
async def list_agents(service: Service) -> AgentActivity:
    """Return the agents of the last day, over HTTP or started by their clients, and their calls.

    Of a query and its answer nothing is kept but the size of the answer.
    """
    return await service.work(service.catalog.agent_activity)


#: Below ``/api/v1``.
HANDLERS = (list_agents,)
