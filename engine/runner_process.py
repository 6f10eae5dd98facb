"""The background process that runs jobs: ``python -m engine.runner_process``.

It takes its settings from the environment. It ends at once if another runner lives, and otherwise
after a moment without jobs, unless a server lives that may soon submit one. SIGTERM ends it at the
next file; SIGKILL loses nothing.

A server has its own settings, and may be of another version. So a runner that it has not started
gives way to it: suspends its jobs, and ends when the runner that the server starts has taken over.
If the server ends before, it goes on with them.
"""

import signal
import sys
import time
from types import FrameType

from engine.cancellation import CancelToken
from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError
from engine.locks import holder_of, runner_lock_file, server_process
from engine.processes import lower_session_priority, report_crashes

_TRIES = 5  # that find another runner, before it counts as one
_WAIT_S = 0.2


def main(started_by: int | None = None) -> None:
    """Run what is pending, then end the process.

    Args:
        started_by: The process that has started this one, and may be the server.
    """
    wishes: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        wishes.append(number)

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal that it does not belong to
    report_crashes()
    lower_session_priority()
    try:
        with Catalog(load_config()) as catalog, catalog.traced("runner"):
            _run(catalog, started_by, lambda: bool(wishes))
    except EngineError as error:
        sys.exit(f"{error.code}: {error.report}")


def _run(catalog: Catalog, started_by: int | None, is_told_to_end: CancelToken) -> None:
    """Run jobs until there are none, until told to end, or until another process runs them."""
    gave_way = False  # the last time that this was looked at

    def gives_way() -> bool:
        nonlocal gave_way
        gave_way = server_process(catalog.data_dir) not in (None, started_by)
        return gave_way

    tries = 0
    while tries < _TRIES and not is_told_to_end():
        if gives_way():
            is_free = holder_of(runner_lock_file(catalog.data_dir)) is None
        else:
            is_free = catalog.jobs.work(
                until_idle=lambda: catalog.server_url() is None,
                cancelled=lambda: is_told_to_end() or gives_way(),
            )
            if is_free and not gave_way:
                return
        tries = 0 if is_free else tries + 1
        time.sleep(_WAIT_S)  # a process that holds the lock may only be checking it


if __name__ == "__main__":
    main()
