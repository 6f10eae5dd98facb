"""What the open projects of a process share, and wait for while one of them is made."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.embedding.embedder import Embedder
from engine.errors import ProjectNotFoundError
from engine.roots import project_id_of
from engine.search_records import Mode, SearchAnswer, SearchRequest
from engine.store.connection import Store
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.holding import held
from tests.support.jobs import catalog_in, until
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """Open a catalog with one indexed project."""
    with catalog_in(tmp_path / "home", opens=Fakes(), busy_timeout=600_000) as catalog:
        catalog.create(str(write_tree(tmp_path / "ready", SAMPLE))).index()
        yield catalog


@contextmanager
def in_the_making(catalog: Catalog, folder: Path) -> Iterator[tuple[Path, threading.Thread]]:
    """Have a thread that makes the index of a folder, and is kept from it in the context."""
    file = catalog.data_dir / f"{project_id_of(str(write_tree(folder, SAMPLE)))}.db"
    Store(file, busy_timeout_ms=1000, create=True).close()  # as a process that is killed then
    with held("database", file):
        maker = started(lambda: catalog.create(str(folder)))
        until(lambda: is_open(file))
        yield file, maker
    maker.join()


def started(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def is_open(file: Path) -> bool:
    """Tell whether this process has a file open."""
    numbers = os.listdir("/proc/self/fd")
    return any(os.path.realpath(f"/proc/self/fd/{number}") == str(file) for number in numbers)


def test_other_projects_answer_while_an_index_is_made(catalog: Catalog, tmp_path: Path) -> None:
    with in_the_making(catalog, tmp_path / "slow") as (_, maker):
        answers: list[SearchAnswer] = []
        ask = SearchRequest(query="SessionStore")
        started(lambda: answers.append(catalog.search([str(tmp_path / "ready")], ask)))
        until(lambda: len(answers) == 1)
        assert answers[0].hits
        assert maker.is_alive()
    assert catalog.open(str(tmp_path / "slow")).status().files == 0


def test_an_index_is_made_once_for_all_who_ask(catalog: Catalog, tmp_path: Path) -> None:
    made: list[object] = []
    with in_the_making(catalog, tmp_path / "slow") as (_, maker):
        others = [
            started(lambda: made.append(catalog.create(str(tmp_path / "slow")))) for _ in range(4)
        ]
        assert maker.is_alive()
    for other in others:
        other.join()
    assert made == [catalog.open(str(tmp_path / "slow"))] * 4


def test_who_forgets_an_index_waits_until_it_is_made(catalog: Catalog, tmp_path: Path) -> None:
    with in_the_making(catalog, tmp_path / "slow") as (file, maker):
        forgetter = started(lambda: catalog.forget(str(tmp_path / "slow")))
        assert maker.is_alive()
    forgetter.join()
    assert not file.exists()
    assert not is_open(file)
    with pytest.raises(ProjectNotFoundError):
        catalog.open(str(tmp_path / "slow"))


def test_an_index_in_the_making_is_closed_with_the_others(catalog: Catalog, tmp_path: Path) -> None:
    with in_the_making(catalog, tmp_path / "slow") as (file, maker):
        closer = started(catalog.close)
        assert maker.is_alive()
    closer.join()
    assert not is_open(file)
    assert {each.suffix for each in catalog.data_dir.iterdir()} == {".db", ""}


class Opens:
    """Opens one fake, and keeps how often."""

    def __init__(self) -> None:
        self.fake = FakeEmbedder()
        self.times = 0

    def __call__(self, config: Config) -> Embedder:
        self.times += 1
        return self.fake


@contextmanager
def three_projects(folder: Path) -> Iterator[tuple[Catalog, list[str], Opens]]:
    """Open a catalog with three indexed projects, whose model was not asked anything yet."""
    opens = Opens()
    with catalog_in(folder / "home", opens=opens, model="fake:a") as catalog:
        paths = [str(write_tree(folder / name, SAMPLE)) for name in ("one", "two", "three")]
        for path in paths:
            catalog.create(path).index()
        opens.times = opens.fake.requests = 0
        opens.fake.is_closed = False
        yield catalog, paths, opens


def test_one_model_answers_the_questions_to_all_projects(tmp_path: Path) -> None:
    with three_projects(tmp_path) as (catalog, paths, opens):
        answer = catalog.search(paths, SearchRequest(query="open session", mode=Mode.MEANING))
        assert {hit.project for hit in answer.hits} == set(paths)
        assert (opens.times, opens.fake.requests) == (1, 1)
        catalog.forget(paths[0])
        assert not opens.fake.is_closed
    assert opens.fake.is_closed


def test_a_model_that_is_away_holds_up_one_project_only(tmp_path: Path) -> None:
    with three_projects(tmp_path) as (catalog, paths, opens):
        opens.fake.fail_after = 0
        answer = catalog.search(paths, SearchRequest(query="open session"))
        assert {hit.project for hit in answer.hits} == set(paths)
        assert opens.fake.requests == 1


def test_a_model_that_nobody_asks_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with three_projects(tmp_path) as (catalog, paths, opens):
        catalog.search(paths, SearchRequest(query="open session"))
        catalog.update_ngram_filters(lambda: False)
        assert not opens.fake.is_closed
        monkeypatch.setattr("engine.open_projects._IDLE_S", 0.0)
        catalog.update_ngram_filters(lambda: False)
        assert opens.fake.is_closed
