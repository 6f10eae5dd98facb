"""Ranking rules, each shown alone, with its arithmetic."""

import pytest

from engine.search.features import NOT_SCORED
from engine.search.lexical import Lexical, lexical_of
from engine.search.query import parse_query
from engine.search.rank import Candidate, rank
from engine.search.symbols import kind_weight
from engine.search.weights import DOCUMENT_FACTOR, PROSE_BY_BOTH, WORD_WEIGHTS
from engine.store.chunks import ChunkFacts, SymbolFacts

W = WORD_WEIGHTS


def lexical(text: str) -> Lexical:
    return lexical_of(parse_query(text))


def candidate(
    path: str,
    score: float = 1.0,
    *,
    line: int = 1,
    name: str | None = None,
    kind: str = "class",
    generated: bool = False,
) -> Candidate:
    language = "markdown" if path.endswith(".md") else "python"
    chunk = ChunkFacts(line, 1, 1, path, language, generated, 0, 1, line, line + 9, None)
    symbol = SymbolFacts(1, name, name, kind, "", line, line + 5) if name else None
    return Candidate(chunk=chunk, lexical=score, symbol=symbol)


def ranked(question: str, *candidates: Candidate) -> list[str]:
    found = list(candidates)
    rank(found, lexical(question), W)
    return [f"{c.chunk.path}:{c.chunk.line_start}" for c in found]


def score_of(question: str, one: Candidate, *others: Candidate) -> float:
    """Return a candidate's score without coherence: a stronger file takes all of that share."""
    rank([one, *others], lexical(question), W)
    return one.score


def test_more_words_rank_higher() -> None:
    assert ranked("zeta", candidate("a.py", 1.0), candidate("b.py", 4.0)) == ["b.py:1", "a.py:1"]


def test_keyword_scores_are_shares_of_the_best() -> None:
    weak, best = candidate("a.py", 1.0), candidate("b.py", 16.0)
    rank([weak, best], lexical("zeta"), W)
    # (1/16)^0.75 = 0.125, and 0.6 × 0.125 for its file; the best has 1 + 0.6.
    assert weak.score == pytest.approx((1 / 16) ** W.words_power * 1.6)
    assert best.score == pytest.approx(1.6)


def test_several_places_in_a_file_raise_its_best_one() -> None:
    order = ranked(
        "zeta",
        candidate("one.py", 1.05),
        candidate("many.py", 1.0, line=1),
        candidate("many.py", 0.9, line=50),
    )
    assert order[0] == "many.py:1"


def test_the_name_of_a_file_counts_more_than_its_folder() -> None:
    plain = candidate("other.py")
    named = candidate("session.py")
    nested = candidate("session/other.py")
    rank([plain, named, nested], lexical("session"), W)
    assert named.score - plain.score == pytest.approx(W.path)
    assert nested.score - plain.score == pytest.approx(W.path * W.folder**W.path_power)


def test_words_that_share_their_beginning_match_a_path() -> None:
    assert ranked("routing", candidate("a.py"), candidate("router.py"))[0] == "a.py:1"
    assert ranked("routes", candidate("a.py"), candidate("route.py"))[0] == "route.py:1"


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("SessionStore", W.definition),
        ("where is SessionStore closed", W.mention),
        ("where is Session closed", W.word_definition),
    ],
)
def test_definitions_count_by_what_the_question_is(question: str, share: float) -> None:
    name = "SessionStore" if "Store" in question else "Session"
    with_it, without = candidate("a.py", name=name), candidate("b.py")
    rank([with_it, without], lexical(question), W)
    assert with_it.score - without.score == pytest.approx(share)


def test_a_definition_in_a_file_of_its_name_is_meant() -> None:
    same, other = candidate("x.py", name="Zeta"), candidate("zeta.py", name="Zeta")
    rank([same, other], lexical("Zeta"), W)
    gain = W.definition * (W.same_stem - 1) + W.path
    assert other.score - same.score == pytest.approx(gain)


def test_a_file_whose_name_goes_on_has_a_part_of_a_definition() -> None:
    whole, part = candidate("Mapper.cs", name="Mapper"), candidate("Mapper.Async.cs", name="Mapper")
    rank([part, whole], lexical("Mapper"), W)
    assert whole.score - part.score == pytest.approx(W.definition * (W.same_stem - W.stem_begins))


def test_a_class_is_meant_more_often_than_a_method_of_its_name() -> None:
    of_class = candidate("a.go", name="Engine", kind="struct")
    of_method = candidate("b.go", name="Engine", kind="method")
    assert ranked("Engine", of_method, of_class) == ["a.go:1", "b.go:1"]


def test_a_prototype_counts_less_than_a_definition() -> None:
    body = candidate("a.c", name="dict_add", kind="function")
    prototype = candidate("a.h", name="dict_add", kind="function")
    assert prototype.symbol
    prototype.symbol = prototype.symbol._replace(line_end=1)
    rank([prototype, body], lexical("dict_add"), W)
    lost = W.definition * kind_weight("function") * (1 - W.prototype)
    assert body.score - prototype.score == pytest.approx(lost)


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "src/test_a.py",
        "pkg/a_test.go",
        "src/FooTest.java",
        "web/a.spec.ts",
        "examples/a.py",
        "vendor/a.go",
        "third_party/a.c",
        "types/a.d.ts",
        "pkg/__init__.py",
        "README.md",
    ],
)
def test_what_is_rarely_meant_ranks_below(path: str) -> None:
    assert ranked("zeta", candidate(path), candidate("src/zz.py"))[0] == "src/zz.py:1"


@pytest.mark.parametrize("path", ["src/latest.py", "src/contest.go", "src/attestation/a.rs"])
def test_names_that_only_sound_like_tests_are_code(path: str) -> None:
    plain = score_of("zeta", candidate("src/zz.py"), candidate("strong.py", 9.0))
    assert score_of("zeta", candidate(path), candidate("strong.py", 9.0)) == plain


def test_tests_are_not_lowered_when_they_are_asked_for() -> None:
    assert ranked("test zeta", candidate("tests/a.py", 2.0), candidate("src/b.py"))[0] == (
        "tests/a.py:1"
    )


def test_generated_code_and_documents_count_half() -> None:
    plain, generated = candidate("a.py"), candidate("b.py", generated=True)
    document = candidate("c.md")
    rank([plain, generated, document], lexical("zeta"), W)
    assert generated.score == pytest.approx(plain.score / 2)
    assert document.score == pytest.approx(plain.score * DOCUMENT_FACTOR)


def test_one_file_does_not_crowd_the_answer() -> None:
    order = ranked(
        "zeta",
        *(candidate("big.py", 2.0 - line / 100, line=line) for line in range(1, 6)),
        candidate("small.py", 0.9),
    )
    assert order[:2] == ["big.py:1", "small.py:1"]
    assert W.crowding < 0.5


def test_places_as_good_as_the_best_are_not_passed_by_far_worse_ones() -> None:
    found = [
        *(candidate("big.py", 8.0 - line / 100, line=line) for line in range(1, 5)),
        candidate("big.py", 3.0, line=5),
        *(candidate(f"small{number}.py", 1.0) for number in range(4)),
    ]
    rank(found, lexical("zeta"), PROSE_BY_BOTH)
    order = [f"{each.chunk.path}:{each.chunk.line_start}" for each in found]
    # Words of 2, 0.1 for being the best of its file, and 0.72 for being at the root: 2.82. The next
    # have 2.72 by themselves, 0.96 of the best; the last of the file has 1.67, 0.59 of it.
    assert [each.score / found[0].score for each in found[1:4]] == pytest.approx(
        [PROSE_BY_BOTH.least_crowding * (2.72 / 2.82) ** 3] * 3, abs=0.01
    )
    assert order == [
        *(f"big.py:{line}" for line in range(1, 5)),
        *(f"small{number}.py:1" for number in range(4)),
        "big.py:5",
    ]


def test_ties_are_ordered_by_path_and_line() -> None:
    assert ranked("zeta", candidate("b.py"), candidate("a.py")) == ["a.py:1", "b.py:1"]


def test_a_breakdown_makes_its_score() -> None:
    found = [
        candidate("tests/session.py", 3.0, name="SessionStore"),
        candidate("src/session.py", 2.0, line=1),
        candidate("src/session.py", 5.0, line=20),
        candidate("README.md", 1.0),
        candidate("src/none.py", 0.0),
    ]
    rank(found, lexical("where is SessionStore"), W)
    assert [each.breakdown.score for each in found] == pytest.approx([e.score for e in found])
    crowded = next(each for each in found if each.chunk.line_start == 1 and "src/s" in str(each))
    assert crowded.breakdown.why[-1] == "place 2 of its file"
    assert {part.name for part in found[0].breakdown.shares} <= {"words", "file", "path"} | {
        "definition"
    }


def test_only_what_is_shown_gets_a_breakdown() -> None:
    found = [candidate("a.py", 2.0), candidate("b.py", 1.0)]
    rank(found, lexical("zeta"), W, shown=1)
    assert found[0].breakdown.why == ("words 1.00",)
    assert found[1].breakdown is NOT_SCORED


def test_several_places_of_a_file_are_told_apart_by_their_order() -> None:
    found = [candidate("a.py", 1.0, line=line) for line in (30, 1, 12)]
    rank(found, lexical("zeta"), W)
    assert [each.chunk.line_start for each in found] == [1, 12, 30]
    # Coherence of 0.6 goes to the first, so the others have 1 / 1.6 of its score by themselves.
    factors = [W.crowding, W.least_crowding / 1.6**2]  # 0.195, more than 0.3²
    assert [each.score for each in found] == pytest.approx([1.6, *factors])
