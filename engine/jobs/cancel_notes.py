"""Notes that a job is to be cancelled, in files, for a database that cannot be written now.

The name of the file says that much: on a full disk it stays empty.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from engine.locks import cancel_file, note_cancel, read_cancel
from engine.state_records import MakesWay


class CancelRequest(NamedTuple):
    """A request to cancel a job."""

    reason: str
    makes_way: MakesWay | None  # None: a user's, after which nothing continues by itself


def note_request(database: Path, job_id: str, request: CancelRequest) -> None:
    """Note that a job is to be cancelled.

    Raises:
        UnavailableError: The folder cannot be written.
    """
    note_cancel(database, job_id, json.dumps(request._asdict()))


def noted_request(database: Path, job_id: str) -> CancelRequest | None:
    """Return the request of a note; None if there is none.

    What is no JSON is the reason alone, as older versions wrote it.
    """
    text = read_cancel(database, job_id)
    if text is None:
        return None
    try:
        found = json.loads(text)
        makes_way = found["makes_way"]
        return CancelRequest(str(found["reason"]), makes_way and MakesWay(makes_way))
    except (ValueError, KeyError, TypeError):
        return CancelRequest(text, None)


def delete_request(database: Path, job_id: str) -> None:
    """Delete the note about a job, as the database says so now."""
    with suppress(OSError):
        cancel_file(database, job_id).unlink(missing_ok=True)
