"""Jobs of all projects, the newest first, a page at a time."""

import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from engine.clock import now_ms
from engine.config import Config
from engine.cursors import cursor_of, place_of
from engine.errors import EngineError, IndexCorruptError, InvalidInputError, ProjectNotFoundError
from engine.jobs.execution import as_noted
from engine.jobs.ledger import project_digits_of
from engine.jobs.view import job_of
from engine.jobs.watchlist import Watchlist, database_files, queue_order
from engine.records import display_path
from engine.state_records import Job, JobFilter, JobPage, JobState
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import JobRow, JobSearch

_MOST = 1000
_ID_CHARS = 12  # enough to tell projects apart
_MOST_CACHED = 20  # cached queries a project


class _Listed(NamedTuple):
    project_id: str
    root: str
    row: JobRow


class _Found(NamedTuple):
    listed: list[_Listed]
    total: int
    is_lasting: bool  # until the database is written


class JobListing:
    """Lists the jobs of a data directory; opens each database only for the query.

    Args:
        config: The settings in force.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._watchlist = Watchlist(config.data_dir)
        self._written = Watchlist(config.data_dir)
        self._known: dict[Path, dict[tuple[JobSearch, int], _Found]] = {}
        self._active: dict[Path, JobRow] = {}
        self._lock = threading.Lock()

    def page(self, wanted: JobFilter, target: Path | None) -> JobPage:
        """Return a page of the jobs that match a filter.

        Args:
            wanted: The filter.
            target: The only database to look at; None for all.

        Raises:
            InvalidInputError: The limit, a time or the cursor cannot be read.
        """
        if not 1 <= wanted.limit <= _MOST:
            raise InvalidInputError(f"limit is {wanted.limit}, wanted 1 to {_MOST}", field="limit")
        search = JobSearch(
            start=place_of(wanted.cursor, _start_of),
            state=wanted.status,
            origin=wanted.origin,
            created_after_ms=_time_of(wanted.created_after, "created_after"),
            created_before_ms=_time_of(wanted.created_before, "created_before"),
        )
        files = database_files(self._config.data_dir) if target is None else [target]
        read = self._read if target else self._read_once()
        found: list[_Listed] = []
        total = 0
        errors = []
        for file in files:
            try:
                listed, number, _ = read(file, search, wanted.limit + 1)
            except ProjectNotFoundError:  # forgotten just now, or never filled
                continue
            except EngineError as error:
                errors.append(self._said(file, error))
                continue
            found += listed
            total += number
        found = sorted(found, key=lambda each: _order(each.row))
        shown = found[: wanted.limit]
        is_more = len(found) > len(shown)
        readable, damaged = self._readable(shown)
        return JobPage(
            jobs=readable,
            total=total,
            next_cursor=_cursor_of(shown[-1].row) if is_more else None,
            errors=(*errors, *damaged),
        )

    def _readable(self, rows: Sequence[_Listed]) -> tuple[tuple[Job, ...], list[str]]:
        """Return the jobs that can be read, and why others cannot be: a sentence a project."""
        readable: list[Job] = []
        errors: dict[str, str] = {}
        convert = self._converter([each.row for each in rows])
        for each in rows:
            try:
                readable.append(convert(each))
            except IndexCorruptError as error:
                errors[each.project_id] = f"{display_path(each.root)}: {error.message}"
        return tuple(readable), list(errors.values())

    def _said(self, file: Path, error: EngineError) -> str:
        """Return why a project's jobs cannot be read, after its root, or its id if that is lost."""
        from engine.doctor.rebuild import root_of  # a sound index needs no repair

        root = root_of(file, (), self._config.busy_timeout)
        name = display_path(root) if root else f"project {file.stem[:_ID_CHARS]}"
        return f"{name}: {error.message}"

    def shown(self, project_id: str, root: str, row: JobRow) -> Job:
        """Convert the row of a job of a project with this root to a record.

        Raises:
            IndexCorruptError: A part of the row cannot be read.
        """
        return self._converter([row])(_Listed(project_id, root, row))

    def _converter(self, rows: Sequence[JobRow]) -> Callable[[_Listed], Job]:
        """Return a function that converts each of some rows; see ``shown``."""
        positions = self._positions() if any(map(_is_pending, rows)) else {}
        now = now_ms()

        def convert(listed: _Listed) -> Job:
            project_id, root, row = listed
            return job_of(
                as_noted(row, self._config.data_dir / f"{project_id}.db"),
                project_id=project_id,
                root=root,
                now_ms=now,
                position=positions.get(row.uuid) if _is_pending(row) else None,
                log=self._log_of(project_id, row),
            )

        return convert

    def file_of(self, job_id: str) -> Path | None:
        """Return the database that a job is in, if its project exists.

        Raises:
            JobNotFoundError: No job can have this id.
        """
        digits = project_digits_of(job_id)
        files = database_files(self._config.data_dir)
        for file in files:
            if file.stem.startswith(digits) and self._has(file, job_id):
                return file
        return None

    def _has(self, file: Path, job_id: str) -> bool:
        try:
            store = Store(file, busy_timeout_ms=self._config.busy_timeout)
        except ProjectNotFoundError:
            return False
        try:
            with store.read() as handle:
                return jobs.read_job(handle, job_id) is not None
        finally:
            store.close()

    def _read_once(self) -> Callable[[Path, JobSearch, int], _Found]:
        """Return a reader that reads a database only if it changed since the same query.

        Opening one takes 0.7 ms, which for 50 projects is more than a page may take.
        """
        with self._lock:
            for file in self._written.touched():
                self._known.pop(file, None)

        def read(file: Path, search: JobSearch, limit: int) -> _Found:
            known = self._known.setdefault(file, {})
            found = known.get((search, limit))
            if found is None:
                found = self._read(file, search, limit)
                if len(known) >= _MOST_CACHED:
                    known.clear()
                if found.is_lasting:
                    known[search, limit] = found
            return found

        return read

    def _read(self, file: Path, search: JobSearch, limit: int) -> _Found:
        store = Store(file, busy_timeout_ms=self._config.busy_timeout)
        is_lasting = True
        try:
            with store.read() as handle:
                row = project.read_project(handle)
                if row is None:
                    return _Found([], 0, is_lasting)
                if search.state and (active := jobs.read_active_job(handle)):
                    noted = as_noted(active, file)  # which the database does not tell
                    search, is_lasting = search._replace(noted=(noted.uuid, noted.state)), False
                number = jobs.count_jobs(handle, search)
                rows = jobs.search_jobs(handle, search, limit)
        finally:
            store.close()
        listed = [_Listed(row.project_id, os.fsdecode(row.root), each) for each in rows]
        return _Found(listed, number, is_lasting)

    def _positions(self) -> dict[str, int]:
        """Number the pending jobs of all projects in the order in which they will start."""
        with self._lock:
            for found in self._watchlist.changed():
                if found.row is None:
                    self._active.pop(found.file, None)
                else:
                    self._active[found.file] = found.row
            pending = [row for row in self._active.values() if _is_pending(row)]
        pending.sort(key=queue_order)
        return {row.uuid: number for number, row in enumerate(pending, 1)}

    def _log_of(self, project_id: str, row: JobRow) -> str | None:
        return str(self._config.data_dir / "logs" / project_id / row.log) if row.log else None


def _is_pending(row: JobRow) -> bool:
    return row.state == JobState.PENDING


def _order(row: JobRow) -> tuple[int, str]:
    return -row.created_at_ms, row.uuid


def _time_of(text: str | None, field: str) -> int | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{field} is {text!r}, wanted a time such as 2025-10-09T18:30:00Z", field=field
        ) from error


def _cursor_of(row: JobRow) -> str:
    return cursor_of(f"{row.created_at_ms}/{row.uuid}".encode())


def _start_of(place: bytes) -> tuple[int, str]:
    at_ms, _, uuid = place.decode().partition("/")
    start_ms = int(at_ms)
    start_ms.to_bytes(8, signed=True)  # what SQLite can compare
    return start_ms, uuid
