"""How an explanation reads on a terminal."""

from dataclasses import replace

from engine.search_records import Explanation, WordMatch
from web.answers import explanation_lines


def explanation(
    shares: dict[str, float],
    factors: dict[str, float],
    score: float,
    *,
    words: tuple[WordMatch, ...] = (),
) -> Explanation:
    return Explanation(
        score=score,
        shares=shares,
        factors=factors,
        bm25=12.345 if words else 0.0,
        keyword_rank=3 if words else None,
        words=words,
    )


def test_the_sum_and_the_words_stand_in_columns() -> None:
    lines = explanation_lines(
        explanation(
            {"words": 0.5, "path": 1.5},
            {"test": 0.3, "crowding": 0.09},
            0.054,
            words=(
                WordMatch(word="session", columns=("name", "body"), chunks=1200),
                WordMatch(word="open", columns=(), chunks=1),
            ),
        )
    )
    assert lines == [
        "score 0.0540 = (words 0.5000 + path 1.5000) × test 0.3 × crowding 0.09",
        "words BM25 12.35, rank 3",
        "  session  name, body  in 1,200 chunks",
        "  open     -           in 1 chunk",
    ]


def test_one_share_needs_no_brackets() -> None:
    lines = explanation_lines(explanation({"name": 1.0}, {"method": 0.93}, 0.93))
    assert lines == ["score 0.9300 = name 1.0000 × method 0.93"]


def test_what_has_nothing_scores_nothing() -> None:
    assert explanation_lines(explanation({}, {}, 0.0)) == ["score 0.0000 = 0"]


def test_a_word_cannot_command_the_terminal() -> None:
    word = WordMatch(word="a\x1b[2J", columns=(), chunks=0)
    lines = explanation_lines(explanation({"words": 1.0}, {}, 1.0, words=(word,)))
    assert lines[-1] == "  a\\x1b[2J  -  in 0 chunks"


def test_meaning_is_told_with_its_rank() -> None:
    told = explanation({"words": 1.0, "meaning": 0.5}, {}, 1.5)
    told = replace(told, meaning=0.618, file_meaning=0.25, meaning_rank=2)
    assert explanation_lines(told) == [
        "score 1.5000 = words 1.0000 + meaning 0.5000",
        "meaning 0.62, rank 2; of the path 0.25",
    ]
