"""What an observer adds up: jobs of other processes, each once, and a bounded number of labels."""

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.index_records import IndexOptions
from engine.observing import collector as surveying
from engine.observing.observer import Observer
from engine.search_records import Mode, RelatedRequest, SearchRequest
from engine.state_records import JobState
from engine.store.connection import Store
from engine.telemetry import metrics
from engine.telemetry.metrics import Measure, on_behalf_of
from tests.support.command import Command
from tests.support.damage import break_file
from tests.support.jobs import catalog_in, wait_for
from tests.support.killing import runner_of
from tests.support.ledger import RESULT, FakeClock, claimed, ledger_in
from tests.support.metrics import Numbers
from tests.support.trees import SAMPLE, write_tree


@contextmanager
def observing(home: Path) -> Iterator[Observer]:
    observer = Observer(load_config(home), "1.2.3")
    observer.start()
    try:
        yield observer
    finally:
        observer.stop()


def numbers_of(observer: Observer) -> Numbers:
    return Numbers(observer.exposition().decode())


def test_every_measure_has_its_family(tmp_path: Path) -> None:
    with observing(tmp_path) as observer:
        text = observer.exposition().decode()
    known = {measure.shown_name for measure in Measure}
    told = set(re.findall(r"^# TYPE (cairn_\S+)", text, re.MULTILINE))
    assert told == known


def test_jobs_of_another_process_are_counted_once(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", SAMPLE)
    command = Command(home=tmp_path / "home", folder=tree, variables={"CAIRN_WORKERS": "1"})
    before = command("index", "--json").json()
    with observing(command.home) as observer:
        first = numbers_of(observer)
        assert first.of("cairn_jobs", state="completed") == 1
        assert first.of("cairn_indexed_files") == before["files_indexed"] == len(SAMPLE)
        assert first.of("cairn_job_duration_seconds_count") == 0  # it had ended before
        assert first.of("cairn_files_total") == 0
        (tree / "new.py").write_text("def new():\n    return 1\n")
        after = command("index", "--json").json()
        for _ in range(3):
            told = numbers_of(observer)
            ended = {"state": "completed", "origin": "request"}
            assert told.of("cairn_job_duration_seconds_count", **ended) == 1
            assert told.of("cairn_jobs", state="completed") == 2
            assert told.of("cairn_files_total", outcome="indexed") == after["files_indexed"] == 1
            assert told.of("cairn_files_total", outcome="unchanged") == len(SAMPLE)
            assert told.of("cairn_chunks_total") == after["chunks"]
            assert told.of("cairn_embeddings_total") == after["embeddings_generated"]
            assert told.of("cairn_indexed_files") == len(SAMPLE) + 1
        assert command("forget", str(tree), "--yes").code == 0
        assert numbers_of(observer).of("cairn_projects") == 0
        assert command("index", "--json").json()["files_indexed"] == len(SAMPLE) + 1
        told = numbers_of(observer)  # the ids of its jobs have begun anew
        assert told.of("cairn_job_duration_seconds_count") == 2
        assert told.of("cairn_files_total", outcome="indexed") == len(SAMPLE) + 2


def test_a_job_is_counted_as_it_goes_on_over_the_death_of_its_runner(tmp_path: Path) -> None:
    text = "def f():\n    return 1\n" * 200
    tree = write_tree(tmp_path / "tree", {f"a{n}.py": f"# {n}\n{text}" for n in range(60)})
    home = tmp_path / "home"
    with catalog_in(home) as catalog, observing(home) as observer:
        job_id = catalog.jobs.submit(str(tree)).job_id
        told = numbers_of(observer)
        assert told.of("cairn_jobs", state="pending") == 1
        assert told.of("cairn_files_total") == 0
        fault = {"CAIRN_FAULT": "die:job batch committed@3", "CAIRN_BATCH_BYTES": "65536"}
        with runner_of(home, **fault) as runner:
            runner.wait()
        told = numbers_of(observer)
        assert told.of("cairn_jobs", state="running") == 1
        assert told.of("cairn_oldest_running_job_age_seconds") > 0
        some = told.of("cairn_files_total", outcome="indexed")
        with runner_of(home) as runner:
            wait_for(catalog, job_id, JobState.COMPLETED)
            runner.wait()
        told = numbers_of(observer)
        assert 0 < some < told.of("cairn_files_total", outcome="indexed") == 60
        assert told.of("cairn_job_duration_seconds_count", state="completed") == 1
        assert told.of("cairn_oldest_running_job_age_seconds") == 0


def test_failures_skips_and_what_cannot_be_read(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {**SAMPLE, ".env": "A=b\n", "big.py": "x = 1\n" * 400})
    command = Command(home=tmp_path / "home", folder=tree, variables={"CAIRN_WORKERS": "1"})
    with observing(command.home) as observer:
        assert command("index", "--max-size", "1000").code == 0
        told = numbers_of(observer)
        assert told.of("cairn_skipped_files", reason="secret_file") == 1
        assert told.of("cairn_skipped_files", reason="too_large") == 1
        assert told.of("cairn_files_total", outcome="skipped") == 2
        [file] = command.home.glob("*.db")
        break_file(file)
        other = write_tree(tmp_path / "other", SAMPLE)
        assert command("index", str(other)).code == 0
        told = numbers_of(observer)
        assert told.of("cairn_projects", readable="true") == 1
        assert told.of("cairn_projects", readable="false") == 1
        assert told.of("cairn_files_total", outcome="indexed") == 2 * len(SAMPLE)
    with observing(command.home) as observer:
        told = numbers_of(observer)
        assert told.of("cairn_projects", readable="true") == 1
        assert told.of("cairn_projects", readable="false") == 1


def test_a_job_that_cannot_be_read_makes_its_index_a_damaged_one(tmp_path: Path) -> None:
    clock = FakeClock()
    for name in "01":
        with ledger_in(tmp_path, clock, name * 64) as ledger:
            row = claimed(ledger)
            ledger.complete(row, RESULT, {})
    with observing(tmp_path) as observer:
        assert observer.status().damaged == 0
        with ledger_in(tmp_path, clock, "1" * 64) as ledger:
            row = claimed(ledger)
            ledger.complete(row, RESULT, {"counts": "{oops"})
        assert observer.status().damaged == 1
        told = numbers_of(observer)
        assert told.of("cairn_projects", readable="true") == 1
        assert told.of("cairn_projects", readable="false") == 1


def test_projects_beyond_the_largest_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surveying, "_MOST_PROJECTS", 2)
    with catalog_in(tmp_path / "home") as catalog:
        for number in range(5):
            catalog.create(str(write_tree(tmp_path / f"tree{number}", SAMPLE)))
        with observing(tmp_path / "home") as observer:
            sizes = sum(file.stat().st_size for file in (tmp_path / "home").glob("*.db"))
            told = numbers_of(observer)
    assert len(told.series("cairn_database_size_bytes")) == 3
    assert told.of("cairn_database_size_bytes") == sizes
    assert told.of("cairn_database_size_bytes", project="other") == sizes * 3 / 5
    assert len(told.series("cairn_wal_size_bytes")) == 3


def test_a_locked_database_is_looked_at_later(tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        index = catalog.create(str(write_tree(tmp_path / "tree", SAMPLE)))
        index.index(IndexOptions())
        [file] = (tmp_path / "home").glob("*.db")
        with observing(tmp_path / "home") as observer, closing(Store(file, busy_timeout_ms=0)):
            assert numbers_of(observer).of("cairn_indexed_files") == len(SAMPLE)
            index.clear()
            os.utime(file)
            assert numbers_of(observer).of("cairn_indexed_files") == 0


def test_a_question_is_one_however_many_projects_answer_it(tmp_path: Path) -> None:
    roots = [str(write_tree(tmp_path / name, SAMPLE)) for name in ("one", "two")]
    with catalog_in(tmp_path / "home") as catalog, observing(tmp_path / "home") as observer:
        for root in roots:
            catalog.create(root).index()
        with on_behalf_of("http"):
            ask_all_ways(catalog, roots)
        told = numbers_of(observer)
    counted = "cairn_search_duration_seconds_count"
    assert told.of(counted, mode="keyword", face="http") == 1
    assert told.of(counted, mode="related", face="http") == 1
    assert told.of(counted, mode="symbols", face="http") == 1
    assert told.of(counted) == 3
    assert told.of("cairn_search_errors_total", code="validation_error", face="http") == 1
    assert told.of("cairn_search_errors_total") == 1


def ask_all_ways(catalog: Catalog, roots: list[str]) -> None:
    catalog.search(roots, SearchRequest(query="session", mode=Mode.KEYWORD))
    with pytest.raises(InvalidInputError):
        catalog.search(roots, SearchRequest(query="case:x"))
    index = catalog.open(roots[0])
    index.related(RelatedRequest(path="app/session.py", line_start=1))
    index.symbols("SessionStore")


def test_while_nobody_listens_nothing_is_made(tmp_path: Path) -> None:
    nothing = metrics.span("search.words")
    assert metrics.measured_search("hybrid") is metrics.measured_search("symbols") is nothing
    with observing(tmp_path):
        assert metrics.measured_search("hybrid") is not nothing
        assert metrics.span("search.words") is nothing  # numbers are wanted, and no spans
    assert metrics.measured_search("hybrid") is nothing
