"""The tools for work that goes on by itself: start it, ask how far it is, stop it, list it."""

from typing import Annotated, Literal

from msgspec import Meta

from engine.records import IndexOptions
from engine.state_records import TERMINAL, Job, JobFilter, JobOrigin, JobPage, JobState
from web.mcp.indexing import Globs, globs_of, log_uri, outcome_text
from web.mcp.tool import Answer, Caller, Desk, Given, Tool, record
from web.schemas import as_json
from web.terminal import printable
from web.wording import count, expected, line_of

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


class StartIndexing(Given, kw_only=True, frozen=True):
    """What ``start_indexing_background`` takes."""

    repo_path: Annotated[str, Meta(min_length=1)]
    include_patterns: Globs | None = None
    exclude_patterns: Globs | None = None
    force: Annotated[bool, Meta(description="read unchanged files too")] = False


class OneJob(Given, kw_only=True, frozen=True):
    """What tools take that are about one job."""

    job_id: JobId


class ListJobs(Given, kw_only=True, frozen=True):
    """What ``list_indexing_jobs`` takes."""

    status: Literal["pending", "running", "blocked", "completed", "failed", "cancelled"] | None = (
        None
    )
    target: (
        Annotated[str, Meta(min_length=1, description="folder or name of one project")] | None
    ) = None
    created_after: Annotated[str, Meta(description="ISO 8601")] | None = None
    created_before: str | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 20
    cursor: str | None = None


_JOB = record(
    job_id="text",
    status="text",
    path="text",
    phase="text|null",
    files_done="integer",
    files_total="integer|null",
    eta_seconds="number|null",
    waiting="text|null",
    cancel_requested="yes_no",
    result="record|null",
    error="record|null",
)


def tools(desk: Desk) -> tuple[Tool, ...]:
    """Give the tools for jobs."""
    jobs = _Jobs(desk)
    return (
        Tool(
            name="start_indexing_background",
            title="Start indexing",
            description=(
                "Index a large repository without waiting: answers within a second with a job_id. "
                "The job outlives this session; asking again for the same gives the same job."
            ),
            takes=StartIndexing,
            gives=record(
                job_id="text", status="text", estimated_seconds="number|null", duplicate="yes_no"
            ),
            run=jobs.start,
        ),
        Tool(
            name="get_indexing_status",
            title="How far a job is",
            description=(
                "Ask how far a job is: phase, files done and in all, time left, why it waits, and "
                "at its end the result or the error."
            ),
            takes=OneJob,
            gives=_JOB,
            run=jobs.status,
            reads_only=True,
        ),
        Tool(
            name="cancel_indexing",
            title="Stop a job",
            description=(
                "Stop a job; it has stopped within 5 s. What it did is kept and can be searched."
            ),
            takes=OneJob,
            gives=record(job_id="text", status="text", cancel_requested="yes_no"),
            run=jobs.cancel,
            destroys=True,
        ),
        Tool(
            name="list_indexing_jobs",
            title="List jobs",
            description=(
                "List the jobs of all projects, or of target, newest first; those that have ended "
                f"are kept for {count(desk.catalog.jobs.retention_days, 'day')}."
            ),
            takes=ListJobs,
            gives=record(jobs="records", total="integer", next_cursor="text|null", errors="texts"),
            run=jobs.list,
            reads_only=True,
        ),
    )


class _Jobs:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def start(self, given: StartIndexing, _caller: Caller) -> Answer:
        options = IndexOptions(
            include_patterns=globs_of(given.include_patterns),
            exclude_patterns=globs_of(given.exclude_patterns),
            force=given.force,
        )
        folder = self._desk.projects.folder(given.repo_path, field="repo_path")
        submitted = self._desk.catalog.jobs.submit(folder, options)
        self._desk.ensure_runner()
        seconds = submitted.estimated_seconds
        already = "already " if submitted.duplicate else ""
        return Answer(
            content={
                "job_id": submitted.job_id,
                "status": submitted.status,
                "estimated_seconds": seconds,
                "duplicate": submitted.duplicate,
            },
            text=f"job {submitted.job_id} is {already}{submitted.status}{expected(seconds)}",
        )

    def status(self, given: OneJob, _caller: Caller) -> Answer:
        job = self._desk.catalog.jobs.show(given.job_id)
        if job.status not in TERMINAL:
            self._desk.ensure_runner()  # the one that ran it may have been killed
        return _job_answer(job)

    def cancel(self, given: OneJob, _caller: Caller) -> Answer:
        return _job_answer(self._desk.catalog.jobs.cancel(given.job_id, reason="asked by an agent"))

    def list(self, given: ListJobs, _caller: Caller) -> Answer:
        wanted = JobFilter(
            status=JobState(given.status) if given.status else None,
            target=self._root_of(given.target),
            created_after=given.created_after,
            created_before=given.created_before,
            origin=JobOrigin.REQUEST,
            limit=given.limit,
            cursor=given.cursor,
        )
        page = self._desk.catalog.jobs.list(wanted)
        content = {
            "jobs": [{name: getattr(job, name) for name in _SHORT} for job in page.jobs],
            "total": page.total,
            "next_cursor": page.next_cursor,
            "errors": page.errors,
        }
        return Answer(content=content, text=_page_text(page))

    def _root_of(self, target: str | None) -> str | None:
        return None if target is None else self._desk.projects.index(target, field="target").root


def _job_answer(job: Job) -> Answer:
    shape = as_json(job)
    assert isinstance(shape, dict)
    return Answer(
        content={**shape, "log_resource": log_uri(job.log, job.path)}, text=_job_text(job)
    )


def _job_text(job: Job) -> str:
    if job.status in TERMINAL:
        return outcome_text(job)
    stopping = ", stopping" if job.cancel_requested else ""
    return f"{job.status}{stopping}: {line_of(job)}"


def _page_text(page: JobPage) -> str:
    lines = [
        f"{job.job_id} {job.status} {printable(job.path)} {job.created_at}" for job in page.jobs
    ]
    lines.append(f"{len(page.jobs):,} of {count(page.total, 'job')}")
    if page.next_cursor:
        lines.append(f"more with cursor {page.next_cursor}")
    return "\n".join(lines)
