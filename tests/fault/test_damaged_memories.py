"""Memories are what nobody can make again: a repair keeps all of them, and each is found."""

from pathlib import Path

import pytest

from engine.config import Config
from engine.memory_records import NewMemory
from engine.roots import project_id_of
from tests.fault.test_damage import BROKEN
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.damage import indexed, repaired, verified
from tests.support.trees import SAMPLE, write_tree


@pytest.mark.parametrize(
    "name", [name for name in BROKEN if "memor" in name], ids=lambda name: name
)
def test_a_repair_keeps_the_other_memories(name: str, config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    indexed(config, tree)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    with open_catalog(config) as catalog:
        notes = catalog.open(str(tree)).checkpoints
        for number in range(3):
            context = {"number": number}
            notes.save(NewMemory(summary=f"Decision {number}", context=context, tags=("decision",)))
        long = notes.save(NewMemory(summary="Long", description="getUserById of it " * 9000))
        before = {each.id: each for each in notes.list(only_memories=True).checkpoints}
    damage.checkpointed(file)
    BROKEN[name][0](file)
    found = verified(config, tree)
    assert long.summary not in [place for each in found.findings for place in each.places]
    repair = repaired(config, tree)
    assert (repair.ok, repair.aside, repair.needs_index) == (True, None, False)
    with open_catalog(config) as catalog:
        notes = catalog.open(str(tree)).checkpoints
        after = {each.id: each for each in notes.list(only_memories=True).checkpoints}
        assert after.keys() == before.keys()
        assert sum(after[id_] != before[id_] for id_ in before) <= 1
        for each in after.values():
            words = each.summary.replace("\ufffd", "")
            assert each.id in [hit.id for hit in notes.search(words, only_memories=True)]
