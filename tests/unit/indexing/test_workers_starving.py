"""A process that works is told from one that waits, and both from one that starves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.indexing.workers import Effort, effort_of, is_starved
from tests.support.jobs import until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="this system does not tell"
)


def _running(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", code])


def test_who_works_and_who_waits() -> None:
    waits = "import time; time.sleep(99)"
    with _running("while True: pass") as busy, _running(waits) as idle:
        try:
            until(lambda: (effort_of(busy.pid) or Effort(False, 0.0)).seconds > 0.2)
            assert (effort_of(busy.pid) or Effort(False, 0.0)).wants_to_go_on
            until(lambda: not (effort_of(idle.pid) or Effort(True, 0.0)).wants_to_go_on)
        finally:
            busy.kill()
            idle.kill()
    assert effort_of(busy.pid) is None


def test_this_process_has_worked() -> None:
    told = effort_of(os.getpid())
    assert told is not None
    assert told.seconds > 0


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (Effort(True, 1.0), Effort(True, 2.0), True),  # a tenth of a processor
        (Effort(True, 1.0), Effort(True, 6.5), False),  # it works for too long
        (Effort(True, 1.0), Effort(False, 1.0), False),  # it waits for somebody
        (None, Effort(True, 1.0), False),
        (Effort(True, 1.0), None, False),
    ],
)
def test_who_starves(before: Effort | None, now: Effort | None, expected: bool) -> None:
    assert is_starved(before, now, 10.0) is expected
