"""The views of all projects: counted again only when something changed, damage told."""

import fcntl
import os
import shutil
import threading
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import UnavailableError
from engine.project import Project
from engine.scheduler.listing import JobListing
from engine.scheduler.poller import ActivityPoller
from engine.state_records import JobKind, ProjectStatus
from engine.store import jobs
from tests.support import damage
from tests.support.damage import break_file
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in, until
from tests.support.trees import SAMPLE, write_tree


def test_it_tells_what_projects_hold_and_follows_them(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "app", SAMPLE)
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        assert catalog.views.poll() == ()
        index = catalog.create(str(root))
        index.index()
        [view] = catalog.views.poll()
        status = index.status()
        assert view.status == status
        assert (view.summary, view.languages) == (index.summary(), index.browse.languages())
        write_tree(root, {"more.py": "def more():\n    return 1\n"})
        index.index()
        assert _followed(catalog, index).files == status.files + 1
        catalog.forget(str(root))
        assert catalog.views.poll() == ()


def test_a_look_at_what_did_not_change_counts_nothing(tmp_path: Path) -> None:
    opened: list[Path] = []

    class Counting(Catalog):
        def open_file(self, file: Path) -> Project:
            opened.append(file)
            return super().open_file(file)

    config = load_config(tmp_path / "data", workers=1)
    with Counting(config, open_embedder=Fakes()) as catalog:
        catalog.create(str(write_tree(tmp_path / "app", SAMPLE))).index()
        catalog.views.poll()
        assert len(opened) == 1

        def opens_nothing() -> bool:
            opened.clear()
            return len(catalog.views.poll()) == 1 and not opened

        until(opens_nothing)  # what was written just now is looked at again


def test_a_look_ends_between_two_projects_when_nobody_is_to_look_any_more(tmp_path: Path) -> None:
    opened: list[Path] = []

    class Ending(Catalog):
        def open_file(self, file: Path) -> Project:
            opened.append(file)
            self.views.end()
            return super().open_file(file)

    config = load_config(tmp_path / "data", workers=1)
    with Ending(config, open_embedder=Fakes()) as catalog:
        for name in ("app", "lib", "web"):
            catalog.create(str(write_tree(tmp_path / name, {"a.py": "x = 1\n"}))).index()
        for _ in range(2):
            with pytest.raises(UnavailableError, match="the server ends"):
                catalog.views.poll()
    assert len(opened) == 1


def test_another_branch_is_seen_without_a_run(tmp_path: Path) -> None:
    refs = {f".git/refs/heads/{name}": "a" * 40 + "\n" for name in ("main", "other")}
    tree = {**SAMPLE, **refs, ".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": ""}
    root = write_tree(tmp_path / "app", tree)
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        index = catalog.create(str(root))
        index.index()
        write_tree(root, {".git/HEAD": "ref: refs/heads/other\n", "more.py": "x = 1\n"})
        index.index()
        assert _followed(catalog, index).branch == "other"
        write_tree(root, {".git/HEAD": "ref: refs/heads/main\n"})
        assert _followed(catalog, index).branch == "main"


def test_a_damaged_index_and_a_folder_that_is_gone_are_told(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        for name in ("gone", "newer", "broken"):
            catalog.create(str(write_tree(tmp_path / name, SAMPLE))).index()
        shutil.rmtree(tmp_path / "gone")
        files = {
            name: home / f"{catalog.open(str(tmp_path / name)).project_id}.db"
            for name in ("gone", "newer", "broken")
        }
    break_file(files["broken"])
    damage.run(files["newer"], "PRAGMA user_version = 999")
    with catalog_in(home, opens=Fakes()) as catalog:
        views = {each.summary.project_id: each for each in catalog.views.poll()}
        broken, newer, gone = (views[files[name].stem] for name in ("broken", "newer", "gone"))
        assert (broken.status, broken.error_code) == (None, "damaged_index")
        assert (newer.status, newer.error_code) == (None, "newer_index")
        assert (gone.summary.folder_exists, gone.error_code) == (False, "")
        assert "damaged" in (broken.summary.error or "")
        assert gone.status is not None
        errors = [view.summary.error for view in catalog.views.poll()]
        assert [error is None for error in errors] == [False, False, True]
        for name in ("broken", "newer"):
            catalog.forget_id(files[name].stem)
        assert [view.summary.path for view in catalog.views.poll()] == [str(tmp_path / "gone")]


def test_a_job_that_cannot_be_read_is_told_of_its_project_alone(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        for name, changes in (("sound", {}), ("damaged", {"error": "{oops"})):
            ledger = catalog.create(str(write_tree(tmp_path / name, SAMPLE))).for_jobs().ledger
            row = ledger.claim(ledger.enqueue({}).row, "runner")
            assert row
            ledger.fail(row, {"error": "unavailable", "message": "no", "details": {}}, {})
            if changes:
                with ledger.store.write(bookkeeping=True) as handle:
                    jobs.update_job(handle, row.id, changes)
        views = {each.summary.path: each for each in catalog.views.poll()}
        assert views[str(tmp_path / "sound")].error_code == ""
        assert views[str(tmp_path / "damaged")].error_code == "damaged_index"
        failed = {each.path: each.failed for each in catalog.activity.poll()}
        assert failed[str(tmp_path / "sound")] is not None
        assert failed[str(tmp_path / "damaged")] is None


def test_projects_that_a_failed_look_left_out_are_read_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        for name in ("one", "two", "three"):
            catalog.create(str(write_tree(tmp_path / name, SAMPLE)))
    for file in home.glob("*.db*"):
        os.utime(file, (1, 1))  # nothing was written lately, so nothing else makes it read again
    poller = ActivityPoller(load_config(home))
    with monkeypatch.context() as patch:
        patch.setattr(JobListing, "page", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            poller.poll()
    assert len(poller.poll()) == 3


def _followed(catalog: Catalog, index: Project) -> ProjectStatus:
    """Look until the overview tells of the only project what its index tells."""
    until(lambda: catalog.views.poll()[0].status == index.status())
    return index.status()


def test_a_project_that_was_locked_at_the_first_look_is_there_at_the_next(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with catalog_in(home, opens=Fakes()) as catalog:
        index = catalog.create(str(write_tree(tmp_path / "app", SAMPLE)))
        index.index()
        [file] = home.glob("*.db")
    os.utime(file, (1, 1))  # nothing was written lately, so nothing else makes it read again
    config = load_config(home, busy_timeout=0)
    is_over = threading.Event()
    lock = os.open(home, os.O_RDONLY)

    def lock_and_unlock() -> None:
        while not is_over.is_set():
            fcntl.flock(lock, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_UN)

    locker = threading.Thread(target=lock_and_unlock)
    locker.start()
    poller = ActivityPoller(config)
    try:
        while poller.poll():  # until the lock is met
            poller = ActivityPoller(config)
    finally:
        is_over.set()
        locker.join()
        os.close(lock)
    assert len(poller.poll()) == 1


def test_a_failure_stands_until_a_job_of_its_kind_has_completed(tmp_path: Path) -> None:
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        ledger = catalog.create(str(write_tree(tmp_path / "app", SAMPLE))).for_jobs().ledger

        def end(kind: JobKind, *, well: bool) -> str:
            row = ledger.claim(ledger.enqueue({}, kind=kind).row, "runner")
            assert row
            if well:
                ledger.complete(row, {}, {})
            else:
                ledger.fail(row, {"error": "unavailable", "message": "no", "details": {}}, {})
            return row.uuid

        def failed() -> str | None:
            [activity] = catalog.activity.poll()
            return activity.failed.job_id if activity.failed else None

        history = end(JobKind.HISTORY, well=False)
        until(lambda: failed() == history)
        for _ in range(5):
            end(JobKind.INDEX, well=True)
        assert failed() == history
        index = end(JobKind.INDEX, well=False)
        until(lambda: failed() == index)
        end(JobKind.INDEX, well=True)
        until(lambda: failed() == history)
        end(JobKind.HISTORY, well=True)
        until(lambda: failed() is None)
        for _ in range(5):
            end(JobKind.INDEX, well=True)
        assert failed() is None
