"""Answers within a budget: which lines of code they keep, and what is left out first."""

from collections import Counter
from dataclasses import replace

import pytest

from engine.budget import (
    best_passage,
    compose,
    with_further_hits,
    with_more_files,
    within_budget,
)
from engine.records import Coverage, bytes_within, tokens_of
from engine.search_records import MAX_HITS, Hit, Mode, SearchAnswer, SearchRequest

_LINES = [f"line_{number} = {number}" for number in range(40)]
_CODE = "\n".join(_LINES)


def _answer(*hits: Hit, query: str = "where is line_25 set") -> SearchAnswer:
    return SearchAnswer(
        query=query,
        mode=Mode.HYBRID,
        took_ms=1.0,
        total=len(hits),
        truncated=False,
        coverage=Coverage.of(files=1, found=1, embedded=1.0, complete=True),
        hits=hits,
    )


def _hit(number: int = 0, confidence: float | None = None, snippet: str = _CODE) -> Hit:
    return Hit(
        project="/repo",
        path=f"src/app{number}.py",
        line_start=10,
        line_end=49,
        language="python",
        symbol="App.run",
        kind="method",
        signature="def run(self)",
        score=0.5,
        why=(),
        fresh=True,
        snippet=snippet,
        confidence=confidence,
    )


def _write(answer: SearchAnswer, *, is_brief: bool) -> str:
    head = "" if is_brief else f"{answer.took_ms} {answer.query}"
    places = [f"{hit.path}:{hit.line_start} {hit.snippet}" for hit in answer.hits]
    return "\n".join([head, *places, *answer.more_files, *answer.notes])


@pytest.mark.parametrize(
    ("size_bytes", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2), (7, 2), (8, 3), (350, 100)]
)
def test_a_token_is_three_and_a_half_bytes(size_bytes: int, tokens: int) -> None:
    assert tokens_of(size_bytes) == tokens
    assert size_bytes <= bytes_within(tokens)


def test_short_code_is_kept_whole() -> None:
    assert best_passage("a\nb", 3) == (0, "a\nb")


def test_a_passage_is_where_the_words_of_the_query_are() -> None:
    at, passage = best_passage(_CODE, 60, words=["line_25"]) or (0, "")
    assert "line_25 = 25" in passage
    assert passage == "\n".join(_LINES[at : at + passage.count("\n") + 1])
    assert len(passage.encode()) <= 60


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    code = "\n".join([*["common"] * 30, "rare thing", *["common"] * 30])
    assert "rare" in (best_passage(code, 40, words=["common", "rarely"]) or (0, ""))[1]


def test_without_words_the_first_lines_are_kept() -> None:
    at, passage = best_passage(_CODE, 60) or (-1, "")
    assert (at, passage.split("\n")[0]) == (0, "line_0 = 0")


def test_a_passage_begins_with_a_line_that_has_words() -> None:
    code = "\n\n{\n" + "\n".join(f"a{number}" for number in range(90))
    at, passage = best_passage(code, 30) or (-1, "")
    assert (at, passage[:2]) == (3, "a0")


@pytest.mark.parametrize("code", ["x" * 500, "{\n}\n" * 90, "one line\n" + "y" * 900])
def test_crumbs_are_left_out(code: str) -> None:
    assert best_passage(code, 60) is None


def test_matches_choose_the_passage_of_a_pattern() -> None:
    at, passage = best_passage(_CODE, 60, matching=Counter({30: 2})) or (0, "")
    assert "line_30 = 30" in passage
    assert at > 20


def test_the_code_of_a_hit_says_where_it_begins() -> None:
    answer = compose(_answer(_hit()), _write, max_tokens=100).answer
    [hit] = answer.hits
    assert hit.snippet_line is not None
    assert hit.snippet.split("\n")[0] == _LINES[hit.snippet_line - 10]
    assert "line_25" in hit.snippet
    assert answer.truncated


def test_code_goes_before_places_and_the_best_hit_keeps_most() -> None:
    hits = [_hit(number) for number in range(10)]
    sizes = []
    for budget in (100, 200, 400, 2000, 9000):
        answer = compose(_answer(*hits), _write, max_tokens=budget).answer
        sizes.append([len(hit.snippet) for hit in answer.hits])
        assert [len(each) for each in sizes[-1:]] == [10]
        assert sizes[-1][0] == max(sizes[-1])
    assert [sum(each) for each in sizes] == sorted(sum(each) for each in sizes)
    assert sizes[-1] == [len(_CODE)] * 10


def test_what_fits_does_not_depend_on_the_time_it_took() -> None:
    hits = [_hit(number) for number in range(10)]
    for budget in range(100, 400, 13):
        fitted = [
            compose(replace(_answer(*hits), took_ms=took_ms), _write, max_tokens=budget).answer
            for took_ms in (1.0, 123.456789)
        ]
        assert fitted[0].hits == fitted[1].hits
        assert [answer.took_ms for answer in fitted] == [1.0, 123.456789]


def test_code_may_be_bounded_alone() -> None:
    answer = compose(_answer(*[_hit(n) for n in range(60)]), _write, code_tokens=100).answer
    assert len(answer.hits) == 60
    assert 0 < sum(len(hit.snippet) for hit in answer.hits) <= bytes_within(100)
    assert not answer.truncated


def test_notes_go_when_no_place_fits_beside_them() -> None:
    answer = replace(_answer(_hit()), notes=("long " * 100,))
    composed, is_brief = compose(answer, _write, max_tokens=100)
    assert is_brief
    assert (len(composed.hits), composed.notes) == (1, ())


def test_a_place_longer_than_the_budget_leaves_an_answer_without_hits() -> None:
    long = replace(_hit(), path="x" * 400)
    composed, _ = compose(_answer(long), _write, max_tokens=100)
    assert (composed.hits, composed.truncated, composed.total) == ((), True, 1)


def test_further_hits_become_files() -> None:
    request = SearchRequest(query="x", limit=10, max_tokens=500)
    wider = with_further_hits(request)
    assert (wider.limit, wider.max_tokens) == (50, None)
    answer = _answer(*[_hit(number // 2, confidence=0.3) for number in range(12)])
    more = with_more_files(answer, 10)
    assert (len(more.hits), more.more_files, more.truncated) == (10, ("src/app5.py",), True)
    few = with_more_files(answer, 3)
    assert (len(few.hits), few.more_files, few.truncated) == (3, (), True)


def test_a_hit_that_stands_out_leaves_unlikely_ones_out_at_any_limit() -> None:
    rest = [_hit(2, 0.2), _hit(3, 0.01), _hit(4, 0.01), _hit(5, 0.3), _hit(6, 0.01)]
    sure = _answer(_hit(1, 0.9), *rest)
    likely = ["src/app1.py", "src/app2.py", "src/app5.py"]
    for limit in range(1, 9):
        cut = with_more_files(sure, limit)
        assert [hit.path for hit in cut.hits] == likely[:limit]
        assert cut.truncated == (limit < len(likely))
        assert not cut.more_files
    unsure = with_more_files(_answer(_hit(1, 0.6), *rest), 4)
    assert len(unsure.hits) == 4


def test_likely_hits_alone_do_not_make_an_answer_whole() -> None:
    assert with_further_hits(SearchRequest(query="x", limit=MAX_HITS)).limit == MAX_HITS
    likely = replace(_answer(*[_hit(number, 0.9) for number in range(MAX_HITS)]), truncated=True)
    assert with_more_files(likely, MAX_HITS).truncated
    assert not with_more_files(replace(likely, truncated=False), MAX_HITS).truncated
    others = replace(likely, hits=(*likely.hits[1:], _hit(MAX_HITS, 0.01)))
    assert not with_more_files(others, MAX_HITS).truncated


def test_every_hit_that_may_be_shown_has_its_details() -> None:
    asked = with_further_hits(SearchRequest(query="x", limit=2))
    assert asked.choose is not None
    hits = [_hit(1, 0.9), _hit(2, 0.01), _hit(3, 0.2), _hit(4, 0.2)]
    assert sorted(asked.choose(hits)) == [0, 1, 2]
    assert sorted(asked.choose(hits[:1])) == [0]


def test_an_answer_without_a_budget_is_whole() -> None:
    answer = _answer(_hit())
    assert within_budget(answer, None) is answer
    assert compose(answer, _write).answer is answer
