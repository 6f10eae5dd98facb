"""SIGKILL at any moment loses and doubles nothing: the next run completes the index."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.config import load_config
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents, version_of

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from engine.catalog import Catalog
from engine.config import load_config
# Small batches make many transactions, so that kills meet all of them.
with Catalog(load_config(Path(sys.argv[1]), batch_bytes=65536, workers=2)) as catalog:
    catalog.create(sys.argv[2]).index()
"""
_FILES = 600


def generate(root: Path, seed: int) -> None:
    """Write a tree of Python files, some of them alike; a second call changes a part of it."""
    random_ = random.Random(seed)
    for number in range(_FILES):
        folder = root / f"package{number % 17}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "".join(
            f"def function_{number}_{part}(value):\n"
            f'    """Compute {random_.choice(("sums", "products"))} of part {part}."""\n'
            f"    return value * {random_.randrange(5)}\n\n"
            for part in range(random_.randrange(1, 20))
        )
        file = folder / f"module{number}.py"
        if random_.random() < 0.1:
            file.unlink(missing_ok=True)
        else:
            file.write_text(body)


def start(home: Path, root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _PROGRAM, str(home), str(root), os.getcwd()])


def kill_often(tmp_path: Path, kills: int) -> int:
    """Kill as many runs, each with much to do, and check soundness each time; give the tries."""
    root, home, fresh_home = tmp_path / "tree", tmp_path / "home", tmp_path / "fresh"
    generate(root, 0)
    started = time.monotonic()
    assert start(tmp_path / "measured", root).wait() == 0
    whole_s = within_s = time.monotonic() - started
    database = home / f"{project_id_of(str(root))}.db"
    random_ = random.Random(7)
    killed = tries = 0
    while killed < kills:
        tries += 1
        process = start(home, root)
        time.sleep(random_.uniform(0.05, 0.9 * within_s))
        was_running = process.poll() is None
        killed += was_running
        process.send_signal(signal.SIGKILL)
        process.wait()
        # The run that was measured may have stood still for a while.
        within_s = whole_s if was_running else within_s * 0.7
        if version_of(database):
            check_sound(database)
        generate(root, tries)
    with open_catalog(load_config(home, workers=1)) as catalog:
        catalog.create(str(root)).index()
    with open_catalog(load_config(fresh_home, workers=1)) as catalog:
        catalog.create(str(root)).index()
    check_sound(database)
    assert contents(database) == contents(fresh_home / database.name)
    return tries


def test_ten_kills(tmp_path: Path) -> None:
    kill_often(tmp_path, 10)


@pytest.mark.soak
def test_a_hundred_kills(tmp_path: Path) -> None:
    tries = kill_often(tmp_path, 100)
    print(f"100 kills of a live run (in {tries} tries): 0 files lost, 0 doubled, all checks clean")
