"""A power cut at any moment takes no memory that was told to be saved."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.memory_records import NewMemory
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.faults.power import Images
from tests.support.faults.vfs import Disk, faulty
from tests.support.oracle import check_sound, version_of

_STEPS = 30
_IMAGES = 12

Memories = dict[str, str]  # ids with their summaries


def work(catalog: Catalog, root: Path, mark: Callable[[object], None]) -> list[Memories]:
    """Save, change and delete; mark each step when it is told, and give what is there then."""
    random_ = random.Random(1)
    checkpoints = catalog.create(str(root)).checkpoints
    states: list[Memories] = [{}]
    mark(0)
    for number in range(_STEPS):
        there = dict(states[-1])
        new = NewMemory(summary=f"note {number}", description="word " * random_.choice((1, 4000)))
        did = random_.choice(["save", "save", "update", "delete"]) if there else "save"
        if did == "save":
            there[checkpoints.save(new).id] = new.summary
        else:
            id_ = random_.choice(sorted(there))
            if did == "update":
                checkpoints.update(id_, new)
                there[id_] = new.summary
            else:
                checkpoints.delete(id_)
                del there[id_]
        states.append(there)
        mark(number + 1)
    return states


def memories_of(home: Path, root: Path) -> Memories:
    with open_catalog(load_config(home, workers=1, model="none")) as catalog:
        page = catalog.open(str(root)).checkpoints.list(limit=1000)
    return {each.id: each.summary for each in page.checkpoints}


@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_what_was_told_is_there(tmp_path: Path, sector_bytes: int) -> None:
    root, home = tmp_path / "tree", tmp_path / "home"
    root.mkdir()
    with (
        faulty(Disk(sector_bytes=sector_bytes, is_powersafe=False), records=True) as vfs,
        open_catalog(load_config(home, workers=1, model="none")) as catalog,
    ):
        states = work(catalog, root, vfs.mark)
    random_ = random.Random(sector_bytes)
    record = Images(vfs.events, sector_bytes=sector_bytes)
    compared = 0
    for at in sorted(random_.randrange(1, len(vfs.events) + 1) for _ in range(_IMAGES)):
        record.advance(at)
        shutil.rmtree(home)
        record.write(home, random_)
        file = home / f"{project_id_of(str(root))}.db"
        version_of(file)
        if record.marks:
            check_sound(file)
            step = record.marks[-1]
            assert memories_of(home, root) in states[step : step + 2]
            compared += 1
    assert compared > _IMAGES // 2
