"""Structured logs: whole lines, bounded files, and no failure that reaches a job."""

import json
import multiprocessing
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.telemetry import logs
from engine.telemetry.logs import JobLog, job_log

PROCESSES = 4
DAY_MS = 24 * 3600 * 1000
EVENTS = 300


def lines_of(folder: Path, name: str = "runner.log") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def test_an_event_is_one_object_with_its_time(tmp_path: Path) -> None:
    log = JobLog(tmp_path / "logs", lambda: 1_760_034_615_250)
    log.event("paused", level="warning", job_id="j1", project="/r", reason="away", files_done=3)
    log.event("runner_started")
    assert lines_of(tmp_path / "logs") == [
        {
            "reason": "away",
            "files_done": 3,
            "timestamp": "2025-10-09T18:30:15.250Z",
            "level": "warning",
            "event": "paused",
            "job_id": "j1",
            "project": "/r",
        },
        {"timestamp": "2025-10-09T18:30:15.250Z", "level": "info", "event": "runner_started"},
    ]
    path = tmp_path / "logs" / "runner.log"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_whatever_it_is_told_stays_on_one_line(tmp_path: Path) -> None:
    log = job_log(tmp_path)
    circle: list[object] = []
    circle.append(circle)
    log.event("a", path="new\nline\x1b[0m", name="\udcff", folder=Path("/x"), numbers=[1, {"b": 2}])
    log.event("b", circle=circle)
    log.event("c", text="x" * 100_000)
    first, second = lines_of(tmp_path / "logs")
    assert first["path"] == "new\nline\x1b[0m"
    assert (first["name"], first["folder"], first["numbers"]) == ("?", "/x", [1, {"b": 2}])
    assert (second["event"], second["context"]) == ("c", "too long to be kept")


def test_old_events_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_LIMIT_BYTES", 1000)
    log = job_log(tmp_path)
    for number in range(100):
        log.event("progress", number=number)
    folder = tmp_path / "logs"
    assert sorted(file.name for file in folder.iterdir()) == [
        "runner.log",
        "runner.log.1",
        "runner.log.2",
    ]
    assert all(file.stat().st_size <= 1000 for file in folder.iterdir())
    kept = [line["number"] for each in (".2", ".1", "") for line in lines_of(folder, _named(each))]
    assert kept == list(range(kept[0], 100))
    assert len(kept) > 20


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder is to be")
    job_log(tmp_path).event("started")
    (tmp_path / "home" / "logs" / "runner.log").mkdir(parents=True)
    job_log(tmp_path / "home").event("started")
    JobLog(Path("/dev/full/logs")).event("started")


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(tmp_path, each)) for each in range(PROCESSES)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    seen = [(line["writer"], line["number"]) for line in lines_of(tmp_path / "logs")]
    assert sorted(seen) == [(w, number) for w in range(PROCESSES) for number in range(EVENTS)]


def test_no_event_is_lost_when_writers_make_room_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_LIMIT_BYTES", 1000)
    monkeypatch.setattr(logs, "_KEPT", 500)

    def write(writer: int) -> None:
        log = job_log(tmp_path)
        for number in range(EVENTS):
            log.event("progress", writer=writer, number=number)

    with ThreadPoolExecutor(PROCESSES) as threads:
        list(threads.map(write, range(PROCESSES)))
    folder = tmp_path / "logs"
    seen = [
        (line["writer"], line["number"])
        for file in folder.iterdir()
        for line in lines_of(folder, file.name)
    ]
    assert sorted(seen) == [(w, number) for w in range(PROCESSES) for number in range(EVENTS)]


def _named(suffix: str) -> str:
    return f"runner.log{suffix}"


def _write(folder: Path, writer: int) -> None:
    log = job_log(folder)
    for number in range(EVENTS):
        log.event("progress", writer=writer, number=number, filling="x" * 50)


def test_lines_go_with_age_a_file_at_a_time(tmp_path: Path) -> None:
    now_ms = 1_760_034_615_250
    day_ms = now_ms
    log = JobLog(tmp_path, lambda: day_ms)
    kept: list[list[int]] = []
    for day in range(10):
        day_ms = now_ms + day * DAY_MS
        log.event("lived", day=day)
        for file in tmp_path.iterdir():  # the disk has the clock of the test
            newest = max(json.loads(line)["day"] for line in file.read_text().splitlines())
            os.utime(file, ns=(0, (now_ms + newest * DAY_MS) * 1_000_000))
        log.forget(4 * DAY_MS)
        names = sorted(tmp_path.iterdir(), reverse=True)
        kept.append([each["day"] for name in names for each in lines_of(tmp_path, name.name)])
    for day, days in enumerate(kept):
        assert days == sorted(days)
        assert set(range(max(0, day - 4), day + 1)) <= set(days)  # each stays for its time
        assert min(days) >= day - 7  # and for half of it and a day longer at most


def test_what_is_no_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "runner.log").write_bytes(b"\xff no line of ours\n")
    log = JobLog(tmp_path, lambda: 1_760_034_615_250)
    log.forget(DAY_MS)
    assert (tmp_path / "runner.log").read_bytes() == b"\xff no line of ours\n"
    JobLog(tmp_path / "none").forget(DAY_MS)
    assert not (tmp_path / "none").exists()


def test_recent_events_of_a_level_come_newest_first_also_from_the_file_put_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_LIMIT_BYTES", 4000)
    log = JobLog(tmp_path)
    for number in range(40):
        log.event("request", status=200)
        log.event("failure", level="error" if number % 2 else "warning", reason=f"no {number}")
    assert (tmp_path / "runner.log.1").exists()
    with open(tmp_path / "runner.log", "a", encoding="utf-8") as file:
        file.write('{"level": "error", "event": "torn')
    found = log.recent("error", 30)
    assert [each["reason"] for each in found[:3]] == ["no 39", "no 37", "no 35"]
    assert {each["level"] for each in found} == {"error"}
    assert len(found) > 5
    assert len(log.recent("warning", 4)) == 4
    assert JobLog(tmp_path / "nowhere").recent("error", 4) == []


def test_what_matters_is_found_behind_megabytes_of_the_rest(tmp_path: Path) -> None:
    log = JobLog(tmp_path)
    log.event("request", level="error", status=500)
    log.event("not_watched", level="warning")
    for _ in range(6000):
        log.event("request", level="warning", status=404, route="/" + "x" * 200)
    assert (tmp_path / "runner.log.1").exists()
    assert [each["status"] for each in log.recent("error", 5)] == [500]
    told = log.recent("warning", 5, but="request")
    assert [each["event"] for each in told] == ["not_watched"]
