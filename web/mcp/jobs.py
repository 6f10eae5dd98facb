"""The tools for background jobs: start one, follow its progress, cancel it, list all."""

from dataclasses import replace
from typing import Annotated, Literal

from msgspec import Meta

from engine.errors import JobConflictError
from engine.index_records import IndexOptions
from engine.state_records import (
    TERMINAL,
    Job,
    JobFilter,
    JobOrigin,
    JobPage,
    JobState,
    SubmittedJob,
)
from web.job_ids import job_id_of
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, most_that_fit
from web.mcp.indexing import Globs, error_of, following, globs_of, log_uri, outcome_text
from web.mcp.tool import Answer, Caller, Parameters, Tool, ToolContext, fields_in, record
from web.operations import HAD_BEGUN
from web.schemas import values_of
from web.terminal import printable
from web.wording import count, expected, line_of, state_of

JobId = Annotated[str, Meta(min_length=1, max_length=100)]
_SHORT = (
    "job_id",
    "status",
    "path",
    "phase",
    "files_done",
    "files_total",
    "waiting",
    "created_at",
    "started_at",
    "finished_at",
)

_JOB = (
    "job_id",
    "status",
    "path",
    "phase",
    "files_done",
    "files_total",
    "result",
    "error",
)
_MAX_WATCHED = 100
_WIDEST_CURSOR = "x" * 120
_SUBMITTED = ("job_id", "status", "estimated_seconds", "duplicate")


class StartIndexing(Parameters, kw_only=True, frozen=True):
    """Parameters of ``start_indexing_background``."""

    repo_path: Annotated[str, Meta(min_length=1)]
    include_patterns: Globs | None = None
    exclude_patterns: Globs | None = None
    force: Annotated[bool, Meta(description="read unchanged files too")] = False
    branch: str | None = None


class OneJob(Parameters, kw_only=True, frozen=True):
    """Parameters of the tools about one job."""

    job_id: JobId


class ListJobs(Parameters, kw_only=True, frozen=True):
    """Parameters of ``list_indexing_jobs``."""

    status: Literal["pending", "running", "blocked", "completed", "failed", "cancelled"] | None = (
        None
    )
    target: Annotated[str, Meta(min_length=1, description="folder or name")] | None = None
    created_after: Annotated[str, Meta(description="ISO 8601")] | None = None
    created_before: str | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 20
    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: str | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools for jobs."""
    jobs = _Jobs(context)
    return (
        Tool(
            name="start_indexing_background",
            title="Start indexing",
            description=(
                "Index a large repository without waiting: answers with a job_id. "
                "The job outlives this session; repeating the call returns the same job."
            ),
            parameters=StartIndexing,
            output_schema=record(**fields_in(SubmittedJob, *_SUBMITTED)),
            run=jobs.start,
        ),
        Tool(
            name="get_indexing_status",
            title="Show a job",
            description=(
                "Get the progress of a job: phase, files, time left, why it waits, at its end "
                "the result or error."
            ),
            parameters=OneJob,
            output_schema=record(**fields_in(Job, *_JOB)),
            run=jobs.status,
            read_only=True,
        ),
        Tool(
            name="cancel_indexing",
            title="Cancel a job",
            description="Cancel a job; it stops within 5 s. What is indexed stays searchable.",
            parameters=OneJob,
            output_schema=record(**fields_in(Job, "job_id", "status", "cancel_requested")),
            run=jobs.cancel,
            destructive=True,
        ),
        Tool(
            name="list_indexing_jobs",
            title="List jobs",
            description=(
                "List jobs of all projects, or of target, newest first, then active ones of the "
                "watcher; finished ones are kept for "
                f"{count(context.catalog.jobs.retention_days, 'day')}."
            ),
            parameters=ListJobs,
            output_schema=record(**fields_in(JobPage)),
            run=jobs.list,
            read_only=True,
        ),
    )


class _Jobs:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def start(self, params: StartIndexing, _caller: Caller) -> Answer:
        options = IndexOptions(
            include_patterns=globs_of(params.include_patterns),
            exclude_patterns=globs_of(params.exclude_patterns),
            force=params.force,
            branch=params.branch,
        )
        folder = self._context.projects.new_folder(params.repo_path, field="repo_path")
        try:
            submitted = self._context.catalog.jobs.submit(folder, options)
        except JobConflictError as conflict:
            if conflict.details.get("origin") != JobOrigin.WATCH:
                raise
            return _watch_answer(self._context.catalog.jobs.show(str(conflict.details["job_id"])))
        self._context.ensure_runner()
        seconds = submitted.estimated_seconds
        already = "already " if submitted.duplicate else ""
        content: dict[str, object] = {name: getattr(submitted, name) for name in _SUBMITTED}
        warnings = (*submitted.warnings, *([HAD_BEGUN] if submitted.had_begun else []))
        if warnings:
            content["warnings"] = warnings
        state = f"job {submitted.job_id} is {already}{submitted.status}{expected(seconds)}"
        notes = (f"note: {printable(each)}" for each in warnings)
        return Answer(content=content, text="\n".join([state, *notes]))

    def status(self, params: OneJob, _caller: Caller) -> Answer:
        job = self._context.catalog.jobs.show(self._id_of(params))
        if job.status not in TERMINAL:
            self._context.ensure_runner()  # its runner may have been killed
        return _job_answer(job)

    def cancel(self, params: OneJob, _caller: Caller) -> Answer:
        return _job_answer(
            self._context.catalog.jobs.cancel(
                self._id_of(params, is_end=True), reason="requested by an agent"
            )
        )

    def _id_of(self, params: OneJob, *, is_end: bool = False) -> str:
        return job_id_of(self._context.catalog, params.job_id, field="job_id", is_end=is_end)

    def list(self, params: ListJobs, caller: Caller) -> Answer:
        wanted = JobFilter(
            status=JobState(params.status) if params.status else None,
            target=self._root_of(params.target, caller),
            created_after=params.created_after,
            created_before=params.created_before,
            origin=JobOrigin.REQUEST,
            limit=params.limit,
            cursor=params.cursor,
        )
        page = self._context.catalog.jobs.list(wanted)
        watched = self._watched(wanted)
        cursor = page.next_cursor or _WIDEST_CURSOR

        def write(number: int) -> Answer:
            shown = replace(page, jobs=page.jobs[:number], next_cursor=cursor)
            return _page_answer(_with_watched(shown, watched, params.cursor))

        number = most_that_fit(len(page.jobs), write, params.max_tokens)
        if number < len(page.jobs):
            page = self._context.catalog.jobs.list(replace(wanted, limit=number))
        return _page_answer(_with_watched(page, watched, params.cursor))

    def _watched(self, wanted: JobFilter) -> tuple[Job, ...]:
        """Return the active jobs of the watcher; its finished ones would hide all others."""
        states = [wanted.status] if wanted.status else list(JobState)
        active = [state for state in states if state not in TERMINAL]
        of_watcher = replace(wanted, origin=JobOrigin.WATCH, cursor=None, limit=_MAX_WATCHED)
        pages = [self._context.catalog.jobs.list(replace(of_watcher, status=s)) for s in active]
        return tuple(job for page in pages for job in page.jobs)

    def _root_of(self, target: str | None, caller: Caller) -> str | None:
        if target is None:
            return None
        return self._context.projects.index(target, caller, field="target").root


def _with_watched(page: JobPage, watched: tuple[Job, ...], cursor: str | None) -> JobPage:
    """Add active jobs of the watcher to all pages' total, and to the end of the first page."""
    shown = () if cursor else watched
    return replace(page, jobs=(*page.jobs, *shown), total=page.total + len(watched))


def _watch_answer(job: Job) -> Answer:
    """Return the answer when a job of the watcher does not make room in time."""
    content = {
        "job_id": job.job_id,
        "status": job.status,
        "estimated_seconds": job.estimated_seconds,
        "duplicate": False,
        "notes": [following(job)],
    }
    return Answer(content=content, text=following(job))


def _job_answer(job: Job) -> Answer:
    content = {**values_of(job), "log_resource": log_uri(job.log, job.path)}
    if job.status is JobState.FAILED:
        content["error"] = error_of(job)
    return Answer(content=content, text=_job_text(job))


def _job_text(job: Job) -> str:
    if job.status in TERMINAL:
        return outcome_text(job)
    stopping = ", stopping" if job.cancel_requested else ""
    return f"{job.status}{stopping}: {line_of(job)}"


def _page_answer(page: JobPage) -> Answer:
    jobs = [{name: getattr(job, name) for name in _SHORT} | _origin_of(job) for job in page.jobs]
    is_cut = page.next_cursor is not None
    content = {**values_of(page), "jobs": jobs, "truncated": is_cut}
    return Answer(content=content, text=_page_text(page))


def _origin_of(job: Job) -> dict[str, object]:
    return {"origin": job.origin} if job.origin is JobOrigin.WATCH else {}


def _page_text(page: JobPage) -> str:
    lines = [
        f"{job.job_id} {state_of(job)} {printable(job.path)} {job.created_at}"
        + (" (watcher)" if job.origin is JobOrigin.WATCH else "")
        for job in page.jobs
    ]
    lines.append(f"{len(page.jobs):,} of {count(page.total, 'job')}")
    if page.next_cursor:
        lines.append(f"more with cursor {page.next_cursor}")
    return "\n".join(lines)
