"""A process that will be asked reads ahead, and answers as one that has not."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.search_records import Hit, Mode, RelatedRequest, SearchAnswer, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import SAMPLE, write_tree


def _hits(catalog: Catalog, tree: Path, query: str, mode: Mode) -> tuple[Hit, ...]:
    return catalog.open(str(tree)).search(SearchRequest(query=query, mode=mode)).hits


def test_what_is_read_ahead_changes_no_answer(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).warm()  # nothing is indexed
        catalog.open(str(tree)).index()
    asked = [(query, mode) for query in ("open session", "Router") for mode in Mode]
    with open_catalog(config) as cold:
        wanted = [_hits(cold, tree, *each) for each in asked]
    with open_catalog(config) as warm:
        warm.open(str(tree)).warm()
        found = [_hits(warm, tree, *each) for each in asked]
        assert [[_told(hit) for hit in hits] for hits in found] == [
            [_told(hit) for hit in hits] for hits in wanted
        ]
        (tree / "new.py").write_text("def a_new_router():\n    return 1\n")
        warm.open(str(tree)).index()
        assert _hits(warm, tree, "a_new_router", Mode.KEYWORD)


def _told(hit: Hit) -> Hit:
    return replace(hit, score=round(hit.score, 6))


_COPY = "class Disk:\n    def read(self, block):\n        return self.blocks[block]\n"
_COPIES = {
    **SAMPLE,
    "d.py": _COPY,  # of equal contents the shortest path that passes is shown
    "storage/disk.py": _COPY,
    "tests/test_disk.py": _COPY,
    "tests/test_blocks.py": "def test_read():\n    assert Disk().read(1) == block\n",
    "docs/disk.md": "# Disk\n\nA disk has blocks; read a block by its number.\n",
    **{f"storage/part{number}.py": f"read = block_{number} = {number}\n" for number in range(12)},
}
_FILTERS = (
    "-is:test",
    "is:test",
    "lang:python",
    "-lang:python",
    "lang:python path:storage",
    "path:tests/test_disk.py",
    "tag:md",
    "-is:test -lang:markdown path:storage/*.py",
)


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.MEANING, Mode.KEYWORD])
def test_what_is_read_ahead_changes_no_answer_with_filters(
    config: Config, tree: Path, mode: Mode
) -> None:
    write_tree(tree, _COPIES)
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    asked = [f"{words} {each}" for words in ("read block", "Disk") for each in _FILTERS]
    with open_catalog(config) as warm:
        warm.open(str(tree)).warm()
        for query in asked:
            with open_catalog(config) as cold:
                wanted = _answer(cold, tree, query, mode)
            assert wanted.hits or "tag:" in query, query
            assert wanted == _answer(warm, tree, query, mode)
            assert wanted == _answer(warm, tree, query, mode)


def test_what_is_read_ahead_changes_no_related_code(config: Config, tree: Path) -> None:
    write_tree(tree, _COPIES)
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    asked = [
        RelatedRequest(path="d.py", line_start=2),
        RelatedRequest(path="app/session.py", line_start=1, line_end=9, limit=3),
    ]
    with open_catalog(config) as cold:
        wanted = [cold.open(str(tree)).related(each) for each in asked]
    assert all(answer.hits for answer in wanted)
    with open_catalog(config) as warm:
        warm.open(str(tree)).warm()
        found = [warm.open(str(tree)).related(each) for each in asked]
    assert [replace(each, took_ms=0) for each in found] == [
        replace(each, took_ms=0) for each in wanted
    ]


def _answer(catalog: Catalog, tree: Path, query: str, mode: Mode) -> SearchAnswer:
    answer = catalog.open(str(tree)).search(SearchRequest(query=query, mode=mode, explain=True))
    return replace(answer, took_ms=0, hits=tuple(map(_told, answer.hits)))


@pytest.mark.parametrize("few_chunks", [0, 20_000])
def test_the_columns_of_words_are_the_same_however_they_are_read(
    config: Config, tree: Path, monkeypatch: pytest.MonkeyPatch, few_chunks: int
) -> None:
    monkeypatch.setattr("engine.search.branch_index._FEW_CHUNKS", few_chunks)
    write_tree(tree, _COPIES)
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    with open_catalog(config) as cold:
        wanted = _answer(cold, tree, "read block nowhere", Mode.KEYWORD)
    with open_catalog(config) as warm:
        warm.open(str(tree)).warm()
        assert _answer(warm, tree, "read block nowhere", Mode.KEYWORD) == wanted
    explained = [hit.explain for hit in wanted.hits if hit.explain]
    assert {column for each in explained for word in each.words for column in word.columns} > {
        "body"
    }
