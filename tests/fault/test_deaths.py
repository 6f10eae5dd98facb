"""A process that dies at any of the named places: what is there is sound, and is completed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.faults import (
    ATOMIC_FILE_FAULT_POINTS,
    DOCTOR_FAULT_POINTS,
    FAULT_POINTS,
    JOB_FAULT_POINTS,
    REBUILD_FAULT_POINTS,
)
from engine.store.migrate import newest
from tests.support.command import ROOT, Command
from tests.support.faults.deaths import Deaths
from tests.support.faults.stage import OPERATIONS, Operation, Stage
from tests.support.oracle import check_sound, contents, version_of

#: The operation that reaches a point; else it is the first index.
_WHERE = {
    "seed copied": "worktree",
    "seed adopted": "worktree",
    "seed linked": "worktree",
    "migration backed up": "migration",
    "migration stepped": "migration",
    "batch files": "built-in model",
    "orphans deleted": "changes",
    "model switched": "model switch",
    "model shrunk": "model switch",
    "block emptied": "holes",
    "compaction begun": "holes",
    "compaction done": "holes",
    "contents deleted": "clear",
    "wal deleted": "forget",
}
#: Of the command these end a parsing process, and so cost a file: ``test_workers`` looks at that.
_IN_WORKERS = ("inspect", "parse")
_BY_NAME = {operation.name: operation for operation in OPERATIONS}
_TIMES = 3


@pytest.fixture(scope="module")
def deaths() -> Iterator[Deaths]:
    """Processes that are ready to die."""
    with Deaths() as deaths:
        yield deaths


def check_completed(stage: Stage, operation: Operation, wanted: dict[str, object]) -> None:
    """Fail unless what a death has left is sound, and doing it again leaves what is wanted."""
    if version_of(stage.database) == newest():
        check_sound(stage.database)
    with stage.catalog(model=operation.model) as catalog:
        operation.act(stage, catalog)
    if operation.is_kept:
        check_sound(stage.database)
        assert contents(stage.database) == wanted
    left = [
        file.name for file in stage.home.iterdir() if re.search("seed-|part-|beside-", file.name)
    ]
    assert left == []


def list_request_of(stage: Stage, operation: Operation) -> dict[str, object]:
    """Prepare a stage, and give what the operation leads to when nobody dies."""
    operation.prepare(stage)
    if operation.is_filled:
        return stage.fresh_contents(operation.model)
    stage.restore()
    with stage.catalog(model=operation.model) as catalog:
        operation.act(stage, catalog)
    return contents(stage.database)


@pytest.mark.parametrize("point", [*FAULT_POINTS, *REBUILD_FAULT_POINTS])
def test_a_death_at_each_point(tmp_path: Path, deaths: Deaths, point: str) -> None:
    usual = "rebuild" if point in REBUILD_FAULT_POINTS else "first index"
    operation = _BY_NAME[_WHERE.get(point, usual)]
    stage = Stage(folder=tmp_path)
    wanted = list_request_of(stage, operation)
    for number in range(1, _TIMES + 1):
        stage.restore()
        died = deaths.dies(stage, operation, f"{point}@{number}")
        assert died or number > 1, "nothing reaches this point"
        check_completed(stage, operation, wanted)


def test_all_points_are_named_and_none_twice() -> None:
    sources = "".join(file.read_text("utf-8") for file in (ROOT / "engine").rglob("*.py"))
    used = re.findall(r'\bfault_point\("([^"]+)"', sources)
    named = (
        *FAULT_POINTS,
        *ATOMIC_FILE_FAULT_POINTS,
        *REBUILD_FAULT_POINTS,
        *JOB_FAULT_POINTS,
        *DOCTOR_FAULT_POINTS,
    )
    assert sorted(used) == sorted(named)


@pytest.mark.parametrize("point", ["transaction filled", "batch files", "checkpoint begun"])
def test_the_command_dies(tmp_path: Path, point: str) -> None:
    """As above, with the parsing processes."""
    die_and_complete(tmp_path, point, 1)


def die_and_complete(folder: Path, point: str, number: int) -> bool:
    """Let ``cairn index`` die at a point, then complete it; say whether it died."""
    operation = _BY_NAME["built-in model"]
    stage = Stage(folder=folder, model="static")
    wanted = list_request_of(stage, operation)
    stage.restore()
    fault = {"CAIRN_FAULT": f"die:{point}@{number}", "CAIRN_BATCH_BYTES": "65536"}
    command = Command(home=stage.home, folder=stage.tree, variables=fault)
    code = command("index", "--quiet").code
    assert code in (0, 86)
    check_completed(stage, operation, wanted)
    return code == 86


@pytest.mark.soak
@pytest.mark.parametrize("number", range(1, _TIMES + 1))
def test_the_command_dies_at_each_point(tmp_path: Path, number: int) -> None:
    died = [
        point
        for point in FAULT_POINTS
        if point not in _IN_WORKERS
        and die_and_complete(tmp_path / point.replace(" ", "-"), point, number)
    ]
    assert died
    print(f"{len(died)} deaths of cairn index at {', '.join(died)}: all sound, all completed")
