"""Who goes first on a machine with fewer cores than work."""

import os
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
