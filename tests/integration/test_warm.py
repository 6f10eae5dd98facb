"""A process that will be asked reads ahead, and answers as one that has not."""

from dataclasses import replace
from pathlib import Path

from engine.catalog import Catalog
from engine.config import Config
from engine.search_records import Hit, Mode, SearchRequest
from tests.support.trees import SAMPLE, write_tree


def _hits(catalog: Catalog, tree: Path, query: str, mode: Mode) -> tuple[Hit, ...]:
    return catalog.open(str(tree)).search(SearchRequest(query=query, mode=mode)).hits


def test_what_is_read_ahead_changes_no_answer(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with Catalog(config) as catalog:
        catalog.create(str(tree)).warm()  # nothing is indexed
        catalog.open(str(tree)).index()
    asked = [(query, mode) for query in ("open session", "Router") for mode in Mode]
    with Catalog(config) as cold:
        wanted = [_hits(cold, tree, *each) for each in asked]
    with Catalog(config) as warm:
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
