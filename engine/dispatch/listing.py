"""Jobs of all projects, the newest first, a page at a time."""

import base64
import binascii
import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from engine.clock import now_ms
from engine.config import Config
from engine.errors import EngineError, InvalidInputError, ProjectNotFoundError
from engine.job_records import Job, JobFilter, JobPage, JobState
from engine.jobs.ledger import project_digits_of
from engine.jobs.view import job_of
from engine.jobs.wait_note import as_noted
from engine.jobs.watchlist import Watchlist, database_files
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import JobRow, JobSearch

_MOST = 1000


class _Listed(NamedTuple):
    project_id: str
    root: str
    row: JobRow


class JobListing:
    """Reads the jobs of a data directory; opens each database only to look at it.

    Args:
        config: The settings in force.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._watchlist = Watchlist(config.data_dir)
        self._active: dict[Path, JobRow] = {}
        self._lock = threading.Lock()

    def page(self, wanted: JobFilter, target: Path | None) -> JobPage:
        """Give jobs that a filter lets through.

        Args:
            wanted: The filter.
            target: The only database to look at; None for all.

        Raises:
            InvalidInputError: The limit, a time or the cursor cannot be read.
        """
        if not 1 <= wanted.limit <= _MOST:
            raise InvalidInputError(f"limit is {wanted.limit}, wanted 1 to {_MOST}", field="limit")
        search = JobSearch(
            start=_place_of(wanted.cursor),
            state=wanted.status,
            origin=wanted.origin,
            created_after_ms=_time_of(wanted.created_after, "created_after"),
            created_before_ms=_time_of(wanted.created_before, "created_before"),
        )
        files = database_files(self._config.data_dir) if target is None else [target]
        found: list[_Listed] = []
        total = 0
        errors = []
        for file in files:
            try:
                listed, number = self._read(file, search, wanted.limit + 1)
            except EngineError as error:
                errors.append(error.message)
                continue
            found += listed
            total += number
        found = sorted(found, key=lambda each: _order(each.row))
        shown = found[: wanted.limit]
        is_more = len(found) > len(shown)
        return JobPage(
            jobs=self.shown([(each.project_id, each.root, each.row) for each in shown]),
            total=total,
            next_cursor=_cursor_of(shown[-1].row) if is_more else None,
            errors=tuple(errors),
        )

    def shown(self, rows: Sequence[tuple[str, str, JobRow]]) -> tuple[Job, ...]:
        """Give rows, each with its project's id and root, as every face shows them."""
        positions = self._positions() if any(_is_pending(row) for _, _, row in rows) else {}
        now = now_ms()
        return tuple(
            job_of(
                as_noted(row, self._config.data_dir / f"{project_id}.db"),
                project_id=project_id,
                root=root,
                now_ms=now,
                position=positions.get(row.uuid) if _is_pending(row) else None,
                log=self._log_of(project_id, row),
            )
            for project_id, root, row in rows
        )

    def file_of(self, job_id: str) -> Path | None:
        """Give the database that a job is in, if its project is there.

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

    def _read(self, file: Path, search: JobSearch, limit: int) -> tuple[list[_Listed], int]:
        store = Store(file, busy_timeout_ms=self._config.busy_timeout)
        try:
            with store.read() as handle:
                row = project.read_project(handle)
                if row is None:
                    return [], 0
                number = jobs.count_jobs(handle, search)
                rows = jobs.search_jobs(handle, search, limit)
        finally:
            store.close()
        return [_Listed(row.project_id, os.fsdecode(row.root), each) for each in rows], number

    def _positions(self) -> dict[str, int]:
        """Number the pending jobs of all projects in the order in which they will start."""
        with self._lock:
            for found in self._watchlist.changed():
                if found.row is None:
                    self._active.pop(found.file, None)
                else:
                    self._active[found.file] = found.row
            pending = [row for row in self._active.values() if _is_pending(row)]
        pending.sort(key=lambda row: (row.created_at_ms, row.uuid))
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
    return base64.urlsafe_b64encode(f"{row.created_at_ms}/{row.uuid}".encode()).decode()


def _place_of(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    try:
        at_ms, _, uuid = base64.urlsafe_b64decode(cursor).decode().partition("/")
        start_ms = int(at_ms)
        start_ms.to_bytes(8, signed=True)  # what SQLite can compare
        return start_ms, uuid
    except (binascii.Error, ValueError, OverflowError) as error:
        raise InvalidInputError(
            "the cursor cannot be read", hint="start without one", field="cursor"
        ) from error
