"""Who joins a job that had begun before is told nothing as indexed that it may lack."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.index_records import IndexOptions
from engine.state_records import Job, JobFilter, JobState
from tests.support.embedders import Fakes, HeldEmbedder
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called
from tests.support.patience import patience
from tests.support.trees import write_tree
from web import operations
from web.operations import HAD_BEGUN, RequestedRun, Wait

_HELD = '"""This is held back."""\n'


class Begun(NamedTuple):
    """A job that has begun, and a file that was written afterwards: ``new.py``."""

    catalog: Catalog
    root: str
    job_id: str
    model: HeldEmbedder

    def ask(self, options: IndexOptions, wait: Wait) -> RequestedRun:
        return operations.index(self.catalog, self.root, options, wait)

    def jobs(self) -> tuple[Job, ...]:
        return self.catalog.jobs.list(JobFilter()).jobs[::-1]


@contextmanager
def begun(folder: Path, options: IndexOptions) -> Iterator[Begun]:
    root = write_tree(folder / "tree", {"a.py": _HELD})
    model = HeldEmbedder()
    with catalog_in(folder / "home", opens=Fakes(model), model="fake:a") as catalog:
        assert catalog.jobs.run_here()
        job_id = catalog.jobs.submit(str(root), options).job_id
        assert model.is_holding.wait(patience(60.0))
        (root / "new.py").write_text("uncommon = 1\n")
        try:
            yield Begun(catalog, str(root), job_id, model)
        finally:
            model.is_free.set()


@pytest.mark.parametrize(
    "options",
    [IndexOptions(), IndexOptions(force=True), IndexOptions(force_clean=True)],
    ids=["changed", "forced", "clean"],
)
def test_one_more_run_looks_for_what_changed_after_the_joined_one_had_begun(
    tmp_path: Path, options: IndexOptions
) -> None:
    with begun(tmp_path, options) as first:

        def release(_: Job) -> None:
            first.model.is_free.set()

        asked = first.ask(options, Wait(patience(60), is_for_long=True, on_change=release))
        assert asked.job.status is JobState.COMPLETED
        assert asked.job.job_id != first.job_id
        assert not asked.warnings
        assert (asked.job.result or {})["files_indexed"] == 1  # what was read before is not again
        assert first.catalog.open(first.root).browse.sha256("new.py")
        assert len(first.jobs()) == 2


def test_while_the_joined_job_goes_on_the_answer_says_what_it_may_lack(tmp_path: Path) -> None:
    options = IndexOptions()
    with begun(tmp_path, options) as first:
        for wait in (Wait(0), Wait(0.1, is_for_long=True), Wait(stop=lambda: True)):
            asked = first.ask(options, wait)
            assert (asked.job.job_id, asked.is_duplicate) == (first.job_id, True)
            assert asked.warnings == (HAD_BEGUN,)


def test_a_job_that_had_not_begun_lacks_nothing(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "x = 1\n"})
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        asked = operations.index(catalog, str(root), IndexOptions(), Wait(0))
        assert (asked.job.job_id, asked.is_duplicate, asked.warnings) == (job_id, True, ())
        asked = operations.index(catalog, str(root), IndexOptions(), Wait(patience(60)))
        assert (asked.job.job_id, asked.job.status) == (job_id, JobState.COMPLETED)
        assert len(catalog.jobs.list().jobs) == 1


def test_if_another_request_comes_first_the_answer_says_what_the_joined_job_may_lack(
    tmp_path: Path,
) -> None:
    with begun(tmp_path, IndexOptions()) as first:
        (Path(first.root) / "b.md").write_text("This is held back, too.\n")

        def follow(job: Job) -> None:
            first.model.is_free.set()
            if job.status is JobState.COMPLETED:
                first.model.is_free.clear()
                first.catalog.jobs.submit(first.root, IndexOptions(include_patterns=("*.md",)))

        asked = first.ask(IndexOptions(), Wait(patience(60), is_for_long=True, on_change=follow))
        assert (asked.job.job_id, asked.job.status) == (first.job_id, JobState.COMPLETED)
        assert asked.warnings == (HAD_BEGUN,)


def test_agents_are_told_of_what_they_have_just_written(tmp_path: Path) -> None:
    with begun(tmp_path, IndexOptions()) as first:

        async def body(client: Client) -> None:
            started = await called(client, "start_indexing_background", repo_path=first.root)
            assert (started["job_id"], started["warnings"]) == (first.job_id, [HAD_BEGUN])
            releasing = threading.Timer(0.2, first.model.is_free.set)
            releasing.start()
            answer = await called(client, "index_repository", path=first.root)
            releasing.join()
            assert (answer["status"], answer["files_indexed"]) == ("completed", 1)
            assert "notes" not in answer

        ask(first.catalog, body)
