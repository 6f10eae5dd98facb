"""Secrets leave nothing in the index, and what becomes a secret takes with it what was known."""

import os
import random
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import Cancelled
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from tests.support.hostile import TREE_CASES, hostile_corpus
from tests.support.oracle import check_sound
from tests.support.traces import packed_texts, pieces_left, traces_of
from tests.support.trees import write_tree

#: No rule knows it for a secret by its look: only the file's name says so.
_WORD = "quincebrwtplkmgvxzhdfj"


def _other_words(count: int) -> str:
    source = random.Random(count)
    return "".join(
        f"word{''.join(source.choices('bcdfgh', k=9))} = {number}\n" for number in range(count)
    )


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def test_thirty_canaries_are_nowhere(tmp_path: Path, catalog: Catalog, config: Config) -> None:
    cases = tuple(case for case in TREE_CASES if case.class_ == "secrets")
    with hostile_corpus(tmp_path, cases) as corpus:
        index = catalog.create(str(corpus.root))
        index.index()
        (corpus.root / "shown.py").write_text("def plumtreeorchardgarden(): pass\n")
        index.index()
        assert len(traces_of(["plumtreeorchardgarden"], config.data_dir)) >= 4
        assert len(corpus.forbidden) >= 30
        assert traces_of(corpus.forbidden, config.data_dir) == []
    print(f"{len(corpus.forbidden)} canaries in {len(cases)} cases: 0 places")


@pytest.mark.parametrize("size", [3, 30_000])
def test_a_file_that_becomes_a_secret_is_forgotten_to_the_last_byte(
    tree: Path, catalog: Catalog, config: Config, size: int
) -> None:
    """Small texts share pages with others, large ones have pages of their own."""
    example = tree / ".env.example"
    write_tree(tree, {f"f{number}.py": _other_words(number + 5) for number in range(20)})
    example.write_text(f"WORD={_WORD}\n{_other_words(size)}")
    index = catalog.create(str(tree))
    index.index()
    assert index.search(SearchRequest(query=_WORD)).total == 1
    for _ in range(2):
        packed = packed_texts(database(config, tree), ".env.example")
        assert len(packed) == 1
        assert pieces_left(packed[0], config.data_dir) > 0
        assert traces_of([_WORD], config.data_dir) != []
        example.rename(tree / ".env")
        index.index()
        assert index.why(".env").reason == "secret_file"
        assert pieces_left(packed[0], config.data_dir) == 0
        assert traces_of([_WORD], config.data_dir) == []
        check_sound(database(config, tree))
        (tree / ".env").rename(example)
        index.index()
        assert index.search(SearchRequest(query=_WORD)).total == 1


def test_a_run_that_was_cut_off_leaves_nothing_to_the_next_one(
    tree: Path, catalog: Catalog, config: Config
) -> None:
    write_tree(tree, {"a.py": "a = 1\n", ".env.example": f"WORD={_WORD}\n"})
    index = catalog.create(str(tree))
    index.index()
    (tree / ".env.example").rename(tree / ".env")
    asked = 0

    def after_the_scan() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    write_tree(tree, {"b.py": "b = 1\n"})
    with pytest.raises(Cancelled):
        index.index(cancelled=after_the_scan)
    index.index()
    assert traces_of([_WORD], config.data_dir) == []


def test_an_older_program_knew_less_of_secrets(
    tree: Path, catalog: Catalog, config: Config
) -> None:
    """After an update all files are read again: what the old rules let through has to go."""
    write_tree(tree, {"a.py": f"a = '{_WORD}'\n", "b.py": "b = 1\n"})
    index = catalog.create(str(tree))
    index.index()
    os.utime(tree / "b.py")
    write_tree(tree, {"a.py": "a = 1\n"})
    index.index(IndexOptions(force=True))
    assert traces_of([_WORD], config.data_dir) == []
