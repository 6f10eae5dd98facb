"""Indexes of earlier versions."""

import os
import zlib
from pathlib import Path

import apsw

from engine.catalog import Catalog, project_id_of
from engine.config import Config
from engine.records import Mode, SearchRequest
from engine.store.migrate import APPLICATION_ID, steps
from tests.support.oracle import check_sound
from tests.support.trees import SAMPLE, write_tree


def make_first_version(file: Path, tree: Path) -> None:
    """Write what the first version of the schema held of a project with one file."""
    file.parent.mkdir(parents=True)
    handle = apsw.Connection(str(file))
    handle.execute(steps()[0])
    handle.execute(
        """PRAGMA user_version = 1; INSERT INTO fingerprints VALUES (1, 'old', 0);
           INSERT INTO branches VALUES (1, '', NULL, 1, 1, 5);
           INSERT INTO chunk_terms (rowid, body) VALUES (1, 'open session')"""
    )
    handle.pragma("application_id", APPLICATION_ID)
    handle.execute(
        "INSERT INTO project VALUES (1, ?, ?, 1, '[]', '[\"nothing/**\"]', 1000000, 0, 5)",
        (file.stem, os.fsencode(tree)),
    )
    hash_ = bytes(32)
    handle.execute(
        "INSERT INTO blobs VALUES (1, ?, 'text', 1, ?, 3, 1, 1, 'utf-8', 'ok', 0, 0)",
        (hash_, hash_),
    )
    handle.execute("INSERT INTO blob_texts VALUES (1, ?)", (zlib.compress(b"old"),))
    handle.execute("INSERT INTO chunks VALUES (1, 1, 0, 3, 1, 1, NULL, 1, 0, ?)", (bytes(16),))
    handle.execute(
        "INSERT INTO files VALUES (1, ?, 1, ?, 1, 3, 1, 1, 1, 1, 1)", (bytes(16), b"old.txt")
    )
    handle.close()


def test_an_index_of_the_first_version_asks_to_be_filled_again(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    make_first_version(file, tree)
    with Catalog(config) as catalog:
        index = catalog.open(str(tree))
        answer = index.search(SearchRequest(query="open session", mode=Mode.KEYWORD))
        assert (answer.hits, answer.coverage.complete) == ((), False)
        assert answer.notes == (
            "the last indexing run did not finish or still goes on: cairn index completes it",
        )
        report = index.index()
        assert (report.files_indexed, report.exclude_patterns) == (len(SAMPLE), ("nothing/**",))
        answer = index.search(SearchRequest(query="open session", mode=Mode.KEYWORD))
        assert answer.hits[0].path == "app/session.py"
    check_sound(file)
    assert file.with_suffix(".v1.db").exists()
