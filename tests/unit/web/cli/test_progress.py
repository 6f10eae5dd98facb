"""When a line of progress is written, and what it says."""

import io
import re

import pytest

from engine.doctor_records import CheckProgress
from engine.evaluation.golden import EvaluationProgress
from engine.index_records import Phase
from engine.state_records import Job, JobState
from tests.support.job_records import job
from web.cli.progress import JobLines, Lines, checks_on, evaluation_line, evaluation_on, progress_on
from web.terminal import width_of
from web.wording import kept_text, line_of


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (job(), "indexing, 250/1,000 files (25%), 125 files/s, 6 s left: src/app.py"),
        (job(phase=Phase.SCANNING, rate=None, eta_seconds=None), "looking for files: src/app.py"),
        (
            job(phase=Phase.EMBEDDING, done=70, total=800, rate=7.25, current_file=None),
            "embedding, 70/800 chunks (9%), 7.2 chunks/s, 6 s left",
        ),
        (
            job(phase=Phase.STORING, done=1000, rate=None, eta_seconds=0.0, current_file=None),
            "storing, 1,000/1,000 files (100%)",
        ),
        (
            job(phase=Phase.FINISHING, done=7, total=None, eta_seconds=None, current_file=None),
            "finishing, 7 files, 125 files/s",
        ),
        (
            job(done=0, total=0, rate=None, eta_seconds=None, current_file="a\x1b[2J\n"),
            "indexing, 0/0 files (100%): a\\x1b[2J\\n",
        ),
        (
            job(waiting="processing a file that takes long, for 6 s", eta_seconds=None, rate=None),
            "indexing, 250/1,000 files (25%), processing a file that takes long, for 6 s:"
            " src/app.py",
        ),
        (job(phase=None), "starting"),
        (job(JobState.PENDING), "waiting: 3rd in the queue"),
        (job(JobState.PENDING, position=1), "waiting: next in the queue"),
        (job(JobState.PENDING, position=None), "waiting: in the queue"),
        (
            job(JobState.BLOCKED),
            "blocked: embedding model unavailable: no answer from 127.0.0.1:8080",
        ),
        (job(JobState.BLOCKED, waiting=None), "blocked: something it needs is unavailable"),
    ],
)
def test_a_line_says_phase_share_rate_time_and_file_or_why_it_waits(shown: Job, said: str) -> None:
    assert line_of(shown) == said


def test_what_is_kept() -> None:
    assert kept_text(job()) == "the 250 of 1,000 files done so far can be searched"
    assert kept_text(job(files_done=1, files_total=None)) == (
        "the 1 file done so far can be searched"
    )


def _said(updates: list[tuple[float, Job]]) -> list[bool]:
    """Give for each moment, in seconds, and job whether a line is written."""
    clock = iter([updates[0][0], *(at_s for at_s, _ in updates)])
    stream = io.StringIO()
    lines = JobLines(stream, clock=lambda: next(clock))
    said = []
    for _, shown in updates:
        before = stream.tell()
        lines.update(shown)
        said.append(stream.tell() > before)
    return said


def test_lines_are_spaced() -> None:
    assert _said(
        [
            (0.0, job(done=1)),  # a new phase: said
            (1.9, job(done=900)),  # many files, but too soon
            (2.0, job(done=901)),  # 100 files and 2 seconds: said
            (11.9, job(done=950)),  # few files, and not yet 10 seconds
            (12.0, job(done=951)),  # 10 seconds: said
            (12.1, job(done=951, phase=Phase.FINISHING)),  # a new phase: said
            (12.2, job(JobState.BLOCKED)),  # it waits: said
            (12.3, job(JobState.BLOCKED)),
        ]
    ) == [True, False, True, False, True, True, True, False]


def test_a_job_that_begins_at_once_does_not_say_that_it_waits() -> None:
    waiting, starting = job(JobState.PENDING), job(phase=None)
    assert _said([(0.0, waiting), (0.5, starting), (0.6, job())]) == [False, False, True]
    assert _said([(0.0, waiting), (1.0, waiting), (1.1, waiting), (11.0, waiting)]) == [
        False,
        True,
        False,
        True,
    ]
    nearer = job(JobState.PENDING, position=2)
    assert _said([(0.0, waiting), (1.0, waiting), (1.1, nearer)]) == [False, True, True]


def test_a_wait_that_counts_seconds_is_one_change() -> None:
    assert _said([(0.0, job()), (1.0, job(waiting="for 5 s")), (2.0, job(waiting="for 6 s"))]) == [
        True,
        True,
        False,
    ]


class _Closed(io.StringIO):
    attempts = 0

    def write(self, _text: str) -> int:
        self.attempts += 1
        raise BrokenPipeError


def test_a_reader_that_went_away_does_not_stop_the_run() -> None:
    stream = _Closed()
    lines = JobLines(stream, clock=lambda: 0.0)
    lines.update(job(done=1))
    lines.update(job(done=2, phase=Phase.FINISHING))
    assert stream.attempts == 1


def test_quiet_says_nothing_and_a_pipe_gets_plain_lines() -> None:
    quiet, pipe = io.StringIO(), io.StringIO()
    for stream, is_quiet in ((quiet, True), (pipe, False)):
        with progress_on(stream, quiet=is_quiet) as show:
            show(job(done=1))
            show(job(JobState.COMPLETED))
    assert quiet.getvalue() == ""
    assert pipe.getvalue().startswith("indexing, 1/1,000 files")
    assert pipe.getvalue().count("\n") == 1
    assert "\x1b" not in pipe.getvalue()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return _Terminal()


def test_a_terminal_gets_a_bar_with_everything_and_it_vanishes(terminal: _Terminal) -> None:
    with progress_on(terminal, quiet=False) as show:
        show(job(current_file="src/[bold]\x1b[2J.py"))
    shown = terminal.getvalue()
    for part in (
        "indexing",
        "250/1,000",
        "125 files/s",
        "2.0 s, 6 s left",
        "src/[bold]\\x1b[2J.py",
    ):
        assert part in shown
    assert "\x1b[2J" not in shown
    assert shown.endswith("\x1b[1A\x1b[2K")  # up one line and erased


def test_the_bar_of_a_job_that_waits_says_why(terminal: _Terminal) -> None:
    for waiting in (job(JobState.BLOCKED), job(JobState.PENDING)):
        with progress_on(terminal, quiet=False) as show:
            show(waiting)
    shown = terminal.getvalue()
    assert "embedding model unavailable: no answer" in shown
    assert "3rd in the queue" in shown


def test_a_long_path_keeps_its_end(terminal: _Terminal) -> None:
    with progress_on(terminal, quiet=False) as show:
        show(job(total=None, current_file="deep/" * 30 + "end.py"))
    assert "…" in terminal.getvalue()
    assert "deep/end.py" in terminal.getvalue()


@pytest.mark.parametrize("columns", [40, 50, 66, 80, 120, 200])
@pytest.mark.parametrize(
    "path", ["src/app.py", "deep/" * 30 + "end.py", "深い場所/" * 20 + "終.py"]
)
def test_a_bar_fits_its_terminal(
    terminal: _Terminal, monkeypatch: pytest.MonkeyPatch, columns: int, path: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with progress_on(terminal, quiet=False) as show:
        show(job(current_file=path, done=250_123, total=1_000_000))
    lines = re.split(r"[\r\n]", re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()))
    assert max(map(width_of, lines)) <= columns
    text = "\n".join(lines)
    assert "indexing" in text
    assert "250,123/1,000,000" in text
    assert ("6 s left" in text) == (columns >= 66)
    assert ("125 files/s" in text) == (columns >= 80)


@pytest.mark.parametrize("columns", [40, 50, 80])
def test_why_a_job_waits_comes_before_its_numbers(
    terminal: _Terminal, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with progress_on(terminal, quiet=False) as show:
        show(job(JobState.BLOCKED))
    assert "embedding m" in terminal.getvalue()


def test_without_colours_a_bar_has_none(
    terminal: _Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with progress_on(terminal, quiet=False) as show:
        show(job())
    assert not re.search("\x1b\\[[0-9;]*[34][0-9][0-9;]*m", terminal.getvalue())


def test_the_doctor_and_an_evaluation_have_the_same_bar(terminal: _Terminal) -> None:
    with checks_on(terminal, quiet=False) as check:
        check(CheckProgress(step="symbols_of\x1b[2J", done=1, total=3))
    with evaluation_on(terminal, quiet=False) as asked:
        asked(_EVALUATION_PROGRESS)
    shown = terminal.getvalue()
    for part in ("symbols of\\x1b[2J", "1/3", "hybrid", "120/480 queries", "12.0 s left"):
        assert part in shown
    assert "\x1b[2J" not in shown
    assert shown.endswith("\x1b[1A\x1b[2K")


_EVALUATION_PROGRESS = EvaluationProgress(variant="hybrid", done=120, total=480, elapsed_ms=4000)


def test_a_line_says_how_far_an_evaluation_is() -> None:
    assert evaluation_line(_EVALUATION_PROGRESS) == "hybrid, 120/480 queries (25%), 12.0 s left"


def test_a_line_comes_every_ten_seconds() -> None:
    stream = io.StringIO()
    clock = iter([0.0, 1.0, 9.9, 10.0, 15.0, 20.1])
    lines = Lines(stream, evaluation_line, lambda: next(clock))
    for _ in range(5):
        lines.update(_EVALUATION_PROGRESS)
    assert stream.getvalue().count("\n") == 2


def test_a_reader_that_went_away_ends_the_lines_only() -> None:
    stream = _Closed()
    clock = iter([0.0, 10.0, 20.0, 40.0])
    lines = Lines(stream, evaluation_line, lambda: next(clock))
    for _ in range(3):
        lines.update(_EVALUATION_PROGRESS)
    assert stream.attempts == 1
