"""Runs the command line and measures what it does to its own process.

``python -m tests.support.hostile.measured ARGUMENT…`` is ``cairn ARGUMENT…``; the last line on
standard error is a JSON object with the fields of ``Measured``.
"""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.command import Command
from tests.support.patience import patience

_PROBE_S = 0.005
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a command did to its own process."""

    code: int
    grown_bytes: int  # of its largest resident size, over the one at the start; 0 if not known
    stall_s: float  # the longest time for which another thread could not run
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A command that has ended, with what it printed."""

    measured: Measured
    out: str
    err: str


def run_measured(command: Command, *arguments: str, limit_s: float = 120) -> MeasuredRun:
    """Run ``cairn ARGUMENT…`` in a process of its own and measure it.

    Args:
        command: Its folder and its environment.
        arguments: What follows ``cairn``.
        limit_s: How long it may take; a longer run is killed and raises TimeoutExpired.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.hostile.measured", *arguments],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        timeout=patience(limit_s),
        check=False,
    )
    said, _, last = done.stderr.decode("utf-8", "replace").rstrip("\n").rpartition("\n")
    assert last.startswith("{"), said + last
    return MeasuredRun(
        measured=Measured(**json.loads(last)), out=done.stdout.decode("utf-8", "replace"), err=said
    )


def _measure(arguments: list[str]) -> Measured:
    from web.cli.main import run  # its imports are not what is measured

    before_bytes = _largest_resident_bytes()
    started = time.monotonic()
    with _probed() as gaps:
        code = run(arguments)
    return Measured(
        code=code,
        grown_bytes=_largest_resident_bytes() - before_bytes,
        stall_s=round(max(gaps, default=0.0), 4),
        wall_s=round(time.monotonic() - started, 2),
    )


@contextmanager
def _probed() -> Iterator[list[float]]:
    """Let a thread look at the clock all the time, and give how late it was."""
    gaps: list[float] = []
    is_over = threading.Event()

    def probe() -> None:
        last = time.perf_counter()
        while not is_over.is_set():
            time.sleep(_PROBE_S)
            now = time.perf_counter()
            gaps.append(now - last - _PROBE_S)
            last = now

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield gaps
    finally:
        is_over.set()
        thread.join()


def _largest_resident_bytes() -> int:
    """Give the largest size of this process since it started; other systems do not tell."""
    if not _STATUS.exists():
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    print(json.dumps(asdict(_measure(sys.argv[1:]))), file=sys.stderr)
