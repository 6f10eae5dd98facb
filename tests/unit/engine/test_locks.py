"""One indexer a project."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import ProjectBusyError
from engine.locks import held_lock, holder_of, indexing_lock

_HOLDER = """
import sys
from pathlib import Path
sys.path.insert(0, {home!r})
from engine.locks import held_lock, holder_of, indexing_lock
with indexing_lock(Path({database!r})):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_indexer_is_refused_until_the_first_dies(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    home = str(Path(__file__).resolve().parents[3])
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER.format(home=home, database=str(database))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ProjectBusyError, match=str(holder.pid)), indexing_lock(database):
            pass
        holder.kill()
        holder.wait()
    with indexing_lock(database):
        pass


def test_the_holder_is_told_without_taking_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "runner.lock"
    assert holder_of(file) is None
    assert not file.exists()
    with held_lock(file):
        assert holder_of(file) == str(os.getpid())
        before = file.stat().st_mtime_ns
        assert holder_of(file) == str(os.getpid())
        assert file.stat().st_mtime_ns == before
    assert holder_of(file) is None
