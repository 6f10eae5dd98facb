"""Indexes of earlier versions."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import Config
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.damage import indexed, table_of_vectors, verified, writer
from tests.support.old_index import make_first_version
from tests.support.oracle import check_sound, contents
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


@pytest.mark.parametrize("model", ["static", "fake:a/16"])
def test_words_and_vectors_of_paths_are_made_again_for_another_fingerprint(
    config: Config, tree: Path, model: str
) -> None:
    write_tree(tree, SAMPLE)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    indexed(config, tree)
    config = replace(config, model=model)
    indexed(config, tree)
    fresh = contents(file)
    vectors = table_of_vectors(file, "file")
    with writer(file) as handle:
        other = handle.execute(f"SELECT exact FROM {vectors} WHERE rowid = 2").get
        handle.execute(
            f"""UPDATE fingerprints SET value = 'of an earlier program';
                DELETE FROM file_paths WHERE rowid < 3;
                INSERT INTO file_paths (rowid, stem) VALUES (1, 'other'), (2, 'words');
                DELETE FROM {vectors} WHERE rowid = 1;
                INSERT INTO {vectors} (rowid, exact) VALUES (1, vec_int8(?))""",
            (other,),
        )
    indexed(config, tree)
    assert verified(config, tree).findings == ()
    found = contents(file)
    # A model that reads texts keeps its vectors: how words are split makes no difference to it.
    kept_too = set() if model == "static" else {"file_vectors"}
    assert {name for name in fresh if found[name] != fresh[name]} == kept_too
