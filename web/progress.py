"""How far an indexing run is, for whoever waits: a bar on a terminal, some lines elsewhere.

Progress goes to standard error, so that it never mixes with an answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.records import Progress, ProgressCallback
from web.progress_lines import ProgressLines


@contextmanager
def progress_on(stream: TextIO, *, quiet: bool) -> Iterator[ProgressCallback]:
    """Show progress while the block runs.

    Args:
        stream: Where to show it; a terminal gets a bar, anything else lines.
        quiet: Show nothing.
    """
    if quiet:
        yield _ignore
    elif stream.isatty():
        from web.progress_bar import ProgressBar  # rich takes 100 ms to import

        with ProgressBar(stream) as bar:
            yield bar.update
    else:
        yield ProgressLines(stream).update


def _ignore(_progress: Progress) -> None:
    pass
