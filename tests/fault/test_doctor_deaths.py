"""A doctor that is killed at any of its points: run again, it ends as if nothing had happened."""

from pathlib import Path

import pytest

from engine.config import Config
from engine.faults import DOCTOR_FAULT_POINTS
from engine.roots import project_id_of
from tests.fault.test_damage import BROKEN
from tests.support import damage
from tests.support.command import Command
from tests.support.damage import indexed, verified
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree

_DIED = 86
#: The damage whose repair reaches a point, and the command; else a text, and its repair.
_WHERE = {
    "words mended": ("pages of words", ("--repair",)),
    "repair begun": ("half of the file", ("--repair",)),
    "database made anew": ("half of the file", ("--repair",)),
    "damaged linked": ("half of the file", ("--repair",)),
    "damaged aside": ("half of the file", ("--repair",)),
    "backup copied": (None, ("--backup", "copy.db")),
}


@pytest.mark.parametrize("point", DOCTOR_FAULT_POINTS)
def test_a_doctor_that_dies(point: str, config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    indexed(config, tree)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    fresh = contents(file)
    broken, arguments = _WHERE.get(point, ("text", ("--repair",)))
    if broken:
        damage.checkpointed(file)
        BROKEN[broken][0](file)
    dying = Command(home=config.data_dir, folder=tree, variables={"CAIRN_FAULT": f"die:{point}"})
    assert dying("doctor", *arguments, "--quiet").code == _DIED
    assert Command(home=config.data_dir, folder=tree)("doctor", *arguments, "--quiet").code == 0
    found = verified(config, tree)
    assert (found.ok, found.findings) == (True, ())
    check_sound(file)
    assert contents(file) == fresh
    if point == "backup copied":
        assert sorted(each.name for each in tree.glob("*copy.db*")) == ["copy.db"]
