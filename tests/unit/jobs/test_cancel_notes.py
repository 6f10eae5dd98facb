"""Notes that jobs are to be cancelled: what they keep, and what older versions wrote."""

from pathlib import Path

import pytest

from engine.jobs.cancel_notes import CancelRequest, delete_request, note_request, noted_request
from engine.jobs.execution import as_noted
from engine.jobs.ledger import Ledger
from engine.locks import note_cancel
from engine.state_records import JobKind, JobState, MakesWay

_JOB = "an id"


@pytest.mark.parametrize(
    "asked",
    [
        CancelRequest("", None),
        CancelRequest("the wrong folder", None),
        CancelRequest("{}", MakesWay.REQUEST),
    ],
)
def test_a_request_is_kept_until_it_is_deleted(tmp_path: Path, asked: CancelRequest) -> None:
    database = tmp_path / "index.db"
    assert noted_request(database, _JOB) is None
    note_request(database, _JOB, asked)
    assert noted_request(database, _JOB) == asked
    assert noted_request(database, "another") is None
    delete_request(database, _JOB)
    assert noted_request(database, _JOB) is None


@pytest.mark.parametrize("text", ["", "a request goes first", '{"reason": "the', "[]", "7", "{}"])
def test_what_is_no_request_is_the_reason_of_a_user(tmp_path: Path, text: str) -> None:
    """As older versions wrote it, or a disk that had room for some of it."""
    note_cancel(tmp_path / "index.db", _JOB, text)
    assert noted_request(tmp_path / "index.db", _JOB) == CancelRequest(text, None)


@pytest.mark.parametrize("makes_way", [None, MakesWay.REQUEST])
def test_a_pending_job_is_told_as_its_note_says(ledger: Ledger, makes_way: MakesWay | None) -> None:
    row = ledger.enqueue({}, kind=JobKind.HISTORY).row
    note_request(ledger.store.path, row.uuid, CancelRequest("", makes_way))
    told = as_noted(row, ledger.store.path)
    assert told.state == JobState.CANCELLED
    assert (told.waiting is not None) == (makes_way is not None)
