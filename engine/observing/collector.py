"""The gauges of all projects, read from their databases, whichever process runs the jobs.

Only databases written since the last collection are read. Work of jobs is summed from their rows:
each job is counted once, however often its database is read, and a long one is counted as it
progresses.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.clock import now_ms
from engine.config import Config
from engine.errors import DamagedIndexError, EngineError, UnavailableError
from engine.files import size_of
from engine.jobs.execution import as_noted
from engine.jobs.watchlist import Watchlist, database_files
from engine.locks import watch_status_of
from engine.observing.instruments import Values
from engine.state_records import ACTIVE, TERMINAL, JobState, WatchState, WatchStatus
from engine.store import jobs
from engine.store.connection import Store
from engine.store.jobs import Contents, JobCount, JobRow
from engine.store.models import ModelRow, read_current_model
from engine.telemetry.metrics import Measure, Meter

_MOST_PROJECTS: Final = 50  # that are shown one by one
_REST: Final = "other"
_BUSY_MS: Final = 200  # a database that is locked for longer is read the next time
#: The names in a job's counts, and in its result, of what is added up.
_COUNTED: Final = {
    "files_indexed": (Measure.FILES, ("indexed",), "files_indexed"),
    "files_failed": (Measure.FILES, ("failed",), "files_failed"),
    "symbols": (Measure.SYMBOLS, (), "symbols_extracted"),
    "chunks": (Measure.CHUNKS, (), "chunks"),
    "embeddings": (Measure.EMBEDDINGS, (), "embeddings_generated"),
}


@dataclass(slots=True)
class _Project:
    """What was last read of a project."""

    is_readable: bool = True
    ended_id: int = 0  # the last job that has ended, and is counted
    active_id: int = 0  # the one that is being counted
    counted: dict[str, int] = field(default_factory=dict)  # of that one
    by_state: Mapping[str, int] = field(default_factory=dict)
    active: JobRow | None = None
    model: ModelRow | None = None  # whose vectors answer
    contents: Contents = field(default_factory=lambda: Contents(0, 0, {}))


class Collector:
    """Collects the gauges of all projects; the caller serializes calls of ``collect``.

    Args:
        config: The settings in force.
        meter: Records the work of jobs from now on.
    """

    def __init__(self, config: Config, meter: Meter) -> None:
        self._config = config
        self._meter = meter
        self._watchlist = Watchlist(config.data_dir)
        self._since_ms = now_ms()
        self._projects: dict[Path, _Project] = {}
        self._files: list[Path] = []
        self._damage: dict[Path, str] = {}  # the codes of the errors of damaged indexes
        #: Ids of the projects whose index could not be opened at some time since the start.
        self.ever_damaged: set[str] = set()

    def collect(self) -> None:
        """Read what has changed; of a data directory that may not be listed, nothing."""
        try:
            self._files = database_files(self._config.data_dir)
        except UnavailableError:
            return
        for gone in self._projects.keys() - set(self._files):
            del self._projects[gone]
        for gone in self._damage.keys() - set(self._files):
            del self._damage[gone]
        for file in self._watchlist.touched():
            self._damage.pop(file, None)
            try:
                self._read(file)
            except DamagedIndexError as error:  # read again when it is written
                self._damage[file] = error.code
                self.ever_damaged.add(file.stem)
                if file in self._projects:
                    self._projects[file].is_readable = False
            except EngineError:  # locked, or gone just now
                self._watchlist.mark_changed(file)

    def values(self) -> dict[Measure, Values]:
        """Return the values of the gauges."""
        known = self._projects.values()
        states: Counter[str] = Counter(dict.fromkeys(JobState, 0))
        skips: Counter[str] = Counter()
        since_ms: list[int] = []
        flagged = 0
        for file, each in self._projects.items():
            states.update(each.by_state)
            if each.active:
                noted = as_noted(each.active, file)
                states[each.active.state] -= 1
                states[noted.state] += 1
                flagged += noted.state in ACTIVE and noted.flagged_at_ms is not None
                if noted.state == JobState.RUNNING and noted.started_at_ms is not None:
                    since_ms.append(noted.started_at_ms)
            skips.update(each.contents.skips)
        age_s = max(0, now_ms() - min(since_ms)) / 1000 if since_ms else 0.0
        readable = sum(each.is_readable for each in known)
        unread = len(self._files) - readable
        return {
            Measure.PROJECTS: {("true",): readable, ("false",): max(0, unread)},
            Measure.JOBS: {(str(state),): number for state, number in states.items()},
            Measure.JOBS_FLAGGED: {(): flagged},
            Measure.OLDEST_JOB: {(): age_s},
            Measure.INDEXED_FILES: {(): sum(each.contents.files for each in known)},
            Measure.INDEXED_CHUNKS: {(): sum(each.contents.chunks for each in known)},
            Measure.SKIPPED_FILES: {(reason,): number for reason, number in skips.items()},
            **self._sizes(),
            **_watch_values([watch_status_of(file) for file in self._files]),
        }

    def damaged(self, code: str) -> int:
        """Return the number of indexes that cannot be opened, by the code of their error."""
        return sum(each == code for each in self._damage.values())

    def models(self) -> dict[str, tuple[ModelRow, int]]:
        """Return the models that answer, by name, with the number of indexes of each."""
        rows = [each.model for each in self._projects.values() if each.model]
        counts = Counter(row.name for row in rows)
        return {row.name: (row, counts[row.name]) for row in rows}

    def _read(self, file: Path) -> None:
        if not file.exists():
            self._projects.pop(file, None)
            return
        is_new = file not in self._projects
        project = self._projects.get(file) or _Project()
        with closing(Store(file, busy_timeout_ms=_BUSY_MS)) as store, store.read() as handle:
            if jobs.read_last_id(handle) < max(project.ended_id, project.active_id):
                project = _Project()  # its jobs were forgotten, or the database is another one
            rows = jobs.read_job_counts(handle, project.ended_id)
            project.by_state = jobs.count_by_state(handle)
            project.active = jobs.read_active_job(handle)
            project.model = read_current_model(handle)
            if is_new or not project.active:
                project.contents = jobs.count_contents(handle)
        self._add_up(project, rows)
        project.is_readable = True
        self._projects[file] = project

    def _add_up(self, project: _Project, rows: list[JobCount]) -> None:
        """Record the work of jobs since the last look, older ones first."""
        for row in rows:
            if row.id != project.active_id:
                project.active_id, project.counted = row.id, {}
                if (row.started_at_ms or self._since_ms) < self._since_ms:
                    project.counted = _done(row)  # before anybody listened
            self._record(row, project.counted)
            if row.state in TERMINAL:
                project.ended_id = row.id

    def _record(self, row: JobCount, counted: dict[str, int]) -> None:
        done = _done(row)
        for name, (measure, labels, _) in _COUNTED.items():
            more = done[name] - counted.get(name, 0)
            if more > 0:
                self._meter.count(measure, more, labels)
                counted[name] = done[name]
        if row.finished_at_ms is None or row.finished_at_ms < self._since_ms:
            return
        seconds = max(0, row.finished_at_ms - (row.started_at_ms or row.finished_at_ms)) / 1000
        self._meter.time(Measure.JOB_DURATION, seconds, (row.state, row.origin))
        result = jobs.object_in(row.result or "{}")
        for outcome in ("unchanged", "skipped"):
            number = result.get(f"files_{outcome}", 0)
            if number:
                self._meter.count(Measure.FILES, number, (outcome,))

    def _sizes(self) -> dict[Measure, Values]:
        sizes = sorted(((size_of(file), file) for file in self._files), reverse=True)
        shown: dict[tuple[str, ...], float] = {}
        logs: dict[tuple[str, ...], float] = {}
        for place, (size, file) in enumerate(sizes):
            project = (file.stem if place < _MOST_PROJECTS else _REST,)
            shown[project] = shown.get(project, 0) + size
            logs[project] = logs.get(project, 0) + size_of(Path(f"{file}-wal"))
        return {Measure.DATABASE_SIZE: shown, Measure.WAL_SIZE: logs}


def _done(row: JobCount) -> dict[str, int]:
    """Return the committed work of a job."""
    counts, result = jobs.object_in(row.counts), jobs.object_in(row.result or "{}")
    return {
        name: int(max(counts.get(name, 0), result.get(result_key, 0)))
        for name, (_, _, result_key) in _COUNTED.items()
    }


def _watch_values(found: list[WatchStatus | None]) -> dict[Measure, Values]:
    known = [status for status in found if status is not None]
    states = Counter({str(state): 0 for state in WatchState if state is not WatchState.STOPPED})
    states.update(str(status.state) for status in known)
    return {
        Measure.WATCHERS: {(state,): number for state, number in states.items()},
        Measure.WATCHED_FOLDERS: {(): sum(status.folders for status in known)},
        Measure.WATCH_PENDING: {(): sum(status.pending for status in known)},
    }
