"""A repair takes out what is damaged alone: what is sound keeps its rows, and their numbers."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from engine.config import Config
from engine.doctor_records import FindingCode
from engine.errors import Cancelled
from engine.search_records import SearchRequest
from tests.fault.test_damage import BROKEN, file
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.damage import indexed, repaired, verified
from tests.support.oracle import check_sound, contents

__all__ = ["file"]  # a fixture


@pytest.mark.parametrize("kept", ["text", "numbers of vectors", "other words"])
def test_a_repair_keeps_what_is_sound(kept: str, config: Config, tree: Path, file: Path) -> None:
    before = ids_of(file)
    BROKEN[kept][0](file)
    repair = repaired(config, tree)
    assert (repair.ok, repair.aside) == (True, None)
    indexed(config, tree)
    after = ids_of(file)
    assert after["files"] == before["files"]
    assert len(after["blobs"] & before["blobs"]) >= len(before["blobs"]) - 1


@pytest.mark.parametrize(
    "names",
    [
        ("pages of words", "text", "bits of validity"),
        ("pages of memories' words", "bytes of a memory"),
        ("bytes of a name", "bytes of a language", "context of a memory"),
        ("blob is gone", "words of nothing", "numbers of vectors", "symbols are gone"),
    ],
    ids=" and ".join,
)
def test_several_kinds_of_damage_are_mended_row_by_row(
    names: tuple[str, ...], config: Config, tree: Path, file: Path
) -> None:
    fresh = contents(file)
    for name in names:
        BROKEN[name][0](file)
    assert {BROKEN[name][1] for name in names} <= {
        finding.code for finding in verified(config, tree).findings
    }
    repair = repaired(config, tree)
    assert (repair.ok, repair.aside) == (True, None), repair.after
    indexed(config, tree)
    check_sound(file)
    assert contents(file) == fresh


@pytest.mark.parametrize("name", ["blob is gone", "branch is gone"])
def test_files_that_lost_what_they_refer_to_are_taken_out_and_indexed_again(
    name: str, config: Config, tree: Path, file: Path
) -> None:
    BROKEN[name][0](file)
    repair = repaired(config, tree)
    assert (repair.ok, repair.aside, repair.needs_index) == (True, None, True)
    with open_catalog(config) as catalog:
        index = catalog.open(str(tree))
        assert not index.search(SearchRequest(query="session")).coverage.complete
        index.index()
        assert index.search(SearchRequest(query="session")).coverage.complete


def ids_of(file: Path) -> dict[str, set[object]]:
    with damage.writer(file) as handle:
        return {
            "files": set(handle.execute("SELECT id, uuid, path FROM files")),
            "blobs": set(handle.execute("SELECT id, content_hash FROM blobs")),
        }


def test_a_repair_that_was_stopped_anywhere_is_finished_by_the_next(
    config: Config, tree: Path, file: Path
) -> None:
    fresh = contents(file)
    for name in ("text", "pages of words", "path of nothing", "context of a memory"):
        BROKEN[name][0](file)
    steps: list[str] = []
    for most in range(0, 1000, 4):
        asked = iter([False] * most)
        with open_catalog(config) as catalog, suppress(Cancelled):
            catalog.doctor(str(tree)).repair(
                on_progress=lambda progress: steps.append(progress.step),
                cancelled=partial(next, asked, True),
            )
            break
    assert {"pages", "repairing texts", "repairing words", "repairing memories"} <= {*steps}
    assert steps.count("repairing words") > 1
    repair = repaired(config, tree)
    assert (repair.ok, repair.aside) == (True, None)
    indexed(config, tree)
    check_sound(file)
    assert contents(file) == fresh


def test_a_wrong_text_costs_no_other_its_words(config: Config, tree: Path, file: Path) -> None:
    BROKEN["text"][0](file)
    found = verified(config, tree)
    assert [finding.code for finding in found.findings] == [FindingCode.TEXTS]
    repair = repaired(config, tree)
    assert repair.done == ("Removed 1 damaged text; the next run reads the files again",)
