"""A job's row as the record that every face shows."""

import json
from dataclasses import asdict

import pytest

from engine.errors import IndexCorruptError
from engine.jobs.ledger import Ledger
from engine.jobs.view import event_of, job_of
from engine.state_records import EventType, Job, JobState
from engine.store import jobs
from engine.store.jobs import EventRow, JobRow
from tests.support.ledger import DAY_MS, ERROR, PROJECT_ID, RESULT, START_MS, claimed, job_in


def shown(row: JobRow, now_ms: int = START_MS, position: int | None = None) -> Job:
    return job_of(
        row, project_id=PROJECT_ID, root="/tree", now_ms=now_ms, position=position, log=None
    )


def changed(ledger: Ledger, row: JobRow, **changes: object) -> JobRow:
    with ledger.store.write(bookkeeping=True) as handle:
        jobs.update_job(handle, row.id, changes)
    return ledger.find(row.uuid)


@pytest.mark.parametrize("state", JobState)
def test_every_state_can_be_shown_and_written_as_json(state: JobState, ledger: Ledger) -> None:
    row = job_in(ledger, state)
    job = shown(row)
    assert (job.status, job.job_id, job.path) == (state, row.uuid, "/tree")
    assert (job.result is not None) == (state is JobState.COMPLETED)
    assert (job.error is not None) == (state is JobState.FAILED)
    assert (job.finished_at is not None) == (row.finished_at_ms is not None)
    assert (job.waiting is not None) == (state is JobState.BLOCKED)
    assert json.loads(json.dumps(asdict(job)))["status"] == state.value


def test_one_that_waits_for_its_turn_has_a_place_and_no_times(ledger: Ledger) -> None:
    job = shown(ledger.enqueue({}, estimated_ms=90_500).row, position=4)
    assert (job.position, job.started_at, job.elapsed_seconds) == (4, None, 0.0)
    assert (job.estimated_seconds, job.eta_seconds, job.total) == (90.5, None, None)
    assert job.created_at == "2023-11-14T22:13:20.000Z"


def test_bytes_stand_beside_the_counts(ledger: Ledger) -> None:
    counts = json.dumps({"files_indexed": 3, "bytes_done": 70, "bytes_total": 100})
    job = shown(changed(ledger, claimed(ledger), files_total=10, counts=counts))
    assert (job.bytes_done, job.bytes_total) == (70, 100)
    assert job.counts == {"files_indexed": 3}


def test_done_and_total_are_those_of_the_phase(ledger: Ledger) -> None:
    row = changed(
        ledger,
        claimed(ledger),
        phase="parsing",
        files_done=3,
        files_total=10,
        rate=2.5,
        remaining_ms=2800,
        current_path=b"src/a\xff.py",
    )
    job = shown(row, START_MS + 1500)
    assert (job.done, job.total, job.rate, job.eta_seconds) == (3, 10, 2.5, 2.8)
    assert (job.elapsed_seconds, job.current_file) == (1.5, "src/a\ufffd.py")
    row = changed(ledger, row, phase="embedding", chunks_done=64, chunks_total=500)
    job = shown(row)
    assert (job.done, job.total, job.files_done) == (64, 500, 3)


def test_a_job_of_a_day_and_more_shows_how_long_it_goes_on(ledger: Ledger) -> None:
    row = claimed(ledger)
    assert shown(row, START_MS + 30 * 3600 * 1000).elapsed_seconds == 30 * 3600
    assert shown(row, START_MS - DAY_MS).elapsed_seconds == 0  # the clock went back


def test_what_has_ended_has_no_time_left_and_no_flag(ledger: Ledger) -> None:
    row = claimed(ledger)
    row = changed(ledger, row, flagged_at_ms=START_MS, remaining_ms=5)
    assert shown(row).flagged
    ledger.complete(row, RESULT, {"counts": '{"files_indexed": 1}'})
    job = shown(ledger.find(row.uuid), START_MS + DAY_MS)
    assert (job.flagged, job.eta_seconds, job.elapsed_seconds) == (False, None, 0.0)
    assert (job.result, job.counts) == (RESULT, {"files_indexed": 1})


def test_a_failure_has_the_one_shape_of_errors(ledger: Ledger) -> None:
    job = shown(job_in(ledger, JobState.FAILED))
    assert job.error == ERROR
    assert job.error.keys() == {"error", "message", "details"}


def test_an_event_names_its_job_its_time_and_its_repository() -> None:
    row = EventRow(3, "failed", START_MS + 7, '{"files_processed": 2, "error": {"message": "x"}}')
    event = event_of("some-id", "/tree\udcff", row)
    assert (event.job_id, event.sequence, event.type) == ("some-id", 3, EventType.FAILED)
    assert event.timestamp == "2023-11-14T22:13:20.007Z"
    assert event.context == {
        "repository": "/tree\ufffd",
        "files_processed": 2,
        "error": {"message": "x"},
    }
    json.dumps(asdict(event))


@pytest.mark.parametrize("text", ["", "{oops", "[1]", "7", "[" * 100_000])
@pytest.mark.parametrize("column", ["parameters", "counts", "result", "error"])
def test_a_job_whose_row_cannot_be_read_is_damage_that_a_repair_mends(
    column: str, text: str, ledger: Ledger
) -> None:
    state = JobState.FAILED if column == "error" else JobState.COMPLETED
    row = JobRow(**{**job_in(ledger, state)._asdict(), column: text or "null"})
    with pytest.raises(IndexCorruptError, match="a job") as error:
        shown(row)
    assert "--repair" in error.value.hint


@pytest.mark.parametrize("changes", [{"context": "{oops"}, {"type": "unheard"}, {"at_ms": 1 << 62}])
def test_an_event_that_cannot_be_read_is_damage_that_a_repair_mends(
    changes: dict[str, object],
) -> None:
    row = EventRow(**{**EventRow(3, "failed", START_MS, "{}")._asdict(), **changes})
    with pytest.raises(IndexCorruptError, match="a job") as error:
        event_of("some-id", "/tree", row)
    assert "--repair" in error.value.hint


def test_a_count_that_is_no_number_is_left_out(ledger: Ledger) -> None:
    job = shown(claimed(ledger)._replace(counts='{"files_indexed": 3, "chunks": "many"}'))
    assert job.counts == {"files_indexed": 3}
