"""A job waits for room on the disk, says so, is searched meanwhile and goes on by itself."""

import random
import resource
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.embedding.load import open_embedder
from engine.errors import DiskFullError
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.state_records import EventType, Job, JobState
from tests.support.command import Command
from tests.support.faults.disk import SmallDisk, small_disk
from tests.support.faults.stage import source
from tests.support.faults.vfs import faulty
from tests.support.halting import Halt, halt_at
from tests.support.jobs import catalog_in, wait_for
from tests.support.killing import runner_of
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.trees import write_tree

#: What is promised.
BLOCKED_S = 5
RUNNING_S = 30

_QUESTION = SearchRequest(query="open session", mode=Mode.KEYWORD)
_BATCH_BYTES = 65_536


class Site:
    """A tree, its data directory and a first index of a part of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.home = folder / "home"
        self.database = self.home / f"{project_id_of(str(self.tree))}.db"
        write_tree(self.tree, {f"first{number}.py": source(number) for number in range(20)})

    def catalog(self, **settings: int) -> AbstractContextManager[Catalog]:
        """Open the data directory; small batches make many transactions."""
        return catalog_in(self.home, opens=open_embedder, batch_bytes=_BATCH_BYTES, **settings)

    def grow(self, files: int = 250) -> None:
        """Write what the disk has no room for."""
        write_tree(self.tree, {f"more{n}.py": source(n, 7) * 2 for n in range(files)})

    def check_equal_to_fresh(self) -> None:
        check_sound(self.database)
        fresh = self.folder / "fresh"
        with catalog_in(fresh) as catalog:
            catalog.create(str(self.tree)).index()
        assert contents(self.database) == contents(fresh / self.database.name)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def command_of(site: Site) -> Command:
    return Command(home=site.home, folder=site.tree)


def index_first(site: Site, catalog: Catalog) -> None:
    job_id = catalog.jobs.submit(str(site.tree)).job_id
    assert catalog.jobs.follow(job_id).status is JobState.COMPLETED
    site.grow()


def check_waits(site: Site, catalog: Catalog, job_id: str) -> Job:
    """The job says that the disk is full; searches answer all the while."""
    started = time.monotonic()
    while (job := catalog.jobs.show(job_id)).status is not JobState.BLOCKED:
        assert catalog.search([str(site.tree)], _QUESTION).hits
        assert time.monotonic() - started < patience(BLOCKED_S), job
        time.sleep(0.02)
    print(f"blocked after {time.monotonic() - started:.2f} s")
    for _ in range(10):
        assert catalog.search([str(site.tree)], _QUESTION).hits
    assert job.waiting is not None
    assert job.waiting.startswith("disk full: no room to write the index")
    return job


def check_goes_on(site: Site, catalog: Catalog, job_id: str) -> None:
    wait_for(catalog, job_id, JobState.RUNNING, JobState.COMPLETED, within_s=RUNNING_S)
    job = wait_for(catalog, job_id, JobState.COMPLETED, within_s=60)
    assert job.files_done == job.files_total
    types = [event.type for event in catalog.jobs.events(job_id)]
    assert types.count(EventType.PAUSED) == types.count(EventType.RESUMED) <= 6
    site.check_equal_to_fresh()


def test_files_that_cannot_grow(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty() as vfs, site.catalog() as catalog:
        index_first(site, catalog)
        halt = halt_at(catalog, monkeypatch, 51)
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        halt.await_reached()
        vfs.disk.has_room = False
        halt.go_on()
        check_waits(site, catalog, job_id)
        vfs.disk.has_room = True
        check_goes_on(site, catalog, job_id)


def test_a_database_that_may_not_have_more_pages(site: Site) -> None:
    with site.catalog() as catalog:
        index_first(site, catalog)
        store = catalog.open(str(site.tree))._store
        with store.write(bookkeeping=True) as handle:
            handle.execute(f"PRAGMA max_page_count = {handle.pragma('page_count') + 20}")
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        check_waits(site, catalog, job_id)
        with store.write(bookkeeping=True) as handle:
            handle.execute("PRAGMA max_page_count = 1000000")
        check_goes_on(site, catalog, job_id)


def test_files_that_may_not_be_larger(site: Site) -> None:
    with site.catalog() as catalog:
        index_first(site, catalog)
    largest = (600_000, resource.RLIM_INFINITY)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, {largest})"
    settings = {"CAIRN_BATCH_BYTES": str(_BATCH_BYTES)}
    with site.catalog() as catalog:
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        with runner_of(site.home, before=limit, **settings) as runner:
            check_waits(site, catalog, job_id)
            assert catalog.jobs.show(job_id).files_done > 0
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(runner.pid, resource.RLIMIT_FSIZE, unlimited)
            check_goes_on(site, catalog, job_id)
            assert runner.wait() == 0


def test_a_disk_that_is_too_small(site: Site) -> None:
    with small_disk(site.home, 3000) as disk, site.catalog() as catalog:
        index_first(site, catalog)
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        check_waits(site, catalog, job_id)
        disk.resize(100_000)
        check_goes_on(site, catalog, job_id)


def fill_at(site: Site, moment: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Fill the disk at a random moment of a job; whether the database could still tell of it.

    The moment is before half of the files are done, so that there is something left to write.
    """
    with small_disk(site.home, 30_000) as disk, site.catalog() as catalog:
        index_first(site, catalog)
        halt = halt_at(catalog, monkeypatch, random.Random(moment).randrange(1, 120))
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        halt.await_reached()
        disk.fill()
        halt.go_on()
        check_waits(site, catalog, job_id)
        is_told = EventType.PAUSED in [event.type for event in catalog.jobs.events(job_id)]
        disk.free()
        check_goes_on(site, catalog, job_id)
        return is_told


@pytest.mark.parametrize("moment", range(2))
def test_a_disk_that_others_fill(site: Site, moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_at(site, moment, monkeypatch)


@pytest.mark.soak
def test_a_disk_that_others_fill_at_thirty_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [fill_at(Site(tmp_path / str(moment)), moment, monkeypatch) for moment in range(30)]
    print(f"{len(told)} full disks, {sum(told)} of which the database itself told, 0 jobs lost")


def test_a_disk_that_stays_full_ends_the_job(site: Site) -> None:
    with site.catalog(storage_patience=1) as catalog:
        index_first(site, catalog)
        store = catalog.open(str(site.tree))._store
        with store.write(bookkeeping=True) as handle:
            handle.execute(f"PRAGMA max_page_count = {handle.pragma('page_count') + 20}")
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        with suppress(DiskFullError):  # there may be no room to write its end
            catalog.jobs.follow(job_id)
        with store.write(bookkeeping=True) as handle:  # enough to tell of it
            handle.execute(f"PRAGMA max_page_count = {handle.pragma('page_count') + 20}")
        job = wait_for(catalog, job_id, JobState.FAILED)
        assert EventType.PAUSED in [event.type for event in catalog.jobs.events(job_id)]
        assert job.error is not None
        assert job.error["error"] == "unavailable"
        message = str(job.error["message"])
        assert message.startswith("insufficient storage: no room to write the index; what")
        assert "it has lasted" in message
        assert catalog.search([str(site.tree)], _QUESTION).hits
        check_sound(site.database)
        with store.write(bookkeeping=True) as handle:
            handle.execute("PRAGMA max_page_count = 1000000")
        again = catalog.jobs.retry(job.job_id)
        assert catalog.jobs.follow(again.job_id).status is JobState.COMPLETED
        site.check_equal_to_fresh()


def check_full_to_the_last_byte(
    site: Site, disk: SmallDisk, catalog: Catalog, end: JobState, halt: Halt
) -> None:
    """A job ends while the disk is full, for everybody, and is retried when there is room."""
    job_id = catalog.jobs.submit(str(site.tree)).job_id
    catalog.jobs.run_here()
    halt.await_reached()
    disk.fill()
    if end is JobState.CANCELLED:
        catalog.jobs.cancel(job_id)
    halt.go_on()
    job = wait_for(catalog, job_id, end)
    if end is JobState.FAILED:
        assert job.error is not None
        assert str(job.error["message"]).startswith("insufficient storage: no room")
        shown = command_of(site)("jobs", "show", job_id, "--json").json()
        assert (shown["status"], shown["error"]["error"]) == ("failed", "unavailable")
        listed = command_of(site)("jobs", "list", "--json").json()
        assert listed["jobs"][0]["status"] == "failed"
    disk.fill()
    assert catalog.search([str(site.tree)], _QUESTION).hits
    disk.free()
    again = catalog.jobs.retry(job_id)
    assert catalog.jobs.follow(again.job_id).status is JobState.COMPLETED
    site.check_equal_to_fresh()
    assert catalog.jobs.show(job_id).status is end


def test_a_disk_that_is_full_to_the_last_byte(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(site.home, 30_000) as disk:
        with site.catalog(storage_patience=1) as catalog:
            index_first(site, catalog)
            halt = halt_at(catalog, monkeypatch, 41)
            check_full_to_the_last_byte(site, disk, catalog, JobState.FAILED, halt)
        write_tree(site.tree, {f"more{n}.py": source(n, 9) * 2 for n in range(250)})
        with site.catalog() as catalog:  # whose jobs wait longer for room: the cancel comes first
            halt = halt_at(catalog, monkeypatch, 41)
            check_full_to_the_last_byte(site, disk, catalog, JobState.CANCELLED, halt)


def test_a_job_that_waits_for_room_is_cancelled_in_time(site: Site) -> None:
    with site.catalog() as catalog:
        index_first(site, catalog)
        store = catalog.open(str(site.tree))._store
        with store.write(bookkeeping=True) as handle:
            handle.execute(f"PRAGMA max_page_count = {handle.pragma('page_count') + 20}")
        job_id = catalog.jobs.submit(str(site.tree)).job_id
        check_waits(site, catalog, job_id)
        catalog.jobs.cancel(job_id)
        wait_for(catalog, job_id, JobState.CANCELLED, within_s=5)
    check_sound(site.database)
