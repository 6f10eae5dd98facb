"""Who goes first on a machine with fewer cores than work.

Where a new process of ours finds its code.

What a process says when a library ends it, which no handler of errors can.
"""

import faulthandler
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_NICENESS: Final = 10
#: Linux shares processors between sessions first, and only then, by niceness, in each of them.
#: Source: the section on autogroups of the manual page sched(7).
_AUTOGROUP: Final = Path("/proc/self/autogroup")


def yield_to_others() -> None:
    """Let the other processes of this session go first: who searches, and who works."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))


def yield_as_session() -> None:
    """Let everybody else on this machine go first, when this process has a session of its own."""
    yield_to_others()
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            _AUTOGROUP.write_text(f"{_NICENESS}\n", encoding="ascii")


_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def import_places() -> list[str]:
    """Give what has to come first in ``sys.path``: from where this process imports.

    The folder that holds this package comes first of all. Relative places are left out: the working
    folder may be a hostile repository.
    """
    return [os.path.dirname(_PACKAGE), *(place for place in sys.path if os.path.isabs(place))]


_UNUSABLE: Final = (AttributeError, OSError, RuntimeError, ValueError)  # no standard error


def tell_crashes() -> None:
    """Have a crash tell on standard error where each thread was: nothing else would say it."""
    with suppress(*_UNUSABLE):
        faulthandler.enable(sys.stderr)
