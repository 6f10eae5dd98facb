"""Projects: list them, index a folder, and show, clear or forget one."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Annotated

from litestar import Response, delete, get, post
from litestar.openapi import ResponseSpec
from msgspec import Meta, Struct

from engine.errors import InvalidPathError
from engine.index_records import IndexOptions
from engine.record_class import record
from engine.roots import expanded
from engine.state_records import JobState, ProjectStatus, ProjectSummary
from web.api.requests import TIMEOUT_RESPONSE, in_api
from web.api.service import Service
from web.api.shapes import ProjectId, RecordResponse
from web.errors import Refusal
from web.operations import WAIT_S, RequestedRun, Wait, index
from web.schemas import report_json
from web.wording import go_duration

_TAGS = ("projects",)
_GLOBS = Meta(
    description="null keeps the stored patterns, an empty list removes them",
    examples=[["*.py", "docs/**"]],
    max_length=1000,
)
_MOST_PATH = 4096


class IndexRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder to index."""

    path: Annotated[str, Meta(min_length=1, description="absolute", examples=["/home/me/src/app"])]
    include_patterns: Annotated[tuple[str, ...], _GLOBS] | None = None
    exclude_patterns: Annotated[tuple[str, ...], _GLOBS] | None = None
    max_file_size: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="bytes; larger files are skipped; 0 means 10 MB, the maximum",
                examples=[1048576],
            ),
        ]
        | None
    ) = None
    force: Annotated[bool, Meta(description="read and parse unchanged files too")] = False
    branch: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="a branch or tag that is not checked out, read from git's objects",
                examples=["v2.1"],
            ),
        ]
        | None
    ) = None
    confirmed: Annotated[
        bool, Meta(description="index even a folder such as a home directory or one with keys")
    ] = False
    wait: Annotated[bool, Meta(description="wait for a short run to end, at most 25 s")] = True
    timeout_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=300,
                description="how long to wait at most, also for a long run; after that, the answer"
                " is 504 and the job continues",
            ),
        ]
        | None
    ) = None


@record
class ProjectList:
    """All projects, ordered by path."""

    projects: tuple[ProjectSummary, ...]


@record
class IndexAnswer:
    """The outcome of a request to index."""

    job_id: str
    status: JobState
    project_id: str
    path: str
    duplicate: Annotated[bool, "whether an identical job was already active"]
    estimated_seconds: float | None
    result: Annotated[Mapping[str, object] | None, "what a completed run did"]
    warnings: Annotated[
        tuple[str, ...],
        "what speaks against indexing this folder; that the job had begun before the request",
    ] = ()


@record
class Cleared:
    """An index was emptied."""

    project_id: str
    path: str
    cleared: bool = True


@record
class Forgotten:
    """An index was deleted."""

    project_id: str
    path: str
    contexts: Annotated[tuple[str, ...], "names of the contexts that it has left"] = ()
    forgotten: bool = True


@get("/projects", operation_id="listProjects", summary="All projects", tags=_TAGS)
async def list_projects(service: Service) -> ProjectList:
    """List the projects of the data directory, also those that cannot be opened."""
    return ProjectList(projects=tuple(await service.work(service.catalog.projects)))


@post(
    "/projects",
    operation_id="indexProject",
    summary="Index a folder",
    tags=_TAGS,
    status_code=200,
    responses={
        202: ResponseSpec(
            IndexAnswer, generate_examples=False, description="The job is still active"
        ),
        **TIMEOUT_RESPONSE,
    },
)
async def index_project(service: Service, data: IndexRequest) -> Response[IndexAnswer]:
    """Start a job that indexes a folder, and wait for it if it is short or `timeout_s` is given.

    200 if the job has ended, 202 if it is still active. If the job fails during the wait, the
    answer is its error with that error's status. 409 if another job is in the way: nothing was
    started.
    """
    started_s = time.monotonic()
    wait_s = (data.timeout_s or WAIT_S) if data.wait else 0.0
    lane = service.executors.waits
    if wait_s and lane.is_full:  # many wait already: answer with the job at once
        wait_s = 0.0
    if not wait_s:
        lane = service.executors.work
    requested = await lane.run(partial(_index, service, data, wait_s))
    job = requested.job
    if job.status is JobState.FAILED:
        error = dict(job.error or {})
        stored = error.get("details")
        details = {**(stored if isinstance(stored, dict) else {}), "job_id": job.job_id}
        hint = in_api(str(details.pop("hint", "")))
        raise Refusal(
            str(error.get("error", "internal_error")),
            str(error.get("message", "the job failed")),
            hint=hint,
            **details,
        )
    has_ended = job.status in (JobState.COMPLETED, JobState.CANCELLED)
    is_over = bool(wait_s) and time.monotonic() - started_s >= wait_s  # not cut short
    if data.timeout_s and is_over and not has_ended:
        raise Refusal(
            "timeout_error",
            "repository indexing timed out",
            hint="the job goes on; ask for its status",
            timeout=go_duration(data.timeout_s),
            timeout_s=data.timeout_s,
            job_id=job.job_id,
        )
    shape = IndexAnswer(
        job_id=job.job_id,
        status=job.status,
        project_id=job.project_id,
        path=job.path,
        duplicate=requested.is_duplicate,
        estimated_seconds=job.estimated_seconds,
        result=None if job.result is None else report_json(job.result),
        warnings=requested.warnings,
    )
    return RecordResponse(shape, status_code=200 if has_ended else 202)


def _index(service: Service, data: IndexRequest, wait_s: float) -> RequestedRun:
    path = expanded(data.path)
    if not path.startswith("/") or len(path) > _MOST_PATH:
        raise InvalidPathError(
            "wanted an absolute path, shorter than 4,096 characters", field="path"
        )
    options = IndexOptions(
        include_patterns=data.include_patterns,
        exclude_patterns=data.exclude_patterns,
        max_file_size=data.max_file_size,
        force=data.force,
        branch=data.branch,
        confirmed=data.confirmed,
    )
    is_for_long = data.timeout_s is not None
    wait = Wait(wait_s, is_for_long=is_for_long, stop=service.closing.is_set)
    return index(service.catalog, path, options, wait)


@get("/projects/{project_id:str}", operation_id="showProject", summary="A project", tags=_TAGS)
async def show_project(service: Service, project_id: ProjectId) -> ProjectStatus:
    """Return what a project's index contains and skips, its jobs, and its watcher."""
    return await service.work(lambda: service.index_of(project_id).status())


@delete(
    "/projects/{project_id:str}",
    operation_id="forgetProject",
    summary="Remove a project",
    tags=_TAGS,
    status_code=200,
)
async def forget_project(service: Service, project_id: ProjectId) -> Forgotten:
    """Delete an index, even a damaged one, and its memories; the folder itself is not touched."""

    def forget() -> Forgotten:
        listed = {each.project_id: each.path for each in service.catalog.projects()}
        left = service.catalog.forget_id(project_id)
        return Forgotten(project_id=project_id, path=listed.get(project_id, ""), contexts=left)

    forgotten = await service.work(forget)
    service.maintenance.forget(project_id)
    return forgotten


@post(
    "/projects/{project_id:str}/clear",
    operation_id="clearProject",
    summary="Clear an index",
    tags=_TAGS,
    status_code=200,
)
async def clear_project(service: Service, project_id: ProjectId) -> Cleared:
    """Delete the contents of an index; keeps the project and its scope."""

    def clear() -> str:
        opened = service.index_of(project_id)
        opened.clear()
        return opened.root

    path = await service.work(clear)
    return Cleared(project_id=project_id, path=path)


HANDLERS = (
    list_projects,
    index_project,
    show_project,
    forget_project,
    clear_project,
)
