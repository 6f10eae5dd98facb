"""Progress of jobs, checks, evaluations and downloads: a bar on a terminal, lines elsewhere.

It is written to standard error, so that it never mixes with an answer.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, NamedTuple, TextIO, TypeVar

from engine.index_records import Phase
from engine.state_records import Job, JobState
from web.terminal import printable, shortened, width_of
from web.wording import (
    activity_of,
    duration,
    is_active,
    is_starting,
    line_of,
    percent,
    rate_of,
    share_of,
    size,
    time_left_of,
    wait_of,
)

if TYPE_CHECKING:
    from engine.doctor_records import CheckCallback, CheckProgress
    from engine.evaluation.golden import EvaluationCallback, EvaluationProgress

_REDRAWS_PER_SECOND = 8
_BAR_WIDTH = 24  # columns
_MIN_BAR_WIDTH = 10
_BAR_STEPS = 1000
_PATH_WIDTH = 40  # the bar is shortened to make room for it
_MIN_PATH_WIDTH = 12
_INTERVAL_S = 10.0  # between two lines
_JOB_FILES = 100  # after which a line is due earlier
_JOB_INTERVAL_S = 2.0  # minimum; 100 files can be 20 ms of work, and people read the log
_JOB_START_S = 1.0  # a job that starts within this time is not reported as waiting

Progress = TypeVar("Progress")


class _Bar(NamedTuple):
    """The content of a bar."""

    doing: str  # the current activity, printable
    done: int
    total: int | None  # None if unknown
    facts: tuple[str, ...]  # amount, rate, times; the last are dropped first if there is no room
    path: str = ""  # the current file
    waiting: str = ""  # the reason for waiting, shown instead of the path


@contextmanager
def progress_on(stream: TextIO, *, quiet: bool) -> Iterator[Callable[[Job], None]]:
    """Show the progress of a job, but not its outcome, while the block runs.

    Args:
        stream: The output; a terminal gets a bar, anything else lines.
        quiet: Whether to show nothing.
    """
    with _shown(stream, _job_bar, JobLines(stream).update, quiet=quiet) as update:
        yield lambda job: update(job) if is_active(job) else None


@contextmanager
def checks_on(stream: TextIO, *, quiet: bool) -> "Iterator[CheckCallback]":
    """Show the progress of the doctor while the block runs, like ``progress_on``."""
    lines = Lines(stream, check_line)
    with _shown(stream, _check_bar, lines.update, quiet=quiet) as update:
        yield update


@contextmanager
def evaluation_on(stream: TextIO, *, quiet: bool) -> "Iterator[EvaluationCallback]":
    """Show the progress of an evaluation while the block runs, like ``progress_on``."""
    lines = Lines(stream, evaluation_line)
    with _shown(stream, _evaluation_bar, lines.update, quiet=quiet) as update:
        yield update


@contextmanager
def download_on(stream: TextIO, name: str) -> Iterator[Callable[[int], None]]:
    """Show how many bytes of a model have been downloaded while the block runs."""
    doing = f"downloading {printable(name)}"
    lines: Lines[int] = Lines(stream, lambda number: f"{doing}: {size(number)}")

    def drawn(number: int) -> _Bar:
        return _Bar(doing=doing, done=number, total=None, facts=(size(number),))

    with _shown(stream, drawn, lines.update, quiet=False) as update:
        yield update


@contextmanager
def _shown(
    stream: TextIO,
    drawn: Callable[[Progress], _Bar],
    write: Callable[[Progress], None],
    *,
    quiet: bool,
) -> Iterator[Callable[[Progress], None]]:
    if quiet:
        yield lambda _progress: None
    elif stream.isatty():
        with _bar_on(stream) as draw:
            yield lambda progress: draw(drawn(progress))
    else:
        yield write


class Lines(Generic[Progress]):
    """Writes a line every 10 seconds, so that short work writes nothing.

    Args:
        stream: The output. If it is closed, the work continues without lines.
        text_of: Formats a line.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        stream: TextIO,
        text_of: Callable[[Progress], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._text_of = text_of
        self._clock = clock
        self._written_at_s = clock()
        self._is_open = True

    def update(self, progress: Progress) -> None:
        """Receive progress, and write a line when one is due."""
        now_s = self._clock()
        if now_s - self._written_at_s >= _INTERVAL_S:
            self._write(progress, now_s)

    def _write(self, progress: Progress, now_s: float) -> None:
        self._written_at_s = now_s
        if not self._is_open:
            return
        try:
            self._stream.write(self._text_of(progress) + "\n")
            self._stream.flush()
        except OSError:
            self._is_open = False


class JobLines(Lines[Job]):
    """Writes a line when the activity of a job changes, and after 100 files or 10 seconds.

    Lines about the same activity are at least 2 seconds apart.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, line_of, clock)
        self._began_at_s = self._written_at_s
        self._doing: object = None
        self._written_done = 0

    def update(self, progress: Job) -> None:
        """Receive the state of the job, and write a line when one is due."""
        job, now_s = progress, self._clock()
        if is_starting(job) and now_s - self._began_at_s < _JOB_START_S:
            return
        # The text of a running job that waits counts seconds, which is no change.
        waiting = bool(job.waiting) if job.status is JobState.RUNNING else job.waiting
        doing = (job.status, job.phase, waiting, job.position)
        waited_s = now_s - self._written_at_s
        many = job.done - self._written_done >= _JOB_FILES
        if doing != self._doing or waited_s >= (_JOB_INTERVAL_S if many else _INTERVAL_S):
            self._doing, self._written_done = doing, job.done
            self._write(job, now_s)


def check_line(progress: "CheckProgress") -> str:
    """Format the progress of the doctor as one line."""
    step = printable(progress.step.replace("_", " "))
    return f"{step}, {progress.done:,}/{progress.total:,}" if progress.total else step


def evaluation_line(progress: "EvaluationProgress") -> str:
    """Format the progress of an evaluation as one line."""
    return (
        f"{printable(progress.variant)}, {progress.done:,}/{progress.total:,} queries "
        f"({percent(progress.done / progress.total)}), {_time_left_of(progress)}"
    )


def _time_left_of(progress: "EvaluationProgress") -> str:
    return (
        f"{duration((progress.total - progress.done) * progress.elapsed_ms / progress.done)} left"
    )


def _job_bar(job: Job) -> _Bar:
    waiting, share = wait_of(job), share_of(job)
    amount = "" if job.phase in (None, Phase.SCANNING) else _amount(job.done, job.total)
    elapsed = duration(job.elapsed_seconds * 1000)
    return _Bar(
        doing=activity_of(job),
        done=0 if share is None else round(share * _BAR_STEPS),
        total=None if share is None else _BAR_STEPS,
        facts=(
            amount,
            ", ".join(part for part in (elapsed, time_left_of(job)) if part),
            "" if waiting else rate_of(job),
        ),
        path=printable(job.current_file or ""),
        waiting=waiting,
    )


def _check_bar(progress: "CheckProgress") -> _Bar:
    step = printable(progress.step.replace("_", " "))
    amount = _amount(progress.done, progress.total) if progress.total else ""
    return _Bar(doing=step, done=progress.done, total=progress.total, facts=(amount,))


def _evaluation_bar(progress: "EvaluationProgress") -> _Bar:
    facts = (f"{_amount(progress.done, progress.total)} queries", _time_left_of(progress))
    return _Bar(
        doing=printable(progress.variant), done=progress.done, total=progress.total, facts=facts
    )


def _amount(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None else f"{done:,}/{total:,}"


@contextmanager
def _bar_on(stream: TextIO) -> Iterator[Callable[[_Bar], None]]:
    """Draw a bar that disappears at the end of the block, to be replaced by the summary."""
    from rich.console import Console  # takes 0.1 s; only terminals need it
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(file=stream, highlight=False, markup=False)
    bar = BarColumn(bar_width=_BAR_WIDTH)
    words = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("doing", "facts")]
    path = TextColumn("{task.fields[path]}", style="dim", markup=False)
    bars = Bars(
        words[0],
        bar,
        words[1],
        path,
        console=console,
        refresh_per_second=_REDRAWS_PER_SECOND,
        transient=True,
    )
    task = bars.add_task("", total=None, doing="starting", facts="", path="")
    last = _Bar("", 0, None, ())
    drawn_at_s = 0.0

    def draw(drawn: _Bar) -> None:
        nonlocal last, drawn_at_s
        is_same = drawn.doing == last.doing
        if is_same and time.monotonic() - drawn_at_s < 1 / _REDRAWS_PER_SECOND:
            return
        if is_same and not drawn.path:  # some updates name no file
            drawn = drawn._replace(path=last.path)
        last, drawn_at_s = drawn, time.monotonic()
        bar.bar_width, facts, shown = _fitted(drawn, console.width)
        bars.update(
            task,
            total=drawn.total,
            completed=drawn.done,
            doing=drawn.doing,
            facts=facts,
            path=shown,
        )

    with bars:
        yield draw


def _fitted(drawn: _Bar, width: int) -> tuple[int, str, str]:
    """Fit a bar into a width: return the bar's width, the facts, and the end of the path."""
    detail = drawn.waiting or drawn.path
    room = width - width_of(drawn.doing) - 3
    reserved = _MIN_BAR_WIDTH + (_MIN_PATH_WIDTH if drawn.waiting else 0)
    facts = [fact for fact in drawn.facts if fact]
    while facts and width_of("  ".join(facts)) > room - reserved:
        facts.pop()
    text = "  ".join(facts)
    room -= width_of(text)
    wanted = _PATH_WIDTH if detail else 0  # fixed, so that the bar keeps its width
    bar_width = max(1, min(_BAR_WIDTH, room, max(room - wanted, _MIN_BAR_WIDTH)))
    room -= bar_width
    if room < _MIN_PATH_WIDTH:
        return bar_width, text, ""
    return bar_width, text, shortened(detail, room, keep="start" if drawn.waiting else "end")
