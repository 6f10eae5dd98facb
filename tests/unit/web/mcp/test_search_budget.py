"""The budget of an answer to agents."""

import pytest

from engine.records import Coverage, Hit, Mode, SearchAnswer
from web.mcp.search import answer_text, fit_to_budget


def _answer(took_ms: float) -> SearchAnswer:
    hit = Hit(
        project="/repo",
        path="src/app.py",
        line_start=1,
        line_end=40,
        language="python",
        symbol="App.run",
        kind="method",
        signature="def run(self)",
        score=0.5,
        why=("words 1.00",),
        fresh=True,
        snippet="\n".join(f"line_{number} = {number}" for number in range(40)),
    )
    return SearchAnswer(
        query="run",
        mode=Mode.HYBRID,
        took_ms=took_ms,
        total=1,
        truncated=False,
        coverage=Coverage(files=1, indexed=1.0, embedded=1.0, complete=True),
        hits=(hit,),
    )


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
@pytest.mark.parametrize("max_tokens", range(150, 260, 7))
def test_what_fits_does_not_depend_on_the_time_it_took(form: str, max_tokens: int) -> None:
    fitted = [
        fit_to_budget(_answer(took_ms), max_tokens, lambda each: answer_text(each, form, None))
        for took_ms in (1.0, 123.456789)
    ]
    assert fitted[0].hits == fitted[1].hits
    assert [answer.took_ms for answer in fitted] == [1.0, 123.456789]
