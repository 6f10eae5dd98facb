"""The whole hostile corpus in one tree, indexed in one run: every case has its outcome."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.config import load_config
from engine.project import Project
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.hostile import QUERY_CASES, TREE_CASES, Corpus, hostile_corpus
from tests.support.hostile.environment import ENVIRONMENT_CASES
from tests.support.hostile.measured import MeasuredRun, run_measured
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.traces import traces_of

_MOST_GROWN_BYTES = 300 << 20
_CASES_ASKED_BY_COMMAND = ("names/not_utf-8", "names/newline", "special/fifo", "links/dangling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The corpus, and how its first run went."""

    corpus: Corpus
    command: Command
    run: MeasuredRun

    @property
    def database(self) -> Path:
        return self.command.home / f"{project_id_of(str(self.corpus.root))}.db"


def index_corpus(folder: Path, *, is_full: bool) -> Iterator[Indexed]:
    """Make the corpus, index it once while its restless cases go on, and delete it at the end."""
    with hostile_corpus(folder, is_full=is_full) as corpus:
        command = Command(home=folder / "home", folder=folder)
        with corpus.disturbed():
            run = run_measured(command, "index", "--json", str(corpus.entrance))
        yield Indexed(corpus=corpus, command=command, run=run)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    yield from index_corpus(tmp_path_factory.mktemp("hostile"), is_full=False)


def wrong_outcomes(corpus: Corpus, index: Project) -> dict[str, str]:
    """Give the paths of all cases whose outcome is not one of the right ones, with that outcome."""
    wrong = {}
    for case in corpus.built:
        for name, right in case.expect.items():
            said = index.why(f"{case.path}/{name}")
            outcome = said.reason or said.outcome
            if outcome not in right:
                wrong[f"{case.path}/{name[:100]}"] = outcome
    return wrong


def summary_of(indexed: Indexed) -> str:
    corpus, measured = indexed.corpus, indexed.run.measured
    return (
        f"{len(corpus.built)} cases in the tree, each with its outcome "
        f"({len(corpus.not_built)} not built: {corpus.not_built}), 0 tracebacks, "
        f"RSS +{measured.grown_bytes / 2**20:.0f} MB, {measured.wall_s:.1f} s, "
        f"longest stall {measured.stall_s * 1e3:.0f} ms"
    )


def test_the_corpus_has_every_class_and_enough_cases() -> None:
    counts = Counter(case.class_ for case in TREE_CASES)
    counts["queries"] = len(QUERY_CASES)
    counts["environment"] = len(ENVIRONMENT_CASES)
    least = {
        "links": 14,
        "special": 6,
        "sizes": 8,
        "depth": 6,
        "names": 16,
        "content": 20,
        "ignore_rules": 10,
        "queries": 40,
        "secrets": 30,
        "environment": 10,
    }
    assert counts.keys() == least.keys()
    assert [name for name, number in least.items() if counts[name] < number] == []
    assert len({case.path for case in TREE_CASES}) == len(TREE_CASES)


def test_the_run_ends_cleanly_with_an_outcome_for_every_case(indexed: Indexed) -> None:
    run, corpus = indexed.run, indexed.corpus
    assert run.measured.code == 0
    assert "Traceback" not in run.out + run.err
    assert not (indexed.command.home / "logs" / "cairn.log").exists()  # no traceback
    assert len(corpus.built) + len(corpus.not_built) == len(TREE_CASES)
    report = json.loads(run.out)
    assert report["errors"] == [
        error for error in report["errors"] if error["error"].startswith("changing")
    ]
    with open_catalog(load_config(indexed.command.home)) as catalog:
        assert wrong_outcomes(corpus, catalog.open(str(corpus.root))) == {}
    print(summary_of(indexed))


def test_the_memory_of_the_process_is_bounded(indexed: Indexed) -> None:
    assert indexed.run.measured.grown_bytes < _MOST_GROWN_BYTES


def test_the_index_is_sound_and_holds_nothing_foreign(indexed: Indexed) -> None:
    check_sound(indexed.database)
    assert len(indexed.corpus.forbidden) > 30
    assert traces_of(indexed.corpus.forbidden, indexed.command.home) == []
    said = indexed.run.out + indexed.run.err
    assert [text for text in indexed.corpus.forbidden if text in said] == []


def test_a_run_over_the_quiet_tree_changes_nothing(indexed: Indexed) -> None:
    settled = run_measured(indexed.command, "index", "--json", str(indexed.corpus.entrance))
    before = contents(indexed.database)
    again = run_measured(indexed.command, "index", "--json", str(indexed.corpus.entrance))
    assert settled.measured.code == again.measured.code == 0
    report = json.loads(again.out)
    assert (report["files_indexed"], report["files_failed"]) == (0, 0)
    assert report["files_unchanged"] > 1000
    assert contents(indexed.database) == before
    check_sound(indexed.database)


@pytest.mark.parametrize("path", _CASES_ASKED_BY_COMMAND)
def test_the_command_says_why(indexed: Indexed, path: str) -> None:
    cases = {case.path: case for case in indexed.corpus.built}
    for name, right in cases[path].expect.items():
        ended = indexed.command("why", "--json", str(indexed.corpus.root / path / name))
        said = ended.json()
        assert (said["reason"] or said["outcome"]) in right
        assert ended.code in (0, 3)
        assert "Traceback" not in ended.err


@pytest.mark.soak
def test_the_full_corpus(tmp_path: Path) -> None:
    for indexed in index_corpus(tmp_path, is_full=True):
        with open_catalog(load_config(indexed.command.home)) as catalog:
            index = catalog.open(str(indexed.corpus.root))
            assert wrong_outcomes(indexed.corpus, index) == {}
            assert index.status().files > 100_000
        check_sound(indexed.database)
        assert traces_of(indexed.corpus.forbidden, indexed.command.home) == []
        print(summary_of(indexed))
        assert indexed.run.measured.grown_bytes < _MOST_GROWN_BYTES
        assert indexed.run.measured.stall_s < patience(0.1)
