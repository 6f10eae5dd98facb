"""Indexes of earlier versions."""

from pathlib import Path

from engine.config import Config
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.old_index import make_first_version
from tests.support.oracle import check_sound
from tests.support.trees import SAMPLE, write_tree


def test_an_index_of_the_first_version_asks_to_be_filled_again(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    make_first_version(file, tree)
    with open_catalog(config) as catalog:
        index = catalog.open(str(tree))
        answer = index.search(SearchRequest(query="open session", mode=Mode.KEYWORD))
        assert (answer.hits, answer.coverage.complete) == ((), False)
        assert answer.notes == (
            "the last indexing run did not finish or is still running; cairn index completes it",
        )
        report = index.index()
        assert (report.files_indexed, report.exclude_patterns) == (len(SAMPLE), ("nothing/**",))
        answer = index.search(SearchRequest(query="open session", mode=Mode.KEYWORD))
        assert answer.hits[0].path == "app/session.py"
    check_sound(file)
    assert file.with_suffix(".v1.db").exists()


def test_what_an_upgrade_kept_goes_with_the_project(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    make_first_version(file, tree)
    with open_catalog(config) as catalog:
        catalog.open(str(tree))
        assert file.with_suffix(".v1.db").exists()
        catalog.forget(str(tree))
    assert [each.name for each in config.data_dir.glob(f"{file.stem}*")] == []
