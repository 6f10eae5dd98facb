"""A job that runs: its beats, what it waits for, and who may stop it or write for it."""

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import StaleClaim
from engine.index_records import Phase
from engine.jobs.context import CrashTracker, InFlightFile
from engine.jobs.ledger import Ledger
from engine.scheduler.housekeeping import prune
from engine.state_records import MakesWay
from tests.support.ledger import (
    DAY_MS,
    ERROR,
    FakeClock,
    claimed,
    context_of,
    everything,
    ledger_in,
)
from tests.support.patience import patience
from tests.support.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

PATHS = [f"f{n}.py" for n in range(2000)]


def left_path(ledger: Ledger) -> str:
    """Read what a process that died would have left of its file in flight."""
    with closing(InFlightFile(ledger.store.path)) as file:
        return file.left_path


def test_a_beat_says_that_a_job_lives_and_changes_nothing_else(
    work: Work, clock: FakeClock
) -> None:
    work.context.record_files(PATHS, 1)
    work.do(5)
    work.tell(Phase.PARSING, "slow.py")
    work.context.tally.done += 3  # not committed
    clock.now_ms += 10_000
    work.context.beat()
    row = work.row
    assert (row.heartbeat_at_ms, row.files_done, row.current_path) == (
        clock.now_ms,
        5,
        b"slow.py",
    )
    [told] = work.events("progress")
    assert told["files_processed"] == 5
    clock.now_ms += 1000
    work.context.beat()
    assert len(work.events("progress")) == 1


def test_a_job_that_waits_says_little(work: Work, ledger: Ledger, clock: FakeClock) -> None:
    ledger.block(work.context.row, "disk full", ERROR)
    work.context.is_blocked = True
    for _ in range(30):
        clock.now_ms += 1000
        work.context.beat()
    assert work.row.heartbeat_at_ms is not None
    assert clock.now_ms - work.row.heartbeat_at_ms < 10_000
    assert work.row.waiting == "disk full"
    assert work.events("progress") == []


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (Phase.EMBEDDING, "waiting for the embedding model, for 7 s"),
        (Phase.PARSING, "processing a file that takes long, for 7 s"),
        (Phase.SCANNING, None),
    ],
)
def test_a_job_that_has_slowed_down_says_why(phase: Phase, said: str | None, work: Work) -> None:
    now_s = time.monotonic()
    work.context._tracker._clock = lambda: now_s
    work.tell(phase, "large.py")
    work.context.beat()
    assert work.row.waiting is None
    now_s += 7
    work.context.beat()
    assert work.row.waiting == said
    work.tell(phase, "next.py", done=1)
    work.context.beat()
    assert work.row.waiting is None


def test_who_lost_a_job_lets_it_go(work: Work, ledger: Ledger) -> None:
    work.context.beat()
    assert not work.context.cancelled()
    ledger.claim(work.row, "second")
    work.context.beat()
    assert work.context.cancelled()
    assert not work.context.is_cancelled


def test_a_cancel_and_a_suspension_both_stop_but_only_one_ends_the_job(work: Work) -> None:
    work.context.suspend()
    assert (work.context.cancelled(), work.context.is_cancelled) == (True, False)
    work.context.cancel()
    assert work.context.is_cancelled is True
    assert work.context.wait(patience(60))


def test_a_file_that_was_in_hand_at_three_deaths_is_poison(
    ledger: Ledger, clock: FakeClock
) -> None:
    row = claimed(ledger)
    for death in range(3):
        with context_of(ledger, row, clock) as context:
            assert not context.is_poison("evil.py")
            context.mark_in_flight("evil.py")
            left = left_path(ledger)  # as if the process had died here
        taken = ledger.claim(row, f"runner {death}", CrashTracker(row.suspects).after_crash(left))
        assert taken
        row = taken
    with context_of(ledger, row, clock) as context:
        assert context.is_poison("evil.py")
        assert not context.is_poison("good.py")
        context.mark_in_flight("evil.py")
        context.mark_in_flight("")
        assert left_path(ledger) == ""
    assert CrashTracker(row.suspects).after_crash("") == row.suspects


def freeze_and_take_over(ledger: Ledger, other: Ledger, clock: FakeClock) -> None:
    """Pause a job's thread between two writes, take the job over meanwhile, and let it go on."""
    row = claimed(ledger)
    paused, goes_on = threading.Event(), threading.Event()
    outcome: list[str] = []

    def run() -> None:
        with context_of(ledger, row, clock) as context:
            work = Work(ledger, context)
            context.record_files(PATHS, 1)
            work.do(3)
            paused.set()
            goes_on.wait()
            clock.now_ms += 20_000
            writes: list[Callable[[], object]] = [
                lambda: work.do(1),
                lambda: context.record_files(PATHS, 1),
                lambda: ledger.block(row, "away", ERROR),
                lambda: ledger.unblock(row),
                lambda: ledger.complete(row, {}, context.committed_progress()),
                lambda: ledger.fail(row, ERROR, context.committed_progress()),
                lambda: ledger.cancel(row, context.committed_progress()),
            ]
            for write in writes:
                try:
                    write()
                except StaleClaim:
                    outcome.append("stale")
                else:
                    outcome.append("written")
            context.beat()

    thread = threading.Thread(target=run)
    thread.start()
    paused.wait()
    taken = other.claim(row, "second")
    assert taken
    assert taken.attempt == row.attempt + 1
    before = everything(ledger.store.path)
    goes_on.set()
    thread.join()
    assert outcome == ["stale"] * 7
    assert everything(ledger.store.path) == before
    other.complete(taken, {}, {})


def test_who_was_frozen_while_another_took_over_writes_nothing(
    tmp_path: Path, clock: FakeClock
) -> None:
    runs = 50
    with ledger_in(tmp_path, clock) as ledger, ledger_in(tmp_path, clock) as other:
        for _ in range(runs):
            freeze_and_take_over(ledger, other, clock)
    print(f"{runs} takeovers: 0 of {runs * 7} writes with the old token, 0 beats")


def test_a_runner_frozen_until_its_job_is_forgotten_writes_into_no_other(
    ledger: Ledger, clock: FakeClock
) -> None:
    """The row of a later job may have the number that the forgotten one had."""
    old = claimed(ledger)
    ledger.request_cancel(old.uuid, makes_way=MakesWay.CHANGES, is_orphan=True)
    clock.now_ms += 8 * DAY_MS
    prune(ledger.store, ledger.store.path.parent, now_ms=clock.now_ms, retention_ms=7 * DAY_MS)
    new = claimed(ledger)
    assert (new.id, new.attempt) == (old.id, old.attempt)
    before = everything(ledger.store.path)
    with context_of(ledger, old, clock) as context:
        with pytest.raises(StaleClaim):
            context.record_files(PATHS, 1)
        context.beat()
    assert everything(ledger.store.path) == before
