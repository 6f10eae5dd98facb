"""What agents are told of a repair: what it did, kept and replaced, and what became of the rest."""

import threading
from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config
from engine.index_records import IndexOptions
from engine.locks import runner_lock_file, take_lock
from engine.memory_records import NewMemory
from engine.roots import project_id_of
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.jobs import until
from tests.support.mcp_clients import ask, called, text_of
from tests.support.trees import SMALL, write_tree


@pytest.fixture
def tree(tree: Path) -> Path:
    """A small project."""
    return write_tree(tree, SMALL)


@pytest.fixture
def file(config: Config, tree: Path) -> Path:
    """Its index, in which a text has become unreadable: the repair removes it."""
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
        catalog.open(str(tree)).checkpoints.save(NewMemory(summary="kept", description="d"))
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    damage.checkpointed(file)
    damage.run(file, "UPDATE blob_texts SET packed = x'00' WHERE blob_id = 1")
    return file


@pytest.mark.usefixtures("file")
def test_a_repair_is_told_although_its_files_cannot_be_indexed(config: Config, tree: Path) -> None:
    with open_catalog(config, runs_jobs=False) as catalog:
        other = IndexOptions(include_patterns=("*.py",))
        active = catalog.jobs.submit(str(tree), other).job_id

        async def body(client: Client) -> None:
            place = {"project_path": str(tree), "repair": True}
            answer = await called(client, "verify_index", **place)
            assert answer["repaired"]
            assert (answer["status"], answer["job_id"]) == ("pending", active)
            assert any(f'get_indexing_status with job_id "{active}"' in n for n in answer["notes"])

        runner = take_lock(runner_lock_file(config.data_dir))
        assert runner
        with runner:  # so that the job in the way is not made to run
            ask(catalog, body)


@pytest.mark.usefixtures("file")
def test_what_a_repair_has_indexed_again_is_no_warning(config: Config, tree: Path) -> None:
    async def body(client: Client) -> None:
        answer = await called(client, "verify_index", project_path=str(tree), repair=True)
        assert answer["status"] == "completed"
        assert answer["repaired"]
        assert answer["job_id"]
        told = ("warnings", "suggested_fixes", "findings")
        assert [answer[name] for name in told] == [[], [], []]
        assert "notes" not in answer

    with open_catalog(config) as catalog:
        ask(catalog, body)


@pytest.mark.usefixtures("file")
def test_a_repair_whose_files_failed_to_be_indexed_says_so(config: Config, tree: Path) -> None:
    with open_catalog(config, runs_jobs=False) as catalog:

        async def body(client: Client) -> None:
            answer = await called(client, "verify_index", project_path=str(tree), repair=True)
            assert answer["repaired"]
            assert answer["ok"]
            assert answer["status"] == "failed"
            assert any("the model is gone" in note for note in answer["notes"])
            assert "the model is gone" in await _text(client, answer["job_id"])

        async def _text(client: Client, job_id: str) -> str:
            return await text_of(client, "get_indexing_status", job_id=job_id)

        failing = threading.Thread(target=_fail_the_first_job, args=(catalog, str(tree)))
        failing.start()
        runner = take_lock(runner_lock_file(config.data_dir))
        assert runner
        with runner:  # so that nobody else claims the job
            ask(catalog, body)
        failing.join()


def _fail_the_first_job(catalog: Catalog, root: str) -> None:
    until(lambda: bool(catalog.jobs.list().jobs))
    [job] = catalog.jobs.list().jobs
    ledger = catalog.open(root).for_jobs().ledger
    claimed = ledger.claim(ledger.find(job.job_id), "another")
    assert claimed
    ledger.fail(claimed, {"error": "unavailable", "message": "the model is gone"}, {})


def test_a_repair_says_what_it_kept_and_where_the_damaged_file_is(
    config: Config, tree: Path, file: Path
) -> None:
    damage.zero_pages(file, "files")
    answers = []

    async def body(client: Client) -> None:
        answers.append(await called(client, "verify_index", project_path=str(tree), repair=True))

    with open_catalog(config) as catalog:
        ask(catalog, body)
    [answer] = answers
    assert (answer["status"], answer["ok"]) == ("completed", True)
    assert Path(answer["aside"]).is_file()
    assert "memories: 1" in answer["kept"]


def test_a_repair_is_announced_as_destructive(catalog: Catalog) -> None:
    async def body(client: Client) -> None:
        [tool] = [t for t in (await client.list_tools()).tools if t.name == "verify_index"]
        assert tool.annotations
        assert tool.annotations.destructive_hint is not False
        assert "replace" in tool.input_schema["properties"]["repair"]["description"]

    ask(catalog, body)
