"""After any storm of changes the index equals the disk: soon with a watcher, at once by a run."""

import math
import shutil
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import load_config
from engine.watch.watcher import Watcher
from tests.support.catalogs import open_catalog
from tests.support.git_trees import git_environment
from tests.support.jobs import until
from tests.support.killing import processes_of
from tests.support.oracle import check_sound
from tests.support.patience import patience
from tests.support.permissions import permissions_hold
from tests.support.storms import Storm, held, wanted
from tests.support.watching import watching, watching_by_jobs

_OPERATIONS = 200
_SOAK_STORMS = 200
_DEADLINE_S = 10.0  # from the last change to an index that equals the disk
_PAUSES_S = (0.03, 0.0, 0.01)  # between two changes, on average
_QUIET_S = 1.5  # without anything new: nothing more will come


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of git and of this program that are nobody's."""
    folder = tmp_path / "user"
    folder.mkdir()
    for name, value in git_environment(folder).items():
        monkeypatch.setenv(name, value)
    return folder


def storm_of(tmp_path: Path, home: Path, seed: int, **sizes: int) -> Storm:
    root, aside = tmp_path / f"tree{seed}", tmp_path / f"aside{seed}"
    root.mkdir()
    aside.mkdir()
    return Storm(root, aside, home, seed=seed, **sizes)


def settled_after_s(watcher: Watcher, file: Path) -> float:
    """Wait until the index seems to change no more, and give when it last did."""
    started_s = changed_s = time.monotonic()
    before = held(file)
    while True:
        time.sleep(0.05)
        now = held(file)
        if now != before:
            before, changed_s = now, time.monotonic()
        waited_s = time.monotonic() - changed_s
        poll_s = (watcher.status.poll_interval_ms or 0) / 1000
        if waited_s > _QUIET_S + poll_s and not watcher.status.pending:
            return changed_s - started_s
        assert time.monotonic() - started_s < patience(3 * _DEADLINE_S), watcher.status


def watched_storm(tmp_path: Path, home: Path, seed: int, **sizes: int) -> float:
    """Let a storm pass over a watched tree and give how long it took to be caught up with.

    Every other one is watched as ``cairn watch`` does it, whose runs are jobs.
    """
    storm = storm_of(tmp_path, home, seed, **sizes)
    config = replace(load_config(tmp_path / f"home{seed}", workers=1), watch_debounce=200)
    with open_catalog(config) as catalog:
        index = catalog.create(str(storm.root))
        file = config.data_dir / f"{index.project_id}.db"
        with permissions_hold(), ExitStack() as ending:
            if seed % 2:
                watcher = ending.enter_context(watching_by_jobs(catalog, index.root))
            else:
                watcher = ending.enter_context(watching(index, config)).watcher
            storm.run(_OPERATIONS, pause_s=_PAUSES_S[seed % len(_PAUSES_S)])
            took_s = settled_after_s(watcher, file)
            await_contents(file, wanted(storm.root, home, tmp_path / f"fresh{seed}"), seed, storm)
    check_sound(file)
    return took_s


def await_contents(file: Path, expected: dict[str, bytes], number: int, storm: Storm) -> None:
    """Wait until the index holds this: on a busy machine it settles later than it seems to."""
    until(
        lambda: held(file) == expected,
        within_s=3 * _DEADLINE_S,
        tells=lambda: (number, difference(held(file), expected), storm.done),
    )


def difference(found: dict[str, bytes], expected: dict[str, bytes]) -> dict[str, str]:
    return {
        path: "ghost" if path not in expected else "lost" if path not in found else "stale"
        for path in found.keys() | expected.keys()
        if found.get(path) != expected.get(path)
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_watched_tree_is_caught_up_with(tmp_path: Path, home: Path, seed: int) -> None:
    assert watched_storm(tmp_path, home, seed) <= patience(_DEADLINE_S)


def changes_of_one_tree(tmp_path: Path, home: Path, rounds: int, operations: int) -> list[float]:
    """Change one tree again and again under the same watcher; how long it took to be caught up."""
    storm = storm_of(tmp_path, home, 7)
    config = replace(load_config(tmp_path / "home7", workers=1), watch_debounce=200)
    took: list[float] = []
    with open_catalog(config) as catalog:
        index = catalog.create(str(storm.root))
        file = config.data_dir / f"{index.project_id}.db"
        with permissions_hold(), watching_by_jobs(catalog, index.root) as watcher:
            for number in range(rounds):
                storm.run(operations, pause_s=_PAUSES_S[number % len(_PAUSES_S)])
                took.append(settled_after_s(watcher, file))
                fresh = tmp_path / f"fresh{number}"
                await_contents(file, wanted(storm.root, home, fresh), number, storm)
                shutil.rmtree(fresh)
    check_sound(file)
    return took


def test_one_watcher_follows_several_storms(tmp_path: Path, home: Path) -> None:
    assert len(changes_of_one_tree(tmp_path, home, 2, 100)) == 2


@pytest.mark.soak
def test_ten_thousand_changes_of_one_tree(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    took = changes_of_one_tree(tmp_path, home, 40, 250)
    with capsys.disabled():
        print(
            f"\n{40 * 250:,} changes of one tree, compared {len(took)} times with a fresh index:"
            f" 0 differences, caught up after p50 {sorted(took)[20]:.2f} s, max {max(took):.2f} s"
        )


@pytest.mark.parametrize("seed", range(3))
def test_one_run_catches_up_with_any_storm(tmp_path: Path, home: Path, seed: int) -> None:
    unwatched_storm(tmp_path, home, seed)


def unwatched_storm(tmp_path: Path, home: Path, seed: int, **sizes: int) -> float:
    """Let a storm pass over an indexed tree and give how long the run took that followed."""
    storm = storm_of(tmp_path, home, seed, **sizes)
    config = load_config(tmp_path / f"home{seed}", workers=1)
    with open_catalog(config) as catalog:
        index = catalog.create(str(storm.root))
        index.index()
        with permissions_hold():
            storm.run(_OPERATIONS // 2)
            index.index()
            storm.run(_OPERATIONS // 2)
        started_s = time.monotonic()
        index.index()
        took_s = time.monotonic() - started_s
    file = config.data_dir / f"{index.project_id}.db"
    found, expected = held(file), wanted(storm.root, home, tmp_path / f"fresh{seed}")
    assert found == expected, (seed, storm.done, difference(found, expected))
    return took_s


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1000, 1000 + _SOAK_STORMS, _SOAK_STORMS // 4))
def test_two_hundred_storms(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str], first: int
) -> None:
    took = []
    for seed in range(first, first + _SOAK_STORMS // 4):
        folder = tmp_path / str(seed)
        big = {"branch_files": 2000, "nested": 300} if seed % 20 == 0 else {}
        for storm in (watched_storm, unwatched_storm):
            folder.mkdir()
            took_s = storm(folder, home, seed, **big)
            for data in folder.glob("home*"):  # a history that is read later
                until(lambda: not processes_of(data))  # noqa: B023
            shutil.rmtree(folder)
            if storm is watched_storm:
                took.append(took_s)
    took.sort()
    p95 = took[math.ceil(len(took) * 0.95) - 1]
    with capsys.disabled():
        print(
            f"\n{len(took)} storms of {_OPERATIONS} changes: caught up after p50"
            f" {took[len(took) // 2]:.2f} s, p95 {p95:.2f} s, max {took[-1]:.2f} s"
        )
    assert p95 <= 3.0
    assert took[-1] <= _DEADLINE_S
