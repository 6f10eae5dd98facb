"""Troubles: conditions that need action, or make an answer or an index wrong."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.clock import iso_time
from engine.config import load_config
from engine.observing.observer import Observer
from engine.state_records import (
    JobState,
    LoggedProblem,
    ProjectActivity,
    RunnerState,
    ServerStatus,
    WatchState,
    WatchStatus,
)
from tests.support.job_records import job
from web.pages.alerts import alerts_of

_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _ago(**passed: int) -> str:
    return iso_time(int((_NOW - timedelta(**passed)).timestamp() * 1000))


@pytest.fixture
def well(tmp_path: Path) -> ServerStatus:
    (tmp_path / "data").mkdir()
    found = Observer(load_config(tmp_path / "data"), "1").status()
    disk = replace(found.disk, free=500 << 30, total=1000 << 30)
    return replace(found, disk=disk, runner=RunnerState(pid=4711, since=_ago(hours=1)))


def _titles(status: ServerStatus, *activities: ProjectActivity) -> list[str]:
    return [each.title for each in alerts_of(status, activities, _NOW)]


def _activity(name: str = "app", **facts: object) -> ProjectActivity:
    known = ProjectActivity(project_id="a" * 64, path=f"/home/me/{name}", jobs=(), watch=None)
    return replace(known, **facts)  # type: ignore[arg-type]


def test_nothing_is_wrong_with_jobs_that_go_on(well: ServerStatus) -> None:
    running = job(status=JobState.RUNNING, heartbeat_at=_ago(seconds=2))
    slow = "processing a file that takes long, for 26 s"
    busy = job(status=JobState.RUNNING, heartbeat_at=_ago(seconds=2), waiting=slow)
    pending = job(status=JobState.PENDING, waiting="3 jobs run already")
    watch = WatchStatus(state=WatchState.POLLING, reason="too many folders")
    activities = [_activity(jobs=(each,), watch=watch) for each in (running, busy, pending)]
    assert _titles(well, *activities) == []


def test_a_full_disk_and_indexes_that_cannot_be_read(well: ServerStatus) -> None:
    full = replace(well, disk=replace(well.disk, free=1 << 20), damaged=2, newer=1)
    assert _titles(full) == [
        "2 indexes are damaged",
        "An index was made by a newer version of CodeCairn",
        "The disk is full",
    ]


@pytest.mark.parametrize(
    ("status", "waiting", "flagged", "said"),
    [
        (JobState.BLOCKED, "the disk is full", False, "blocked"),
        (JobState.RUNNING, "no update for 3 min 20 s", False, "stuck"),
        (JobState.RUNNING, None, True, "stuck"),
    ],
)
def test_a_job_that_does_not_go_on(
    well: ServerStatus, status: JobState, waiting: str | None, flagged: bool, said: str
) -> None:
    stuck = job(status=status, waiting=waiting, flagged=flagged, path="/home/me/app")
    [found] = alerts_of(well, [_activity(jobs=(stuck,))], _NOW)
    assert found.title == f"Indexing of app is {said}"
    assert found.link == f"/jobs/{stuck.job_id}"
    assert found.advice.startswith(waiting or "it has been active for a long time")


@pytest.mark.parametrize(("waited_s", "heard_s", "is_wrong"), [(60, 40, True), (60, 3, False)])
def test_work_that_nobody_does(
    well: ServerStatus, waited_s: int, heard_s: int, is_wrong: bool
) -> None:
    nobody = replace(well, runner=RunnerState(pid=None, since=None))
    first = job(status=JobState.RUNNING, heartbeat_at=_ago(seconds=heard_s))
    jobs = [replace(each, created_at=_ago(seconds=waited_s)) for each in (first, first)]
    found = _titles(nobody, *(_activity(jobs=(each,)) for each in jobs))
    assert found == (["No job runner is active, 2 jobs waiting"] if is_wrong else [])
    assert _titles(nobody) == []


def test_a_folder_that_is_away(well: ServerStatus) -> None:
    watch = WatchStatus(state=WatchState.WAITING, reason="the folder is gone")
    [found] = alerts_of(well, [_activity(watch=watch)], _NOW)
    assert (found.title, found.advice) == ("app is not watched", "the folder is gone")


def test_changes_that_wait_are_told_once(well: ServerStatus) -> None:
    since = "2026-01-01T00:00:00.000Z"
    watch = WatchStatus(state=WatchState.BLOCKED, reason="it is locked", since=since, pending=30)
    [found] = alerts_of(well, [_activity(watch=watch)], _NOW)
    assert found.title == "Indexing of app is blocked: 30 changes pending"
    assert (found.advice, found.since) == ("it is locked", since)
    [found] = alerts_of(well, [_activity(watch=replace(watch, pending=0))], _NOW)
    assert found.title == "Changes of app cannot be indexed"
    blocked = job(JobState.BLOCKED, waiting="it is locked")
    [found] = alerts_of(well, [_activity(jobs=(blocked,), watch=watch)], _NOW)
    assert found.advice == "it is locked; it continues by itself"


@pytest.mark.parametrize("state", [WatchState.WATCHING, WatchState.POLLING])
def test_a_watcher_that_was_paused_is_not_well(well: ServerStatus, state: WatchState) -> None:
    reason = "indexing was cancelled; it resumes when you index again"
    watch = WatchStatus(state=state, reason=reason, pending=1, paused=True)
    [found] = alerts_of(well, [_activity(watch=watch)], _NOW)
    assert found.title == "app is not watched"
    assert found.advice.startswith(f"paused: {reason}")
    assert _titles(well, _activity(watch=replace(watch, paused=False))) == []


def test_a_history_that_cannot_be_read_is_told_as_that(well: ServerStatus) -> None:
    failed = job(status=JobState.FAILED, path="/home/me/app", kind="history")
    [found] = alerts_of(well, [_activity(failed=failed)], _NOW)
    assert found.title == "Reading the history of app failed"
    stuck = job(path="/home/me/app", kind="history", waiting="the disk is full")
    [found] = alerts_of(well, [_activity(jobs=(stuck,))], _NOW)
    assert found.title == "Reading the history of app is stuck"


def test_many_of_a_kind_are_one_line_in_the_end(well: ServerStatus) -> None:
    failed = job(status=JobState.FAILED, path="/home/me/app")
    found = alerts_of(well, [_activity(failed=failed)] * 9, _NOW)
    assert [each.title for each in found][4:] == ["Indexing of app failed", "4 more like this"]
    assert found[-1].link == "/jobs?status=failed"


def test_what_was_noted_counts_until_it_is_made_good(well: ServerStatus) -> None:
    noted = LoggedProblem(
        at=_ago(minutes=30),
        event="not_indexed",
        level="error",
        message="it is gone",
        project="/home/me/app",
    )
    status = replace(well, problems=(noted, replace(noted, event="x", level="warning")))
    assert _titles(status) == ["A folder could not be indexed: app"]
    done = job(status=JobState.COMPLETED, finished_at=_ago(minutes=20))
    assert _titles(status, _activity(jobs=(done,))) == []
    early = job(status=JobState.COMPLETED, finished_at=_ago(minutes=40))
    assert _titles(status, _activity(jobs=(early,))) != []
    old = replace(well, problems=(replace(noted, at=_ago(minutes=61)),))
    assert _titles(old) == []


def test_a_runner_that_could_not_be_started_is_wrong_until_a_job_is_run(
    well: ServerStatus,
) -> None:
    noted = LoggedProblem(
        at=_ago(minutes=50),
        event="no_runner",
        level="error",
        message="cannot be started",
        project=None,
    )
    nobody = replace(well, runner=RunnerState(pid=None, since=None), problems=(noted,))
    assert _titles(nobody) == ["No job runner is active"]
    early = job(status=JobState.COMPLETED, finished_at=_ago(minutes=55))
    assert _titles(nobody, _activity(jobs=(early,))) == ["No job runner is active"]
    done = job(status=JobState.COMPLETED, finished_at=_ago(minutes=10))
    assert _titles(nobody, _activity(jobs=(done,))) == []
    waits = job(status=JobState.PENDING, created_at=_ago(seconds=60))
    found = _titles(nobody, _activity(jobs=(waits, done)))
    assert found == ["No job runner is active, 1 job waiting"]


def test_a_folder_that_cannot_be_followed_is_wrong_until_it_is_or_is_gone(
    well: ServerStatus,
) -> None:
    noted = LoggedProblem(
        at=_ago(minutes=1),
        event="not_watched",
        level="warning",
        message="permission denied",
        project="/home/me/app",
    )
    status = replace(well, problems=(noted,))
    [found] = alerts_of(status, [_activity(), _activity("other")], _NOW)
    assert (found.title, found.advice) == ("app is not watched", "permission denied")
    watched = _activity(watch=WatchStatus(state=WatchState.WATCHING))
    assert _titles(status, watched) == []
    assert _titles(status, _activity("other")) == []
    old = replace(well, problems=(replace(noted, at=_ago(minutes=61)),))
    assert _titles(old, _activity()) == []
