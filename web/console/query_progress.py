"""How far an evaluation is: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.evaluation.golden import Asked, AskedCallback
from web.terminal import printable
from web.wording import duration, percent

_LINE_INTERVAL_S = 10.0
_REDRAWS_A_SECOND = 8


@contextmanager
def asked_on(stream: TextIO, *, quiet: bool) -> Iterator[AskedCallback]:
    """Show progress while the block runs.

    Args:
        stream: Where to show it; a terminal gets a bar, anything else lines.
        quiet: Show nothing.
    """
    if quiet:
        yield _ignore
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
            self._stream.write(line_of(asked) + "\n")
            self._stream.flush()
        except OSError:  # nobody reads it any more
            self._said_at_s = float("inf")


def line_of(asked: Asked) -> str:
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


def _ignore(_asked: Asked) -> None:
    pass
