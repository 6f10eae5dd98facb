"""Keeps a project's index equal to its disk: a watcher whose runs are jobs."""

from collections.abc import Callable

from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.errors import JobConflictError
from engine.project import Index
from engine.records import IndexOptions, Phase
from engine.scheduler.queue import ChangeCallback, Jobs
from engine.state_records import INDEXING_CANCELLED, Job, JobFilter, JobOrigin, JobState
from engine.watch.watcher import HeldError, StatusCallback, Watcher

#: Among which the last run over the whole project is looked for; others follow saved files.
_LATEST_JOBS = 100


def watcher_of(
    index: Index,
    jobs: Jobs,
    config: Config,
    *,
    on_status: StatusCallback | None = None,
    on_job: ChangeCallback | None = None,
) -> Watcher:
    """Give a project's watcher, not yet started.

    Args:
        index: The project.
        jobs: Where its runs are asked for, and who runs them when nobody else does.
        config: The settings in force.
        on_status: Hears each new status of the watcher, in its thread.
        on_job: Hears of its jobs while they go on and when they have ended, in its thread.
    """
    runs = _Runs(jobs, index.root, on_job or _ignore)
    return Watcher(index.for_watcher(), runs, config, on_change=on_status)


class _Runs:
    """Has the watcher's runs done as jobs.

    When a run over the whole project is cancelled while it watches, it begins none: somebody has
    said that it is too much now. The next one that is asked for, or another watcher, goes on.
    """

    def __init__(self, jobs: Jobs, root: str, on_job: ChangeCallback) -> None:
        self._jobs = jobs
        self._root = root
        self._on_job = on_job
        self._since = iso_time(now_ms())
        self._owed: str | None = None  # a job that waits for vectors alone

    def __call__(self, only: tuple[str, ...] | None, stop: Callable[[], bool]) -> bool:
        """Run; whether the words of all files are in the index then.

        A job that waits for the embedding model must not hold up the words of later changes: it is
        left waiting, and the next run, which takes its place, is over the whole project.

        Raises:
            HeldError: The last run over the whole project was cancelled.
        """
        if self._owed is not None and self._makes_room(self._owed, stop):
            only = None
        if not only and self._was_stopped():
            raise HeldError(f"{INDEXING_CANCELLED}; it goes on when it is asked for again")
        options = IndexOptions(only=only or ())
        try:
            submitted = self._jobs.submit(self._root, options, origin=JobOrigin.WATCH)
        except JobConflictError as conflict:
            self._wait_for(str(conflict.details["job_id"]), stop)
            return False
        self._owed = None
        job = self._followed(submitted.job_id, stop)
        if job.status is JobState.BLOCKED:
            self._owed = job.job_id
            return True
        return job.status is JobState.COMPLETED

    def _was_stopped(self) -> bool:
        wanted = JobFilter(target=self._root, limit=_LATEST_JOBS)
        whole = (each for each in self._jobs.list(wanted).jobs if not each.parameters.get("only"))
        last = next(whole, None)
        if last is None or last.status is not JobState.CANCELLED:
            return False
        return (last.finished_at or "") >= self._since

    def _followed(self, job_id: str, stop: Callable[[], bool]) -> Job:
        """Wait until a job has ended, or waits for vectors alone."""
        seen: list[Job] = []

        def hear(job: Job) -> None:
            seen[:] = [job]
            self._on_job(job)

        def is_enough() -> bool:
            return bool(seen) and _lacks_vectors_alone(seen[0])

        return self._jobs.follow(job_id, on_change=hear, cancelled=stop, enough=is_enough)

    def _makes_room(self, job_id: str, stop: Callable[[], bool]) -> bool:
        """End a job of ours that waits for vectors; False when it came to its end by itself."""
        self._owed = None
        try:
            self._jobs.cancel(job_id, reason="newer changes go first")
        except JobConflictError:
            return False
        self._wait_for(job_id, stop)
        return True

    def _wait_for(self, job_id: str, stop: Callable[[], bool]) -> None:
        """Wait for the end of a job that is not to be stopped."""
        self._jobs.follow(job_id, enough=stop)


def _lacks_vectors_alone(job: Job) -> bool:
    is_over = job.phase in (Phase.FINISHING, Phase.EMBEDDING)
    return job.status is JobState.BLOCKED and is_over and job.files_done == job.files_total


def _ignore(_job: Job) -> None:
    pass
