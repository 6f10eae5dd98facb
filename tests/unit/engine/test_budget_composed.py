"""What an answer within a budget leaves out, whatever room there is."""

from dataclasses import replace

from engine.budget import within_budget
from engine.records import Coverage
from engine.search_records import Hit, Mode, SearchAnswer

_HIT = Hit(
    project="/repo",
    path="app/run.py",
    line_start=1,
    line_end=3,
    language="python",
    symbol="run",
    kind="function",
    signature="def run()",
    score=1.0,
    why=(),
    fresh=True,
    snippet="def run():\n    start()\n    stop()",
)


def _answer(*confidences: float | None) -> SearchAnswer:
    hits = tuple(
        replace(_HIT, path=f"app/run{number}.py", confidence=confidence)
        for number, confidence in enumerate(confidences)
    )
    return SearchAnswer(
        query="run",
        mode=Mode.HYBRID,
        took_ms=1.0,
        total=len(hits),
        truncated=False,
        coverage=Coverage.of(files=9, found=9, embedded=1.0, complete=True),
        hits=hits,
        more_files=("app/other.py",),
    )


def test_code_is_shown_of_the_first_and_of_what_may_answer() -> None:
    found = within_budget(_answer(0.01, 0.2, 0.04, 0.0), 3000)
    assert [bool(hit.snippet) for hit in found.hits] == [True, True, False, False]


def test_hits_of_rules_have_no_confidence_and_stay() -> None:
    found = within_budget(_answer(None, None, None, None), 3000)
    assert len(found.hits) == 4
    assert all(hit.snippet for hit in found.hits)
    assert not found.truncated


def test_further_files_are_named_only_where_there_is_room() -> None:
    assert within_budget(_answer(0.9), 299).more_files == ()
    assert within_budget(_answer(0.9), 300).more_files == ("app/other.py",)
