"""Databases that hold no project: none comes to be, and those of older versions go quietly."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.embedding.load import open_embedder
from engine.errors import EngineError, ProjectNotFoundError
from engine.memory_records import NewMemory
from engine.project import Project
from engine.scheduler.estimate import Estimator
from engine.scheduler.housekeeping import Housekeeper
from engine.search_records import SearchRequest
from engine.store.connection import Store
from tests.support.catalogs import open_catalog
from tests.support.trees import SAMPLE, write_tree

GHOST_ID = "9" * 64
A_WHILE_S = 3600


def blank_ghost(config: Config) -> Path:
    """Make what a writer left that came after the project was forgotten."""
    file = config.data_dir / f"{GHOST_ID}.db"
    handle = apsw.Connection(str(file))
    handle.execute("PRAGMA journal_mode = WAL")
    handle.close()
    assert file.stat().st_size == 4096
    return file


def unfilled_ghost(config: Config) -> Path:
    """Make what a process left that was killed before it wrote the project's row."""
    file = config.data_dir / f"{GHOST_ID}.db"
    Store(file, busy_timeout_ms=1000, create=True).close()
    return file


MakeGhost = Callable[[Config], Path]
GHOSTS = pytest.mark.parametrize("ghost", [blank_ghost, unfilled_ghost])


def keep_house(config: Config) -> None:
    Housekeeper(config, open_embedder, Estimator(config)).run_housekeeping(lambda: False)


def test_a_data_directory_that_cannot_be_read_waits_for_the_next_time(config: Config) -> None:
    keep_house(replace(config, data_dir=config.data_dir.parent / ("x" * 300)))


def test_a_write_after_forgetting_makes_no_file(
    catalog: Catalog, config: Config, index: Project
) -> None:
    store = index._store
    catalog.forget(index.root)
    with pytest.raises(ProjectNotFoundError, match="gone"), store.write():
        pass
    with pytest.raises(ProjectNotFoundError, match="gone"), store.read():
        pass
    assert list(config.data_dir.glob("*.db*")) == []


def test_who_asks_while_a_project_is_forgotten_makes_no_file(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    is_over = threading.Event()
    strange: list[BaseException] = []

    def ask() -> None:
        while not is_over.is_set():
            try:
                index = catalog.open(str(tree))
                index.status()
                index.checkpoints.save(NewMemory(summary="a", description="b"))
            except EngineError:
                pass
            except BaseException as error:
                strange.append(error)
                raise

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for each in threads:
        each.start()
    for _ in range(20):
        catalog.create(str(tree))
        catalog.forget(str(tree))
    is_over.set()
    for each in threads:
        each.join()
    assert strange == []
    assert list(config.data_dir.glob("*.db")) == []


@GHOSTS
def test_a_ghost_is_not_complained_of(
    ghost: MakeGhost, catalog: Catalog, config: Config, index: Project
) -> None:
    file = ghost(config)
    assert catalog.roots_or_ids() == [index.root]
    assert [each.project_id for each in catalog.projects()] == [index.project_id]
    assert [each.summary.project_id for each in catalog.views.poll()] == [index.project_id]
    assert catalog.jobs.list().errors == ()
    answer = catalog.search(catalog.roots_or_ids(), SearchRequest(query="add"))
    assert answer.errors == ()
    assert file.exists()


@GHOSTS
def test_housekeeping_removes_ghosts_and_nothing_else(
    ghost: MakeGhost, config: Config, index: Project
) -> None:
    file = ghost(config)
    keep_house(config)
    assert file.exists()  # it may be one that is begun at this moment
    for each in config.data_dir.glob("*.db"):
        old_s = time.time() - A_WHILE_S
        os.utime(each, (old_s, old_s))
    keep_house(config)
    assert [each.stem for each in config.data_dir.glob("*.db")] == [index.project_id]


def test_a_project_that_lost_its_contents_stays_and_is_complained_of(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    job = catalog.jobs.submit(str(tree))
    catalog.jobs.follow(job.job_id)
    file = config.data_dir / f"{catalog.open(str(tree)).project_id}.db"
    catalog.close()
    file.write_bytes(b"")
    os.utime(file, (0, 0))
    keep_house(config)
    with open_catalog(config) as again:
        assert again.roots_or_ids() == [file.stem]
        (found,) = again.projects()
        assert found.error


def test_a_folder_of_a_ghost_is_indexed_as_any_other(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    config.data_dir.mkdir()
    ghost = blank_ghost(config)
    ghost.rename(catalog._indexes.file_of_root(str(tree)))
    with pytest.raises(ProjectNotFoundError):
        catalog.open(str(tree))
    assert catalog.create(str(tree)).index().files_indexed
