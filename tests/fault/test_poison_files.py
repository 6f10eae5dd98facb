"""A file that ends the process which handles it is left alone at last, and no other file is."""

from pathlib import Path

import pytest

from engine.roots import project_id_of
from engine.state_records import Job, JobState
from tests.support.job_oracle import check_jobs
from tests.support.jobs import catalog_in
from tests.support.killing import DIED, runner_of
from tests.support.oracle import check_sound
from tests.support.trees import SAMPLE, write_tree

FILES = {f"part_{n}.py": f"def job_{n}(value):\n    return value + {n}\n" for n in range(40)}


def errors_of(job: Job) -> list[dict[str, str]]:
    assert job.result
    errors = job.result["errors"]
    assert isinstance(errors, list)
    return errors


def test_a_file_that_kills_the_runner_three_times_is_skipped(tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = write_tree(tmp_path / "tree", {**FILES, "poison.py": "def poison(): pass\n"})
    other = write_tree(tmp_path / "other", SAMPLE)
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        other_id = catalog.jobs.submit(str(other)).job_id
        for _ in range(3):
            with runner_of(home, CAIRN_FAULT="die:read:poison.py") as runner:
                assert runner.wait() == DIED
            assert catalog.jobs.show(job_id).status is JobState.RUNNING
        with runner_of(home, CAIRN_FAULT="die:read:poison.py") as runner:
            assert runner.wait() == 0
        job = catalog.jobs.show(job_id)
        assert job.status is JobState.COMPLETED
        assert job.attempt == 4
        assert [error["file"] for error in errors_of(job)] == ["poison.py"]
        assert errors_of(job)[0]["error"] == (
            "parser_failed: indexing it crashed this program several times"
        )
        assert job.counts["files_failed"] == 1
        status = catalog.open(str(root)).status()
        assert (status.files, dict(status.skips)) == (len(FILES), {"parser_failed": 1})
        why = catalog.open(str(root)).why("poison.py")
        assert "crashed this program" in str(why)
        assert catalog.jobs.show(other_id).status is JobState.COMPLETED
        assert errors_of(catalog.jobs.show(other_id)) == []
        for text, is_left_alone in ((None, True), ("def harmless(): pass\n", False)):
            if text:
                (root / "poison.py").write_text(text)
            again = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
            assert bool(errors_of(again)) == is_left_alone
        assert catalog.open(str(root)).status().files == len(FILES) + 1
    for each in (root, other):
        database = home / f"{project_id_of(str(each))}.db"
        check_sound(database)
        check_jobs(database)


def test_other_kills_blame_no_file(tmp_path: Path) -> None:
    """Only a file that was in hand at three crashes in a row is to blame."""
    home = tmp_path / "home"
    root = write_tree(tmp_path / "tree", FILES)
    faults = [f"die:read:part_{number}.py" for number in (0, 3, 1, 1, 2, 1, 1, 9, 12, 7)]
    faults += [*["die:job claimed"] * 3, "die:job list stored"]  # none is in hand
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        for fault in faults:
            with runner_of(home, CAIRN_FAULT=fault) as runner:
                assert runner.wait() == DIED
        job = catalog.jobs.follow(job_id)
        assert (job.status, job.attempt) == (JobState.COMPLETED, 1 + len(faults))
        assert errors_of(job) == []
    check_jobs(home / f"{project_id_of(str(root))}.db")


def test_a_file_that_kills_its_parsers_costs_the_job_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree(tmp_path / "tree", {**FILES, "poison.py": "def poison(): pass\n"})
    monkeypatch.setenv("CAIRN_FAULT", "die:parse:poison.py")
    with catalog_in(tmp_path / "home") as catalog:
        job = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
        assert (job.status, job.attempt, errors_of(job)) == (JobState.COMPLETED, 1, [])
        assert catalog.open(str(root)).status().files == len(FILES) + 1  # by lines, unparsed
        assert catalog.open(str(root)).symbols("poison") == []
    monkeypatch.setenv("CAIRN_FAULT", "die:inspect:poison.py")
    with catalog_in(tmp_path / "worse") as catalog:
        job = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
        assert (job.status, job.attempt) == (JobState.COMPLETED, 1)
        assert [error["file"] for error in errors_of(job)] == ["poison.py"]
        assert errors_of(job)[0]["error"].startswith("parser_failed: the parser died")
        assert catalog.open(str(root)).status().files == len(FILES)


def test_a_parser_that_hangs_ends_with_its_runner(tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = write_tree(tmp_path / "tree", {**FILES, "hang.py": "def hang(): pass\n"})
    with catalog_in(home) as catalog:
        catalog.jobs.submit(str(root))
    with runner_of(home, CAIRN_FAULT="hang:parse:hang.py") as runner:
        runner.until_parsing()
        runner.kill()  # waits for the parser too
