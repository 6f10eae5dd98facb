"""Runners in processes of their own, to be killed: started, looked at, and waited for to the last.

A process is known by its data directory, which stands in its environment, so that parsing processes
whose runner is gone are found too.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.freezing import state_of
from tests.support.jobs import until
from tests.support.patience import patience

ROOT = Path(__file__).resolve().parents[2]
#: Is the runner until nothing is to be done; what a test wants to be different stands before it.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import engine.jobs.runner as runner
runner._IDLE_S = 0.2
{before}
import engine.runner_process
engine.runner_process.main()
"""
#: How a process ends at a fault point.
DIED = 86
_GONE_WITHIN_S = 10.0


class RunnerProcess:
    """A runner of a data directory in a process of its own.

    Args:
        home: The data directory.
        before: Python to run before it begins.
        settings: More of the environment: ``CAIRN_…`` of settings, and faults.
    """

    def __init__(self, home: Path, *, before: str = "", **settings: str) -> None:
        self.home = home
        self.started_s = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(before=before), str(ROOT)],
            env={**os.environ, "CAIRN_WORKERS": "1", "CAIRN_HOME": str(home), **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Say whether it has not ended."""
        return self._process.poll() is None

    def until_parsing(self) -> None:
        """Wait until it has a parsing process, and a moment longer for that to get work."""
        until(lambda: len(processes_of(self.home)) > 1)
        time.sleep(1.0)

    def send(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> bool:
        """Kill it and wait until it and all its workers are gone; whether it was alive."""
        was_alive = self.is_alive()
        self._process.kill()
        self.wait()
        return was_alive

    def wait(self, within_s: float = 60.0) -> int:
        """Wait until it and all its workers are gone; its exit status."""
        _, errors = self._process.communicate(timeout=patience(within_s))
        assert b"Traceback" not in errors, errors.decode()
        try:
            until(lambda: not processes_of(self.home), within_s=_GONE_WITHIN_S)
        except AssertionError:
            end_all(self.home)
            raise
        return self._process.returncode


@contextmanager
def runner_of(home: Path, *, before: str = "", **settings: str) -> Iterator[RunnerProcess]:
    """Start a runner that is gone, with its workers, when the block ends."""
    runner = RunnerProcess(home, before=before, **settings)
    try:
        yield runner
    finally:
        if runner.is_alive():
            runner.kill()


def processes_of(home: Path) -> list[int]:
    """Give the other processes that live and have this data directory."""
    wanted = f"CAIRN_HOME={home}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            variables = Path(f"/proc/{entry}/environ").read_bytes()
            state = state_of(Path(f"/proc/{entry}"))
        except OSError:
            continue  # it has just ended, or is another user's
        if wanted in variables.split(b"\0") and state != "Z":
            found.append(int(entry))
    return found


def some_time(random_: random.Random, least_ms: int = 50, most_ms: int = 3000) -> float:
    """Give seconds between two bounds, short ones as often as long ones."""
    return float(least_ms / 1000 * (most_ms / least_ms) ** random_.random())


def let_run(runner: RunnerProcess, seconds: float) -> None:
    """Wait until a runner has lived so long, or has ended."""
    while runner.is_alive() and time.monotonic() - runner.started_s < seconds:
        time.sleep(0.005)


def end_all(home: Path) -> None:
    """Kill what is left of a data directory's processes, none of which sees another die."""
    pids: list[int] = []
    while pids != (pids := processes_of(home)):
        for pid in pids:
            _signal(pid, signal.SIGSTOP)
        until(lambda: all(map(_is_still, pids)))
    for pid in pids:
        _signal(pid, signal.SIGKILL)


def _is_still(pid: int) -> bool:
    """Return whether no thread of a process runs: the signal stops one after another.

    A thread that starts a program is in state D until that runs, which a stopped one never does.
    """
    try:
        return all(state_of(thread) in "DTZX" for thread in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return True  # it has just ended


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(pid, number)
