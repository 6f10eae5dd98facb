"""How an evaluation reads on a terminal."""

from dataclasses import replace

from engine.evaluation.golden import (
    Change,
    Comparison,
    Evaluation,
    Figures,
    Latency,
    LostTarget,
    Percentiles,
    QueryResult,
    VariantResult,
)
from engine.search_records import Mode
from web.cli.eval import evaluation_text
from web.terminal import Style

_FIGURES = Figures(queries=2, ndcg=0.5, recall=0.75, mrr=0.25, hit_rate=0.5)
_FIRST = Percentiles(p50_ms=1.25, p90_ms=12, p99_ms=1200)


def _result(query: str, *ranks: int | None) -> QueryResult:
    return QueryResult(
        line=3,
        query=query,
        category="",
        mode=Mode.HYBRID,
        hits=2,
        ranks=ranks,
        ndcg=0.5,
        recall=0.5,
        took_ms=1,
    )


def _variant(name: str) -> VariantResult:
    return VariantResult(
        name=name,
        mode=Mode.HYBRID,
        settings={},
        overall=_FIGURES,
        by_category={},
        latency=Latency(first=_FIRST, warm=None),
        nothing_found=("lost",),
        results=(_result("found", 1), _result("lost", None)),
    )


def _comparison(low: float, high: float) -> Comparison:
    change = Change(line=3, query="found", difference=-0.5, ranks=(3, None), ranks_against=(1, 12))
    return Comparison(
        variant="hybrid",
        against="keyword",
        difference=(low + high) / 2,
        low=low,
        high=high,
        wins=1,
        losses=1200,
        ties=0,
        changes=(change,),
    )


def _evaluation(**more: object) -> Evaluation:
    plain = Evaluation(
        project="/repo",
        queries=2,
        targets=2,
        limit=10,
        rounds=1,
        variants=(_variant("hybrid"),),
        comparisons=(),
        lost_targets=(),
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def _text(evaluation: Evaluation, shown: int = 10) -> str:
    return evaluation_text(evaluation, Style(), shown=shown)


def test_columns_stand_below_their_heads() -> None:
    assert (
        _text(_evaluation())
        == """\
2 queries with 2 targets, on /repo

        queries  NDCG@10  recall@10    MRR  hit rate
hybrid        2    0.500      0.750  0.250       50%

latency           p50    p90    p99
hybrid, first  1.2 ms  12 ms  1.2 s

hybrid found no target for 1 of 2 queries
  line 3: lost
"""
    )


def test_a_comparison_says_what_its_interval_shows() -> None:
    text = _text(_evaluation(comparisons=(_comparison(-0.25, -0.0001),)))
    assert "NDCG@10 -0.125, 95% interval -0.250 to 0: worse\n" in text
    assert "\n  1 better, 1,200 worse, 0 equal\n" in text
    assert "\n  -0.50  found  rank 3, - against 1, 12\n" in text
    for low, high, verdict in ((0.1, 0.2, "better"), (-0.1, 0.2, "no significant difference")):
        assert f": {verdict}\n" in _text(_evaluation(comparisons=(_comparison(low, high),)))


def test_lists_end_where_they_are_told_to() -> None:
    lost = tuple(
        LostTarget(
            path=f"{name}.py",
            line_start=1,
            line_end=9,
            lines=(3, 4),
            reason="not_seen",
            detail="index again",
        )
        for name in "abc"
    )
    text = _text(_evaluation(lost_targets=lost, notes=("few",)), shown=1)
    assert "3 targets are not in the index and cannot be found\n" in text
    assert "  line 3, 4: a.py:1-9  not seen: index again\n  and 2 more (--show)\n" in text
    assert text.endswith("\nnote: few\n")
