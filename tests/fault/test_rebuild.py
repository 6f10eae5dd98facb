"""An index that is rebuilt: the old one is whole and answers until the new one is in its place."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import faults
from engine.catalog import Catalog
from engine.errors import Cancelled, DiskFullError, JobConflictError
from engine.faults import JOB_FAULT_POINTS, REBUILD_FAULT_POINTS
from engine.index_records import IndexOptions
from engine.locks import cancel_file, indexing_lock, note_cancel
from engine.memory_records import NewMemory
from engine.project_files import beside, clean_up
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.state_records import TERMINAL, EventType, JobState
from engine.store.connection import Handle, Store
from tests.fault.test_job_kills import generate
from tests.support.asking import asking
from tests.support.damage import break_file, run, zero_pages
from tests.support.faults.deaths import Deaths
from tests.support.faults.disk import small_disk
from tests.support.faults.job_stage import JOB_OPERATIONS
from tests.support.faults.stage import Stage, source
from tests.support.job_oracle import Samples, check_jobs
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import runner_of, some_time
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.trees import write_tree

_CLEAN = IndexOptions(force_clean=True)
_REBUILD = next(each for each in JOB_OPERATIONS if each.name == "job that rebuilds")
_UNREACHED = {
    "job enqueued",  # once; then the job is there
    "job checkpoint filled",
    "job blocked",
    "job unblocked",
    "job cancel requested",
    "job stopped",
}
_POINTS = (
    *REBUILD_FAULT_POINTS,
    *(point for point in JOB_FAULT_POINTS if point not in _UNREACHED),
    *(f"transaction {moment}@{number}" for moment in ("filled", "committed") for number in (2, 9)),
)
#: After these the new index is in its place.
_AFTER = ("contents replaced", "job worked", "job ending", "job ended")
_SMALL_BATCHES = 65_536
#: The runner does not come to the end of a tree of `site`.
_HANGS = {"CAIRN_FAULT": "hang:parse:p8/new98.py", "CAIRN_PARSE_TIMEOUT": "600000"}


@pytest.fixture(scope="module")
def deaths() -> Iterator[Deaths]:
    """Processes that are ready to die."""
    with Deaths() as deaths:
        yield deaths


def left_beside(home: Path) -> list[str]:
    """List what rebuildings have left in a data directory."""
    return sorted(each.name for each in home.glob("*") if ".rebuild-" in each.name)


def saved(catalog: Catalog, root: Path) -> list[str]:
    page = catalog.open(str(root)).checkpoints.list(only_memories=True)
    return [each.summary for each in page.checkpoints]


@pytest.mark.parametrize("point", _POINTS)
def test_deaths_at_each_point(tmp_path: Path, deaths: Deaths, point: str) -> None:
    """A process dies three times in a row at the same place, and the next comes to the end."""
    stage = Stage(folder=tmp_path, busy_ms=int(patience(500)))
    _REBUILD.prepare(stage)
    stage.restore()
    with stage.catalog() as catalog:
        note = NewMemory(summary="Sessions end after an hour")
        catalog.open(str(stage.tree)).checkpoints.save(note)
    before, wanted = contents(stage.database), stage.fresh_contents()
    assert before != wanted
    samples = Samples()
    for number in range(3):
        died = deaths.dies(stage, _REBUILD, point)
        if not died and number and point == "contents replaced":
            break  # it is replaced once
        assert died, "nothing reaches this point"
        check_sound(stage.database)
        samples.take(stage.database)
        check_jobs(stage.database)
        assert contents(stage.database) == (wanted if point in _AFTER else before)
        with stage.catalog() as catalog:
            assert saved(catalog, stage.tree) == ["Sessions end after an hour"]
            assert catalog.doctor(str(stage.tree)).verify().ok
    with stage.catalog() as catalog:
        _REBUILD.act(stage, catalog)
        until(lambda: not left_beside(stage.home))
        assert saved(catalog, stage.tree) == ["Sessions end after an hour"]
    check_sound(stage.database)
    samples.take(stage.database)
    assert all(job.state in TERMINAL for job in check_jobs(stage.database))
    assert contents(stage.database) == wanted


def site(folder: Path, files: int = 250) -> tuple[Path, Path]:
    """Index a tree, then change all of it; the data directory and the tree."""
    home, tree = folder / "home", folder / "tree"
    write_tree(tree, {f"p{n % 9}/old{n}.py": source(n) for n in range(files)})
    with catalog_in(home) as catalog:
        catalog.create(str(tree)).index()
    for file in tree.rglob("*.py"):
        file.rename(file.with_name(file.name.replace("old", "new")))
    return home, tree


def database_of(home: Path, tree: Path) -> Path:
    return home / f"{project_id_of(str(tree))}.db"


def until_done(catalog: Catalog, job_id: str, files: int) -> None:
    until(lambda: catalog.jobs.show(job_id).files_done > files)


def check_equals_fresh(folder: Path, tree: Path) -> None:
    with catalog_in(folder / "fresh") as catalog:
        catalog.create(str(tree)).index()
        fresh = contents(database_of(folder / "fresh", tree))
        assert contents(database_of(folder / "home", tree)) == fresh
        catalog.forget(str(tree))


@pytest.mark.parametrize("runs", [True, False])
def test_a_rebuilding_that_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    """While it runs, and while no process runs it any more."""
    home, tree = site(tmp_path)
    before = contents(database_of(home, tree))
    with catalog_in(home, batch_bytes=_SMALL_BATCHES, parse_timeout=600_000) as catalog:
        if runs:
            monkeypatch.setenv("CAIRN_FAULT", _HANGS["CAIRN_FAULT"])
            catalog.jobs.run_here()
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            until_done(catalog, job_id, 20)
        else:
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            with runner_of(home, CAIRN_BATCH_BYTES=str(_SMALL_BATCHES), **_HANGS) as runner:
                until_done(catalog, job_id, 20)
                runner.kill()
            assert left_beside(home)
        assert contents(database_of(home, tree)) == before
        catalog.jobs.cancel(job_id)
        job = wait_for(catalog, job_id, *TERMINAL)
        assert job.status is JobState.CANCELLED
        until(lambda: not left_beside(home))
        assert contents(database_of(home, tree)) == before
        check_sound(database_of(home, tree))
    # Another catalog: a parser that was cancelled before the file in which it hangs still would.
    monkeypatch.delenv("CAIRN_FAULT", raising=False)
    with catalog_in(home) as catalog:
        again = catalog.jobs.submit(str(tree), _CLEAN).job_id
        assert catalog.jobs.follow(again).status is JobState.COMPLETED
    check_equals_fresh(tmp_path, tree)


def test_a_rebuilding_that_is_cancelled_by_a_file_while_nobody_runs_it(tmp_path: Path) -> None:
    """As it is when the database cannot be written: the next runner does not begin it."""
    home, tree = site(tmp_path)
    file = database_of(home, tree)
    with catalog_in(home, batch_bytes=_SMALL_BATCHES) as catalog:
        job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
        with runner_of(home, CAIRN_BATCH_BYTES=str(_SMALL_BATCHES), **_HANGS) as runner:
            until_done(catalog, job_id, 20)
            runner.kill()
        assert left_beside(home)
        note_cancel(file, job_id, "no")
        with runner_of(home) as runner:
            assert runner.wait() == 0
        job = catalog.jobs.show(job_id)
        assert job.status is JobState.CANCELLED
        assert job.log
        assert not left_beside(home)
        assert not cancel_file(file, job_id).exists()


@pytest.mark.parametrize("moment", ["rebuild filled", "kept rows copied"])
def test_a_cancel_that_is_noted_before_the_new_index_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The database is locked then, by the job itself or another: only a file can say it."""
    home, tree = site(tmp_path, 20)
    file = database_of(home, tree)
    before = contents(file)
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id

        def cancel(name: str) -> None:
            if name == moment:
                note_cancel(file, job_id, "no")

        monkeypatch.setattr("engine.project_rebuild.fault_point", cancel)
        catalog.jobs.run_here()
        assert wait_for(catalog, job_id, *TERMINAL).status is JobState.CANCELLED
        until(lambda: not cancel_file(file, job_id).exists())
    assert contents(file) == before


@pytest.mark.parametrize("is_by_file", [False, True])
def test_a_cancel_that_comes_when_the_new_index_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_by_file: bool
) -> None:
    """It comes too late: the job has completed."""
    home, tree = site(tmp_path, 20)
    file = database_of(home, tree)
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id

        def cancel(name: str) -> None:
            if name == "job worked" and catalog.jobs.show(job_id).status is JobState.RUNNING:
                if is_by_file:
                    note_cancel(file, job_id, "no")
                else:
                    catalog.jobs.cancel(job_id)

        monkeypatch.setattr("engine.jobs.execution.fault_point", cancel)
        catalog.jobs.run_here()
        job = wait_for(catalog, job_id, *TERMINAL)
        assert job.status is JobState.COMPLETED
        assert job.result
        assert catalog.jobs.events(job_id)[-1].type is EventType.COMPLETED
        until(lambda: not cancel_file(file, job_id).exists())
    check_equals_fresh(tmp_path, tree)


@pytest.mark.parametrize("cancels", ["while nobody runs it", "by a file", "before its end"])
def test_a_job_that_died_with_its_new_index_in_place_is_cancelled(
    tmp_path: Path, deaths: Deaths, monkeypatch: pytest.MonkeyPatch, cancels: str
) -> None:
    """It has completed, whoever asks, and its result says what was indexed."""
    stage = Stage(folder=tmp_path)
    _REBUILD.prepare(stage)
    stage.restore()
    wanted = stage.fresh_contents()
    assert deaths.dies(stage, _REBUILD, "contents replaced")
    assert contents(stage.database) == wanted
    with stage.catalog() as catalog:
        [job] = catalog.jobs.list().jobs
        assert job.status is JobState.RUNNING
        if cancels == "while nobody runs it":
            job = catalog.jobs.cancel(job.job_id)
            assert job.log
        elif cancels == "by a file":
            note_cancel(stage.database, job.job_id, "no")
        else:
            fault_point = faults.fault_point

            def cancel(name: str) -> None:
                if name == "job claimed":
                    catalog.jobs.cancel(job.job_id)
                fault_point(name)

            monkeypatch.setattr("engine.jobs.runner.fault_point", cancel)
        if job.status is JobState.RUNNING:
            catalog.jobs.run_here()
        job = wait_for(catalog, job.job_id, *TERMINAL)
        assert job.status is JobState.COMPLETED
        assert job.result
        assert job.result["files_indexed"]
        assert catalog.jobs.events(job.job_id)[-1].type is EventType.COMPLETED
        until(lambda: catalog.jobs.show(job.job_id).log is not None)
        assert not cancel_file(stage.database, job.job_id).exists()
        with pytest.raises(JobConflictError, match="completed"):
            catalog.jobs.cancel(job.job_id)
    check_jobs(stage.database)
    assert contents(stage.database) == wanted


_BAD_ROWS = {
    "a lost page of vectors": lambda file: zero_pages(file, "memory_vectors"),
    "an event without a job": lambda file: run(
        file,
        "INSERT INTO job_events (job_id, sequence, type, at_ms, context)"
        " VALUES (99, 1, 'enqueued', 0, '{}')",
    ),
    "a memory without a summary": lambda file: run(
        file,
        "PRAGMA ignore_check_constraints = ON;"
        " INSERT INTO memories (uuid, summary, description, context, tags, token_count,"
        " created_at_ms, updated_at_ms) VALUES (zeroblob(16), '', '', '{}', '[]', 0, 1, 1)",
    ),
    "a memory that is no text": lambda file: run(
        file,
        "INSERT INTO memories (uuid, summary, description, context, tags, token_count,"
        " created_at_ms, updated_at_ms)"
        " VALUES (zeroblob(16), CAST(x'ff41' AS TEXT), '', '{}', '[]', 0, 1, 1)",
    ),
}


@pytest.mark.parametrize("is_job", [True, False])
@pytest.mark.parametrize("damage", _BAD_ROWS)
def test_an_index_with_a_bad_row(tmp_path: Path, damage: str, is_job: bool) -> None:
    """It is put aside, and the new one has the rows that are sound."""
    home, tree = site(tmp_path, 20)
    file = database_of(home, tree)
    with catalog_in(home) as catalog:
        catalog.open(str(tree)).checkpoints.save(NewMemory(summary="Sessions end"))
    _BAD_ROWS[damage](file)
    with catalog_in(home) as catalog:
        if is_job:
            catalog.jobs.run_here()
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            job = wait_for(catalog, job_id, *TERMINAL)
            assert job.status is JobState.COMPLETED, job.error
            until(lambda: not left_beside(home))
        else:
            catalog.open(str(tree)).index(_CLEAN)
        readable = ["\ufffdA"] if damage == "a memory that is no text" else []
        assert saved(catalog, tree) == ["Sessions end", *readable]
        assert catalog.doctor(str(tree)).verify().ok
    check_sound(file)
    assert list(home.glob(f"{file.stem}.damaged-*"))
    check_equals_fresh(tmp_path, tree)


def test_a_cleaning_while_a_damaged_index_is_rebuilt(tmp_path: Path) -> None:
    """Nothing says which job does it, so what it has built stays until it has ended."""
    home, tree = site(tmp_path, 20)
    file = database_of(home, tree)
    break_file(file)
    built = beside(file, "01234567-89ab-cdef-0123-456789abcdef")
    built.write_bytes(b"half an index")
    with indexing_lock(file):
        clean_up(home)
        assert built.exists()
    clean_up(home)
    assert not built.exists()


def test_processes_that_ask_over_the_swap(tmp_path: Path) -> None:
    """Each answer is that of the old index or of the new one, and the new one is heard by all."""
    home, tree = site(tmp_path)
    with (
        catalog_in(home, batch_bytes=_SMALL_BATCHES) as catalog,
        asking(home, tree, "open session") as first,
        asking(home, tree, "open session") as second,
    ):
        catalog.jobs.run_here()
        for round_ in range(2):
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            until_done(catalog, job_id, 20)
            catalog.open(str(tree)).checkpoints.save(NewMemory(summary=f"Saved in {round_}"))
            assert wait_for(catalog, job_id, *TERMINAL).status is JobState.COMPLETED
            for file in tree.rglob("*.py"):
                file.rename(file.with_name("x" + file.name))
        here = asked_here(catalog, tree)
        for each in (first, second):
            each.end()
    wanted = [*asked_anew(tmp_path / "home", tree)]
    assert here == wanted
    for each in (first, second):
        print(f"{each.answers} answers, {len(each.heard)} different ones")
        assert each.memories == ["Saved in 0", "Saved in 1"]
        for said in each.heard:
            versions = {name.rpartition("/")[2][:3] for name in said.split()[1:]}
            assert len(versions) == 1, "an answer from two indexes"
        assert set(wanted) <= set(each.heard)
    check_sound(database_of(home, tree))


def asked_anew(home: Path, tree: Path) -> list[str]:
    """Ask as ``asking`` does, in a process that has just opened the index."""
    with asking(home, tree, "open session") as last:
        last.end()
    return last.heard


def asked_here(catalog: Catalog, tree: Path) -> list[str]:
    """Ask in this process, whose writer has put the new index in its place."""
    return [
        f"{mode}: " + " ".join(sorted({hit.path for hit in hits}))
        for mode in (Mode.KEYWORD, Mode.HYBRID, Mode.MEANING)
        for hits in [
            catalog.open(str(tree))
            .search(SearchRequest(query="open session", mode=mode, limit=50))
            .hits
        ]
    ]


def test_a_copy_that_is_cancelled_changes_nothing(tmp_path: Path) -> None:
    home, tree = site(tmp_path)
    file = database_of(home, tree)
    before = contents(file)
    index_beside(tmp_path / "other", tree)
    old = Store(file, busy_timeout_ms=1000)
    new = Store(database_of(tmp_path / "other", tree), busy_timeout_ms=1000)
    steps = 0

    def check() -> None:
        nonlocal steps
        steps += 1
        raise Cancelled("now")

    def complete(seen: Handle, handle: Handle) -> None:
        assert seen.execute("SELECT count(*) FROM project").get == 1
        handle.execute("UPDATE project SET changes = changes + 1")

    with pytest.raises(Cancelled):
        old.replace_contents(new, complete, check)
    assert steps == 1
    assert contents(file) == before
    assert not Path(f"{file}-wal").exists() or not Path(f"{file}-wal").stat().st_size
    old.replace_contents(new, complete, lambda: None)
    with old.read() as handle:
        assert handle.execute("SELECT count(*) FROM files").get == 250
    new.close()
    old.close()
    check_sound(file)
    assert contents(file) == contents(database_of(tmp_path / "other", tree))


def index_beside(home: Path, tree: Path) -> None:
    with catalog_in(home) as catalog:
        catalog.create(str(tree)).index()


@pytest.mark.parametrize("kib", [6000, 9000])
def test_a_disk_without_room_for_the_new_index(tmp_path: Path, kib: int) -> None:
    """Of 6,000 KiB it is full while the new index is built, of 9,000 while that is copied."""
    home, tree = tmp_path / "home", tmp_path / "tree"
    write_tree(tree, {f"p{n % 9}/m{n}.py": source(n) * 3 for n in range(600)})
    with small_disk(home, 60_000) as disk:
        with catalog_in(home) as catalog:
            catalog.create(str(tree)).index()
        file = database_of(home, tree)
        before = contents(file)
        disk.resize(kib)
        with catalog_in(home, storage_patience=600) as catalog:
            with pytest.raises(DiskFullError):
                catalog.open(str(tree)).index(_CLEAN)
            assert contents(file) == before
            disk.resize(4500)
            with pytest.raises(DiskFullError, match="the index needs about 3"):
                catalog.jobs.submit(str(tree), _CLEAN)
            disk.resize(60_000)
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            disk.resize(kib)
            catalog.jobs.run_here()
            waiting = wait_for(catalog, job_id, JobState.BLOCKED).waiting
            assert waiting is not None
            assert waiting.startswith("disk full")
            assert contents(file) == before
            disk.resize(60_000)
            assert wait_for(catalog, job_id, *TERMINAL).status is JobState.COMPLETED
            until(lambda: not left_beside(home))
        check_sound(file)
        assert contents(file) == before


def kill_rebuildings(folder: Path, kills: int, most_ms: int) -> str:
    """Kill runners that rebuild, and compare each time; a line of counts."""
    random_ = random.Random(7)
    home, tree = folder / "home", folder / "tree"
    generate(tree, 0)
    with catalog_in(home) as catalog:
        catalog.create(str(tree)).index()
    file = database_of(home, tree)
    samples, old = Samples(), contents(file)
    killed = tries = beside = swapped = 0
    with catalog_in(home) as catalog:
        while killed < kills:
            tries += 1
            if catalog.jobs.list().jobs == () or not is_active(catalog):
                generate(tree, tries)
                old = contents(file)
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            attempt = catalog.jobs.show(job_id).attempt
            with runner_of(home, CAIRN_BATCH_BYTES=str(_SMALL_BATCHES), **_HANGS) as runner:
                until_tried(catalog, job_id, attempt)
                time.sleep(some_time(random_, 5, most_ms))
                killed += runner.kill()
            check_sound(file)
            samples.take(file)
            check_jobs(file)
            beside += bool(left_beside(home))
            found = contents(file)
            if found != old:
                check_equals_fresh(folder, tree)
                swapped += 1
                old = found
            else:
                assert catalog.jobs.show(job_id).status is not JobState.FAILED
        with runner_of(home) as runner:
            assert runner.wait() == 0
        catalog.jobs.follow(catalog.jobs.submit(str(tree), _CLEAN).job_id)
        until(lambda: not left_beside(home))
    check_sound(file)
    check_equals_fresh(folder, tree)
    ends = [job.events[-1].type for job in check_jobs(file)]
    assert set(ends) == {EventType.COMPLETED}
    return (
        f"{killed} kills of a runner that rebuilds in {tries} tries, {beside} with a new index half"
        f" built, {swapped} with it in its place: 0 unsound, 0 mixed"
    )


def until_tried(catalog: Catalog, job_id: str, attempts: int) -> None:
    until(lambda: catalog.jobs.show(job_id).attempt > attempts)


def is_active(catalog: Catalog) -> bool:
    return any(job.status not in TERMINAL for job in catalog.jobs.list().jobs)


def test_ten_kills_of_a_rebuilding(tmp_path: Path) -> None:
    print(kill_rebuildings(tmp_path, 10, 4000))


@pytest.mark.soak
def test_two_hundred_kills_of_a_rebuilding(tmp_path: Path) -> None:
    print(kill_rebuildings(tmp_path, 200, 5000))
