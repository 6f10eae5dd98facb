"""Notes that jobs are to be cancelled: what they keep, and what older versions wrote."""

from pathlib import Path

import pytest

from engine.config import Config
from engine.jobs.cancel_notes import CancelRequest, delete_request, note_request, noted_request
from engine.jobs.execution import as_noted
from engine.jobs.ledger import Ledger
from engine.locks import note_cancel
from engine.project_files import beside, clean_up
from engine.state_records import JobKind, JobState, MakesWay
from tests.support.damage import break_file
from tests.support.ledger import FakeClock, job_in, ledger_in

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


@pytest.mark.parametrize("is_damaged", [True, False], ids=["a damaged index", "a newer index"])
def test_a_cleaning_keeps_what_belongs_to_a_job_that_cannot_be_read(
    config: Config, *, is_damaged: bool
) -> None:
    """A cancellation that was acknowledged, and for a newer version what a job has built."""
    with ledger_in(config.data_dir, FakeClock()) as ledger:
        file, row = ledger.store.path, ledger.enqueue({}).row
        if not is_damaged:
            with ledger.store.write() as handle:
                handle.pragma("user_version", 9999)
    if is_damaged:
        break_file(file)
    note_request(file, row.uuid, CancelRequest("the wrong folder", None))
    built = beside(file, row.uuid)
    built.write_bytes(b"half an index")
    clean_up(config.data_dir)
    assert noted_request(file, row.uuid)
    assert built.exists() is not is_damaged


def test_a_cleaning_deletes_the_note_about_a_job_that_has_ended(config: Config) -> None:
    with ledger_in(config.data_dir, FakeClock()) as ledger:
        row = job_in(ledger, JobState.COMPLETED)
        note_request(ledger.store.path, row.uuid, CancelRequest("too late", None))
        clean_up(config.data_dir)
        assert noted_request(ledger.store.path, row.uuid) is None
