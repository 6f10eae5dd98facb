"""A memory that was told to be saved is there, whole, however the process ends."""

import json
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
from tests.support.command import ROOT
from tests.support.oracle import check_sound
from tests.support.trees import SAMPLE, write_tree

# Says what it did after each step, so that what was told can be compared with what is there.
_PROGRAM = """
import json, random, sys
from pathlib import Path
from engine.catalog import Catalog
from engine.config import load_config
from engine.memory_records import NewMemory
source = random.Random(sys.argv[3])
with Catalog(load_config(Path(sys.argv[1]), workers=1)) as catalog:
    checkpoints = catalog.create(sys.argv[2]).checkpoints
    mine = []
    while True:
        text = f"owl {source.random()}"
        new = NewMemory(summary=text, description="word " * source.randrange(3000), tags=("t",))
        did = source.choice(["save", "save", "update", "delete"]) if mine else "save"
        if did == "save":
            mine.append(checkpoints.save(new).id)
            print(json.dumps([did, mine[-1], text]), flush=True)
            continue
        id_ = source.choice(mine)
        print(json.dumps(["begins", id_, text]), flush=True)
        if did == "update":
            checkpoints.update(id_, new)
        else:
            checkpoints.delete(id_)
            mine.remove(id_)
        print(json.dumps([did, id_, text]), flush=True)
"""


def run_until_killed(home: Path, root: Path, seed: int, fault: str = "") -> list[list[str]]:
    """Let it work, kill it, or let it die at a place; give what it told."""
    environment = dict(os.environ, CAIRN_FAULT=fault)
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(home), str(root), str(seed)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    told = []
    if not fault:
        told = [process.stdout.readline()]
        time.sleep(random.Random(seed).uniform(0.0, 0.4))
        process.send_signal(signal.SIGKILL)
    told += process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    return [json.loads(line) for line in told if line.endswith(("]", "]\n"))]


class Told:
    """What has to be there by what was told: for each id the texts that it may have."""

    def __init__(self) -> None:
        self.texts: dict[str, set[str | None]] = {}

    def hear(self, lines: list[list[str]]) -> None:
        for did, id_, text in lines:
            if did == "begins":  # by now it may be changed or deleted, or not
                self.texts[id_] |= {text, None}
            else:
                self.texts[id_] = {None} if did == "delete" else {text}

    def check(self, home: Path, root: Path) -> int:
        """Compare, and take what is there for what was told."""
        check_sound(home / f"{project_id_of(str(root))}.db")
        with open_catalog(load_config(home, workers=1)) as catalog:
            index = catalog.open(str(root))
            page = index.checkpoints.list(tags=("!indexed",), limit=1000)
            there = {each.id: each.summary for each in page.checkpoints}
            assert page.total == len(there)
        for id_, texts in self.texts.items():
            assert there.get(id_) in texts
        untold = there.keys() - self.texts.keys()
        self.texts = {id_: {text} for id_, text in there.items()}
        return len(untold)


@pytest.mark.parametrize("place", ["transaction filled", "transaction committed"])
def test_death_before_and_after_the_commit(tmp_path: Path, place: str) -> None:
    root, home, told = tmp_path / "tree", tmp_path / "home", Told()
    write_tree(root, SAMPLE)
    with open_catalog(load_config(home, workers=1)) as catalog:
        catalog.create(str(root)).index()
    untold = 0
    for number in range(2, 8):
        lines = run_until_killed(home, root, number, f"die:{place}@{number}")
        told.hear(lines)
        untold += told.check(home, root)
    assert told.texts
    assert untold <= 6  # one a death at most: committed, and not told yet


def test_kills_at_any_moment(tmp_path: Path) -> None:
    root, home, told = tmp_path / "tree", tmp_path / "home", Told()
    write_tree(root, SAMPLE)
    with open_catalog(load_config(home, workers=1)) as catalog:
        catalog.create(str(root)).index()
    saves = 0
    for seed in range(6):
        lines = run_until_killed(home, root, seed)
        saves += sum(did == "save" for did, _, _ in lines)
        told.hear(lines)
        assert told.check(home, root) <= 1
    assert saves >= 6  # each run tells of one before it is killed
