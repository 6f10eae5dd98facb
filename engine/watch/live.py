"""A watcher whose runs are jobs: keeps the index of a project equal to its disk."""

from dataclasses import replace

from engine.cancellation import CancelToken
from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.errors import Cancelled, JobConflictError
from engine.index_records import IndexOptions, Phase
from engine.project import Project
from engine.scheduler.queue import ChangeCallback, Jobs
from engine.state_records import (
    Job,
    JobFilter,
    JobKind,
    JobOrigin,
    JobState,
    MakesWay,
)
from engine.watch.watcher import IndexingPausedError, StatusCallback, Watcher

#: The last run over the whole project is looked for among so many jobs at once.
_JOBS_AT_ONCE = 100


def create_watcher(
    index: Project,
    jobs: Jobs,
    config: Config,
    *,
    is_asked: bool,
    on_status: StatusCallback | None = None,
    on_job: ChangeCallback | None = None,
) -> Watcher:
    """Return a watcher of a project, not yet started.

    Args:
        index: The project.
        jobs: Takes its jobs, and runs them if no runner does.
        config: The settings in force.
        is_asked: Whether a user asks for it now, and so for what was cancelled before.
        on_status: Called with each new status of the watcher, in its thread.
        on_job: Called with its jobs while they run and when they end, in its thread.
    """

    def hear(job: Job) -> None:
        if not _waits_only_for_vectors(job):
            watcher.hear(job)
        if on_job:
            on_job(job)

    runs = _JobSubmitter(jobs, index.root, hear, is_asked=is_asked)
    watcher = Watcher(index.for_watcher(), runs, config, on_change=on_status)
    return watcher


class _JobSubmitter:
    """Runs the watcher's runs as jobs.

    After a run over the whole project is cancelled, it submits no more: a user has decided that
    indexing is too much now. A job that a user submits ends the pause, and so does a watcher that a
    user starts; a restart of the server does not.
    """

    def __init__(self, jobs: Jobs, root: str, on_job: ChangeCallback, *, is_asked: bool) -> None:
        self._jobs = jobs
        self._root = root
        self._on_job = on_job
        self._since = iso_time(now_ms()) if is_asked else ""
        self._blocked_job: str | None = None  # a job that waits only for vectors

    def __call__(self, only: tuple[str, ...] | None, cancelled: CancelToken) -> bool:
        """Run, and return whether the words of all files are in the index then.

        A job that waits for the embedding model must not delay the words of later changes: it is
        left waiting, and the next run, which replaces it, is over the whole project.

        Raises:
            IndexingPausedError: The last run over the whole project was cancelled.
            Cancelled: Another job was in the way, until now.
        """
        if self._blocked_job is not None and self._cancel_blocked(self._blocked_job, cancelled):
            only = None
        if not only and self._was_stopped():
            raise IndexingPausedError("indexing was cancelled; it resumes when you index again")
        options = IndexOptions(only=only or ())
        try:
            submitted = self._jobs.submit(self._root, options, origin=JobOrigin.WATCH)
        except JobConflictError as conflict:
            self._wait_for(str(conflict.details["job_id"]), cancelled)
            raise Cancelled("another job went first") from conflict
        self._blocked_job = None
        job = self._followed(submitted.job_id, cancelled)
        if job.status is JobState.BLOCKED:
            self._blocked_job = job.job_id
            return True
        return job.status is JobState.COMPLETED

    def _was_stopped(self) -> bool:
        last = self._last_whole()
        if last is None or last.status is not JobState.CANCELLED or last.waiting:
            return False  # what continues by itself was not stopped by a user
        return (last.finished_at or "") >= self._since

    def _last_whole(self) -> Job | None:
        wanted = JobFilter(target=self._root, limit=_JOBS_AT_ONCE)
        while True:
            page = self._jobs.list(wanted)
            last = next(filter(_is_whole, page.jobs), None)
            if last is not None or page.next_cursor is None:
                return last
            wanted = replace(wanted, cursor=page.next_cursor)

    def _followed(self, job_id: str, cancelled: CancelToken) -> Job:
        """Wait until a job has ended, or waits only for vectors."""
        seen: list[Job] = []

        def hear(job: Job) -> None:
            seen[:] = [job]
            self._on_job(job)

        def is_enough() -> bool:
            return bool(seen) and _waits_only_for_vectors(seen[0])

        return self._jobs.follow(
            job_id,
            on_change=hear,
            cancelled=cancelled,
            makes_way=MakesWay.WATCHER,
            stop_waiting=is_enough,
        )

    def _cancel_blocked(self, job_id: str, cancelled: CancelToken) -> bool:
        """Cancel a job that waits for vectors; return False if it had ended already."""
        self._blocked_job = None
        try:
            self._jobs.cancel(job_id, reason="newer changes go first", makes_way=MakesWay.CHANGES)
        except JobConflictError:
            return False
        self._wait_for(job_id, cancelled)
        return True

    def _wait_for(self, job_id: str, cancelled: CancelToken) -> None:
        """Wait for the end of a job without cancelling it."""
        self._jobs.follow(job_id, stop_waiting=cancelled)


def _is_whole(job: Job) -> bool:
    """Return whether a job indexes all files of the work tree."""
    is_part = job.parameters.get("only") or job.parameters.get("branch")
    return job.kind == JobKind.INDEX and not is_part


def _waits_only_for_vectors(job: Job) -> bool:
    is_over = job.phase in (Phase.FINISHING, Phase.EMBEDDING)
    return job.status is JobState.BLOCKED and is_over and job.files_done == job.files_total
