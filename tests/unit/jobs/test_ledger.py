"""Each operation on a project's jobs: one durable transaction, a legal move, and its event."""

from collections.abc import Callable

import pytest

from engine.errors import EngineError, JobConflictError, JobNotFoundError, StaleClaim
from engine.jobs.ledger import IllegalTransitionError, Ledger, new_job_id, project_digits_of
from engine.state_records import ACTIVE, TERMINAL, EventType, JobOrigin, JobState
from engine.store import jobs
from engine.store.jobs import JobRow, JobSearch
from tests.support.ledger import (
    DAY_MS,
    ERROR,
    PROJECT_ID,
    RESULT,
    START_MS,
    FakeClock,
    add_checkpoint,
    claimed,
    contexts,
    events_of,
    job_in,
    last_context,
    sync_levels,
)


def test_an_id_names_its_project_and_is_a_uuid_of_version_8() -> None:
    ids = {new_job_id(PROJECT_ID) for _ in range(100)}
    assert len(ids) == 100
    for each in ids:
        assert project_digits_of(each) == PROJECT_ID[:12]
        assert each[14] == "8"
        assert each[19] in "89ab"
    with pytest.raises(JobNotFoundError):
        project_digits_of("a job")


def test_a_request_is_pending_and_its_first_event_says_what_was_asked(ledger: Ledger) -> None:
    found = ledger.enqueue({"b": 1, "a": [2]}, estimated_ms=9, context={"files": 3})
    row = found.row
    assert not found.is_duplicate
    assert (row.state, row.attempt, row.runner, row.started_at_ms) == ("pending", 0, None, None)
    assert (row.parameters, row.estimated_ms) == ('{"a":[2],"b":1}', 9)
    assert contexts(ledger, row) == [
        (
            "created",
            {
                "files_processed": 0,
                "files_total": None,
                "phase": None,
                "parameters": {"b": 1, "a": [2]},
                "origin": "request",
                "files": 3,
            },
        )
    ]


def test_equal_requests_share_a_job_until_it_has_ended(ledger: Ledger) -> None:
    first = ledger.enqueue({"a": 1, "b": 2}).row
    again = ledger.enqueue({"b": 2, "a": 1})
    assert (again.row.uuid, again.is_duplicate) == (first.uuid, True)
    taken = ledger.claim(first, "runner")
    assert taken
    assert ledger.enqueue({"a": 1, "b": 2}).row.uuid == first.uuid
    ledger.block(taken, "away", ERROR)
    assert ledger.enqueue({"a": 1, "b": 2}).row.state == JobState.BLOCKED
    assert len(events_of(ledger, first)) == 3
    ledger.fail(taken, ERROR, {})
    assert ledger.enqueue({"a": 1, "b": 2}).row.uuid != first.uuid


@pytest.mark.parametrize("state", ACTIVE)
def test_another_request_while_one_is_active_is_a_conflict_that_names_it(
    state: JobState, ledger: Ledger
) -> None:
    row = job_in(ledger, state)
    asks: tuple[Callable[[], object], ...] = (
        lambda: ledger.enqueue({"n": 2}),
        lambda: ledger.enqueue({"n": 1}, kind="verify"),
        lambda: ledger.enqueue({"n": 1}, origin=JobOrigin.WATCH),
    )
    for ask in asks:
        with pytest.raises(JobConflictError) as conflict:
            ask()
        assert conflict.value.details == {
            "job_id": row.uuid,
            "status": state,
            "origin": "request",
            "kind": "index",
        }
    with ledger.store.read() as handle:
        assert jobs.count_jobs(handle, JobSearch()) == 1


def test_a_claim_starts_a_job_and_counts_as_a_try(ledger: Ledger, clock: FakeClock) -> None:
    pending = ledger.enqueue({}).row
    clock.now_ms += 5
    row = ledger.claim(pending, "first")
    assert row
    assert (row.state, row.attempt, row.runner) == ("running", 1, "first")
    assert row.started_at_ms == row.heartbeat_at_ms == START_MS + 5
    assert contexts(ledger, row)[1:] == [
        ("started", {"files_processed": 0, "files_total": None, "phase": None, "attempt": 1})
    ]
    assert ledger.claim(pending, "first") is None  # it was claimed since it was found


def test_a_claim_of_what_another_runner_had_resumes_it_with_a_new_token(
    ledger: Ledger, clock: FakeClock
) -> None:
    row = claimed(ledger)
    with ledger.store.write(bookkeeping=True) as handle:
        jobs.update_job(handle, row.id, {"files_done": 7, "files_total": 9, "phase": "parsing"})
    clock.now_ms += 1000
    taken = ledger.claim(row, "second", suspects='{"a.py": 1}')
    assert taken
    assert (taken.state, taken.attempt, taken.runner) == ("running", 2, "second")
    assert (taken.started_at_ms, taken.files_done) == (START_MS, 7)
    assert taken.suspects == '{"a.py": 1}'
    assert contexts(ledger, row)[-1] == (
        "resumed",
        {"files_processed": 7, "files_total": 9, "phase": "parsing", "attempt": 2},
    )


def test_a_blocked_job_of_a_runner_that_died_is_resumed_too(ledger: Ledger) -> None:
    row = job_in(ledger, JobState.BLOCKED)
    taken = ledger.claim(row, "second", suspects='{"a.py": 1}')
    assert taken
    assert (taken.state, taken.attempt, taken.blocked_at_ms, taken.waiting) == (
        "running",
        2,
        None,
        None,
    )
    assert taken.suspects == "{}"  # no file was in hand
    assert events_of(ledger, row)[-1].type == EventType.RESUMED


@pytest.mark.parametrize("state", TERMINAL)
def test_what_has_ended_cannot_be_claimed_moved_or_cancelled(
    state: JobState, ledger: Ledger
) -> None:
    row = job_in(ledger, state)
    before = (row, events_of(ledger, row))
    assert ledger.claim(row, "second") is None
    for move in moves(ledger, row):
        with pytest.raises(StaleClaim):
            move()
    with pytest.raises(JobConflictError) as conflict:
        ledger.request_cancel(row.uuid)
    assert conflict.value.details == {"job_id": row.uuid, "status": state}
    assert (ledger.find(row.uuid), events_of(ledger, row)) == before


def moves(ledger: Ledger, row: JobRow) -> list[Callable[[], None]]:
    return [
        lambda: ledger.block(row, "away", ERROR),
        lambda: ledger.unblock(row),
        lambda: ledger.complete(row, RESULT, {}),
        lambda: ledger.fail(row, ERROR, {}),
        lambda: ledger.cancel(row, {}),
    ]


def test_an_old_token_moves_nothing(ledger: Ledger) -> None:
    old = claimed(ledger)
    new = ledger.claim(old, "second")
    assert new
    before = (ledger.find(old.uuid), events_of(ledger, old))
    for move in moves(ledger, old):
        with pytest.raises(StaleClaim):
            move()
    assert (ledger.find(old.uuid), events_of(ledger, old)) == before
    ledger.complete(new, RESULT, {})


def test_a_move_without_a_way_is_a_mistake_and_changes_nothing(ledger: Ledger) -> None:
    row = claimed(ledger)
    with pytest.raises(IllegalTransitionError, match="running → running"):
        ledger.unblock(row)
    ledger.block(row, "away", ERROR)
    blocked = ledger.find(row.uuid)
    illegal: tuple[Callable[[], None], ...] = (
        lambda: ledger.block(row, "away", ERROR),
        lambda: ledger.complete(row, RESULT, {}),
    )
    for move in illegal:
        with pytest.raises(IllegalTransitionError):
            move()
    assert ledger.find(row.uuid) == blocked


def test_a_wait_has_its_reason_its_error_and_its_length(ledger: Ledger, clock: FakeClock) -> None:
    row = claimed(ledger)
    ledger.block(row, "disk full: no room", ERROR)
    found = ledger.find(row.uuid)
    assert (found.state, found.waiting, found.blocked_at_ms) == (
        "blocked",
        "disk full: no room",
        START_MS,
    )
    assert last_context(ledger, row) == {
        "files_processed": 0,
        "files_total": None,
        "phase": None,
        "reason": "disk full: no room",
        "error": ERROR,
    }
    clock.now_ms += 1500
    ledger.unblock(row)
    found = ledger.find(row.uuid)
    assert (found.state, found.waiting, found.blocked_at_ms) == ("running", None, None)
    assert last_context(ledger, row)["waited_ms"] == 1500


def test_each_end_has_the_facts_of_its_type(ledger: Ledger) -> None:
    row = claimed(ledger)
    progress = {"files_processed": 0, "files_total": None, "phase": None}
    ledger.fail(row, ERROR, {})
    assert contexts(ledger, row)[-1] == ("failed", {**progress, "error": ERROR})
    row = claimed(ledger)
    ledger.request_cancel(row.uuid, reason="not needed")
    requested = contexts(ledger, row)[-1]
    assert (requested[0], requested[1]["reason"]) == ("cancel_requested", "not needed")
    ledger.cancel(row, {})
    ended = contexts(ledger, row)[-1]
    assert (ended[0], ended[1]["reason"]) == ("cancelled", "not needed")
    row = claimed(ledger)
    ledger.complete(row, RESULT, {})
    ended = contexts(ledger, row)[-1]
    assert ended[0] == "completed"
    assert progress.keys() < ended[1].keys()


def test_no_job_is_found_by_an_unknown_id(ledger: Ledger) -> None:
    for ask in (ledger.find, ledger.request_cancel):
        with pytest.raises(JobNotFoundError):
            ask(new_job_id(PROJECT_ID))


def test_events_and_checkpoints_cannot_be_changed(ledger: Ledger) -> None:
    row = claimed(ledger)
    add_checkpoint(ledger, row)
    for statement in (
        "UPDATE job_events SET context = '{}'",
        "UPDATE job_events SET at_ms = 0 WHERE sequence = 1",
        "UPDATE job_checkpoints SET state = '[]'",
    ):
        with (
            pytest.raises(EngineError, match="immutable"),
            ledger.store.write(bookkeeping=True) as handle,
        ):
            handle.execute(statement)
    assert [kind for kind, _ in contexts(ledger, row)] == ["created", "started"]


def test_the_table_itself_refuses_what_no_job_can_be(ledger: Ledger) -> None:
    row = claimed(ledger)
    for changes in (
        "state = 'completed', finished_at_ms = 1",  # no result
        "state = 'failed', finished_at_ms = 1",  # no error
        "state = 'cancelled'",  # no end
        "state = 'blocked'",  # no beginning of the wait
        "state = 'sleeping'",
        "finished_at_ms = 1",
    ):
        with (
            pytest.raises(EngineError, match="CHECK"),
            ledger.store.write(bookkeeping=True) as handle,
        ):
            handle.execute(f"UPDATE jobs SET {changes}")
    with (
        pytest.raises(EngineError, match="UNIQUE"),
        ledger.store.write(bookkeeping=True) as handle,
    ):
        jobs.insert_job(
            handle, jobs.NewJob(new_job_id(PROJECT_ID), "index", "request", "{}", 1, None)
        )
    assert ledger.find(row.uuid) == row


def test_a_clock_that_goes_back_a_day_turns_no_history_around(
    ledger: Ledger, clock: FakeClock
) -> None:
    row = claimed(ledger)
    clock.now_ms += 10
    ledger.block(row, "away", ERROR)
    clock.now_ms -= DAY_MS
    ledger.unblock(row)
    assert last_context(ledger, row)["waited_ms"] == 0
    ledger.complete(row, RESULT, {})
    found = ledger.find(row.uuid)
    assert found.started_at_ms
    assert found.finished_at_ms
    assert found.created_at_ms <= found.started_at_ms <= found.finished_at_ms
    times = [event.at_ms for event in events_of(ledger, row)]
    assert times == sorted(times)
    assert ledger.enqueue({}).row.created_at_ms == clock.now_ms


def test_every_write_is_on_the_disk_before_it_is_answered(ledger: Ledger) -> None:
    """SQLite syncs the WAL of a transaction at FULL: ask it what it would do inside each."""
    row = claimed(ledger)
    with sync_levels(ledger) as levels:
        ledger.block(row, "away", ERROR)
        ledger.unblock(row)
        ledger.request_cancel(row.uuid)
        ledger.cancel(row, {})
        ledger.enqueue({})
    assert levels == [2] * 5


@pytest.mark.parametrize("end", ["complete", "fail", "cancel", "orphan"])
@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_job_whose_result_is_in_place_can_only_complete(
    ledger: Ledger, end: str, is_blocked: bool
) -> None:
    row = claimed(ledger)
    with ledger.store.write() as handle:
        jobs.update_job(handle, row.id, {"result": '{"files_indexed": 7}'})
    if is_blocked:
        ledger.block(row, "disk full", ERROR)
    asked = ledger.request_cancel(row.uuid, reason="too long", is_orphan=end == "orphan")
    if end != "orphan":
        assert asked.state in ACTIVE
        if end == "complete":
            if is_blocked:
                ledger.unblock(row)
            ledger.complete(row, RESULT, {})
        elif end == "fail":
            ledger.fail(row, ERROR, {})
        else:
            ledger.cancel(row, {})
    ended = ledger.find(row.uuid)
    assert (ended.state, ended.error) == (JobState.COMPLETED, None)
    assert ended.result == '{"files_indexed": 7}'
    assert last_context(ledger, row)["result"] == {"files_indexed": 7}
