"""The same request many times at once, from threads and processes: one job all the same."""

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import Catalog
from engine.errors import InvalidInputError
from engine.index_records import IndexOptions
from engine.locks import runner_lock_file, take_lock
from engine.state_records import TERMINAL, Job, JobFilter, JobState, SubmittedJob
from tests.support.embedders import Fakes, HeldEmbedder
from tests.support.jobs import catalog_in
from tests.support.line_servers import LineServer
from tests.support.patience import patience
from tests.support.submitters import Answer, asked_of, submitters
from tests.support.trees import SAMPLE, write_tree
from web.cli.follow import follow_to_report

PROCESSES = 4
THREADS = 40  # in each of them, and in the process of the test


def ask_everywhere(
    catalog: Catalog, root: Path, others: list[LineServer], threads: int = THREADS
) -> list[Answer]:
    """Ask from all processes at once."""
    for each in others:
        each.tell(threads, {})
    answers = asked_of(catalog, root, threads, IndexOptions())
    for each in others:
        answers += map(tuple, each.told())
    assert len(answers) == (len(others) + 1) * threads
    return answers


def all_jobs(catalog: Catalog) -> list[Job]:
    """Give the jobs, the oldest first."""
    return list(catalog.jobs.list(JobFilter(limit=1000)).jobs[::-1])


def end_all(catalog: Catalog) -> None:
    for job in all_jobs(catalog):
        if job.status not in TERMINAL:
            catalog.jobs.follow(job.job_id)


def test_200_requests_for_a_new_project_make_one_project_and_one_job(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    home = tmp_path / "home"
    with submitters(PROCESSES, home, root) as others, catalog_in(home) as catalog:
        runner = take_lock(runner_lock_file(catalog.data_dir))
        assert runner
        with runner:  # a job that is in the way is not made to run
            answers = ask_everywhere(catalog, root, others)
            [job] = all_jobs(catalog)
            assert {answer[0] for answer in answers} == {job.job_id}
            assert [answer[1] for answer in answers].count(False) == 1
            assert not any(answer[2] for answer in answers)
            for each in others:
                each.tell(10, {"include_patterns": ["*.py"]})
            for each in others:
                assert each.told() == [[job.job_id, True, True]] * 10
        assert catalog.jobs.follow(job.job_id).status is JobState.COMPLETED
        assert len(all_jobs(catalog)) == 1


def test_while_jobs_come_to_their_end_each_request_has_one_that_goes_on(tmp_path: Path) -> None:
    """Whoever asks just before the end of a job gets it, whoever asks after it a new one."""
    root = write_tree(tmp_path / "tree", SAMPLE)
    home = tmp_path / "home"
    told: set[str] = set()
    asked = made = 0
    deadline_s = time.monotonic() + patience(30)
    with submitters(PROCESSES, home, root) as others, catalog_in(home) as catalog:
        assert catalog.jobs.run_here()
        while made < 5:
            assert time.monotonic() < deadline_s, f"{asked} requests met {made} jobs"
            for job_id, is_duplicate, is_conflict in ask_everywhere(catalog, root, others, 8):
                assert not is_conflict
                told.add(job_id)
                made += not is_duplicate
                asked += 1
        end_all(catalog)
        jobs = all_jobs(catalog)
        assert {job.job_id for job in jobs} == told
        assert len(jobs) == made
        assert {job.status for job in jobs} == {JobState.COMPLETED}
        for before, after in pairwise(jobs):
            assert before.finished_at is not None
            assert before.finished_at <= after.created_at
    assert len(jobs) >= 5
    print(f"{asked} requests while {len(jobs)} jobs came and went: 0 lost")


def test_a_bad_request_takes_no_good_one_with_it(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog, catalog_in(tmp_path / "home") as other:
        job_id = catalog.jobs.submit(str(root)).job_id
        for options in (IndexOptions(include_patterns=("[",)), IndexOptions(max_file_size=-1)):
            for each in (catalog, other):
                with pytest.raises(InvalidInputError):
                    each.jobs.submit(str(root), options)
        assert catalog.jobs.show(job_id).status is JobState.PENDING
        with pytest.raises(InvalidInputError):
            other.create(str(root)).index(IndexOptions(include_patterns=("[",)))
        assert catalog.jobs.follow(job_id).status is JobState.COMPLETED


def test_who_waits_for_a_job_that_had_begun_gets_the_report_of_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": '"""This is held back."""\n'})
    model = HeldEmbedder()

    def again() -> SubmittedJob:
        return catalog.jobs.submit(str(root))

    def waits(submitted: SubmittedJob) -> dict[str, Any]:
        follow_to_report(catalog, submitted, quiet=False, as_json=True, again=again)
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        before_it_began = again()
        assert catalog.jobs.run_here()
        assert model.is_holding.wait(patience(60.0))
        (root / "new.py").write_text("uncommon = 1\n")
        joined = again()
        assert (joined.job_id, joined.duplicate) == (before_it_began.job_id, True)
        model.is_free.set()
        report = waits(joined)
        assert (report["files_indexed"], report["files_unchanged"]) == (1, 1)
        assert waits(before_it_began)["files_indexed"] == 1  # a.py: nobody asks again for it
        assert len(all_jobs(catalog)) == 2
