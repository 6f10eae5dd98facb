"""Stops a process for a while, as a suspended container or a debugger does."""

import signal
import time
from pathlib import Path
from subprocess import Popen

import apsw

from tests.support.jobs import until


def is_locked(home: Path, *, for_ms: float = 300) -> bool:
    """Say whether somebody is inside a write transaction, and stays there for a while.

    Args:
        home: A data directory with one project.
        for_ms: How long; an ordinary transaction of a process that runs ends before.
    """
    [database] = home.glob("*.db")
    handle = apsw.Connection(str(database))
    try:
        handle.set_busy_timeout(int(for_ms))
        handle.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return True
    finally:
        handle.close()
    return False


def freeze(process: Popen[bytes], home: Path) -> None:
    """Stop a process outside of its transactions."""
    stop(process)
    while is_locked(home):
        process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
        stop(process)


def stop(process: Popen[bytes]) -> None:
    """Stop a process; a thread inside of a system call, such as one that locks, ends that first."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: all(is_stopped(thread) for thread in Path(f"/proc/{process.pid}/task").iterdir()))


def is_stopped(thread: Path) -> bool:
    """Return whether a thread is stopped or dead."""
    try:
        return state_of(thread) in "TZX"
    except OSError:
        return True  # it has just ended


def state_of(thread: Path) -> str:
    """Return the state of a thread or process in ``/proc``; it follows the name, in brackets."""
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]
