"""How far an evaluation is, in lines."""

import io

from engine.evaluation.golden import Asked
from web.cli.progress import AskedLines, asked_on, evaluation_line_of

_ASKED = Asked(variant="hybrid", done=120, total=480, elapsed_ms=4000)


def test_a_line_says_how_far_and_how_long() -> None:
    assert evaluation_line_of(_ASKED) == "hybrid, 120/480 queries (25 %), 12.0 s left"


def test_a_line_comes_every_ten_seconds() -> None:
    stream = io.StringIO()
    now_s = 0.0
    lines = AskedLines(stream, lambda: now_s)
    for at_s in (1.0, 9.9, 10.0, 15.0, 20.1):
        now_s = at_s
        lines.update(_ASKED)
    assert stream.getvalue().count("\n") == 2


class _Closed(io.StringIO):
    """Nobody reads it any more."""

    attempts = 0

    def write(self, _text: str) -> int:
        self.attempts += 1
        raise BrokenPipeError


def test_a_reader_that_went_away_ends_the_lines_only() -> None:
    stream = _Closed()
    now_s = 0.0
    lines = AskedLines(stream, lambda: now_s)
    for at_s in (10.0, 20.0, 40.0):
        now_s = at_s
        lines.update(_ASKED)
    assert stream.attempts == 1


def test_quiet_is_quiet() -> None:
    stream = io.StringIO()
    with asked_on(stream, quiet=True) as update:
        update(_ASKED)
    assert stream.getvalue() == ""
