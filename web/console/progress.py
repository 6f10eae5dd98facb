"""How far a job is, for whoever waits: a bar on a terminal, some lines elsewhere.

Progress goes to standard error, so that it never mixes with an answer.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.job_records import Job
from web.console.job_wording import is_active
from web.console.progress_lines import ProgressLines


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
        from web.console.progress_bar import ProgressBar  # rich takes 100 ms to import

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
