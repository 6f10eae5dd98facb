"""Working, waiting and CPU-starved processes are told apart."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.indexing.workers import CpuUsage, cpu_usage_of, is_cpu_starved
from tests.support.jobs import until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="this system does not tell"
)


def _running(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", code])


def test_working_and_waiting_processes() -> None:
    waits = "import time; time.sleep(99)"
    with _running("while True: pass") as busy, _running(waits) as idle:
        try:
            until(lambda: (cpu_usage_of(busy.pid) or CpuUsage(False, 0.0)).cpu_s > 0.2)
            assert (cpu_usage_of(busy.pid) or CpuUsage(False, 0.0)).is_runnable
            until(lambda: not (cpu_usage_of(idle.pid) or CpuUsage(True, 0.0)).is_runnable)
        finally:
            busy.kill()
            idle.kill()
    assert cpu_usage_of(busy.pid) is None


def test_this_process_has_worked() -> None:
    told = cpu_usage_of(os.getpid())
    assert told is not None
    assert told.cpu_s > 0


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (CpuUsage(True, 1.0), CpuUsage(True, 2.0), True),  # a tenth of a CPU
        (CpuUsage(True, 1.0), CpuUsage(True, 6.5), False),  # it had enough CPU
        (CpuUsage(True, 1.0), CpuUsage(False, 1.0), False),  # it waits for input
        (None, CpuUsage(True, 1.0), False),
        (CpuUsage(True, 1.0), None, False),
    ],
)
def test_cpu_starvation(before: CpuUsage | None, now: CpuUsage | None, expected: bool) -> None:
    assert is_cpu_starved(before, now, 10.0) is expected
