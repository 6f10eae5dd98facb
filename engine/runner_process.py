"""The background process that runs jobs: ``python -m engine.runner_process``.

It takes its settings from the environment. It ends at once if another runner lives, and otherwise
after a moment without jobs, unless a server lives that may soon submit one. SIGTERM ends it at the
next file; SIGKILL loses nothing.
"""

import signal
import sys
import time
from types import FrameType

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError
from engine.processes import lower_session_priority, report_crashes

_TRIES = 5  # to become the runner
_WAIT_S = 0.2


def main() -> None:
    """Run what is pending, then end the process."""
    wishes: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        wishes.append(number)

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal that it does not belong to
    report_crashes()
    lower_session_priority()
    try:
        with Catalog(load_config()) as catalog, catalog.traced("runner"):
            for _ in range(_TRIES):
                if catalog.jobs.work(
                    until_idle=lambda: catalog.server_url() is None, cancelled=lambda: bool(wishes)
                ):
                    break
                time.sleep(_WAIT_S)  # a process that holds the lock may only be checking it
    except EngineError as error:
        sys.exit(f"{error.code}: {error.report}")


if __name__ == "__main__":
    main()
