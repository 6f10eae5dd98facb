"""A root that goes away while a job reads it ends the job, and nothing is taken for deleted."""

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.index_records import IndexOptions
from engine.search_records import Mode, SearchRequest
from engine.state_records import Job, JobState
from tests.support.halting import Halt, halt_at
from tests.support.jobs import catalog_in, wait_for
from tests.support.oracle import check_sound, contents
from tests.support.permissions import permissions_hold
from tests.support.trees import write_tree

FILES = 120
POINTS = 30
READS = 500
_LARGE = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(120))


def module(number: int, version: int = 0) -> str:
    return f"{_LARGE}\n\nVALUE = {number}, {version}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", {f"p{n % 6}/m{n}.py": module(n) for n in range(FILES)})


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """One that reads little ahead, so that reading goes on for as long as parsing does."""
    with catalog_in(tmp_path / "home", batch_bytes=65_536, queue_bytes=1 << 20) as catalog:
        yield catalog


def rename(tree: Path) -> None:
    tree.rename(tree.with_name("elsewhere"))


def delete(tree: Path) -> None:
    shutil.rmtree(tree)


def close(tree: Path) -> None:
    tree.chmod(0)


def replace(tree: Path) -> None:
    rename(tree)
    tree.mkdir()


def hide_by_a_file(tree: Path) -> None:
    rename(tree)
    tree.write_text("")


GOING: dict[str, tuple[Callable[[Path], None], str]] = {
    "renamed": (rename, "no such file or directory: "),
    "deleted": (delete, "no such file or directory: "),
    "closed": (close, "permission denied: "),
    "replaced": (replace, "another folder took the place of "),
    "a file": (hide_by_a_file, "not a directory: "),
}


def run_until_read(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Halt]:
    """Begin a job over a tree whose files have all changed, and stop it while it reads them."""
    for number in range(FILES):
        (tree / f"p{number % 6}/m{number}.py").write_text(module(number, 1))
    halt = halt_at(catalog, monkeypatch, 6)
    job_id = catalog.jobs.submit(str(tree)).job_id
    catalog.jobs.run_here()
    halt.await_reached()
    return job_id, halt


@pytest.mark.parametrize(("go", "says"), GOING.values(), ids=GOING)
def test_a_root_that_goes_ends_the_job_and_nothing_is_deleted(
    go: Callable[[Path], None],
    says: str,
    tree: Path,
    catalog: Catalog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with permissions_hold():
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        job_id, halt = run_until_read(catalog, tree, monkeypatch)
        go(tree)
        halt.go_on()
        job = wait_for(catalog, job_id, JobState.COMPLETED, JobState.FAILED)
        assert job.status is JobState.FAILED
        assert job.error is not None
        assert job.error["error"] == "validation_error"
        assert job.error["message"] == f"{says}{tree}"
        assert 5 < job.files_done <= FILES
        index = catalog.open(str(tree))
        assert index.status().files == FILES
        assert index.search(SearchRequest(query="part_7", mode=Mode.KEYWORD)).hits
        check_sound(tmp_path / "home" / f"{job.project_id}.db")


def test_a_root_that_goes_while_it_is_listed(tree: Path, catalog: Catalog) -> None:
    with permissions_hold():
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        for mode in (0o400, 0o100, 0o000):
            tree.chmod(mode)
            job_id = catalog.jobs.submit(str(tree)).job_id if mode == 0o500 else None
            with pytest.raises(Exception, match="ermission denied"):
                catalog.open(str(tree)).index()
            assert job_id is None
            assert catalog.open(str(tree)).status().files == FILES
            tree.chmod(0o700)


def test_files_of_a_folder_that_can_be_listed_alone_are_kept(tree: Path, catalog: Catalog) -> None:
    with permissions_hold():
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        (tree / "p3").chmod(0o400)  # names, and nothing else of them
        job = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        (tree / "p3").chmod(0o700)
        assert job.result is not None
        assert job.result["files_failed"] == FILES // 6
        assert catalog.open(str(tree)).status().files == FILES
        job = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        assert job.result is not None
        assert (job.result["files_failed"], job.result["files_indexed"]) == (0, 0)


def lock_out(tree: Path, changed: list[Path], chance: random.Random) -> Path:
    """Take the permissions from the root, from a folder or from a file that has changed."""
    folders = [path for path in tree.iterdir() if path.is_dir()]
    place = chance.choice((tree, chance.choice(folders), chance.choice(changed)))
    place.chmod(chance.choice((0, 0o400)) if place.is_dir() else 0)
    return place


def test_permissions_lost_at_random_points_delete_nothing(tmp_path: Path, catalog: Catalog) -> None:
    chance = random.Random(27)
    tree = tmp_path / "tree"
    files = [tree / f"p{n % 4}/m{n}.py" for n in range(40)]
    write_tree(tree, {str(file.relative_to(tree)): f"part_{file.stem} = 0\n" for file in files})
    met = 0
    with permissions_hold():
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        catalog.jobs.run_here()
        index = catalog.open(str(tree))
        for number in range(POINTS):
            changed = chance.sample(files, 20)
            for file in changed:
                file.write_text(f"part_{file.stem} = {number}\n")
            job_id = catalog.jobs.submit(str(tree)).job_id
            time.sleep(chance.random() * 0.06)
            place = lock_out(tree, changed, chance)
            job = wait_for(catalog, job_id, JobState.COMPLETED, JobState.FAILED)
            met += job.status is JobState.FAILED or job.counts["files_failed"] > 0
            assert index.status().files == len(files)
            place.chmod(0o700 if place.is_dir() else 0o600)
        last = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        assert last.result is not None
        assert (last.status, last.result["files_failed"]) == (JobState.COMPLETED, 0)
    check_equal_to_fresh(tmp_path, tree, last)
    print(f"{POINTS} points, {met} met, 0 files deleted")
    assert met > 0


def check_equal_to_fresh(folder: Path, tree: Path, job: Job) -> None:
    database = folder / "home" / f"{job.project_id}.db"
    check_sound(database)
    with catalog_in(folder / "fresh") as other:
        other.create(str(tree)).index()
    assert contents(database) == contents(folder / "fresh" / database.name)


def test_a_file_that_is_written_all_the_time_is_stored_as_it_once_was(
    tmp_path: Path, catalog: Catalog
) -> None:
    tree, names = tmp_path / "tree", [f"m{number}.py" for number in range(20)]
    texts = [f"version_{number} = {'x' * number * 400!r}\n" for number in range(7)]
    write_tree(tree, dict.fromkeys(names, texts[0]))
    known = {sha256(text.encode()).hexdigest() for text in texts}
    is_over = threading.Event()

    def write() -> None:
        chance = random.Random(28)
        while not is_over.is_set():
            (tree / chance.choice(names)).write_text(chance.choice(texts))

    writer = threading.Thread(target=write)
    writer.start()
    reads = 0
    try:
        while reads < READS:
            job = catalog.jobs.follow(
                catalog.jobs.submit(str(tree), IndexOptions(force=True)).job_id
            )
            assert job.status is JobState.COMPLETED
            reads += job.files_done
            database = tmp_path / "home" / f"{job.project_id}.db"
            stored = [row[2].hex() for row in contents(database)["files"]]  # type: ignore[attr-defined]
            # A file is empty for a moment when it is written: that is a content too.
            assert set(stored) <= known | {sha256(b"").hexdigest()}
    finally:
        is_over.set()
        writer.join()
    job = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
    check_equal_to_fresh(tmp_path, tree, job)
    print(f"{reads} reads, 0 mixtures")


def test_a_file_that_cannot_be_parsed_is_skipped_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write_tree(tmp_path / "tree", {"good.py": "good = 1\n", "poison.py": "poison = 1\n"})
    (tree / "odd.py").write_bytes(b"# \xff\xfe\x81 \x8d\x8f\x90\n" * 3)
    (tree / "link").symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("CAIRN_FAULT", "die:inspect:poison.py")
    with catalog_in(tmp_path / "home") as catalog:
        job = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        assert job.status is JobState.COMPLETED
        assert job.result is not None
        errors = job.result["errors"]
        assert isinstance(errors, list)
        assert [each["file"] for each in errors] == ["poison.py"]
        assert "parser_failed" in errors[0]["error"]
        assert job.result["files_failed"] == 1
        assert job.files_done == job.files_total == 3
        assert catalog.search([str(tree)], SearchRequest(query="good")).hits
