"""The progress bar on a terminal, drawn by rich. Only ``progress`` imports it, when needed."""

import time
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
from rich.progress import Progress as Bars
from rich.text import Text

from engine.job_records import Job
from engine.records import Phase
from web.console.job_wording import activity_of, rate_of, time_left_of, wait_of
from web.terminal import printable, shortened
from web.wording import duration

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
