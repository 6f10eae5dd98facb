"""A claimed job while it runs: what it writes with the rows of its work, and when."""

import json
import statistics
import time

import pytest

from engine.index_records import Phase
from engine.jobs.ledger import Ledger
from engine.state_records import CheckpointKind, JobOrigin
from engine.store.compression import unpack_paths
from tests.support.ledger import DAY_MS, FakeClock, context_of, events_of, sync_levels
from tests.support.patience import patience
from tests.support.work import Work

PATHS = [f"f{n}.py" for n in range(2000)]


def test_what_was_asked_for(work: Work) -> None:
    assert work.context.origin is JobOrigin.REQUEST
    assert work.context.parameters == {"n": 1}
    assert not work.context.has_begun
    assert not work.context.cancelled()


def test_the_list_of_files_is_kept_before_any_is_read(work: Work) -> None:
    work.context.record_files(PATHS[:3], 300)
    [list_] = work.checkpoints()
    assert list_.kind == CheckpointKind.FILE_LIST
    assert list_.packed is not None
    assert unpack_paths(list_.packed) == PATHS[:3]
    assert json.loads(list_.state) == {"files": 3, "bytes": 300, "files_total": 3}
    assert (work.row.files_done, work.row.files_total) == (0, 3)
    [told] = work.events("checkpoint")
    assert (told["kind"], told["files_processed"], told["files_total"]) == ("file_list", 0, 3)


def test_bytes_are_counted_over_attempts_and_only_when_they_are_kept(work: Work) -> None:
    def bytes_of() -> tuple[int, int]:
        counts = json.loads(work.row.counts)
        return counts["bytes_done"], counts["bytes_total"]

    work.context.record_files(PATHS[:4], 1000)
    assert bytes_of() == (0, 1000)
    work.context.tally.bytes_done = 700
    work.do(1)
    work.context.tally.bytes_done = 900  # is lost
    assert bytes_of() == (700, 1000)
    work.context.begin()
    work.context.record_files(PATHS[1:4], 300)
    assert bytes_of() == (700, 1000)
    work.context.tally.bytes_done = 300
    work.do(3)
    assert bytes_of() == (1000, 1000)


def test_a_long_scan_makes_no_checkpoint_before_the_list(work: Work, clock: FakeClock) -> None:
    work.tell(Phase.SCANNING, "somewhere/ignored")
    clock.now_ms += 60_000
    work.do()
    assert work.checkpoints() == []
    work.context.record_files(PATHS, 1)
    work.tell(Phase.PARSING, "f7.py")
    work.do(1)
    assert [each.kind for each in work.checkpoints()] == ["file_list", "position"]
    assert json.loads(work.checkpoints()[1].state)["path"] == "f7.py"


def test_progress_is_told_every_hundred_files_and_every_ten_seconds(
    work: Work, clock: FakeClock
) -> None:
    work.context.record_files(PATHS, 1)
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
    work.context.record_files(PATHS[:10], 1)
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
    work.context.record_files(PATHS, 1)
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
    work.context.record_files(PATHS[:1], 1)
    work.do(1)
    work.tell(Phase.EMBEDDING, "f0.py", total=100)
    clock.now_ms += 30_000
    work.do(chunks=64)
    last = work.checkpoints()[-1]
    assert last.kind == "embedding"
    assert json.loads(last.state)["chunks_done"] == 64


def test_checkpoints_reach_the_disk_and_other_batches_may_wait(work: Work, ledger: Ledger) -> None:
    work.context.record_files(PATHS, 1)
    with sync_levels(ledger) as levels:
        work.do(400)
        work.do(100)
        work.do(1)
    assert levels == [1, 2, 1]


def test_a_checkpoint_is_written_in_50_ms(work: Work) -> None:
    work.context.record_files([f"src/package_{n % 97}/module_{n}.py" for n in range(15_000)], 1)
    before, taken = len(work.checkpoints()), []  # seconds of work, whatever else runs here
    for _ in range(15):
        started_s = time.thread_time()
        work.do(500)
        taken.append(time.thread_time() - started_s)
    assert len(work.checkpoints()) == before + 15
    assert statistics.median(taken) < patience(0.05)


def test_a_clock_that_goes_back_a_day_silences_nobody(work: Work, clock: FakeClock) -> None:
    work.context.record_files(PATHS, 1)
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
    work.context.record_files(PATHS, 1)
    work.do(10)

    class DiskError(Exception):
        pass

    work.context.tally.done += 90
    work.context.tally.files_indexed += 90
    with (
        pytest.raises(DiskError),
        work.ledger.store.with_hook(work.context),
        work.ledger.store.write(),
    ):
        raise DiskError
    assert work.row.files_done == 10
    assert work.events("progress") == []
    assert work.context.committed_progress()["files_done"] == 10
    work.context.begin()  # the next try, after the wait
    assert work.context.tally.files_indexed == work.context.tally.earlier == 10
    work.context.record_files(PATHS[10:], 1)
    work.do(90)
    assert work.row.files_done == 100
    assert json.loads(work.row.counts)["files_indexed"] == 100


def test_progress_never_falls_from_try_to_try(work: Work, ledger: Ledger, clock: FakeClock) -> None:
    seen: list[tuple[int, int]] = []

    def look() -> None:
        seen.append((work.row.files_done, work.row.chunks_done))

    work.context.record_files(PATHS[:300], 1)
    work.do(120)
    look()
    work.context.begin()  # after a wait, in the same process
    work.tell(Phase.SCANNING)
    work.do()  # the scan is stored before it is known what is left
    look()
    work.context.record_files(PATHS[120:300], 1)
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
        context.record_files([], 0)
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
    work.context.record_files(PATHS[:100], 1)
    work.do(60)
    row = ledger.claim(work.row, "second")
    assert row
    with context_of(ledger, row, clock) as context:
        again = Work(ledger, context)
        context.record_files([*PATHS[65:100], "new.py"], 1)  # five are gone, one is new
        assert again.row.files_total == 101
        again.do(36)
        assert again.row.files_done == 101
