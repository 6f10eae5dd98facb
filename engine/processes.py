"""Life, priority, memory, import path and crash reports of processes."""

import faulthandler
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_NICENESS: Final = 10
#: Linux first divides the CPU among sessions, and by niceness only within each of them.
#: Source: the section on autogroups of the manual page sched(7).
_AUTOGROUP: Final = Path("/proc/self/autogroup")

_PR_SET_PDEATHSIG: Final = 1

_UNUSABLE: Final = (AttributeError, OSError, RuntimeError, ValueError)  # no usable stderr


def is_alive(process: int) -> bool:
    """Return whether a process is alive."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # of another user
        return True
    return True


def die_with(parent: int) -> None:
    """On Linux, be killed when the parent ends, or at once if it has ended."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def lower_priority() -> None:
    """Lower the priority of this process, so that searches and other work go first."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))


def lower_session_priority() -> None:
    """Lower the priority also towards other sessions, if this process leads its own."""
    lower_priority()
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            _AUTOGROUP.write_text(f"{_NICENESS}\n", encoding="ascii")


def return_memory() -> None:
    """Return freed memory to the system, where the C library can (glibc)."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)


_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def import_paths() -> list[str]:
    """Return the start of ``sys.path`` for a new process that has to find this program's code.

    The folder that holds this package comes first. Relative paths are left out, because the working
    folder may be a hostile repository.
    """
    return [os.path.dirname(_PACKAGE), *(path for path in sys.path if os.path.isabs(path))]


def report_crashes() -> None:
    """Print the stack of each thread to standard error when a library crashes the process."""
    with suppress(*_UNUSABLE):
        faulthandler.enable(sys.stderr)
