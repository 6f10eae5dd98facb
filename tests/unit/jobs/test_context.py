"""A claimed job while it runs: what it writes with the rows of its work, and when."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import StaleClaim
from engine.job_records import CheckpointKind, JobOrigin
from engine.jobs.context import JobContext, suspects_after_crash
from engine.jobs.ledger import Ledger
from engine.records import Phase, Progress
from engine.store.jobs import CheckpointRow, JobRow
from engine.syntax.packing import unpack_paths
from tests.support.ledger import (
    DAY_MS,
    ERROR,
    FakeClock,
    claimed,
    context_of,
    events_of,
    everything,
    ledger_in,
    sync_levels,
)

PATHS = [f"f{n}.py" for n in range(2000)]


class Work:
    """A job in hand, and what an indexer does to it: files that get an outcome, and commits."""

    def __init__(self, ledger: Ledger, context: JobContext) -> None:
        self.ledger = ledger
        self.context = context

    def do(self, files: int = 0, chunks: int = 0) -> None:
        """Commit a transaction in which so many files or chunks are done."""
        self.context.tally.done += files
        self.context.tally.files_indexed += files
        self.context.tally.embeddings += chunks
        with self.ledger.store.accompanied(self.context), self.ledger.store.write():
            pass

    def tell(self, phase: Phase, path: str = "", *, done: int = 0, total: int = 0) -> None:
        self.context.report(
            Progress(
                phase=phase, done=done, total=total, current_path=path, bytes_done=0, elapsed_ms=0
            )
        )

    @property
    def row(self) -> JobRow:
        return self.ledger.find(self.context.row.uuid)

    def events(self, kind: str) -> list[dict[str, object]]:
        found = events_of(self.ledger, self.context.row)
        return [json.loads(event.context) for event in found if event.type == kind]

    def checkpoints(self) -> list[CheckpointRow]:
        with self.ledger.store.read() as handle:
            rows = handle.execute("SELECT kind, at_ms, state, packed FROM job_checkpoints")
            return [CheckpointRow(*row) for row in rows]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    with ledger_in(tmp_path, clock) as ledger:
        yield ledger


@pytest.fixture
def work(ledger: Ledger, clock: FakeClock) -> Iterator[Work]:
    with context_of(ledger, claimed(ledger), clock) as context:
        yield Work(ledger, context)


def test_what_was_asked_for(work: Work) -> None:
    assert work.context.origin is JobOrigin.REQUEST
    assert work.context.parameters == {"n": 1}
    assert not work.context.has_begun
    assert not work.context.cancelled()


def test_the_list_of_files_is_kept_before_any_is_read(work: Work) -> None:
    work.context.found(PATHS[:3], 300)
    [list_] = work.checkpoints()
    assert list_.kind == CheckpointKind.FILE_LIST
    assert list_.packed is not None
    assert unpack_paths(list_.packed) == PATHS[:3]
    assert json.loads(list_.state) == {"files": 3, "bytes": 300, "files_total": 3}
    assert (work.row.files_done, work.row.files_total) == (0, 3)
    [told] = work.events("checkpoint")
    assert (told["kind"], told["files_processed"], told["files_total"]) == ("file_list", 0, 3)


def test_a_long_scan_makes_no_checkpoint_before_the_list(work: Work, clock: FakeClock) -> None:
    work.tell(Phase.SCANNING, "somewhere/ignored")
    clock.now_ms += 60_000
    work.do()
    assert work.checkpoints() == []
    work.context.found(PATHS, 1)
    work.tell(Phase.PARSING, "f7.py")
    work.do(1)
    assert [each.kind for each in work.checkpoints()] == ["file_list", "position"]
    assert json.loads(work.checkpoints()[1].state)["path"] == "f7.py"


def test_progress_is_told_every_hundred_files_and_every_ten_seconds(
    work: Work, clock: FakeClock
) -> None:
    work.context.found(PATHS, 1)
    work.tell(Phase.PARSING, "a.py", total=len(PATHS))
    work.do(99)
    assert work.events("progress") == []
    assert work.row.files_done == 99  # the row itself is always right
    work.do(1)
    clock.now_ms += 9_999
    work.do(99)
    [first] = work.events("progress")
    assert (first["files_processed"], first["files_total"]) == (100, len(PATHS))
    assert (first["phase"], first["current_file"]) == ("parsing", "a.py")
    clock.now_ms += 1
    work.do()
    assert [each["files_processed"] for each in work.events("progress")] == [100, 199]
    work.do(250)
    assert [each["files_processed"] for each in work.events("progress")][2:] == [449]


def test_chunks_are_units_of_work_too(work: Work) -> None:
    work.context.found(PATHS[:10], 1)
    work.do(10)
    work.tell(Phase.EMBEDDING, total=300)
    for _ in range(5):
        work.do(chunks=60)
    assert [each["chunks_done"] for each in work.events("progress")] == [120, 240]
    assert (work.row.chunks_done, work.row.chunks_total) == (300, 300)


@pytest.mark.parametrize("back_ms", [0, DAY_MS])
def test_checkpoints_come_every_500_files_and_every_30_seconds(
    back_ms: int, work: Work, clock: FakeClock
) -> None:
    clock.now_ms -= back_ms  # whatever the clock says now
    work.context.found(PATHS, 1)
    work.do()  # which notes the new time, if it is one
    before = len(work.checkpoints())
    work.tell(Phase.PARSING, "a.py")
    work.do(499)
    assert len(work.checkpoints()) == before
    work.do(1)
    clock.now_ms += 29_999
    work.do(1)
    found = work.checkpoints()[before:]
    assert [json.loads(each.state)["files_done"] for each in found] == [500]
    clock.now_ms += 1
    work.do(1)
    found = work.checkpoints()[before:]
    assert [json.loads(each.state)["files_done"] for each in found] == [500, 502]
    assert {each.kind for each in found} == {"position"}


def test_a_checkpoint_while_vectors_are_made_says_so(work: Work, clock: FakeClock) -> None:
    work.context.found(PATHS[:1], 1)
    work.do(1)
    work.tell(Phase.EMBEDDING, "f0.py", total=100)
    clock.now_ms += 30_000
    work.do(chunks=64)
    last = work.checkpoints()[-1]
    assert last.kind == "embedding"
    assert json.loads(last.state)["chunks_done"] == 64


def test_checkpoints_reach_the_disk_and_other_batches_may_wait(work: Work, ledger: Ledger) -> None:
    work.context.found(PATHS, 1)
    with sync_levels(ledger) as levels:
        work.do(400)
        work.do(100)
        work.do(1)
    assert levels == [1, 2, 1]


def test_a_clock_that_goes_back_a_day_silences_nobody(work: Work, clock: FakeClock) -> None:
    work.context.found(PATHS, 1)
    clock.now_ms -= DAY_MS
    work.do(1)
    for _ in range(4):
        clock.now_ms += 10_000
        work.do(1)
        work.context.beat()
    assert len(work.events("progress")) == 5
    assert len(work.checkpoints()) >= 2
    times = [event.at_ms for event in events_of(work.ledger, work.row)]
    assert times == sorted(times)
    assert work.row.heartbeat_at_ms == clock.now_ms


def test_what_a_crash_would_undo_is_not_shown_as_done(work: Work) -> None:
    work.context.found(PATHS, 1)
    work.do(10)

    class DiskError(Exception):
        pass

    work.context.tally.done += 90
    work.context.tally.files_indexed += 90
    with (
        pytest.raises(DiskError),
        work.ledger.store.accompanied(work.context),
        work.ledger.store.write(),
    ):
        raise DiskError
    assert work.row.files_done == 10
    assert work.events("progress") == []
    assert work.context.on_record()["files_done"] == 10
    work.context.begin()  # the next try, after the wait
    assert work.context.tally.files_indexed == work.context.tally.earlier == 10
    work.context.found(PATHS[10:], 1)
    work.do(90)
    assert work.row.files_done == 100
    assert json.loads(work.row.counts)["files_indexed"] == 100


def test_progress_never_falls_from_try_to_try(work: Work, ledger: Ledger, clock: FakeClock) -> None:
    seen: list[tuple[int, int]] = []

    def look() -> None:
        seen.append((work.row.files_done, work.row.chunks_done))

    work.context.found(PATHS[:300], 1)
    work.do(120)
    look()
    work.context.begin()  # after a wait, in the same process
    work.tell(Phase.SCANNING)
    work.do()  # the scan is stored before it is known what is left
    look()
    work.context.found(PATHS[120:300], 1)
    look()
    work.do(180)
    work.tell(Phase.EMBEDDING, total=100)
    work.do(chunks=64)
    look()
    row = ledger.claim(work.row, "second")  # after a crash
    assert row
    with context_of(ledger, row, clock) as context:
        again = Work(ledger, context)
        assert context.has_begun
        again.do()
        look()
        context.found([], 0)
        look()
        again.tell(Phase.EMBEDDING, total=36)
        again.do(chunks=36)
        look()
        assert (again.row.chunks_done, again.row.chunks_total) == (100, 100)
        assert (again.row.files_done, again.row.files_total) == (300, 300)
        assert json.loads(again.row.counts)["embeddings"] == 100
    assert seen == sorted(seen)
    assert seen[-1] == (300, 100)


def test_files_that_come_and_go_between_tries_keep_the_total_true(
    work: Work, ledger: Ledger, clock: FakeClock
) -> None:
    work.context.found(PATHS[:100], 1)
    work.do(60)
    row = ledger.claim(work.row, "second")
    assert row
    with context_of(ledger, row, clock) as context:
        again = Work(ledger, context)
        context.found([*PATHS[65:100], "new.py"], 1)  # five are gone, one is new
        assert again.row.files_total == 101
        again.do(36)
        assert again.row.files_done == 101


def test_a_beat_says_that_a_job_lives_and_changes_nothing_else(
    work: Work, clock: FakeClock
) -> None:
    work.context.found(PATHS, 1)
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
    work.tell(phase, "large.py")
    work.context.beat()
    assert work.row.waiting is None
    work.context._moved_s -= 7
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
    assert work.context.wait(60)


def test_a_file_that_was_in_hand_at_three_deaths_is_poison(
    ledger: Ledger, clock: FakeClock
) -> None:
    row = claimed(ledger)
    for death in range(3):
        with context_of(ledger, row, clock) as context:
            assert not context.is_poison("evil.py")
            context.holds("evil.py")
        with context_of(ledger, row, clock) as context:
            held = context._hand.taken()
        taken = ledger.claim(row, f"runner {death}", suspects_after_crash(row, held))
        assert taken
        row = taken
    with context_of(ledger, row, clock) as context:
        assert context.is_poison("evil.py")
        assert not context.is_poison("good.py")
        context.holds("")
        assert context._hand.taken() == ""
    assert suspects_after_crash(row, "") == row.suspects


def freeze_and_take_over(ledger: Ledger, other: Ledger, clock: FakeClock) -> None:
    """Pause a job's thread between two writes, take the job over meanwhile, and let it go on."""
    row = claimed(ledger)
    paused, goes_on = threading.Event(), threading.Event()
    outcome: list[str] = []

    def run() -> None:
        with context_of(ledger, row, clock) as context:
            work = Work(ledger, context)
            context.found(PATHS, 1)
            work.do(3)
            paused.set()
            goes_on.wait()
            clock.now_ms += 20_000
            writes: list[Callable[[], object]] = [
                lambda: work.do(1),
                lambda: context.found(PATHS, 1),
                lambda: ledger.block(row, "away", ERROR),
                lambda: ledger.unblock(row),
                lambda: ledger.complete(row, {}, context.on_record()),
                lambda: ledger.fail(row, ERROR, context.on_record()),
                lambda: ledger.cancel(row, context.on_record()),
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
