"""Golden queries put to a real index through the library."""

from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.errors import InvalidConfigError, InvalidInputError, UnavailableError
from engine.evaluation.golden import (
    EvaluationOptions,
    EvaluationProgress,
    GoldenQuery,
    Target,
    Variant,
)
from engine.project import Project
from engine.search_records import Mode
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, {**SAMPLE, ".gitignore": "build/\n", "build/out.py": "BUILT = 1\n"})
    index = catalog.create(str(tree))
    index.index()
    return index


def _query(query: str, *targets: str | Target, line: int = 0, **more: str) -> GoldenQuery:
    relevant = tuple(Target(path=t) if isinstance(t, str) else t for t in targets)
    return GoldenQuery(query=query, relevant=relevant, line=line, **more)  # type: ignore[arg-type]


def _variants(*modes: Mode) -> EvaluationOptions:
    return EvaluationOptions(variants=tuple(Variant(mode=mode) for mode in modes), rounds=2)


OPEN_SESSION = _query("open_session", "app/session.py", category="names")
ROUTES = _query("KeyError when there is none", "http/router.py", category="words")
NOWHERE = _query("ListenAndServe", "tests/test_session.py", category="names")


def test_figures_are_those_of_the_answers(index: Project) -> None:
    evaluation = index.evaluate([OPEN_SESSION, ROUTES, NOWHERE])
    assert (evaluation.project, evaluation.queries, evaluation.targets) == (index.root, 3, 3)
    [variant] = evaluation.variants
    assert (variant.name, variant.mode) == ("hybrid", Mode.HYBRID)
    assert [result.ranks for result in variant.results] == [(1,), (1,), (None,)]
    assert [result.ndcg for result in variant.results] == [1, 1, 0]
    assert variant.overall.ndcg == variant.overall.recall == pytest.approx(2 / 3)
    assert variant.overall.mrr == variant.overall.hit_rate == pytest.approx(2 / 3)
    assert {name: (f.queries, f.ndcg) for name, f in variant.by_category.items()} == {
        "names": (2, 0.5),
        "words": (1, 1.0),
    }
    assert variant.nothing_found == ("ListenAndServe",)
    told = (evaluation.comparisons, evaluation.lost_targets, evaluation.notes)
    assert told == ((), (), ())


def test_a_model_that_the_caller_opens_is_the_one_that_is_measured(
    tmp_path: Path, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with catalog_in(tmp_path / "faked", opens=Fakes(), model="fake:a") as catalog:
        index = catalog.create(str(tree))
        index.index()
        evaluation = index.evaluate([OPEN_SESSION], _variants(Mode.MEANING))
    assert (evaluation.variants[0].overall.recall, evaluation.notes) == (1.0, ())


def test_rounds_tell_the_first_time_from_the_later_ones(index: Project) -> None:
    told: list[EvaluationProgress] = []
    options = EvaluationOptions(rounds=3)
    [variant] = index.evaluate([OPEN_SESSION, ROUTES], options, on_progress=told.append).variants
    assert variant.latency.warm is not None
    assert variant.latency.first.p50_ms > 0
    assert [(asked.done, asked.total) for asked in told] == [(n, 6) for n in range(1, 7)]
    [once] = index.evaluate([OPEN_SESSION], EvaluationOptions(rounds=1)).variants
    assert once.latency.warm is None


def test_lines_of_a_file_must_overlap(index: Project) -> None:
    targets = [
        Target(path="app/session.py", line_start=9, line_end=12),
        Target(path="app/session.py", line_start=21),
    ]
    evaluation = index.evaluate([_query("open_session", each) for each in targets])
    assert [result.ranks for result in evaluation.variants[0].results] == [(1,), (None,)]
    assert [each.detail for each in evaluation.lost_targets] == ["the file has 20 lines"]


def test_filters_and_modes_of_a_query_are_its_own(index: Project) -> None:
    queries = [
        _query("session", "app/session.py", language="go"),
        _query(r"def \w+_session", "app/session.py", mode="regex"),
    ]
    [variant] = index.evaluate(queries).variants
    assert [result.ranks for result in variant.results] == [(None,), (1,)]
    assert [result.mode for result in variant.results] == [Mode.HYBRID, Mode.REGEX]


def test_modes_are_compared_query_by_query(index: Project) -> None:
    options = _variants(Mode.KEYWORD, Mode.SYMBOL)
    evaluation = index.evaluate([OPEN_SESSION, ROUTES, NOWHERE], options)
    [comparison] = evaluation.comparisons
    assert (comparison.variant, comparison.against) == ("keyword", "symbol")
    assert (comparison.wins, comparison.losses, comparison.ties) == (1, 0, 2)
    assert comparison.difference == pytest.approx(1 / 3)
    assert comparison.low <= comparison.difference <= comparison.high
    [change] = comparison.changes
    assert (change.query, change.ranks, change.ranks_against) == (ROUTES.query, (1,), (None,))
    assert "fewer than 20 queries say little about a difference" in evaluation.notes


def test_the_first_variant_is_compared_with_each_other(index: Project) -> None:
    variants = (
        Variant(mode=Mode.KEYWORD),
        Variant(mode=Mode.SYMBOL),
        Variant(mode=Mode.KEYWORD, settings={"search_timeout": "500", "max_file_size": 1000}),
    )
    evaluation = index.evaluate([OPEN_SESSION], EvaluationOptions(variants=variants))
    assert [each.against for each in evaluation.comparisons] == [
        "symbol",
        "keyword, search_timeout=500, max_file_size=1000",
    ]
    assert [note for note in evaluation.notes if "max_file_size takes effect" in note]
    assert not [note for note in evaluation.notes if "search_timeout" in note]


def test_targets_that_are_not_indexed_are_told_with_the_reason(index: Project) -> None:
    queries = [
        _query("one", "build/out.py", "gone.py", "app", line=1),
        _query("two", "gone.py", "README.md", line=5),
        _query("three", Target(path="app/session.py", line_start=500), line=6),
    ]
    evaluation = index.evaluate(queries)
    assert [(each.path, each.lines, each.reason) for each in evaluation.lost_targets] == [
        ("build/out.py", (1,), "ignored"),
        ("gone.py", (1, 5), "missing"),
        ("app", (1,), "folder"),
        ("app/session.py", (6,), "past_the_end"),
    ]
    assert all(each.detail for each in evaluation.lost_targets)


def test_a_target_that_fits_several_files_is_noted(index: Project, tree: Path) -> None:
    write_tree(tree, {"lib/session.py": "SESSIONS = 1\n"})
    index.index()
    evaluation = index.evaluate([_query("session", "session.py")])
    assert evaluation.notes == (
        "1 of the targets fit several files, any of which counts: session.py (2)",
    )


def test_a_target_with_its_path_from_the_root_is_that_file_alone(
    index: Project, tree: Path
) -> None:
    write_tree(tree, {"session.py": "open_session = 1\n" * 3, "router.py": "ROUTES = 1\n"})
    (tree / ".gitignore").write_text("/router.py\n")
    index.index()
    queries = [
        _query("open_session", "session.py", "app/session.py"),
        _query("ROUTES", "router.py"),
        _query("ROUTES", "other/http/router.py"),  # of which app/http/router.py is no file
    ]
    evaluation = index.evaluate(queries, _variants(Mode.KEYWORD))
    [variant] = evaluation.variants
    own, *others = [result.ranks for result in variant.results]
    assert sorted(rank or 0 for rank in own) == [1, 2]
    assert others == [(None,), (None,)]
    assert evaluation.notes == ()
    assert [(each.path, each.reason) for each in evaluation.lost_targets] == [
        ("router.py", "ignored"),
        ("other/http/router.py", "missing"),
    ]


def test_an_evaluation_leaves_the_index_as_it_is(index: Project) -> None:
    before = index.status()
    index.evaluate([OPEN_SESSION], _variants(Mode.KEYWORD, Mode.SYMBOL))
    assert index.status() == before


def test_what_cannot_be_evaluated_is_refused(index: Project) -> None:
    with pytest.raises(InvalidInputError, match="no query to evaluate"):
        index.evaluate([])
    for options in (EvaluationOptions(limit=0), EvaluationOptions(rounds=101)):
        with pytest.raises(InvalidInputError, match="wanted 1 to 100"):
            index.evaluate([ROUTES], options)
    with pytest.raises(InvalidInputError, match="keyword would be compared to itself"):
        index.evaluate([ROUTES], _variants(Mode.KEYWORD, Mode.KEYWORD))
    for settings in ({"speed": 1}, {"search_timeout": "soon"}):
        with pytest.raises(InvalidConfigError):
            index.evaluate([ROUTES], EvaluationOptions(variants=(Variant(settings=settings),)))


def test_a_query_that_cannot_be_read_is_named_by_its_line(index: Project) -> None:
    with pytest.raises(InvalidInputError, match="line 7: ") as caught:
        index.evaluate([ROUTES, _query("see case:vector", "a.py", line=7)])
    assert caught.value.details["line"] == 7
    with pytest.raises(InvalidInputError) as caught:
        index.evaluate([_query("see case:vector", "a.py")])
    assert "line" not in caught.value.details


def test_a_mode_that_the_index_cannot_answer_is_told(index: Project) -> None:
    without = Variant(mode=Mode.MEANING, settings={"model": "none"})
    with pytest.raises(UnavailableError):
        index.evaluate([ROUTES], EvaluationOptions(variants=(without,)))
