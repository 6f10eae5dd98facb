"""The memories of several projects are found in one ranking."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import EngineError, InvalidInputError, ProjectNotFoundError
from engine.memory_records import NewMemory
from engine.project import Project
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.trees import SAMPLE, write_tree


def project(catalog: Catalog, folder: Path, *summaries: str) -> Project:
    folder.mkdir(exist_ok=True)
    index = catalog.create(str(folder))
    for summary in summaries:
        index.checkpoints.save(NewMemory(summary=summary))
    return index


def found(catalog: Catalog, query: str, paths: Sequence[str] = (), limit: int = 10) -> list[str]:
    answer = catalog.search_memories(paths or catalog.roots(), query, limit=limit)
    assert answer.errors == ()
    scores = [memory.score or 0 for memory in answer.memories]
    assert scores == sorted(scores, reverse=True)
    return [f"{Path(each.project_path).name}: {each.summary}" for each in answer.memories]


@pytest.fixture
def large(catalog: Catalog, tmp_path: Path) -> Project:
    """A project with files and many memories."""
    write_tree(tmp_path / "large", SAMPLE)
    notes = [f"Session note {number}" for number in range(40)]
    index = project(catalog, tmp_path / "large", *notes, "Tokens expire after an hour")
    index.index()
    return index


def test_the_best_memory_comes_first_whatever_its_project(
    catalog: Catalog, large: Project, tmp_path: Path
) -> None:
    project(catalog, tmp_path / "tiny", "Tokens are blue")
    project(catalog, tmp_path / "other", "Invoices are sent on Fridays")
    asked = found(catalog, "when do tokens expire after an hour")
    assert asked[0] == "large: Tokens expire after an hour"
    assert "tiny: Tokens are blue" in asked
    assert found(catalog, "invoices on Friday")[0] == "other: Invoices are sent on Fridays"
    assert found(catalog, "blue tokens")[0] == "tiny: Tokens are blue"
    assert found(catalog, "tokens", limit=1) == found(catalog, "tokens")[:1]


def test_a_word_that_is_rare_in_a_tiny_project_alone_does_not_win(
    catalog: Catalog, large: Project, tmp_path: Path
) -> None:
    """A word of most memories says little, also where there is just one memory."""
    project(catalog, tmp_path / "tiny", "Session closed", "Lunch is at noon", "Blue walls")
    large.checkpoints.save(NewMemory(summary="Tokens closed"))
    assert found(catalog, "session tokens")[0].startswith("large: Tokens")


def test_one_project_is_searched_as_by_itself(
    catalog: Catalog, large: Project, tmp_path: Path
) -> None:
    project(catalog, tmp_path / "tiny", "Tokens are blue")
    for query in ("tokens expire", "session note 7", "when does it end"):
        alone = large.checkpoints.search(query, only_memories=True)
        for path in (large.root, large.project_id, f"{large.root}/app"):
            assert catalog.search_memories([path], query).memories == alone
        twice = catalog.search_memories([large.root, large.project_id], query)
        assert (twice.memories, twice.errors) == (alone, ())


def test_tags_choose_in_each_project(catalog: Catalog, large: Project, tmp_path: Path) -> None:
    tiny = project(catalog, tmp_path / "tiny", "Tokens are blue")
    for index in (large, tiny):
        index.checkpoints.save(NewMemory(summary="Tokens are opaque", tags=("decision",)))
    answer = catalog.search_memories(catalog.roots(), "tokens", tags=("decision",))
    assert [each.tags for each in answer.memories] == [("decision",)] * 2
    assert {each.project_path for each in answer.memories} == {large.root, tiny.root}
    assert len({each.score for each in answer.memories}) == 1
    assert catalog.search_memories(catalog.roots(), "tokens", tags=("indexed",)).memories == ()


def test_nothing_is_found_without_words_projects_or_memories(
    catalog: Catalog, large: Project, tmp_path: Path
) -> None:
    empty = project(catalog, tmp_path / "empty")
    assert catalog.search_memories([], "tokens").memories == ()
    assert catalog.search_memories([empty.root], "tokens").memories == ()
    assert found(catalog, "?!") == []
    assert found(catalog, "favourite pizza toppings") == []
    assert found(catalog, "tokens expire", [empty.root, large.root])
    for wrong in ({"query": " "}, {"query": "x", "limit": 0}, {"query": "x", "tags": ("!",)}):
        with pytest.raises(InvalidInputError):
            catalog.search_memories([], **wrong)


def test_a_project_that_fails_is_reported(
    config: Config, catalog: Catalog, large: Project, tmp_path: Path
) -> None:
    broken = project(catalog, tmp_path / "broken", "Tokens are lost")
    file = config.data_dir / f"{broken.project_id}.db"
    broken.close()
    damage.checkpointed(file)
    damage.break_file(file)
    with open_catalog(config) as again:
        nowhere = str(tmp_path / "nowhere")
        answer = again.search_memories([nowhere, *again.roots_or_ids()], "tokens expire")
        assert answer.memories[0].summary == "Tokens expire after an hour"
        assert {each.project_path for each in answer.memories} == {large.root}
        assert [(each.project, each.error) for each in answer.errors] == [
            (nowhere, "not_found"),
            (broken.project_id, "damaged_index"),
        ]
        with pytest.raises(ProjectNotFoundError):
            again.search_memories([nowhere], "tokens")
        with pytest.raises(EngineError) as raised:
            again.search_memories([broken.project_id, nowhere], "tokens")
        assert raised.value.code == "damaged_index"


def test_an_answer_holds_a_bounded_amount_of_text(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.memory_records.MAX_ANSWER_BYTES", 1500)
    for name in ("first", "second"):
        index = project(catalog, tmp_path / name)
        for number in range(5):
            index.checkpoints.save(NewMemory(summary=f"Note {number}", description="word " * 100))
    assert len(found(catalog, "note")) == 3
