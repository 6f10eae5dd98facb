"""Progress of jobs, checks, evaluations and downloads: a bar on a terminal, lines elsewhere.

It goes to standard error, so that it never mixes with an answer.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, NamedTuple, TextIO, TypeVar

from engine.evaluation.golden import Asked, AskedCallback
from engine.records import Phase
from engine.state_records import CheckCallback, CheckProgress, Job, JobState
from web.terminal import printable, shortened, width_of
from web.wording import (
    activity_of,
    duration,
    is_active,
    is_starting,
    line_of,
    percent,
    rate_of,
    size,
    time_left_of,
    wait_of,
)

_REDRAWS_A_SECOND = 8
_BAR_WIDTH = 24  # columns
_LEAST_BAR_WIDTH = 10
_PATH_WIDTH = 40  # for which the bar gets shorter
_LEAST_PATH_WIDTH = 12
_INTERVAL_S = 10.0  # between two lines
_JOB_FILES = 100  # after which a line is due too
_JOB_INTERVAL_S = 2.0  # at least; 100 files can be 20 ms of work, and a log is read by people
_JOB_START_S = 1.0  # a job that begins within it does not say that it waits

Progress = TypeVar("Progress")


class _Drawn(NamedTuple):
    """What a bar shows."""

    doing: str  # in printable words
    done: int
    total: int | None  # None: nobody knows
    facts: tuple[str, ...]  # amount, rate, times; the last ones go first where there is no room
    path: str = ""  # the file it is at
    waiting: str = ""  # for what; shown in place of the path


@contextmanager
def progress_on(stream: TextIO, *, quiet: bool) -> Iterator[Callable[[Job], None]]:
    """Show the progress of a job while the block runs; how it ended is for others to say.

    Args:
        stream: Where to show it; a terminal gets a bar, anything else lines.
        quiet: Show nothing.
    """
    with _shown(stream, _drawn_job, JobLines(stream).update, quiet=quiet) as update:
        yield lambda job: update(job) if is_active(job) else None


@contextmanager
def checks_on(stream: TextIO, *, quiet: bool) -> Iterator[CheckCallback]:
    """Show the progress of the doctor while the block runs; the arguments of ``progress_on``."""
    lines = Lines(stream, check_line)
    with _shown(stream, _drawn_check, lines.update, quiet=quiet) as update:
        yield update


@contextmanager
def asked_on(stream: TextIO, *, quiet: bool) -> Iterator[AskedCallback]:
    """Show the progress of an evaluation while the block runs, as ``progress_on`` does."""
    lines = Lines(stream, asked_line)
    with _shown(stream, _drawn_query, lines.update, quiet=quiet) as update:
        yield update


@contextmanager
def download_on(stream: TextIO, name: str) -> Iterator[Callable[[int], None]]:
    """Show how many bytes of a model have come while the block runs."""
    said = f"downloading {printable(name)}"
    lines: Lines[int] = Lines(stream, lambda number: f"{said}: {size(number)}")

    def drawn(number: int) -> _Drawn:
        return _Drawn(doing=said, done=number, total=None, facts=(size(number),))

    with _shown(stream, drawn, lines.update, quiet=False) as update:
        yield update


@contextmanager
def _shown(
    stream: TextIO,
    drawn: Callable[[Progress], _Drawn],
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
    """A line every 10 seconds, so that what is quickly done says nothing.

    Args:
        stream: Where the lines go. When nobody reads it any more the work goes on in silence.
        text_of: What a line says.
        clock: Seconds that only grow.
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
        self._said_at_s = clock()
        self._is_read = True

    def update(self, progress: Progress) -> None:
        """Take note of how far it is; write a line when one is due."""
        now_s = self._clock()
        if now_s - self._said_at_s >= _INTERVAL_S:
            self._say(progress, now_s)

    def _say(self, progress: Progress, now_s: float) -> None:
        self._said_at_s = now_s
        if not self._is_read:
            return
        try:
            self._stream.write(self._text_of(progress) + "\n")
            self._stream.flush()
        except OSError:
            self._is_read = False


class JobLines(Lines[Job]):
    """A line when the job changes to something else, and after 100 files or 10 seconds.

    At most one in 2 seconds speaks of the same phase.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, line_of, clock)
        self._began_at_s = self._said_at_s
        self._doing: object = None
        self._said_done = 0

    def update(self, progress: Job) -> None:
        """Take note of how far the job is; write a line when one is due."""
        job, now_s = progress, self._clock()
        if is_starting(job) and now_s - self._began_at_s < _JOB_START_S:
            return
        # A running job counts the seconds while it waits: that is no change.
        waiting = bool(job.waiting) if job.status is JobState.RUNNING else job.waiting
        doing = (job.status, job.phase, waiting, job.position)
        waited_s = now_s - self._said_at_s
        many = job.done - self._said_done >= _JOB_FILES
        if doing != self._doing or waited_s >= (_JOB_INTERVAL_S if many else _INTERVAL_S):
            self._doing, self._said_done = doing, job.done
            self._say(job, now_s)


def check_line(progress: CheckProgress) -> str:
    """Say how far the doctor is in one line."""
    step = printable(progress.step.replace("_", " "))
    return f"{step}, {progress.done:,}/{progress.total:,}" if progress.total else step


def asked_line(asked: Asked) -> str:
    """Say how far an evaluation is in one line."""
    return (
        f"{printable(asked.variant)}, {asked.done:,}/{asked.total:,} queries "
        f"({percent(asked.done / asked.total)}), {_time_left_of(asked)}"
    )


def _time_left_of(asked: Asked) -> str:
    return f"{duration((asked.total - asked.done) * asked.elapsed_ms / asked.done)} left"


def _drawn_job(job: Job) -> _Drawn:
    waiting, is_scanning = wait_of(job), job.phase is Phase.SCANNING
    amount = "" if job.phase is None or is_scanning else _amount(job.done, job.total)
    elapsed = duration(job.elapsed_seconds * 1000)
    return _Drawn(
        doing=activity_of(job),
        done=job.done,
        total=None if is_scanning else job.total,
        facts=(
            amount,
            ", ".join(part for part in (elapsed, time_left_of(job)) if part),
            "" if waiting else rate_of(job),
        ),
        path=printable(job.current_file or ""),
        waiting=waiting,
    )


def _drawn_check(progress: CheckProgress) -> _Drawn:
    step = printable(progress.step.replace("_", " "))
    amount = _amount(progress.done, progress.total) if progress.total else ""
    return _Drawn(doing=step, done=progress.done, total=progress.total, facts=(amount,))


def _drawn_query(asked: Asked) -> _Drawn:
    facts = (f"{_amount(asked.done, asked.total)} queries", _time_left_of(asked))
    return _Drawn(doing=printable(asked.variant), done=asked.done, total=asked.total, facts=facts)


def _amount(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None else f"{done:,}/{total:,}"


@contextmanager
def _bar_on(stream: TextIO) -> Iterator[Callable[[_Drawn], None]]:
    """Draw a bar that vanishes when the block ends: the summary takes its place."""
    from rich.console import Console  # 0.1 s, for terminals alone
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
        refresh_per_second=_REDRAWS_A_SECOND,
        transient=True,
    )
    task = bars.add_task("", total=None, doing="starting", facts="", path="")
    last = _Drawn("", 0, None, ())
    drawn_at_s = 0.0

    def draw(drawn: _Drawn) -> None:
        nonlocal last, drawn_at_s
        is_same = drawn.doing == last.doing
        if is_same and time.monotonic() - drawn_at_s < 1 / _REDRAWS_A_SECOND:
            return
        if is_same and not drawn.path:  # some news name no file
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


def _fitted(drawn: _Drawn, width: int) -> tuple[int, str, str]:
    """Choose what fits beside the words: the width of the bar, the facts, and the path's end."""
    says = drawn.waiting or drawn.path
    room = width - width_of(drawn.doing) - 3
    kept = _LEAST_BAR_WIDTH + (_LEAST_PATH_WIDTH if drawn.waiting else 0)
    facts = [fact for fact in drawn.facts if fact]
    while facts and width_of("  ".join(facts)) > room - kept:
        facts.pop()
    text = "  ".join(facts)
    room -= width_of(text)
    wished = _PATH_WIDTH if says else 0  # not what this one takes: the bar stands still
    bar_width = max(1, min(_BAR_WIDTH, room, max(room - wished, _LEAST_BAR_WIDTH)))
    room -= bar_width
    if room < _LEAST_PATH_WIDTH:
        return bar_width, text, ""
    return bar_width, text, shortened(says, room, keep="start" if drawn.waiting else "end")
