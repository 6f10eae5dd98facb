"""Which folder a damaged index is of, when its file does not say it any more.

The name of the file is the hash of the folder's path, so that every guess can be proved: what an
open index knows, what the file says, what a caller says, and what the logs say.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from engine.errors import EngineError
from engine.jobs.operation_log import operation_logs
from engine.roots import project_id_of
from engine.store.peek import read_root

_MOST_LOGS = 20
_SAYS_ROOT = "Repository: "


def root_of(file: Path, guesses: Iterable[str], busy_timeout_ms: int) -> str | None:
    """Give the root of a database file; None when nothing tells it."""
    for root in chain(guesses, _told(file, busy_timeout_ms)):
        if project_id_of(root) == file.stem:
            return root
    return None


def _told(file: Path, busy_timeout_ms: int) -> Iterator[str]:
    with suppress(EngineError):
        yield read_root(file, busy_timeout_ms)
    for log in operation_logs(file.parent / "logs" / file.stem)[:_MOST_LOGS]:
        with suppress(OSError):
            lines = log.read().splitlines()
            yield from (
                line.removeprefix(_SAYS_ROOT) for line in lines[:3] if line.startswith(_SAYS_ROOT)
            )
