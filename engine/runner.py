"""The process that runs jobs when nobody waits for them: ``python -m engine.runner``.

It takes its settings from the environment, ends when there has been nothing to do for a moment and
no server lives that may have something to do soon, and at once when another runner lives. SIGTERM
lets it end at the next file; nothing is lost by SIGKILL.
"""

import signal
import sys
import time
from types import FrameType

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError
from engine.processes import tell_crashes, yield_as_session

_TRIES = 5  # to become the runner
_WAIT_S = 0.2


def main() -> None:
    """Run what is pending, then end the process."""
    wishes: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        wishes.append(number)

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal that it does not belong to
    tell_crashes()
    yield_as_session()
    try:
        with Catalog(load_config()) as catalog, catalog.traced("runner"):
            for _ in range(_TRIES):
                if catalog.jobs.work(
                    until_idle=lambda: catalog.server_url() is None, stop=lambda: bool(wishes)
                ):
                    break
                time.sleep(_WAIT_S)  # whoever has the lock may just be looking
    except EngineError as error:
        sys.exit(f"{error.code}: {error.message}")


if __name__ == "__main__":
    main()
