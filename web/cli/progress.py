"""How far a job is, for whoever waits: a bar on a terminal, some lines elsewhere.

Progress goes to standard error, so that it never mixes with an answer.

The lines about a job's progress that a pipe or a log gets.

The progress bar on a terminal, drawn by rich. Only ``progress`` imports it, when needed.

How far the doctor is: one line that changes on a terminal, lines now and then elsewhere.

How far an evaluation is: a bar on a terminal, a line now and then elsewhere.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
from rich.progress import Progress as Bars
from rich.text import Text

from engine.evaluation.golden import Asked, AskedCallback
from engine.records import Phase
from engine.state_records import CheckCallback, CheckProgress, Job, JobState
from web.job_wording import (
    activity_of,
    is_active,
    is_starting,
    line_of,
    rate_of,
    time_left_of,
    wait_of,
)
from web.terminal import columns_of, printable, shortened
from web.wording import duration, percent

_LINE_INTERVAL_S = 10.0
_LINE_FILES = 100
_START_S = 1.0
_SHORTEST_INTERVAL_S = 2.0  # 100 files can be 20 ms of work; a log is read by people


class ProgressLines:
    """A line when the job changes to something else, and after 100 files or 10 seconds.

    At most one in 2 seconds speaks of the same phase. That it has not begun yet is said when it
    lasts for a second.

    Args:
        stream: Where the lines go. When nobody reads it any more the job goes on in silence.
        clock: Seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._doing: object = None
        self._first_s: float | None = None
        self._said_at_s = 0.0
        self._said_done = 0

    def update(self, job: Job) -> None:
        """Take note of how far the job is; write a line when one is due."""
        now_s = self._clock()
        if self._first_s is None:
            self._first_s = now_s
        if is_starting(job) and now_s - self._first_s < _START_S:
            return
        if not self._is_due(job, now_s):
            return
        self._doing, self._said_at_s, self._said_done = _doing(job), now_s, job.done
        try:
            self._stream.write(line_of(job) + "\n")
            self._stream.flush()
        except OSError:
            self._said_at_s = float("inf")

    def _is_due(self, job: Job, now_s: float) -> bool:
        if self._said_at_s == float("inf"):
            return False
        if _doing(job) != self._doing:
            return True
        waited_s = now_s - self._said_at_s
        if job.done - self._said_done >= _LINE_FILES:
            return waited_s >= _SHORTEST_INTERVAL_S
        return waited_s >= _LINE_INTERVAL_S


def _doing(job: Job) -> tuple[object, ...]:
    """Give what a new line is due for when it changes; a running job counts while it waits."""
    waiting = bool(job.waiting) if job.status is JobState.RUNNING else job.waiting
    return job.status, job.phase, waiting, job.position


@contextmanager
def progress_on(stream: TextIO, *, quiet: bool) -> Iterator[Callable[[Job], None]]:
    """Show progress while the block runs; what a job that has ended did is for others to say.

    Args:
        stream: Where to show it; a terminal gets a bar, anything else lines.
        quiet: Show nothing.
    """
    if quiet:
        yield _ignore
    elif stream.isatty():
        with ProgressBar(stream) as bar:
            yield _while_active(bar.update)
    else:
        yield _while_active(ProgressLines(stream).update)


def _while_active(update: Callable[[Job], None]) -> Callable[[Job], None]:
    def update_if_active(job: Job) -> None:
        if is_active(job):
            update(job)

    return update_if_active


def _ignore(_job: Job) -> None:
    pass


_REDRAWS_A_SECOND = 8
_PATH_WIDTH = 40  # columns; the end of a path says more than its beginning


class _Words(ProgressColumn):
    """One named field of the task, shown as it is."""

    def __init__(self, name: str, style: str = "") -> None:
        super().__init__()
        self._name = name
        self._style = style

    def render(self, task: Task) -> Text:
        return Text(str(task.fields[self._name]), style=self._style, no_wrap=True)


class ProgressBar:
    """Phase, bar, files done and in all, rate, elapsed and remaining time, current file.

    A job that waits has its reason in the place of the file. The bar vanishes when the block ends:
    the summary takes its place.
    """

    def __init__(self, stream: TextIO) -> None:
        self._bars = Bars(
            _Words("phase"),
            BarColumn(bar_width=24),
            _Words("files"),
            _Words("rate"),
            _Words("times"),
            _Words("path", style="dim"),
            console=Console(file=stream, highlight=False, markup=False),
            refresh_per_second=_REDRAWS_A_SECOND,
            transient=True,
        )
        self._task = self._bars.add_task(
            "", total=None, phase="starting", files="", rate="", times="", path=""
        )
        self._drawn_at_s = 0.0
        self._doing: tuple[object, ...] = ()
        self._path = ""  # the last one that was told; some news name none

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._bars.stop()

    def update(self, job: Job) -> None:
        """Take note of how far the job is; at most as often as the bar is drawn."""
        doing = (job.status, job.phase)
        if job.current_file or doing != self._doing:
            self._path = job.current_file or ""
        now_s = time.monotonic()
        if doing == self._doing and now_s - self._drawn_at_s < 1 / _REDRAWS_A_SECOND:
            return
        self._drawn_at_s, self._doing = now_s, doing
        waiting = wait_of(job)
        self._bars.update(
            self._task,
            total=None if job.phase is Phase.SCANNING else job.total,
            completed=job.done,
            phase=activity_of(job),
            files=_files_of(job),
            rate="" if waiting else rate_of(job),
            times=_times_of(job),
            path=waiting or shortened(printable(self._path), _PATH_WIDTH, keep="end"),
        )


def _files_of(job: Job) -> str:
    if job.phase in (None, Phase.SCANNING):
        return ""
    return f"{job.done:,}" if job.total is None else f"{job.done:,}/{job.total:,}"


def _times_of(job: Job) -> str:
    elapsed = duration(job.elapsed_seconds * 1000)
    return ", ".join(part for part in (elapsed, time_left_of(job)) if part)


_CHECK_LINE_INTERVAL_S = 5.0
_REDRAW_INTERVAL_S = 0.1


@contextmanager
def checks_on(
    stream: TextIO, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[CheckCallback]:
    """Show progress while the block runs.

    Args:
        stream: Where to show it.
        quiet: Show nothing.
        clock: Seconds that only grow.
    """
    lines = CheckLines(stream, clock)
    try:
        yield _ignore_check if quiet else lines.update
    finally:
        lines.end()


class CheckLines:
    """Shows what is looked at; what is quickly done says nothing in a pipe."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._said_at_s = 0.0 if self._is_terminal else clock()
        self._is_open = False

    def update(self, progress: CheckProgress) -> None:
        """Take note of how far it is."""
        interval_s = _REDRAW_INTERVAL_S if self._is_terminal else _CHECK_LINE_INTERVAL_S
        now_s = self._clock()
        if now_s - self._said_at_s < interval_s:
            return
        self._said_at_s = now_s
        line = check_line_of(progress)
        if self._is_terminal:
            line = shortened(line, max(1, (columns_of(self._stream) or 80) - 1))
            self._write(f"\r\x1b[K{line}")
            self._is_open = True
        else:
            self._write(f"{line}\n")

    def end(self) -> None:
        """Wipe the line that changes."""
        if self._is_open:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # nobody reads it any more
            self._said_at_s = float("inf")


def check_line_of(progress: CheckProgress) -> str:
    """Say how far the doctor is in one line."""
    step = printable(progress.step.replace("_", " "))
    if progress.total:
        return f"{step}, {progress.done:,}/{progress.total:,}"
    return step


def _ignore_check(_progress: CheckProgress) -> None:
    pass


@contextmanager
def asked_on(stream: TextIO, *, quiet: bool) -> Iterator[AskedCallback]:
    """Show progress while the block runs.

    Args:
        stream: Where to show it; a terminal gets a bar, anything else lines.
        quiet: Show nothing.
    """
    if quiet:
        yield _ignore_query
    elif stream.isatty():
        with _bar_on(stream) as update:
            yield update
    else:
        yield AskedLines(stream).update


class AskedLines:
    """A line every 10 seconds, so that what is quickly done says nothing.

    Args:
        stream: Where the lines go.
        clock: Seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._said_at_s = clock()

    def update(self, asked: Asked) -> None:
        """Take note of how far it is; write a line when one is due."""
        now_s = self._clock()
        if now_s - self._said_at_s < _LINE_INTERVAL_S:
            return
        self._said_at_s = now_s
        try:
            self._stream.write(evaluation_line_of(asked) + "\n")
            self._stream.flush()
        except OSError:  # nobody reads it any more
            self._said_at_s = float("inf")


def evaluation_line_of(asked: Asked) -> str:
    """Say how far an evaluation is in one line."""
    left_ms = (asked.total - asked.done) * asked.elapsed_ms / asked.done
    share = percent(asked.done / asked.total)
    return (
        f"{printable(asked.variant)}, {asked.done:,}/{asked.total:,} queries ({share}), "
        f"{duration(left_ms)} left"
    )


@contextmanager
def _bar_on(stream: TextIO) -> Iterator[AskedCallback]:
    from rich.console import Console  # rich takes 100 ms to import
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("queries"),
        console=Console(file=stream, highlight=False, markup=False),
        refresh_per_second=_REDRAWS_A_SECOND,
        transient=True,
    )
    task = bars.add_task("starting", total=None)

    def update(asked: Asked) -> None:
        description = printable(asked.variant)
        bars.update(task, total=asked.total, completed=asked.done, description=description)

    with bars:
        yield update


def _ignore_query(_asked: Asked) -> None:
    pass
