"""One ranking over projects: scores that compare."""

from dataclasses import replace

import pytest

from engine.records import Coverage
from engine.search.cache import WordCounts
from engine.search.features import Breakdown, Part, share_part
from engine.search.merge import LEAST_DEPTH, ProjectAnswer, comparable_hits
from engine.search.rank import Peaks
from engine.search_records import Hit, Mode, SearchAnswer
from engine.store.fulltext import rarity

COMMON = WordCounts(1000, {'"session"': 100})


def answer_of(
    project: str, breakdown: Breakdown, peaks: Peaks | None, counts: WordCounts
) -> ProjectAnswer:
    hit = Hit(
        project=project,
        path="a.py",
        line_start=1,
        line_end=2,
        language="python",
        symbol=None,
        kind=None,
        signature=None,
        score=breakdown.score,
        why=breakdown.why,
        fresh=True,
        snippet="",
    )
    coverage = Coverage.of(files=1, found=1, embedded=1.0, complete=True)
    answer = SearchAnswer(
        query="session", mode=Mode.HYBRID, took_ms=1.0, total=1, truncated=False,
        coverage=coverage, hits=(hit,),
    )  # fmt: skip
    return ProjectAnswer(answer, [breakdown], peaks, counts)


def best_of_its_project() -> Breakdown:
    return Breakdown(
        (
            Part("words", 2.0, "words 1.00"),
            Part("meaning", 1.4, "meaning 0.60"),
            share_part("path", 0.5),
        )
    )


def test_the_best_of_a_project_that_knows_little_is_not_as_good_as_that_of_another() -> None:
    much = answer_of("much", best_of_its_project(), Peaks(10.0, 0.8), COMMON)
    little = answer_of("little", best_of_its_project(), Peaks(5.0, 0.4), COMMON)
    first, second = comparable_hits([little, much])
    assert first.project == "much"
    assert first.score == pytest.approx(3.9)
    assert second.score == pytest.approx(2.0 * 0.5**2 + 1.4 * 0.5**4 + 0.5, abs=1e-4)
    assert second.why == ("words 0.25", "meaning 0.60", "path +0.50")


def test_a_word_that_is_rare_in_one_project_alone_counts_as_in_all() -> None:
    """The same chunk scores more where its word is rare."""
    rare = WordCounts(1000, {'"session"': 1})
    once = answer_of("once", best_of_its_project(), Peaks(rarity(1000, 1), 0.5), rare)
    often = answer_of("often", best_of_its_project(), Peaks(rarity(1000, 100), 0.5), COMMON)
    assert [hit.score for hit in comparable_hits([once, often])] == pytest.approx([3.9, 3.9])


def test_scores_that_are_absolute_stay() -> None:
    plain = Breakdown((Part("name", 1.0, "exact name"),))
    found = comparable_hits(
        [
            answer_of("a", plain, None, WordCounts(0, {})),
            answer_of("b", plain, None, WordCounts(0, {})),
        ]
    )
    assert [(hit.project, hit.score) for hit in found] == [("a", 1.0), ("b", 1.0)]
    assert comparable_hits([]) == []


def test_what_finds_nothing_by_words_or_meaning_keeps_the_rest() -> None:
    nothing = answer_of("a", best_of_its_project(), Peaks(0.0, 0.0), WordCounts(10, {}))
    assert comparable_hits([nothing])[0].score == pytest.approx(3.9)


def test_pages_fit_together_however_much_is_asked_for() -> None:
    by_words, by_meaning = Part("words", 3.0, "words 1.00"), Part("meaning", 3.0, "meaning 0.60")

    def found(project: str, peaks: Peaks, parts: list[Part]) -> ProjectAnswer:
        """The first hits, each worth a little less."""
        breakdowns = [
            Breakdown((part._replace(value=part.value - n / 50),)) for n, part in enumerate(parts)
        ]
        whole = answer_of(project, breakdowns[0], peaks, COMMON)
        [hit] = whole.answer.hits
        hits = tuple(
            replace(hit, path=f"{n}.py", score=each.score) for n, each in enumerate(breakdowns)
        )
        return whole._replace(answer=replace(whole.answer, hits=hits), breakdowns=breakdowns)

    def merged(number: int) -> list[tuple[str, str]]:
        strong_words = [by_meaning, by_meaning, by_words] * 40
        strong_meaning = [by_words, by_words, by_meaning] * 40
        answers = [
            found("a", Peaks(10.0, 0.4), strong_words[:number]),
            found("b", Peaks(2.0, 0.8), strong_meaning[:number]),
        ]
        return [(hit.project, hit.path) for hit in comparable_hits(answers)][:number]

    whole = merged(100)
    assert len(set(whole)) == 100
    assert {project for project, _ in whole[:30]} == {"a", "b"}
    for number in range(LEAST_DEPTH, 100):
        assert merged(number) == whole[:number]
