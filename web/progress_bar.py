"""The progress bar on a terminal, drawn by rich. Only ``progress`` imports it, when needed."""

import time
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
from rich.progress import Progress as Bars
from rich.text import Text

from engine.records import Phase, Progress
from web.progress_lines import phase_name, rate_of, remaining_ms_of, unit_of
from web.terminal import printable
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

    The bar vanishes when the run ends: the summary takes its place.
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
        self._phase: Phase | None = None
        self._path = ""  # the last one that was told; some news name none

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._bars.stop()

    def update(self, progress: Progress) -> None:
        """Take note of how far the run is; at most as often as the bar is drawn."""
        if progress.current_path or progress.phase != self._phase:
            self._path = progress.current_path
        now_s = time.monotonic()
        if progress.phase == self._phase and now_s - self._drawn_at_s < 1 / _REDRAWS_A_SECOND:
            return
        self._drawn_at_s, self._phase = now_s, progress.phase
        self._bars.update(
            self._task,
            total=progress.total,
            completed=progress.done,
            phase=phase_name(progress.phase),
            files=_files_of(progress),
            rate=_rate_of(progress),
            times=_times_of(progress),
            path=_shortened(printable(self._path)),
        )


def _files_of(progress: Progress) -> str:
    return (
        f"{progress.done:,}" if progress.total is None else f"{progress.done:,}/{progress.total:,}"
    )


def _rate_of(progress: Progress) -> str:
    rate = rate_of(progress)
    return f"{rate:,.0f} {unit_of(progress)}s/s" if rate else ""


def _times_of(progress: Progress) -> str:
    remaining_ms = remaining_ms_of(progress)
    elapsed = duration(progress.elapsed_ms)
    return elapsed if remaining_ms is None else f"{elapsed}, {duration(remaining_ms)} left"


def _shortened(path: str) -> str:
    return path if len(path) <= _PATH_WIDTH else "…" + path[-(_PATH_WIDTH - 1) :]
