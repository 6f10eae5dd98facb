"""What a watcher asks of a project: which paths a run would do something about."""

import os
import time
from pathlib import Path

import pytest

from engine.cancellation import never
from engine.catalog import Catalog
from engine.config import Config
from engine.errors import Cancelled, ProjectNotFoundError
from engine.index_records import IndexOptions
from engine.project import Project
from tests.integration.test_branches import git
from tests.integration.test_partial_runs import UNDECODABLE, changes
from tests.support.trees import SAMPLE, settle, write_tree


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    """The index of files whose times a run trusts."""
    write_tree(tree, SAMPLE)
    settle(tree)
    index = catalog.create(str(tree))
    index.index()
    return index


def stale(index: Project, *only: str) -> tuple[str, ...] | None:
    return index.for_watcher().stale(only, cancelled=lambda: False)


def test_paths_that_differ_are_told_and_nothing_is_written(
    index: Project, tree: Path, config: Config
) -> None:
    assert stale(index) == stale(index, "app", "nothing") == ()
    before = changes(index, config)
    write_tree(tree, {"new.py": "", "app/session.py": "changed", "odd.xyz": ""})
    (tree / "README.md").unlink()
    assert stale(index) == ("README.md", "app/session.py", "new.py", "odd.xyz")
    assert stale(index, "app", "README.md", "cmd") == ("README.md", "app/session.py")
    assert changes(index, config) == before
    settle(tree)
    index.index(IndexOptions(only=stale(index) or ()))
    assert stale(index) == ()


def test_a_file_whose_text_is_as_before_is_stale_but_not_changed(
    index: Project, tree: Path
) -> None:
    project = index.for_watcher()
    os.utime(tree / "README.md", (1, 1))
    assert stale(index) == ("README.md",)
    assert project.changed(cancelled=never) == project.changed(["app"], cancelled=never) == []
    session = tree / "app/session.py"
    session.write_bytes(session.read_bytes()[::-1])
    assert project.changed(cancelled=never) == ["app/session.py"]
    assert project.changed(["README.md"], cancelled=never) == []
    with pytest.raises(Cancelled):
        project.changed(cancelled=lambda: True)


def test_where_a_whole_run_has_to_come_first_there_is_no_telling(
    index: Project, tree: Path, catalog: Catalog, tmp_path: Path
) -> None:
    (tmp_path / "fresh").mkdir()
    assert stale(catalog.create(str(tmp_path / "fresh"))) is None
    git(tree, "init", "-q", "-b", "main")
    assert stale(index) is None
    assert stale(index, "app") is None
    index.index()
    assert stale(index) == ()
    (tree / "README.md").write_text("changed")
    with pytest.raises(Cancelled):
        index.index(cancelled=lambda: not index.status().coverage.complete)
    assert stale(index) is None
    assert stale(index, "README.md") == ("README.md",)


def test_what_failed_waits_for_a_change(index: Project, tree: Path) -> None:
    (tree / "odd.py").write_bytes(UNDECODABLE)
    assert stale(index) == ("odd.py",)
    settle(tree)
    assert index.index(IndexOptions(only=("odd.py",))).files_failed == 1
    assert stale(index) == stale(index, "odd.py") == ()
    (tree / "odd.py").write_text("even = 1\n")
    assert stale(index) == ("odd.py",)


def test_a_file_that_is_skipped_as_before_makes_no_run(index: Project, tree: Path) -> None:
    """A database or a log in the tree may be written all the time."""
    names = ("db.sqlite3", "big.log")
    write_tree(tree, {"db.sqlite3": b"SQLite", "big.log": b"line\n" * 300_000})
    assert stale(index) == ("big.log", "db.sqlite3")
    index.index()
    for name in names:
        with (tree / name).open("ab") as file:
            file.write(b"more\n")
    assert stale(index) == stale(index, *names) == ()
    (tree / "big.log").write_text("short\n")
    assert stale(index) == stale(index, *names) == ("big.log",)


def test_a_file_with_a_time_to_come_is_read_once(index: Project, tree: Path) -> None:
    session = tree / "app/session.py"
    tomorrow_ns = time.time_ns() // 10**9 * 10**9 + 86_400 * 10**9 + 1
    os.utime(session, ns=(tomorrow_ns, tomorrow_ns))
    assert stale(index) == ("app/session.py",)
    settle(tree)
    index.index()
    assert stale(index) == ()


def test_a_forgotten_project_is_told(index: Project, config: Config) -> None:
    project = index.for_watcher()
    assert project.rules()
    Project.delete(config.data_dir / f"{index.project_id}.db")
    with pytest.raises(ProjectNotFoundError):
        project.rules()
    with pytest.raises(ProjectNotFoundError):
        stale(index)
