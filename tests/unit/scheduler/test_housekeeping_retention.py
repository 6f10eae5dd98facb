"""How long jobs are remembered, on database files."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from engine.jobs.ledger import Ledger
from engine.jobs.operation_log import FORCED_CLEAN, VERIFIED_SOUND, found_damage
from engine.scheduler.housekeeping import (
    DAY_MS,
    Pruned,
    prune,
    prune_logs_of_others,
    prune_watch_jobs,
)
from engine.state_records import JobOrigin
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import JobRow, JobSearch

NOW_MS = 1_800_000_000_000
WEEK_MS = 7 * DAY_MS
PROJECT_ID = "ab" * 32
PART = {"only": ["a.py"]}


class Past:
    """A project whose clock a test sets."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = NOW_MS
        self.store = Store(folder / f"{PROJECT_ID}.db", busy_timeout_ms=1000, create=True)
        self.logs = folder / "logs" / PROJECT_ID
        self.logs.mkdir(parents=True)
        with self.store.write() as handle:
            project.insert_project(
                handle, project_id=PROJECT_ID, root=b"/r", max_file_size=1, now_ms=1
            )
        self.ledger = Ledger(self.store, PROJECT_ID, lambda: self.now_ms)

    def ended(
        self,
        ago_ms: int,
        *,
        log: str | None = None,
        ended: str = "complete",
        kind: str = "index",
        parameters: Mapping[str, object] | None = None,
    ) -> JobRow:
        """Have a job that ended so long ago."""
        self.now_ms = NOW_MS - ago_ms
        row = self.running(parameters, kind)
        changes = {"log": log}
        if ended == "complete":
            self.ledger.complete(row, {}, changes)
        elif ended == "fail":
            self.ledger.fail(row, {"error": "unavailable"}, changes)
        else:
            self.ledger.cancel(row, changes)
        self.now_ms = NOW_MS
        return row

    def running(
        self, parameters: Mapping[str, object] | None = None, kind: str = "index"
    ) -> JobRow:
        row = self.ledger.claim(self.ledger.enqueue(parameters or {}, kind=kind).row, "runner")
        assert row
        return row

    def prune(self, now_ms: int = NOW_MS) -> Pruned:
        return prune(self.store, self.logs, now_ms=now_ms, retention_ms=WEEK_MS)

    def ids(self) -> set[int]:
        with self.store.read() as handle:
            return {row.id for row in jobs.search_jobs(handle, JobSearch(), 10_000)}

    def events(self, row: JobRow) -> list[str]:
        with self.store.read() as handle:
            return [event.type for event in jobs.read_events(handle, row.id, limit=100)]

    def log(self, name: str, ago_ms: int) -> Path:
        file = self.logs / name
        file.write_text("log")
        when_ns = (NOW_MS - ago_ms) * 1_000_000
        os.utime(file, ns=(when_ns, when_ns))
        return file


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    made = Past(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("ended", ["complete", "fail", "cancel"])
def test_jobs_are_kept_for_seven_days_after_their_end(past: Past, ended: str) -> None:
    old = past.ended(WEEK_MS + 1000, ended=ended, parameters=PART)
    kept = past.ended(WEEK_MS - 1000, ended=ended, parameters=PART)
    assert past.events(old)[-1] in ("completed", "failed", "cancelled")
    assert past.prune() == Pruned(removed=1)
    assert past.ids() == {kept.id}
    assert past.events(old) == []
    assert past.events(kept)
    assert past.prune() == Pruned()
    assert past.prune(NOW_MS + 1000 + 1) == Pruned(removed=1)
    assert past.ids() == set()


@pytest.mark.parametrize("kind", ["index", "history"])
def test_what_a_user_stopped_is_kept_until_it_has_run_again(past: Past, kind: str) -> None:
    """A watcher starts it by itself only if it knows of no stop."""
    past.ended(WEEK_MS + 3000, ended="cancel", kind=kind)
    stopped = past.ended(WEEK_MS + 2000, ended="cancel", kind=kind)
    for parameters in (PART, {"branch": "side"}):
        past.ended(WEEK_MS + 1000, parameters=parameters)
    assert past.prune() == Pruned(removed=3)
    assert past.prune(NOW_MS + 99 * DAY_MS) == Pruned()
    assert past.ids() == {stopped.id}
    past.ended(-99 * DAY_MS, kind=kind)
    assert past.prune(NOW_MS + 100 * DAY_MS) == Pruned(removed=1)
    assert stopped.id not in past.ids()


@pytest.mark.parametrize("kind", ["index", "history"])
def test_what_made_way_and_goes_on_by_itself_goes_like_other_jobs(past: Past, kind: str) -> None:
    row = past.ended(WEEK_MS + 1000, ended="cancel", kind=kind)
    with past.store.write(bookkeeping=True) as handle:
        jobs.update_job(handle, row.id, {"waiting": "a request goes first"})
    assert past.prune() == Pruned(removed=1)


def test_a_job_whose_parameters_are_damaged_keeps_no_other(past: Past) -> None:
    row = past.ended(WEEK_MS + 2000, ended="cancel")
    past.ended(WEEK_MS + 1000, ended="cancel")
    with past.store.write(bookkeeping=True) as handle:
        handle.execute("UPDATE jobs SET parameters = '{' WHERE id > ?", (row.id,))
    assert past.prune() == Pruned(removed=1)
    assert past.ids() == {row.id}


def test_checkpoints_go_with_their_job(past: Past) -> None:
    row = past.ended(WEEK_MS + 1000)
    with past.store.write(bookkeeping=True) as handle:
        jobs.insert_checkpoint(handle, row.id, jobs.CheckpointRow("position", 1, "{}", None))
    past.prune()
    with past.store.read() as handle:
        for table in ("jobs", "job_events", "job_checkpoints"):
            assert handle.execute(f"SELECT count(*) FROM {table}").get == 0


def test_an_active_job_is_flagged_once_and_stays(past: Past) -> None:
    past.now_ms = NOW_MS - 30 * DAY_MS
    row = past.running()
    past.now_ms = NOW_MS
    assert past.prune() == Pruned(flagged=1)
    assert past.prune(NOW_MS + DAY_MS) == Pruned()
    found = past.ledger.find(row.uuid)
    assert (found.state, found.flagged_at_ms) == ("running", NOW_MS)
    assert past.events(row) == ["created", "started", "flagged"]
    # It can still come to its end, and is forgotten a week later like any other.
    past.ledger.complete(row, {}, {})
    assert past.prune(NOW_MS + WEEK_MS - 1000) == Pruned()
    assert past.prune(NOW_MS + WEEK_MS + 1000) == Pruned(removed=1)


@pytest.mark.parametrize("state", ["pending", "running", "blocked"])
def test_what_counts_is_how_long_a_job_is_active(past: Past, state: str) -> None:
    past.now_ms = NOW_MS - WEEK_MS + 1000
    row = past.ledger.enqueue({}, origin=JobOrigin.WATCH).row
    if state != "pending":
        claimed = past.ledger.claim(row, "runner")
        assert claimed
        if state == "blocked":
            past.ledger.block(claimed, "away", {})
    assert past.prune(NOW_MS) == Pruned()
    assert past.prune(NOW_MS + 1001) == Pruned(flagged=1)
    assert past.ledger.find(row.uuid).state == state


def test_a_pending_job_that_starts_late_counts_from_its_start(past: Past) -> None:
    past.now_ms = NOW_MS - 8 * DAY_MS
    row = past.ledger.enqueue({}).row
    past.now_ms = NOW_MS - DAY_MS
    past.ledger.claim(row, "runner")
    assert past.prune() == Pruned()


def test_times_to_come_break_nothing(past: Past) -> None:
    later = past.ended(-400 * DAY_MS)
    old = past.ended(WEEK_MS + 1000)
    past.now_ms = NOW_MS + 500 * DAY_MS
    active = past.running()
    assert past.prune() == Pruned(removed=1)
    assert past.ids() == {later.id, active.id}
    assert past.events(old) == []
    assert past.prune(0) == Pruned()  # a clock that begins anew


def test_operation_logs_go_with_their_job(past: Past) -> None:
    gone = past.log("completed-2027-01-01-00-00-00.log", WEEK_MS + 1000)
    kept = past.log("failed-2027-01-02-00-00-00.log", WEEK_MS + 1000)
    past.ended(WEEK_MS + 1000, log=gone.name)
    past.ended(WEEK_MS - 1000, log=kept.name)
    past.ended(WEEK_MS + 2000, log="../../precious.log")
    precious = past.logs.parents[1] / "precious.log"
    precious.write_text("not a log of ours")
    assert past.prune() == Pruned(removed=2)
    assert [file.name for file in past.logs.iterdir()] == [kept.name]
    assert precious.exists()


def test_logs_that_belong_to_nothing_go_by_their_age(past: Past) -> None:
    past.log("verify-2027-01-01-00-00-00.log", WEEK_MS + 1000)
    past.log(".completed-2027-01-01-00-00-00.log.17", WEEK_MS + 1000)
    young = past.log("verify-2027-01-08-00-00-00-2.log", WEEK_MS - 1000)
    notes = past.log("my notes.txt", 99 * DAY_MS)
    assert past.prune() == Pruned(logs=2)
    assert {file.name for file in past.logs.iterdir()} == {young.name, notes.name}


def test_the_check_that_found_damage_stays_until_another_ends_well(past: Past) -> None:
    """Nothing else says that the index is damaged."""
    past.log("verify-2027-01-01-00-00-00.log", WEEK_MS + 2000)
    damaged = past.log("verify-2027-01-02-00-00-00.log", WEEK_MS + 1000)
    damaged.write_text("VERIFY COMPLETE: damaged\n")
    os.utime(damaged, (0, 0))
    assert past.prune() == Pruned(logs=1)
    assert found_damage(past.logs)
    sound = past.log("verify-2027-01-03-00-00-00.log", WEEK_MS + 500)
    sound.write_text(f"{VERIFIED_SOUND}\n")
    os.utime(sound, (0, 0))
    assert past.prune() == Pruned(logs=2)
    assert not found_damage(past.logs)


def test_a_check_that_found_damage_goes_with_the_rebuild_that_removed_it(past: Past) -> None:
    damaged = past.log("verify-2027-01-01-00-00-00.log", WEEK_MS + 2000)
    damaged.write_text("VERIFY COMPLETE: damaged\n")
    os.utime(damaged, (0, 0))
    rebuilt = past.log("completed-2027-01-01-00-05-00.log", WEEK_MS + 1000)
    rebuilt.write_text(f"{FORCED_CLEAN}\n")
    past.ended(WEEK_MS + 1000, log=rebuilt.name)
    assert not found_damage(past.logs)
    assert past.prune() == Pruned(removed=1, logs=1)
    assert not found_damage(past.logs)
    assert [*past.logs.iterdir()] == []


def test_logs_of_projects_that_are_gone_go_by_their_age(past: Past, tmp_path: Path) -> None:
    logs = past.logs.parent
    past.log("completed-2027-01-01-00-00-00.log", WEEK_MS + 1000)
    for letter, ago_ms in (("c", WEEK_MS + 1), ("d", WEEK_MS - 1)):
        folder = logs / (letter * 64)
        folder.mkdir()
        file = past.log("moved", ago_ms).rename(folder / "failed-2027-01-01-00-00-00.log")
        assert file.exists()
    (logs / "cairn.log").write_text("")
    before_ms = NOW_MS - WEEK_MS
    assert prune_logs_of_others(logs, frozenset({PROJECT_ID}), before_ms=before_ms) == 1
    assert sorted(path.name for path in logs.iterdir()) == [PROJECT_ID, "cairn.log", "d" * 64]
    assert prune_logs_of_others(tmp_path / "missing", frozenset(), before_ms=before_ms) == 0


def test_a_log_that_is_written_while_its_folder_is_deleted_stays(tmp_path: Path) -> None:
    log = tmp_path / ("c" * 64) / "verify-2027-01-01-00-00-00.log"
    is_over = threading.Event()

    def prune_all_the_time() -> None:
        while not is_over.is_set():
            prune_logs_of_others(tmp_path, frozenset(), before_ms=0)

    pruner = threading.Thread(target=prune_all_the_time)
    pruner.start()
    lost = 0
    try:
        for _ in range(3000):
            with suppress(FileExistsError):
                log.parent.mkdir()
            with suppress(FileNotFoundError):  # the empty folder was deleted first
                log.touch()
                try:
                    log.unlink()
                except FileNotFoundError:
                    lost += 1
    finally:
        is_over.set()
        pruner.join()
    assert lost == 0


def test_many_jobs_go_a_few_at_a_time(past: Past) -> None:
    with past.store.write(bookkeeping=True) as handle:
        handle.execute(
            """WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
               INSERT INTO jobs (uuid, kind, origin, parameters, state, created_at_ms,
                                 finished_at_ms, result)
               SELECT printf('%036d', i), 'index', 'request', '{}', 'completed', i, i, '{}'
               FROM n"""
        )
        handle.execute(
            """INSERT INTO job_events (job_id, sequence, type, at_ms, context)
               SELECT j.id, e.value, 'progress', 1, printf('%200d', 1)
               FROM jobs j, json_each('[1,2,3,4,5,6,7,8,9,10]') e"""
        )
    with past.store.read() as handle:
        before = project.count_changes(handle)
    assert past.prune() == Pruned(removed=1000)
    assert past.ids() == set()
    with past.store.read() as handle:
        assert project.count_changes(handle) == before  # what readers keep still holds
        assert handle.execute("SELECT count(*) FROM job_events").get == 0


def test_of_a_watchers_jobs_the_last_that_went_well_are_kept(past: Past) -> None:
    def watched(ended: str = "complete") -> JobRow:
        row = past.ledger.claim(past.ledger.enqueue(PART, origin=JobOrigin.WATCH).row, "runner")
        assert row
        if ended == "complete":
            past.ledger.complete(row, {}, {})
        else:
            past.ledger.fail(row, {"error": "unavailable"}, {})
        return row

    asked = past.ended(5)
    failed = watched("fail")
    rows = [watched() for _ in range(39)]
    assert prune_watch_jobs(past.store) == 0
    rows.append(watched())
    assert prune_watch_jobs(past.store) == 10
    assert past.ids() == {asked.id, failed.id, *(row.id for row in rows[10:])}
    assert past.events(rows[0]) == []
    assert prune_watch_jobs(past.store) == 0


def test_a_watchers_last_run_over_everything_is_kept(past: Past) -> None:
    """Without it, an older one that a user stopped would count as the last."""
    stopped = past.ended(5, ended="cancel")
    for parameters in ({}, {}, *[PART] * 40):
        past.now_ms += 1
        row = past.ledger.claim(
            past.ledger.enqueue(parameters, origin=JobOrigin.WATCH).row, "runner"
        )
        assert row
        past.ledger.complete(row, {}, {})
    assert prune_watch_jobs(past.store) == 11  # and ten of the parts
    assert {stopped.id, stopped.id + 2} < past.ids()
    assert stopped.id + 1 not in past.ids()
