"""The condition of a server: what is said of its disk, its memory, its model and its settings."""

import os
from pathlib import Path

import pytest

from engine.config import SETTINGS, Origin, load_config
from engine.observing.observer import (
    Observer,
    disk_use_of,
    effective_model,
    effective_settings,
    memory_use,
    problems_of,
    runner_of,
)
from engine.telemetry.logs import server_log
from tests.support.jobs import catalog_in
from tests.support.trees import SAMPLE, write_tree


def test_a_server_knows_its_disk_its_model_and_its_versions(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home) as catalog:
        catalog.create(str(write_tree(tmp_path / "app", SAMPLE))).index()
        found = Observer(load_config(home, workers=1), "1.2.3").status()
        size = sum(file.stat().st_size for file in home.glob("*.db*"))
    assert found.versions["CodeCairn"] == "1.2.3"
    assert int(found.versions["schema"]) > 0
    assert (found.model.name, found.model.source, found.model.indexes) == ("static", "built in", 1)
    assert (found.model.dimension or 0) > 100
    assert found.model.identity
    assert found.disk.indexes == size
    assert (found.damaged, found.newer, found.runner.pid) == (0, 0, None)
    assert {each.name: each.origin for each in found.settings}["workers"] is Origin.ARGUMENT


def test_files_of_a_data_directory_are_added_up_by_what_they_are(tmp_path: Path) -> None:
    sizes = {f"{'0' * 64}.db": 10, f"{'0' * 64}.db-wal": 20, "logs/a/b.log": 300}
    sizes |= {"models/m/model.onnx": 4000, "backups/x.db": 50_000, "config.toml": 600_000}
    for name, size in sizes.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "link").symlink_to("/etc/passwd")
    link_bytes = os.lstat(tmp_path / "link").st_size
    found = disk_use_of(tmp_path)
    assert (found.indexes, found.logs, found.models) == (30, 300, 4000)
    assert found.others == 650_000 + link_bytes
    assert found.used == 654_330 + link_bytes
    assert 0 < found.free <= found.total


def test_memory_is_told_in_bytes() -> None:
    found = memory_use()
    assert found.held is None or 5 << 20 < found.held <= found.peak
    assert found.peak > 5 << 20


@pytest.mark.parametrize(
    "model", ["openai:m@https://me:s3cret@host/v1", "openai:m@https://host/v1?key=s3cret"]
)
def test_no_key_in_a_setting_is_told(tmp_path: Path, model: str) -> None:
    config = load_config(tmp_path, model=model)
    told = (effective_settings(config), effective_model(config, {}))
    assert "s3cret" not in repr(told)
    assert "https://host/v1" in repr(told)
    assert told[1].problem


def test_settings_are_told_with_their_units_and_defaults(tmp_path: Path) -> None:
    found = {each.name: each for each in effective_settings(load_config(tmp_path, port=7331))}
    assert list(found) == [setting.name for setting in SETTINGS]
    assert (found["port"].value, found["port"].origin) == ("7331", Origin.ARGUMENT)
    assert (found["embedder_patience"].value, found["embedder_patience"].unit) == ("86,400", "s")
    assert found["embedder_patience"].default == "86,400"
    assert (found["embedder_patience"].number, found["model"].number) == (86_400, None)


def test_problems_are_those_of_the_server_and_not_of_its_clients(tmp_path: Path) -> None:
    log = server_log(tmp_path)
    log.event("request", level="warning", method="GET", route="/x", status=404)
    log.event("request", level="error", method="GET", route="/y", status=500)
    log.event("not_watched", level="warning", project="/home/me/app", reason="it is gone")
    log.event("request", method="GET", route="/", status=200)
    found = {each.event: (each.message, each.project) for each in problems_of(tmp_path)}
    assert found == {
        "not_watched": ("it is gone", "/home/me/app"),
        "request": ("GET /y was answered with 500", None),
    }


def test_an_error_is_told_however_many_warnings_came_since(tmp_path: Path) -> None:
    log = server_log(tmp_path)
    log.event("failure", level="error", reason="KeyError")
    for number in range(600):
        log.event("request", level="warning", method="GET", route="/x", status=404)
        log.event("not_watched", level="warning", project=f"/home/me/{number}", reason="gone")
    log.event("request", level="error", method="GET", route="/y", status=500)
    log.event("request", level="error", method="GET", route="/y", status=500)
    found = problems_of(tmp_path)
    assert {each.event for each in found} == {"failure", "request", "not_watched"}
    assert {each.message: each.times for each in found if each.level == "error"} == {
        "KeyError": 1,
        "GET /y was answered with 500": 2,
    }
    assert [each.at for each in found] == sorted((each.at for each in found), reverse=True)


def test_a_line_without_a_time_is_a_problem_without_one(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for time in ('"yesterday"', '"2026-03-01T12:00:00"', "7"):
        line = f'{{"level": "error", "event": "x", "timestamp": {time}}}\n'
        (tmp_path / "logs/server.log").write_text(line)
        assert [each.at for each in problems_of(tmp_path)] == [""]


def test_the_runner_is_known_by_its_lock(tmp_path: Path) -> None:
    assert runner_of(tmp_path).pid is None
    with catalog_in(tmp_path / "data") as catalog:
        assert catalog.jobs.run_here()
        found = runner_of(tmp_path / "data")
        assert found.pid == os.getpid()
        assert found.since
    assert runner_of(tmp_path / "data").pid is None
