"""An index that is cleared leaves no copy of the code, and nothing of what was damaged."""

import os
import time
from pathlib import Path

from engine.config import Config
from engine.embedding.load import open_embedder
from engine.roots import project_id_of
from engine.scheduler.estimate import Estimator
from engine.scheduler.housekeeping import DAY_MS, Housekeeper
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.trees import SAMPLE, write_tree


def test_no_copy_of_the_code_is_left(config: Config, tree: Path) -> None:
    """The copy that an upgrade keeps goes; a damaged file holds what nothing else does."""
    write_tree(tree, SAMPLE)
    damage.indexed(config, tree)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    copy, aside = file.with_suffix(".v1.db"), file.with_suffix(".damaged-2026-11-27-10-00-00")
    for each in (copy, aside):
        each.write_bytes(file.read_bytes())
    with open_catalog(config) as catalog:
        catalog.open(str(tree)).clear()
    assert not copy.exists()
    assert aside.exists()


def test_damage_that_was_cleared_is_not_told_of_the_next_index(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    damage.indexed(config, tree)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    damage.run(file, "UPDATE chunks SET hash = zeroblob(16)")
    assert not damage.verified(config, tree).ok
    with open_catalog(config) as catalog:
        [view] = catalog.activity.poll()
        assert view.is_damaged
        index = catalog.open(str(tree))
        index.clear()
        index.index()
        [view] = catalog.activity.poll()
        assert not view.is_damaged
        assert catalog.doctor(str(tree)).verify().ok


def test_copies_of_upgrades_go_by_their_age(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    damage.indexed(config, tree)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    old, new = file.with_suffix(".v1.db"), file.with_suffix(".v2.db")
    for each, days in ((old, config.job_retention + 1), (new, config.job_retention - 1)):
        each.write_bytes(b"copy")
        made_s = time.time() - days * DAY_MS / 1000
        os.utime(each, (made_s, made_s))
    Housekeeper(config, open_embedder, Estimator(config)).run_housekeeping(lambda: False)
    assert not old.exists()
    assert new.exists()
