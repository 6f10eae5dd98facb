"""The quality benchmark on a small tree: its figures, and parts of the ranking switched off."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.golden import Target
from engine.search import features, weights
from tests.benchmark.quality import (
    PARTS,
    Variant,
    changed,
    golden_query_of,
    index_all,
    measure,
    print_quality,
    read_repositories,
    variants_of,
)
from tests.support.trees import SAMPLE, write_tree

_QUERIES: list[dict[str, Any]] = [
    {
        "query": 'how "sessions" are kept',
        "relevant": ["sample/app/session.py"],
        "secondary": [{"path": "sample/app/http/router.py", "start_line": 500}],
        "category": "semantic",
    },
    {"query": "ListenAndServe", "relevant": ["sample/cmd/server/main.go"], "category": "symbol"},
]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    described = [{"name": "small", "language": "python", "root": "sample"}]
    (tmp_path / "repos.json").write_text(json.dumps(described))
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations/small.json").write_text(json.dumps(_QUERIES))
    write_tree(tmp_path / "trees/small/sample", SAMPLE)
    return tmp_path


def test_every_variant_has_its_figures(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repositories = read_repositories(bench, bench / "trees")
    index_all(repositories, bench / "home")
    figures = {
        each.name: measure(repositories, bench / "home", each)
        for each in variants_of("keyword,hybrid", "crowding")
    }
    assert list(figures) == [
        "keyword",
        "keyword without crowding",
        "hybrid",
        "hybrid without crowding",
    ]
    for each in figures.values():
        # One of two targets at rank 1 is 1 of a possible 1.631.
        assert each["by_category"] == {"semantic": pytest.approx(0.6131, abs=1e-4), "symbol": 1}
        assert each["recall10"] == 0.75
        assert each["ndcg10"] == pytest.approx(0.8066, abs=1e-4)
    print_quality(figures, worst=1)
    told = capsys.readouterr().out
    assert "keyword against hybrid: +0.0000 over queries" in told
    assert "keyword  0.61  small: how  sessions  are kept" in told


def test_an_annotated_query_becomes_a_golden_one() -> None:
    query = golden_query_of(_QUERIES[0])
    assert query.query == "how  sessions  are kept"
    assert query.relevant == (
        Target(path="sample/app/session.py"),
        Target(path="sample/app/http/router.py", line_start=500),
    )


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_off_while_it_is_entered(name: str) -> None:
    places = (weights, features)
    before = [vars(place).copy() for place in places]
    with PARTS[name]():
        assert [vars(place) for place in places] != before
    assert [vars(place) for place in places] == before


def test_parts_and_names_that_are_not_there_are_refused() -> None:
    with pytest.raises(AttributeError), changed("engine.search.rank", NOT_THERE=1):
        pass
    with pytest.raises(SystemExit, match="unknown parts: nothing"):
        variants_of("keyword", "nothing")
    assert len(variants_of("keyword", "all")) == 1 + len(PARTS)
    assert Variant(mode=variants_of("keyword")[0].mode).name == "keyword"
