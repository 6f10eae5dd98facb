"""A process that is killed when its parent ends."""

import os
import signal
import subprocess
import sys

_DIES_WITH = """
import sys
from engine.processes import die_with
die_with(int(sys.argv[1]))
print("lives")
"""


def test_a_process_whose_parent_has_ended_before_it_could_say_so_is_killed() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    results = []
    for parent in (os.getpid(), gone.pid):
        command = [sys.executable, "-c", _DIES_WITH, str(parent)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        results.append((done.returncode, done.stdout))
    assert results == [(0, "lives\n"), (-signal.SIGKILL, "")]
