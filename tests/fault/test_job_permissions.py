"""Permissions that are lost while a job runs: of the root, of a folder, of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.search_records import Mode, SearchRequest
from engine.state_records import EventType, JobState
from tests.support.halting import halt_at
from tests.support.jobs import catalog_in, wait_for, without_log
from tests.support.oracle import check_sound
from tests.support.permissions import permissions_hold
from tests.support.trees import write_tree

FILES = 120
_BODY = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(500))


@pytest.fixture(autouse=True)
def ordinary_user() -> Iterator[None]:
    with permissions_hold():
        yield


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    root = write_tree(
        tmp_path / "tree", {f"p{n % 4}/m{n}.py": f"{_BODY}\n\nNUMBER = {n}\n" for n in range(FILES)}
    )
    yield root
    root.chmod(0o700)
    for folder in root.glob("p*"):
        folder.chmod(0o700)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """One that reads little ahead, so that reading goes on for as long as parsing does."""
    with catalog_in(tmp_path / "home", batch_bytes=65_536, queue_bytes=1 << 20) as catalog:
        assert catalog.jobs.run_here()
        yield catalog


def test_a_root_that_is_closed_ends_the_job_and_what_was_done_stays(
    tree: Path, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halt = halt_at(catalog, monkeypatch, 11)
    job_id = catalog.jobs.submit(str(tree)).job_id
    halt.await_reached()
    tree.chmod(0)
    halt.go_on()
    job = wait_for(catalog, job_id, JobState.COMPLETED, JobState.FAILED)
    assert job.status is JobState.FAILED
    assert job.error is not None
    assert job.error["message"] == f"permission denied: {tree}"
    assert 10 < job.files_done < FILES
    last = catalog.jobs.events(job_id)[-1]
    assert (last.type, last.context["files_processed"]) == (EventType.FAILED, job.files_done)
    assert last.context["error"] == job.error
    tree.chmod(0o700)
    index = catalog.open(str(tree))
    answer = index.search(SearchRequest(query="part_7", mode=Mode.KEYWORD))
    assert answer.hits
    assert (answer.coverage.files, answer.coverage.complete) == (job.files_done, False)
    check_sound(tmp_path / "home" / f"{job.project_id}.db")
    again = catalog.jobs.follow(catalog.jobs.retry(job_id).job_id)
    assert again.result is not None
    assert again.result["files_indexed"] == FILES - job.files_done
    assert without_log(catalog.jobs.show(job_id)) == without_log(job)


def test_a_root_that_is_closed_before_the_job_begins(tree: Path, tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        tree.chmod(0)
        job = catalog.jobs.follow(job_id)
        assert job.status is JobState.FAILED
        assert job.error is not None
        assert "ermission denied" in str(job.error["message"])


def test_a_folder_that_is_closed_costs_its_files_alone_and_forgets_none(
    tree: Path, catalog: Catalog
) -> None:
    catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
    (tree / "p1").chmod(0)
    (tree / "p2/m2.py").write_text("changed = 1\n")
    (tree / "p2/m2.py").chmod(0)
    job = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
    assert job.status is JobState.COMPLETED
    assert job.result is not None
    assert job.result["files_failed"] == 2
    errors = job.result["errors"]
    assert isinstance(errors, list)
    assert [(each["file"], each["error"].split(":")[0]) for each in errors] == [
        ("p1", "unreadable"),
        ("p2/m2.py", "unreadable"),
    ]
    status = catalog.open(str(tree)).status()
    assert status.files == FILES  # nothing is taken for deleted
    (tree / "p2/m2.py").chmod(0o600)
