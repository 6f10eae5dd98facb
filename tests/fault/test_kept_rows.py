"""Of a damaged file, all memories that can be read are kept, wherever the damage lies."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.doctor import rebuild
from engine.errors import IndexBusyError, ProjectNotFoundError, UnavailableError
from engine.index_records import IndexOptions
from engine.memory_records import NewMemory
from engine.roots import project_id_of
from engine.state_records import TERMINAL, JobState
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.damage import indexed, repaired, run, verified
from tests.support.holding import held
from tests.support.jobs import wait_for
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

_CLEAN = IndexOptions(force_clean=True)


@pytest.fixture
def file(config: Config, tree: Path) -> Path:
    """Give the database file of an indexed project."""
    write_tree(tree, SAMPLE)
    indexed(config, tree)
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def save(config: Config, tree: Path, number: int, text: str = "It is so.") -> None:
    with open_catalog(config) as catalog:
        notes = catalog.open(str(tree)).checkpoints
        for each in range(1, number + 1):
            notes.save(NewMemory(summary=f"Decision {each}", description=f"{each}: {text}"))


def saved(catalog: Catalog, root: Path) -> dict[str, str]:
    """Give the descriptions of all memories, by their summaries."""
    page = catalog.open(str(root)).checkpoints.list(only_memories=True, limit=100)
    return {each.summary: each.description for each in page.checkpoints}


@pytest.mark.parametrize("is_job", [True, False])
def test_a_clean_index_keeps_memories_with_bytes_that_are_no_text(
    config: Config, tree: Path, file: Path, is_job: bool
) -> None:
    save(config, tree, 6)
    run(
        file,
        """UPDATE memories SET description = CAST(CAST(description AS BLOB) || x'ff41' AS TEXT)
           WHERE id IN (2, 5)""",
    )
    with open_catalog(config) as catalog:
        if is_job:
            catalog.jobs.run_here()
            job_id = catalog.jobs.submit(str(tree), _CLEAN).job_id
            job = wait_for(catalog, job_id, *TERMINAL)
            assert job.status is JobState.COMPLETED, job.error
            assert job.result
            said = str(job.result["notes"])
        else:
            said = str(catalog.open(str(tree)).index(_CLEAN).notes)
        assert saved(catalog, tree) == {
            f"Decision {n}": f"{n}: It is so." + ("\ufffdA" if n in (2, 5) else "")
            for n in range(1, 7)
        }
        assert catalog.doctor(str(tree)).verify().ok
    assert "the old index was damaged and is kept as " in said
    assert any(each.name in said for each in config.data_dir.glob(f"{file.stem}.damaged-*"))


@pytest.mark.parametrize("broken", ["tags = '[oops'", "tags = '7'", "context = 'oops'"])
def test_a_clean_index_keeps_what_can_be_read_of_a_memory(
    config: Config, tree: Path, file: Path, broken: str
) -> None:
    save(config, tree, 3)
    run(file, f"UPDATE memories SET {broken} WHERE id = 2")
    with open_catalog(config) as catalog:
        catalog.open(str(tree)).index(_CLEAN)
        assert saved(catalog, tree) == {f"Decision {n}": f"{n}: It is so." for n in (1, 2, 3)}
        found = catalog.open(str(tree)).checkpoints.search("Decision 2", only_memories=True)
        assert "Decision 2" in [each.summary for each in found]
        assert catalog.doctor(str(tree)).verify().ok


def lose_leaves(file: Path, table: str, some: slice) -> None:
    """Lose some of the pages that hold the rows of a table."""
    with damage.writer(file) as handle:
        pages = [
            int(number)
            for (number,) in handle.execute(
                "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path",
                (table,),
            )
        ]
    data = bytearray(file.read_bytes())
    for number in pages[some]:
        data[4096 * (number - 1) : 4096 * number] = bytes(4096)
    file.write_bytes(data)


@pytest.mark.parametrize("is_repair", [True, False])
def test_lost_pages_cost_their_own_memories_alone(
    config: Config, tree: Path, file: Path, is_repair: bool
) -> None:
    save(config, tree, 60, "It is so. " * 40)
    lose_leaves(file, "memories", slice(1, 7, 2))
    assert not verified(config, tree).ok
    if is_repair:
        repair = repaired(config, tree)
        assert repair.ok
        assert repair.aside
        said = " ".join((*repair.done, *repair.kept))
        indexed(config, tree)
    else:
        with open_catalog(config) as catalog:
            said = " ".join(catalog.open(str(tree)).index(_CLEAN).notes)
    with open_catalog(config) as catalog:
        kept = saved(catalog, tree)
    numbers = [int(summary.split()[1]) for summary in kept]
    lost = sorted({*range(1, 61)} - {*numbers})
    assert 3 <= len(lost) < 40
    assert min(lost) > 1
    assert max(lost) < 60
    assert len([n for n in lost if n + 1 not in lost]) == 3, "sound ones lie between the lost ones"
    assert f"{len(kept)} of 60 memories" in said
    assert not is_repair or f"memories: {len(kept)} of 60" in said


def save_one(catalog: Catalog, root: Path) -> str:
    notes = catalog.open(str(root)).checkpoints
    return notes.save(NewMemory(summary="Late", description="It was acknowledged.")).id


def submit(catalog: Catalog, root: Path) -> str:
    return catalog.jobs.submit(str(root)).job_id


def is_kept(catalog: Catalog, root: Path, id_: str) -> bool:
    if id_ in {each.id for each in catalog.open(str(root)).checkpoints.list(limit=100).checkpoints}:
        return True
    return id_ in {job.job_id for job in catalog.jobs.list().jobs}


@pytest.mark.parametrize("act", [save_one, submit])
def test_what_is_acknowledged_while_the_file_is_made_anew_is_kept(
    act: Callable[[Catalog, Path], str],
    config: Config,
    tree: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = replace(config, busy_timeout=int(patience(5_000)))
    save(config, tree, 1)
    make = rebuild._make
    end_s = time.monotonic() + patience(30)
    begun = []

    def acknowledged() -> str:
        while True:
            try:
                return act(writing, tree)
            except (UnavailableError, ProjectNotFoundError):
                if time.monotonic() > end_s:
                    raise

    def make_while_others_write(*arguments: Any) -> object:
        begun.append(pool.submit(acknowledged))
        wait(begun, timeout=2)  # long enough only for one whom nothing holds back
        return make(*arguments)

    with open_catalog(config) as writing, open_catalog(config) as catalog:
        writing.open(str(tree)).checkpoints.save(NewMemory(summary="Early", description="It is."))
        with ThreadPoolExecutor(1) as pool:
            monkeypatch.setattr(rebuild, "_make", make_while_others_write)
            catalog.doctor(str(tree)).rebuild()
            [id_] = [each.result() for each in begun]
    with open_catalog(config) as catalog:
        assert is_kept(catalog, tree, id_)
        assert {"Decision 1", "Early"} <= saved(catalog, tree).keys()
        assert catalog.doctor(str(tree)).verify().ok
    [aside] = config.data_dir.glob(f"{file.stem}.damaged-*[0-9]")
    with damage.writer(aside) as handle:
        assert handle.execute("SELECT count(*) FROM memories").get == 2
        assert handle.execute("SELECT count(*) FROM jobs WHERE state = 'pending'").get == 0


def test_a_file_that_another_process_writes_is_not_replaced(
    config: Config, tree: Path, file: Path
) -> None:
    config = replace(config, busy_timeout=100)
    save(config, tree, 1)
    with open_catalog(config) as catalog:
        with held("database", file), pytest.raises(IndexBusyError):
            catalog.doctor(str(tree)).rebuild()
        assert sorted(config.data_dir.glob(f"{file.stem}.damaged-*")) == []
        catalog.doctor(str(tree)).rebuild()
        assert saved(catalog, tree).keys() == {"Decision 1"}
