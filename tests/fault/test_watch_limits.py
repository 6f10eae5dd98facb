"""The watcher where the system gives it no watches, and in bursts that are too large for events."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import load_config
from engine.project import Project
from engine.search_records import SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.git_trees import git_environment, run_git
from tests.support.storms import held
from tests.support.trees import write_tree
from tests.support.watching import await_true, watching

ROOT = Path(__file__).resolve().parents[2]

#: Runs in a user namespace, whose limits are its own: ``sysctl`` for this process alone.
_LIMITED = """
import json, sys
from dataclasses import replace
from pathlib import Path
from engine.catalog import Catalog
from engine.config import load_config
from engine.state_records import WatchState
from tests.support.storms import held
from tests.support.watching import await_true, watching

limit = Path("/proc/sys/user/", sys.argv[2])
before = limit.read_text()
limit.write_text(sys.argv[3])
tree = Path(sys.argv[1])
config = replace(load_config(tree.with_name("home"), workers=1), watch_reconcile=5)
with Catalog(config) as catalog:
    index = catalog.create(str(tree))
    file = config.data_dir / f"{index.project_id}.db"
    with watching(index, config) as seen:
        polling = seen.await_state(WatchState.POLLING)
        (tree / "f7" / "new.py").write_text("new = 1")
        await_true(lambda: "f7/new.py" in held(file))
        print(json.dumps([polling.state, polling.reason, polling.poll_interval_ms]))
        limit.write_text(before)
        watched = seen.await_state(WatchState.WATCHING)
        print(json.dumps([watched.state, watched.reason, watched.folders]))
"""


def has_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "-Ur", "true"], check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not has_namespaces(), reason="no user namespaces here")
@pytest.mark.parametrize(
    ("limit", "value"), [("max_inotify_watches", "10"), ("max_inotify_instances", "0")]
)
def test_without_watches_it_polls_and_says_what_to_do(
    tmp_path: Path, limit: str, value: str
) -> None:
    write_tree(tmp_path / "tree", {f"f{number}/a.py": "a = 1\n" for number in range(20)})
    ended = subprocess.run(
        ["unshare", "-Ur", sys.executable, "-c", _LIMITED, str(tmp_path / "tree"), limit, value],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    polling, watching_again = (json.loads(line) for line in ended.stdout.splitlines())
    assert polling[0] == "polling"
    assert "sysctl fs.inotify.max_user_watches" in polling[1]
    assert 2000 <= polling[2] <= 60_000
    assert watching_again[:2] == ["watching", ""]
    assert watching_again[2] >= 21


def test_a_burst_is_one_comparison(tmp_path: Path) -> None:
    burst(tmp_path, 3000)


@pytest.mark.soak
def test_a_burst_of_sixty_thousand_files(tmp_path: Path) -> None:
    burst(tmp_path, 60_000)


def burst(tmp_path: Path, number: int) -> None:
    tree = tmp_path / "tree"
    write_tree(tree, {"a.py": "a = 1\n"})
    (tree / "made").mkdir()
    config = load_config(tmp_path / "home")
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        with watching(index, config) as seen:
            began_s = time.monotonic()
            for each in range(number):
                (tree / f"made/f{each}.py").write_text(f"x = {each}\n")
            await_true(lambda: index.status().files == number + 1, patience_s=300)
            await_true(lambda: seen.watcher.status.pending == 0)
            pauses = (time.monotonic() - began_s) * 1000 / config.watch_debounce
            assert len(seen.runs.asked) <= 2 + number / 500 + pauses  # which a slow disk may make
            for each in range(0, number, 2):
                (tree / f"made/f{each}.py").unlink()
            await_true(lambda: index.status().files == number // 2 + 1, patience_s=300)


def test_a_storm_of_branch_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switches(tmp_path, monkeypatch, files=500, times=5)


@pytest.mark.soak
def test_twenty_switches_of_five_thousand_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    took_ms = switches(tmp_path, monkeypatch, files=5000, times=20)
    took_ms.sort()
    with capsys.disabled():
        print(
            f"\n{len(took_ms):,} searches during 20 switches: p50"
            f" {took_ms[len(took_ms) // 2]:.0f} ms, p95 {took_ms[len(took_ms) * 19 // 20]:.0f} ms,"
            f" max {took_ms[-1]:.0f} ms"
        )


@contextmanager
def searching(index: Project) -> Iterator[list[float]]:
    """Search ten times a second in a thread while the block runs; gives milliseconds."""
    took_ms: list[float] = []
    is_over = threading.Event()

    def search() -> None:
        while not is_over.wait(0.1):
            started = time.monotonic()
            index.search(SearchRequest(query=f"x {len(took_ms) % 100}"))
            took_ms.append((time.monotonic() - started) * 1000)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(search)
        try:
            yield took_ms
        finally:
            is_over.set()
        future.result()


def switches(tmp_path: Path, patch: pytest.MonkeyPatch, *, files: int, times: int) -> list[float]:
    """Switch between branches that differ in many files; each is known after its first time.

    Returns:
        How long searches took meanwhile, in milliseconds.
    """
    tree, home = tmp_path / "tree", tmp_path / "user"
    home.mkdir()
    for name, value in git_environment(home).items():
        patch.setenv(name, value)
    write_tree(tree, {f"d{n % 50}/f{n}.py": f"x = {n}\n" for n in range(files)})
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "add", "-A")
    run_git(tree, home, "commit", "-q", "-m", "first")
    run_git(tree, home, "checkout", "-q", "-b", "other")
    write_tree(tree, {f"d{n % 50}/f{n}.py": f"y = {n}\n" for n in range(files)})
    run_git(tree, home, "commit", "-q", "-a", "-m", "second")
    config = replace(load_config(tmp_path / "home"), watch_debounce=200)
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        file = config.data_dir / f"{index.project_id}.db"
        with watching(index, config) as seen, searching(index) as took_ms:
            for number in range(times):
                branch = ("main", "other")[number % 2]
                before = len(seen.runs.asked)
                began_s = time.monotonic()
                run_git(tree, home, "checkout", "-q", branch)
                await_true(lambda branch=branch: index.status().branch == branch)  # type: ignore[misc]
                await_true(  # the watcher may not have heard of anything yet
                    lambda: all(
                        index.why(f"d{n % 50}/f{n}.py").fresh for n in range(0, files, files // 20)
                    )
                )
                await_true(lambda: seen.watcher.status.pending == 0)
                pauses = (time.monotonic() - began_s) * 1000 / config.watch_debounce
                assert len(held(file)) == files
                assert len(seen.runs.asked) - before <= 3 + pauses
    return took_ms
