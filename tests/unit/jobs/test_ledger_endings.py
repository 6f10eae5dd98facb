"""How jobs end: well, badly, or because somebody asked them to stop."""

import json
from typing import TYPE_CHECKING

import pytest

from engine.jobs.ledger import Ledger
from engine.state_records import JobState, MakesWay
from engine.store import jobs
from tests.support.ledger import (
    ERROR,
    RESULT,
    START_MS,
    FakeClock,
    add_checkpoint,
    checkpoints,
    claimed,
    contexts,
    events_of,
    job_in,
    last_context,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.store.jobs import JobRow


@pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED])
def test_an_end_keeps_what_was_done_and_lets_go_of_what_was_momentary(
    state: JobState, ledger: Ledger, clock: FakeClock
) -> None:
    row = claimed(ledger)
    with ledger.store.write(bookkeeping=True) as handle:
        jobs.update_job(
            handle,
            row.id,
            {
                "files_done": 3,
                "files_total": 4,
                "phase": "parsing",
                "waiting": "slow",
                "current_path": b"a.py",
                "rate": 1.5,
                "remaining_ms": 900,
            },
        )
    add_checkpoint(ledger, row)
    clock.now_ms += 10
    if state is JobState.COMPLETED:
        ledger.complete(row, RESULT, {"files_done": 4})
    elif state is JobState.FAILED:
        ledger.fail(row, ERROR, {})
    else:
        ledger.cancel(row, {})
    found = ledger.find(row.uuid)
    assert found.state == state
    assert found.finished_at_ms == START_MS + 10
    assert (found.waiting, found.current_path, found.rate, found.remaining_ms) == (None,) * 4
    assert (found.files_done, found.files_total, found.phase) == (
        4 if state is JobState.COMPLETED else 3,
        4,
        "parsing",
    )
    assert (found.result is not None) == (state is JobState.COMPLETED)
    assert (found.error is not None) == (state is JobState.FAILED)
    assert checkpoints(ledger) == 0
    assert ledger.active() is None
    context = last_context(ledger, row)
    assert context.keys() >= {"files_processed", "files_total", "phase"}
    assert context.get("result") == (RESULT if state is JobState.COMPLETED else None)
    assert context.get("error") == (ERROR if state is JobState.FAILED else None)


def test_the_end_event_counts_what_the_end_says(ledger: Ledger) -> None:
    row = claimed(ledger)
    ledger.complete(row, RESULT, {"files_done": 4})
    assert last_context(ledger, row)["files_processed"] == 4


def test_a_pending_job_is_cancelled_at_once_with_its_reason(ledger: Ledger) -> None:
    row = ledger.enqueue({}).row
    found = ledger.request_cancel(row.uuid, reason="the wrong folder")
    assert found.state == JobState.CANCELLED
    assert [(kind, context.get("reason")) for kind, context in contexts(ledger, row)] == [
        ("created", None),
        ("cancel_requested", "the wrong folder"),
        ("cancelled", "the wrong folder"),
    ]


@pytest.mark.parametrize(
    ("makes_way", "told"),
    [
        (MakesWay.REQUEST, "gave way to a request; the watcher indexes what is left"),
        (MakesWay.CHANGES, "gave way to newer changes; a later job covers them"),
        (MakesWay.WATCHER, "stopped with its watcher; the next one indexes what is left"),
        (None, None),
    ],
)
@pytest.mark.parametrize("state", [JobState.PENDING, JobState.RUNNING])
def test_one_that_makes_way_tells_for_what_and_one_that_a_user_stops_does_not(
    ledger: Ledger, state: JobState, makes_way: MakesWay | None, told: str | None
) -> None:
    row = job_in(ledger, state)
    ledger.request_cancel(row.uuid, reason="a request goes first", makes_way=makes_way)
    if state is JobState.RUNNING:
        ledger.cancel(row, {})
    assert ledger.find(row.uuid).waiting == told
    context = last_context(ledger, row)
    assert (context["reason"], context.get("makes_way")) == ("a request goes first", makes_way)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.BLOCKED])
def test_one_that_runs_is_asked_once_and_ends_when_its_runner_says_so(
    state: JobState, ledger: Ledger, clock: FakeClock
) -> None:
    row = job_in(ledger, state)
    assert ledger.request_cancel(row.uuid, reason="enough").state == state
    clock.now_ms += 1000
    found = ledger.request_cancel(row.uuid, reason="really")
    assert (found.state, found.cancel_requested_at_ms) == (state, START_MS)
    with ledger.store.read() as handle:
        assert jobs.is_cancel_requested(handle, row.id)
    ledger.cancel(row, {})
    seen = [kind for kind, _ in contexts(ledger, row)]
    assert seen.count("cancel_requested") == 1
    assert last_context(ledger, row)["reason"] == "enough"


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.BLOCKED])
def test_one_that_nobody_runs_ends_at_once_and_leaves_nothing_behind(
    state: JobState, ledger: Ledger
) -> None:
    row = job_in(ledger, state)
    add_checkpoint(ledger, row)
    found = ledger.request_cancel(row.uuid, is_orphan=True)
    assert (found.state, found.waiting, found.blocked_at_ms) == ("cancelled", None, None)
    assert checkpoints(ledger) == 0


def test_who_was_told_that_a_job_stops_never_sees_it_completed_or_failed(ledger: Ledger) -> None:
    ends: tuple[Callable[[JobRow], None], ...] = (
        lambda row: ledger.complete(row, RESULT, {"files_done": 5}),
        lambda row: ledger.fail(row, ERROR, {"files_done": 5}),
    )
    for end in ends:
        row = claimed(ledger)
        ledger.request_cancel(row.uuid, reason="enough")
        end(row)
        found = ledger.find(row.uuid)
        assert (found.state, found.result, found.error) == ("cancelled", None, None)
        assert found.files_done == 5
        assert last_context(ledger, row)["reason"] == "enough"


def test_a_job_whose_request_to_stop_cannot_be_read_stops_without_a_reason(ledger: Ledger) -> None:
    row = claimed(ledger)
    ledger.request_cancel(row.uuid, reason="not needed")
    with ledger.store.write(bookkeeping=True) as handle:
        handle.execute(
            """INSERT INTO job_events (job_id, sequence, type, at_ms, context)
               VALUES (?, 100, 'cancel_requested', ?, '{oops')""",
            (row.id, START_MS),
        )
    ledger.cancel(row, {})
    assert ledger.find(row.uuid).state == JobState.CANCELLED
    assert "reason" not in json.loads(events_of(ledger, row)[-1].context)
