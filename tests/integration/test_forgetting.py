"""A project that is forgotten while others are about it."""

import os
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.errors import ProjectBusyError, ProjectNotFoundError
from engine.locks import indexing_lock, is_being_indexed
from engine.project import Project
from engine.state_records import WatchState
from tests.support.jobs import until
from web.app import BackgroundTasks
from web.security.server_settings import ServerSettings


def test_who_watches_what_was_forgotten_makes_no_project(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    told: list[str] = []
    where = ServerSettings(host="127.0.0.1", port=0, roots=(index.root,))
    upkeep = BackgroundTasks(catalog, where, lambda what, **_: told.append(what))
    catalog.forget(str(tree))
    with pytest.raises(ProjectNotFoundError):
        catalog.watch(str(tree), create=False)
    upkeep._watch_one(index.root)  # as when it is forgotten just before
    assert not catalog.has_project(index.root)
    assert told == []


def test_an_index_that_is_dropped_takes_no_newer_one_with_it(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    file = index._store.path
    Project.delete(file)
    newer = catalog.create(str(tree))
    catalog._indexes.drop(index)
    assert newer is not index
    assert catalog.open(str(tree)) is newer


def test_a_project_that_is_busy_stays_watched(catalog: Catalog, index: Project, tree: Path) -> None:
    file = index._store.path
    watcher = catalog.watch(str(tree))
    until(lambda: watcher.status.last_reconcile_at is not None and not catalog.activity.active())
    until(lambda: not is_being_indexed(file))
    with indexing_lock(file), pytest.raises(ProjectBusyError):
        catalog.forget(str(tree))
    until(lambda: watcher.status.state is WatchState.WATCHING)
    catalog.forget(str(tree))
    assert watcher.status.state is WatchState.STOPPED
    assert not catalog.has_project(index.root)


def test_the_locks_and_notes_of_killed_processes_go_with_the_project(
    catalog: Catalog, index: Project
) -> None:
    folder = index._store.path.parent / "locks"
    with indexing_lock(index._store.path):
        for suffix in ("watch", "inflight", "wait"):
            (folder / f"{index.project_id}.{suffix}").write_text("{}")
    (folder / f"{'1' * 64}.lock").write_text("99999999")  # of a folder that is not indexed
    catalog.forget(index.root)
    assert list(folder.iterdir()) == []


def test_what_dead_processes_left_goes_with_the_project(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    file = index._store.path
    dead, alive = 4_194_305, os.getpid()  # Linux has no process above 4,194,304
    left = [file.with_suffix(f".{kind}-{dead}") for kind in ("seed", "rebuilt")]
    left.append(file.with_suffix(f".rebuilt-{dead}-wal"))
    begun = file.with_suffix(f".seed-{alive}")  # of a project that is begun at this moment
    others = [file.with_suffix(f".seed-{number}") for number in ("²", "9" * 20, "")]
    for each in (*left, *others, begun):
        each.write_bytes(b"half an index")
    catalog.forget(str(tree))
    assert [each for each in left if each.exists()] == []
    assert [each for each in (*others, begun) if not each.exists()] == []
