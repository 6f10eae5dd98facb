"""Work that nobody waits for is the last to get a processor, within its session and beyond it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TELL = """
import os, sys
from pathlib import Path
from engine import processes
getattr(processes, sys.argv[1])()
group = Path("/proc/self/autogroup")
print(os.getpriority(os.PRIO_PROCESS, 0), group.read_text() if group.exists() else "")
"""


def _told(act: str, *, has_session: bool) -> list[str]:
    """Give the niceness of a process that yields, and the words the system has of its session."""
    done = subprocess.run(
        [sys.executable, "-c", _TELL, act],
        start_new_session=has_session,
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.split()


def test_others_of_the_session_go_first() -> None:
    least = max(10, os.getpriority(os.PRIO_PROCESS, 0))
    assert _told("lower_priority", has_session=True)[0] == str(least)


def test_a_session_yields_only_when_it_is_its_own() -> None:
    _, *group = _told("lower_session_priority", has_session=True)
    if not group:  # an older system, or one whose owner has switched groups off
        pytest.skip("sessions have no niceness here")
    assert group[-1] == "10"


def test_a_session_of_others_keeps_its_niceness() -> None:
    group = Path("/proc/self/autogroup")
    before = group.read_text(encoding="ascii").split() if group.exists() else []
    assert _told("lower_session_priority", has_session=False)[1:] == before
