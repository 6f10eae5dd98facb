"""A project that is forgotten while others are about it."""

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.doctor_records import CheckProgress
from engine.errors import ProjectBusyError, ProjectNotFoundError, UnavailableError
from engine.locks import indexing_lock, is_being_indexed
from engine.memory_records import NewMemory
from engine.project import Project
from engine.state_records import JobKind, WatchState
from tests.support.catalogs import open_catalog
from tests.support.jobs import until
from tests.support.permissions import permissions_hold
from tests.support.trees import SAMPLE, write_tree
from web.app import BackgroundTasks
from web.cli.forget import question_about
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


@pytest.mark.parametrize(
    ("kind", "work"),
    [(JobKind.INDEX, "indexing the project"), (JobKind.HISTORY, "reading the project's history")],
)
def test_a_job_that_is_in_the_way_is_named(
    catalog: Catalog, index: Project, kind: str, work: str
) -> None:
    ledger = index.for_jobs().ledger
    job = ledger.enqueue({}, kind=kind).row
    with indexing_lock(index._store.path):
        with pytest.raises(ProjectBusyError, match="by process"):  # the job waits for it, too
            catalog.forget(index.root)
        assert ledger.claim(job, "a runner")
        with pytest.raises(ProjectBusyError) as caught:
            catalog.forget(index.root)
    assert caught.value.message == f"job {job.uuid} is {work}"
    assert caught.value.hint.endswith(f"cairn jobs cancel {job.uuid}")


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


def test_forgetting_and_creating_at_one_instant_never_fail(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    is_over = threading.Event()
    outcomes: Counter[str] = Counter()

    def again_and_again(act: Callable[[Catalog], object]) -> None:
        with open_catalog(config) as catalog:  # of its own, like another process
            while not is_over.is_set():
                try:
                    act(catalog)
                    outcomes["done"] += 1
                except (ProjectNotFoundError, ProjectBusyError) as error:
                    outcomes[type(error).__name__] += 1
                except Exception as error:
                    outcomes[f"unexpected: {type(error).__name__}: {error}"] += 1

    acts: list[Callable[[Catalog], object]] = [
        lambda catalog: catalog.forget(str(tree)),
        lambda catalog: catalog.open(str(tree)).status(),
        lambda catalog: catalog.create(str(tree)),
    ]
    threads = [threading.Thread(target=again_and_again, args=(each,)) for each in acts]
    for each in threads:
        each.start()
    with open_catalog(config) as catalog:
        for _ in range(200):
            catalog.create(str(tree))
    is_over.set()
    for each in threads:
        each.join()
    assert outcomes["done"]
    assert [each for each in outcomes if each.startswith("unexpected")] == []


@pytest.mark.parametrize("step", ["tables", "pages", "vectors", "surroundings"])
def test_a_check_of_what_is_forgotten_meanwhile_leaves_nothing(
    catalog: Catalog, index: Project, tree: Path, step: str
) -> None:
    file = index._store.path

    def forget(progress: CheckProgress) -> None:
        if progress.step == step and file.exists():
            Project.delete(file)

    doctor = catalog.doctor(str(tree))
    with pytest.raises(ProjectNotFoundError):
        doctor.verify(on_progress=forget)
    assert list(file.parent.rglob(f"{file.stem}*")) == []


def test_a_job_is_never_written_into_a_file_that_was_forgotten(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    ledger = index.for_jobs().ledger
    with index._store.write():  # its connections are open
        pass
    with open_catalog(catalog._config) as other:
        other.forget(str(tree))
        other.create(str(tree))
    with pytest.raises(ProjectNotFoundError):
        ledger.enqueue({})
    job = catalog.jobs.submit(str(tree))
    assert catalog.jobs.show(job.job_id).job_id == job.job_id


def test_in_a_data_directory_that_is_closed_for_a_while_nothing_is_told_as_not_indexed(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    home, asked = catalog.data_dir, str(tree)
    acts: tuple[Callable[[], object], ...] = (
        lambda: catalog.has_project(index.root),
        lambda: catalog.open(asked),
        lambda: catalog.open_id(index.project_id),
        lambda: catalog.doctor(asked).verify(),
        lambda: catalog.forget(asked),
        lambda: catalog.forget_id(index.project_id),
        lambda: catalog.watch(asked, create=False),
    )
    lists: tuple[Callable[[], object], ...] = (
        catalog.projects,
        catalog.roots,
        catalog.roots_or_ids,
        catalog.activity.poll,
        catalog.views.poll,
        catalog.jobs.list,
    )
    known = [act() for act in lists]
    with permissions_hold():
        home.chmod(0)
        try:
            for act in acts:
                with pytest.raises(UnavailableError, match="cannot be searched"):
                    act()
            for act in lists:
                with pytest.raises(UnavailableError, match="cannot be listed"):
                    act()
        finally:
            home.chmod(0o700)
    assert [act() for act in lists] == known
    assert catalog.has_project(index.root)
    assert catalog.open(asked) is index


def test_who_forgets_a_project_is_told_of_its_memories(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    def asked() -> str:
        [project] = catalog.projects()
        return question_about(catalog, project)

    assert asked().startswith(f"Delete the index of {tree} (")
    assert asked().endswith(")?")
    for text in ("one", "two"):
        index.checkpoints.save(NewMemory(summary=text))
    assert asked().endswith(") and its 2 memories, which cannot be made again?")
    index._store.path.write_bytes(b"not a database, " * 1000)
    catalog._indexes.drop(index)
    assert asked().endswith(") and any memories in it, which cannot be made again?")
