"""Equal memories have equal scores in one ranking, however large their projects are."""

from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.catalog import Catalog
from engine.config import load_config
from engine.memory_records import NewMemory
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.trees import SAMPLE, write_tree

_SHARED = (
    NewMemory(summary="Tokens expire after an hour", tags=("decision",)),
    NewMemory(summary="Deploy on Tuesday", description="Tokens are renewed. " * 40),
    NewMemory(summary="Session cache", description="The cache of a session expires with it."),
    NewMemory(summary="Zebra", description="hour hour hour", tags=("idea", "decision")),
)
_FILE = {"a.md": "# Zebras\n"}
_WORDS = ("tokens", "expire", "hour", "session", "cache", "deploy", "zebra", "open", "note", "the")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """Three projects with the same memories: alone, among long ones, and beside files."""
    folder = tmp_path_factory.mktemp("projects")
    with open_catalog(load_config(folder / "home", workers=1)) as catalog:
        for name, files, others in (("tiny", _FILE, 0), ("large", _FILE, 70), ("files", SAMPLE, 5)):
            index = catalog.create(str(write_tree(folder / name, files)))
            index.index()
            notes = [
                NewMemory(
                    summary=f"Note {number} of the session", description="cache open " * number * 7
                )
                for number in range(others)
            ]
            saved = [index.checkpoints.save(note) for note in (*notes, *_SHARED)]
            for deleted in saved[: others // 3]:
                index.checkpoints.delete(deleted.id)
        yield catalog


@settings(max_examples=examples(40))
@given(
    words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5),
    tags=st.sampled_from([(), ("decision",), ("!idea",)]),
)
def test_equal_memories_have_equal_scores(
    catalog: Catalog, words: list[str], tags: tuple[str, ...]
) -> None:
    found = catalog.search_memories(catalog.roots(), " ".join(words), tags=tags, limit=100)
    assert found.errors == ()
    scores: dict[str, list[float | None]] = defaultdict(list)
    for memory in found.memories:
        scores[memory.summary].append(memory.score)
    for note in _SHARED:
        of_note = scores[note.summary]
        assert len(of_note) in (0, 3)
        assert len(set(of_note)) <= 1, note.summary
    assert [memory.score for memory in found.memories] == sorted(
        (memory.score for memory in found.memories), key=lambda score: -(score or 0)
    )
