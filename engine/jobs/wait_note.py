"""That a job waits, noted where neither a full disk nor a locked database is in the way.

Beside the database, in a small file whose room was taken when the job was claimed. It counts only
as long as the database still says that this try of the job runs.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

from engine.job_records import JobState
from engine.store.jobs import JobRow

_BYTES = 4096
_NOTHING = b" " * _BYTES


class WaitNote:
    """The note of one try of a job. What cannot be noted is not.

    Args:
        database: The project's database.
        row: The job as claimed.
    """

    def __init__(self, database: Path, row: JobRow) -> None:
        self._file = _file_of(database)
        self._row = row
        self.clear()

    def write(self, reason: str) -> None:
        """Note that the job waits, and why in words."""
        said = {"job": self._row.uuid, "attempt": self._row.attempt, "reason": reason}
        text = json.dumps(said).encode()
        while len(text) > _BYTES:
            said["reason"] = reason = reason[: len(reason) // 2]
            text = json.dumps(said).encode()
        self._put(text.ljust(_BYTES))

    def clear(self) -> None:
        """Note that it does not wait, or that the database says so itself."""
        self._put(_NOTHING)

    def _put(self, content: bytes) -> None:
        with suppress(OSError):
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, content, 0)
            finally:
                os.close(descriptor)


def as_noted(row: JobRow, database: Path) -> JobRow:
    """Give a job as it is: a running one is blocked when that is noted."""
    if row.state != JobState.RUNNING:
        return row
    try:
        said = json.loads(_file_of(database).read_bytes())
        if (said["job"], said["attempt"]) != (row.uuid, row.attempt):
            return row
        return row._replace(state=JobState.BLOCKED.value, waiting=str(said["reason"]))
    except (OSError, ValueError, KeyError, TypeError):
        return row


def forget_note(database: Path) -> None:
    """Delete the note of a project that goes."""
    with suppress(OSError):
        _file_of(database).unlink(missing_ok=True)


def _file_of(database: Path) -> Path:
    return database.with_suffix(".wait")
