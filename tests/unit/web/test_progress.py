"""When a line of progress is written, and what it says."""

import io

import pytest

from engine.records import Phase, Progress
from web.progress import progress_on
from web.progress_bar import ProgressBar
from web.progress_lines import ProgressLines, line_of, remaining_ms_of


def _progress(
    done: int,
    total: int | None = 1000,
    *,
    phase: Phase = Phase.PARSING,
    path: str = "src/app.py",
    elapsed_ms: int = 2000,
) -> Progress:
    return Progress(
        phase=phase,
        done=done,
        total=total,
        current_path=path,
        bytes_done=done * 100,
        elapsed_ms=elapsed_ms,
    )


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (
            _progress(250),
            "indexing, 250/1,000 files (25 %), 125 files/s, 6.0 s left: src/app.py",
        ),
        (
            _progress(70, None, phase=Phase.SCANNING, path="", elapsed_ms=0),
            "looking for files, 70 files",
        ),
        (
            _progress(1000, phase=Phase.FINISHING, path=""),
            "finishing, 1,000/1,000 files (100 %), 500 files/s",
        ),
        (_progress(0, 0, path=""), "indexing, 0/0 files (100 %)"),
        (_progress(0, 2, path="a\x1b[2J\n"), "indexing, 0/2 files (0 %): a\\x1b[2J\\n"),
    ],
)
def test_a_line_says_phase_share_rate_time_and_file(progress: Progress, said: str) -> None:
    assert line_of(progress) == said


def test_the_time_left_is_unknown_at_the_beginning_and_the_end() -> None:
    assert remaining_ms_of(_progress(0)) is None
    assert remaining_ms_of(_progress(5, None)) is None
    assert remaining_ms_of(_progress(1000)) is None
    assert remaining_ms_of(_progress(500, elapsed_ms=999)) is None
    assert remaining_ms_of(_progress(500)) == 2000


def test_lines_are_spaced() -> None:
    clock = iter([0.0, 1.9, 2.0, 11.9, 12.0, 12.1])
    stream = io.StringIO()
    lines = ProgressLines(stream, clock=lambda: next(clock))
    said = []
    for progress in (
        _progress(1),  # at 0.0, a new phase: said
        _progress(900),  # at 1.9, many files, but too soon
        _progress(901),  # at 2.0, 100 files and 2 seconds: said
        _progress(950),  # at 11.9, few files, and not yet 10 seconds
        _progress(951),  # at 12.0, 10 seconds: said
        _progress(951, phase=Phase.FINISHING),  # at 12.1, a new phase: said
    ):
        before = stream.tell()
        lines.update(progress)
        said.append(stream.tell() > before)
    assert said == [True, False, True, False, True, True]


class _Closed(io.StringIO):
    attempts = 0

    def write(self, _text: str) -> int:
        self.attempts += 1
        raise BrokenPipeError


def test_a_reader_that_went_away_does_not_stop_the_run() -> None:
    stream = _Closed()
    lines = ProgressLines(stream, clock=lambda: 0.0)
    lines.update(_progress(1))
    lines.update(_progress(2, phase=Phase.FINISHING))
    assert stream.attempts == 1


def test_quiet_says_nothing_and_a_pipe_gets_plain_lines() -> None:
    quiet, pipe = io.StringIO(), io.StringIO()
    for stream, is_quiet in ((quiet, True), (pipe, False)):
        with progress_on(stream, quiet=is_quiet) as on_progress:
            on_progress(_progress(1))
    assert quiet.getvalue() == ""
    assert pipe.getvalue().startswith("indexing, 1/1,000 files")
    assert "\x1b" not in pipe.getvalue()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_with_everything_and_it_vanishes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = _Terminal()
    with progress_on(stream, quiet=False) as on_progress:
        on_progress(_progress(250, path="src/[bold]\x1b[2J.py"))
    shown = stream.getvalue()
    for part in (
        "indexing",
        "250/1,000",
        "125 files/s",
        "2.0 s, 6.0 s left",
        "src/[bold]\\x1b[2J.py",
    ):
        assert part in shown
    assert "\x1b[2J" not in shown
    assert shown.endswith("\x1b[1A\x1b[2K")  # up one line and erased


def test_a_long_path_keeps_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = _Terminal()
    with ProgressBar(stream) as bar:
        bar.update(_progress(1, None, path="deep/" * 30 + "end.py"))
    assert "…" in stream.getvalue()
    assert "deep/end.py" in stream.getvalue()
