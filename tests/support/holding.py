"""Another process that holds a lock."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.command import StartedProcess
from tests.support.patience import patience

#: Holds what its first argument names until its input ends.
_HOLDER = """
import fcntl, os, sys, apsw
kind, file, patience_ms = sys.argv[1:]
if kind == "database":
    handle = apsw.Connection(file)
    handle.set_busy_timeout(int(patience_ms))
    handle.execute("BEGIN IMMEDIATE")
else:
    os.makedirs(os.path.dirname(file), exist_ok=True)
    handle = open(file, "a")
    fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(kind: str, file: Path) -> Iterator[None]:
    """Have another process hold a database's write lock, or the lock on a project."""
    with StartedProcess(
        [sys.executable, "-c", _HOLDER, kind, str(file), str(int(patience(10_000)))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate()
