"""Whatever is done to a project's jobs, in whatever order: only legal moves, each with its event.

Several runners, of which all but the last are dead or frozen, a clock that may go back, and crashes
after any step. What must hold is looked at after each step, in the database file alone.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.errors import JobConflictError, StaleClaim
from engine.jobs.ledger import TRANSITIONS, IllegalTransitionError, Ledger
from engine.state_records import ACTIVE, TERMINAL, EventType, JobOrigin, JobState
from engine.store import jobs
from engine.store.jobs import JobRow, JobSearch
from tests.support.budget import examples
from tests.support.ledger import (
    DAY_MS,
    ERROR,
    RESULT,
    START_MS,
    FakeClock,
    context_of,
    ledger_in,
)

_RETENTION_MS = 7 * DAY_MS
_MOVES = {event: after for ways in TRANSITIONS.values() for after, event in ways.items()}
_SILENT = frozenset(
    {EventType.PROGRESS, EventType.CHECKPOINT, EventType.CANCEL_REQUESTED, EventType.FLAGGED}
)


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Make a folder in memory where that can be: nothing here is about power cuts."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)


class Lives(RuleBasedStateMachine):
    """Does to the jobs of one project whatever runners, people and time can do."""

    ledger: ClassVar[Ledger]  # one file for all examples, emptied before each
    clock: ClassVar[FakeClock]

    def __init__(self) -> None:
        super().__init__()
        with self.ledger.store.write(bookkeeping=True) as handle:
            handle.execute("DELETE FROM jobs")
        self.clock.now_ms = START_MS
        self.boots = 0
        self.held: JobRow | None = None  # by the runner that lives
        self.stale: list[JobRow] = []  # claims of runners that others took for dead
        self.ended: dict[str, tuple[JobRow, list[tuple[object, ...]]]] = {}
        self.seen: dict[str, tuple[int, int]] = {}  # job: events, files done

    # Requests.

    @rule(n=st.integers(0, 2), origin=st.sampled_from(JobOrigin))
    def enqueue(self, n: int, origin: JobOrigin) -> None:
        active = self.ledger.active()
        if active is not None and (active.parameters, active.origin) != (f'{{"n":{n}}}', origin):
            with pytest.raises(JobConflictError) as conflict:
                self.ledger.enqueue({"n": n}, origin=origin)
            assert conflict.value.details["job_id"] == active.uuid
            return
        found = self.ledger.enqueue({"n": n}, origin=origin)
        assert found.is_duplicate == (active is not None)
        assert active is None or found.row.uuid == active.uuid

    @rule(is_orphan=st.booleans(), data=st.data())
    def request_cancel(self, is_orphan: bool, data: st.DataObject) -> None:
        rows = self.rows()
        if not rows:
            return
        row = data.draw(st.sampled_from(rows))
        # Who says that nobody runs a job holds the lock of the runner, so that none lives.
        is_orphan = is_orphan and self.held is None
        try:
            found = self.ledger.request_cancel(row.uuid, reason="enough", is_orphan=is_orphan)
        except JobConflictError:
            assert row.state in TERMINAL
            return
        assert row.state in ACTIVE
        assert found.cancel_requested_at_ms is not None
        if row.state == JobState.PENDING or is_orphan:
            assert found.state == JobState.CANCELLED

    # The runner that lives.

    @rule()
    def claim(self) -> None:
        active = self.ledger.active()
        if self.held is not None:  # found before it was claimed
            found = self.held._replace(attempt=self.held.attempt - 1)
            assert self.ledger.claim(found, self.runner) is None
            return
        taken = self.ledger.claim(active, self.runner) if active else None
        self.held = taken
        assert (taken is None) == (active is None)
        assert active is None or (taken is not None and taken.attempt == active.attempt + 1)

    @precondition(lambda self: self.held is not None)
    @rule(files=st.integers(0, 700), back=st.booleans())
    def work(self, files: int, back: bool) -> None:
        assert self.held
        row = self.ledger.find(self.held.uuid)
        with context_of(self.ledger, row, self.clock) as context, ExitStack() as stack:
            if row.state != JobState.RUNNING:
                stack.enter_context(pytest.raises(StaleClaim))
            context.record_files([f"f{n}" for n in range(files)], 1)
            context.tally.done += files // 2
            with self.ledger.store.with_hook(context), self.ledger.store.write():
                pass
            if back:
                context.beat()

    @precondition(lambda self: self.held is not None)
    @rule(how=st.sampled_from(["block", "unblock", "complete", "fail", "cancel"]))
    def move(self, how: str) -> None:
        assert self.held
        state = JobState(self.ledger.find(self.held.uuid).state)
        is_asked = self.ledger.find(self.held.uuid).cancel_requested_at_ms is not None
        try:
            self.moves(self.held)[how]()
        except IllegalTransitionError:
            after = {"block": JobState.BLOCKED, "unblock": JobState.RUNNING}.get(how)
            assert (after or JobState.COMPLETED) not in TRANSITIONS[state]
            return
        found = self.ledger.find(self.held.uuid)
        if found.state in TERMINAL:
            assert not is_asked or found.state == JobState.CANCELLED
            self.held = None

    # Everybody else.

    @rule(is_frozen=st.booleans())
    def crash(self, is_frozen: bool) -> None:
        """The runner dies, or stops for so long that another becomes the runner."""
        if self.held and is_frozen:
            self.stale.append(self.held)
        self.held = None
        self.boots += 1

    @precondition(lambda self: bool(self.stale))
    @rule(data=st.data(), how=st.sampled_from(["block", "unblock", "complete", "fail", "cancel"]))
    def write_late(self, data: st.DataObject, how: str) -> None:
        """A runner that was frozen goes on, after others have taken its job over, or before."""
        old = data.draw(st.sampled_from(self.stale))
        row = self.ledger.find(old.uuid) if self.has(old) else None
        if row is not None and row.attempt == old.attempt and row.state in ACTIVE:
            return  # nobody has taken it over: then it still is the owner
        before = self.snapshot()
        with pytest.raises(StaleClaim):
            self.moves(old)[how]()
        with context_of(self.ledger, old, self.clock) as context:
            with (
                pytest.raises(StaleClaim),
                self.ledger.store.with_hook(context),
                self.ledger.store.write() as handle,
            ):
                handle.execute("DELETE FROM jobs")
            with pytest.raises(StaleClaim):
                context.record_files(["a"], 1)
            context.beat()
        assert self.snapshot() == before

    @rule(passed_ms=st.sampled_from([0, 1, 1000, 11_000, 31_000, DAY_MS, 8 * DAY_MS, -DAY_MS]))
    def pass_time(self, passed_ms: int) -> None:
        self.clock.now_ms += passed_ms

    @rule()
    def forget_old_ones(self) -> None:
        """What retention does: it deletes rows of jobs that ended long ago, and no others."""
        before_ms = self.clock.now_ms - _RETENTION_MS
        gone = [
            row
            for row in self.rows()
            if row.finished_at_ms is not None and row.finished_at_ms < before_ms
        ]
        with self.ledger.store.write(bookkeeping=True) as handle:
            jobs.delete_jobs(handle, [row.id for row in gone])
            assert (
                handle.execute(
                    "SELECT count(*) FROM job_events WHERE job_id NOT IN (SELECT id FROM jobs)"
                ).get
                == 0
            )
        for row in gone:
            del self.ended[row.uuid]
            del self.seen[row.uuid]

    # What must hold.

    @invariant()
    def one_at_most_is_active(self) -> None:
        assert sum(row.state in ACTIVE for row in self.rows()) <= 1

    @invariant()
    def events_tell_the_whole_life_and_only_legal_moves(self) -> None:
        for row in self.rows():
            events = self.events(row)
            assert [event[0] for event in events] == list(range(1, len(events) + 1))
            times = [int(str(event[2])) for event in events]
            assert times == sorted(times)
            assert events[0][1] == EventType.CREATED
            assert replay([EventType(str(event[1])) for event in events]) == row.state
            for _, kind, _, context in events:
                told = json.loads(str(context))
                assert {"files_processed", "files_total", "phase"} <= told.keys(), kind

    @invariant()
    def a_life_has_its_times_in_order(self) -> None:
        for row in self.rows():
            times = [row.created_at_ms, row.started_at_ms, row.finished_at_ms]
            known = [at_ms for at_ms in times if at_ms is not None]
            assert known == sorted(known)

    @invariant()
    def an_end_is_final_and_histories_and_progress_only_grow(self) -> None:
        for row in self.rows():
            number, files = len(self.events(row)), row.files_done
            before = self.seen.get(row.uuid, (0, 0))
            assert (number, files) >= before
            assert files >= before[1]
            self.seen[row.uuid] = number, files
            if row.state in TERMINAL:
                now = (row, self.events(row))
                assert self.ended.setdefault(row.uuid, now) == now

    @invariant()
    def no_checkpoint_outlives_its_job(self) -> None:
        with self.ledger.store.read() as handle:
            assert (
                handle.execute(
                    """SELECT count(*) FROM job_checkpoints WHERE job_id NOT IN
                   (SELECT id FROM jobs WHERE state IN ('running', 'blocked'))"""
                ).get
                == 0
            )

    # Helpers.

    @property
    def runner(self) -> str:
        return f"boot {self.boots}"

    def rows(self) -> list[JobRow]:
        with self.ledger.store.read() as handle:
            return sorted(jobs.search_jobs(handle, JobSearch(), 1000), key=lambda row: row.id)

    def has(self, row: JobRow) -> bool:
        return any(each.uuid == row.uuid for each in self.rows())

    def events(self, row: JobRow) -> list[tuple[object, ...]]:
        with self.ledger.store.read() as handle:
            return [tuple(event) for event in jobs.read_events(handle, row.id, limit=-1)]

    def snapshot(self) -> list[object]:
        return [(row, self.events(row)) for row in self.rows()]

    def moves(self, row: JobRow) -> dict[str, Callable[[], None]]:
        return {
            "block": lambda: self.ledger.block(row, "away", ERROR),
            "unblock": lambda: self.ledger.unblock(row),
            "complete": lambda: self.ledger.complete(row, RESULT, {}),
            "fail": lambda: self.ledger.fail(row, ERROR, {}),
            "cancel": lambda: self.ledger.cancel(row, {}),
        }


def replay(events: list[EventType]) -> JobState:
    """Follow a history through the table of transitions, and give the state it ends in."""
    state = JobState.PENDING
    for event in events[1:]:
        assert state not in TERMINAL, events
        if event in _SILENT or (event is EventType.RESUMED and state is JobState.RUNNING):
            continue  # the second: taken over from a runner that died
        after = _MOVES[event] if event is not EventType.RESUMED else JobState.RUNNING
        assert TRANSITIONS[state].get(after) is event, events
        state = after
    return state


def live(lives: int) -> None:
    """Try so many lives of 50 steps each."""
    with memory_folder() as folder:
        Lives.clock = FakeClock()
        with ledger_in(folder, Lives.clock) as ledger:
            Lives.ledger = ledger
            run_state_machine_as_test(
                Lives,
                settings=settings(max_examples=lives, stateful_step_count=50, database=None),
            )
    print(f"{lives} lives of 50 steps: 0 illegal moves, one event a move, no gaps")


def test_no_order_of_steps_breaks_a_rule() -> None:
    live(examples(200))


@pytest.mark.soak
def test_no_order_of_steps_breaks_a_rule_in_2000_lives() -> None:
    live(2000)
