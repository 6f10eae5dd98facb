"""A folder that was deleted, moved or unmounted after it was indexed: told, and nothing is lost."""

import shutil
from pathlib import Path

import httpx
import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidPathError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search_records import SearchRequest
from engine.state_records import JobFilter, JobState, WatchState
from engine.watch.watcher import Watcher
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.git_trees import run_git
from tests.support.jobs import until
from tests.support.pages import Page, indexed
from tests.support.trees import SAMPLE, write_tree


def test_a_job_over_a_folder_that_is_gone_changes_nothing(
    catalog: Catalog, config: Config, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q", "-b", "topic")
    catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
    index = catalog.open(str(tree))
    before = index.status()
    catalog.close()
    with open_catalog(config) as asked:
        job = asked.jobs.submit(str(tree)).job_id  # nobody runs it yet
        tree.rename(tmp_path / "away")
        ended = asked.jobs.follow(job)
        index = asked.open(str(tree))
        after = index.status()
        assert index.search(SearchRequest(query="add")).total
    assert ended.status is JobState.FAILED
    assert ended.error
    assert str(tree) in str(ended.error["message"])
    assert "'reason': 'gone'" in str(ended.error["details"])
    assert before.branch == after.branch == "topic"
    assert (after.files, after.coverage) == (before.files, before.coverage)


@pytest.mark.parametrize("has_git", [False, True], ids=["no git", "git"])
def test_an_empty_folder_may_be_where_a_disk_is_not_mounted(
    catalog: Catalog, index: Project, tree: Path, tmp_path: Path, has_git: bool
) -> None:
    if has_git:
        run_git(tree, tmp_path, "init", "-q", "-b", "topic")
        index.index()
    before = index.status()
    away = tree.rename(tree.with_name("away"))
    tree.mkdir()
    ended = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
    assert ended.status is JobState.FAILED
    assert ended.error
    assert "is a disk not mounted?" in str(ended.error)
    with pytest.raises(InvalidPathError, match="nothing is left in"):
        index.index(IndexOptions(only=tuple(SAMPLE)))
    assert index.status().files == before.files > 0
    assert index.search(SearchRequest(query="add")).total
    tree.rmdir()
    away.rename(tree)
    assert catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id).status is JobState.COMPLETED
    assert index.status().files == before.files


def test_what_was_deleted_on_purpose_is_forgotten_by_beginning_anew(
    index: Project, tree: Path
) -> None:
    shutil.rmtree(tree)
    tree.mkdir()
    with pytest.raises(InvalidPathError, match="nothing is left in"):
        index.index()
    assert index.status().files
    index.index(IndexOptions(force_clean=True))
    assert index.status().files == 0


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_folder_that_is_gone_is_told(
    catalog: Catalog, index: Project, tree: Path, is_emptied: bool
) -> None:
    assert index.status().folder_exists
    away = tree.rename(tree.with_name("away"))
    if is_emptied:
        tree.mkdir()
    assert not index.status().folder_exists
    assert [each.folder_exists for each in catalog.projects()] == [False]
    (view,) = catalog.views.poll()
    assert view.status
    assert (view.summary.folder_exists, view.status.folder_exists) == (False, False)
    away.rename(tree)  # an empty folder is replaced
    (view,) = catalog.views.poll()
    assert view.status
    assert (view.summary.folder_exists, view.status.folder_exists) == (True, True)


def test_an_empty_folder_of_a_project_without_files_exists(
    catalog: Catalog, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    project = catalog.create(str(empty))
    project.index()
    assert project.status().folder_exists


def test_the_command_line_tells_that_a_folder_is_gone(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    command = Command(home=tmp_path / "home", folder=tmp_path)
    assert command("index", "tree").code == 0
    assert "gone" not in command("status", "tree").out + command("projects").out
    tree.rename(tmp_path / "away")
    assert "the folder is gone" in command("status", "tree").out
    assert "the folder is gone" in command("projects").out
    tree.mkdir()
    assert "emptied" in command("status", "tree").out
    assert "emptied" in command("projects").out
    assert command("projects", "--json").json()["projects"][0]["folder_exists"] is False


def _check_banners(client: httpx.Client, address: str) -> None:
    """Check that results and file pages say that the folder ``leaving`` is away or emptied."""
    found = Page.of(client.get("/search", params={"q": "project:leaving path:session.py session"}))
    assert "The folder of leaving no longer exists, or is empty" in found.text
    assert "changed since indexing" not in found.text
    read = Page.of(client.get(f"{address}/f/app/session.py"))
    assert "The folder of the project no longer exists, or is empty" in read.text
    assert "Index this file again" not in read.text


def test_the_pages_tell_that_a_folder_is_gone(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "leaving", SAMPLE)
    with indexed(pages_client, tree) as project_id:
        address = f"/p/{project_id}"
        assert "no longer exists" not in Page.of(pages_client.get(address)).text
        shutil.rmtree(tree)
        assert "The folder no longer exists" in Page.of(pages_client.get(address)).text
        assert "The folder no longer exists" in Page.of(pages_client.get("/")).text
        _check_banners(pages_client, address)
        tree.mkdir()
        _check_banners(pages_client, address)
        assert "or is empty" in Page.of(pages_client.get(address)).text
        assert "or is empty" in Page.of(pages_client.get("/")).text


def _settled_watcher(catalog: Catalog, tree: Path) -> Watcher:
    watcher = catalog.watch(str(tree))
    until(lambda: watcher.status.last_reconcile_at is not None and not catalog.activity.active())
    return watcher


def test_a_watcher_waits_while_the_folder_is_gone(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    watcher = _settled_watcher(catalog, tree)
    away = tree.rename(tree.with_name("away"))
    until(lambda: watcher.status.state is WatchState.WAITING)
    assert watcher.status.folders == 0
    away.rename(tree)
    until(lambda: watcher.status.state is WatchState.WATCHING)
    write_tree(tree, {"later.py": "def later():\n    return 1\n"})
    until(lambda: index.why("later.py").outcome == "indexed")


@pytest.mark.parametrize("is_watched", [True, False], ids=["watched before", "not yet"])
def test_a_watcher_waits_where_a_disk_is_not_mounted(
    catalog: Catalog, index: Project, tree: Path, is_watched: bool
) -> None:
    before = _settled_watcher(catalog, tree) if is_watched else None
    away = tree.rename(tree.with_name("away"))
    tree.mkdir()
    watcher = before or catalog.watch(str(tree))
    until(lambda: watcher.status.state is WatchState.WAITING)
    assert watcher.status.reason.startswith(f"nothing is left in {tree}; is a disk not mounted?")
    assert index.status().files == len(SAMPLE)
    tree.rmdir()
    away.rename(tree)
    until(lambda: watcher.status.state is WatchState.WATCHING)
    write_tree(tree, {"later.py": "def later():\n    return 1\n"})
    until(lambda: index.why("later.py").outcome == "indexed")
    jobs = catalog.jobs.list(JobFilter(target=str(tree))).jobs
    assert {job.status for job in jobs} <= {JobState.COMPLETED, JobState.RUNNING}
