"""Text of any type is found by words and patterns, also by an index of an older version."""

import os
import re
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from tests.support.trees import write_tree

_TEXTS = (
    "stubs/controller.stub",
    "spec/plan.test",
    "deploy/main.libsonnet",
    "api/core.klib.api",
    "templates/model.rb.tt",
    "templates/page.tmpl",
    "ui/window.glade",
    "snapshots/list.snap",
    "snapshots/list.golden",
    "logs/run.log",
    "CODEOWNERS",
    ".github/CODEOWNERS",
    "docs/NOTES",
    ".dotfile",
    "bin/tool",
    "src/main.py.orig",
    "odd name.with space",
    "UPPER.XYZ",
    "azure_client_secret_missing.bad.yml",
    "config/secret_names.yml",
    "aws/client_secret.go",
)
_OTHERS = {
    "logo.png": b"needle_of_png",
    "raw.blob": b"needle_of_blob\0\1\2\3" * 100,
    "tables.dump": b"0.25 1e-3 ff:00 needle_of_dump 17\n" + b"0.25 1e-3 ff:00\n" * 10_000,
    ".bash_history": b"needle_of_history\n",
    "server.pem": b"needle_of_pem\n",
}


def needle_of(path: str) -> str:
    return "needle" + "".join(chr(97 + byte % 26) for byte in sha256(path.encode()).digest()[:8])


def found_by(index: Project, query: str, mode: Mode) -> set[str]:
    answer = index.search(SearchRequest(query=query, mode=mode, limit=100))
    return {hit.path for hit in answer.hits}


def as_rg_would(tree: Path, pattern: bytes) -> set[str]:
    """Return the files with a match; those with a NUL are left out."""
    found = set()
    for folder, _, names in os.walk(tree):
        for name in names:
            data = Path(folder, name).read_bytes()
            if b"\0" not in data and re.search(pattern, data):
                found.add(os.path.relpath(os.path.join(folder, name), tree))
    return found


@pytest.fixture
def texts(catalog: Catalog, tree: Path) -> Project:
    """Give an indexed project that has text of many types, and other files."""
    write_tree(tree, {path: f"some {needle_of(path)} text\n" for path in _TEXTS})
    write_tree(tree, {"app.py": "def needle_of_code():\n    pass\n"})
    for path, data in _OTHERS.items():
        (tree / path).write_bytes(data)
    index = catalog.create(str(tree))
    index.index()
    return index


def test_each_text_is_found_as_rg_would(texts: Project, tree: Path) -> None:
    for path in _TEXTS:
        needle = needle_of(path)
        expected = as_rg_would(tree, rb"\b" + needle.encode() + rb"\b")
        assert path in expected
        assert found_by(texts, needle, Mode.KEYWORD) == expected
        assert found_by(texts, rf"\b{needle}\b", Mode.REGEX) == expected
        assert path in found_by(texts, f"some {needle}", Mode.HYBRID)
    expected = as_rg_would(tree, rb"needle\w+") - _OTHERS.keys()
    assert found_by(texts, r"needle\w+", Mode.REGEX) == expected


def test_what_is_no_text_or_secret_says_why(texts: Project) -> None:
    reasons = {path: texts.why(path).reason for path in _OTHERS}
    assert reasons == {
        "logo.png": "binary",
        "raw.blob": "binary",
        "tables.dump": "unknown_type",
        ".bash_history": "secret_file",
        "server.pem": "secret_file",
    }


def test_text_of_unknown_type_is_ranked_below_code(texts: Project, tree: Path) -> None:
    body = "def close_session():\n    return 'session'\n"
    write_tree(tree, {"main.py": body, "a.stub": body, "CODEOWNERS": body, "b.zzz": body})
    texts.index()
    answer = texts.search(SearchRequest(query="close session", mode=Mode.HYBRID))
    assert answer.hits[0].path == "main.py"
    assert {hit.language for hit in answer.hits[1:]} == {"text"}
    assert all(hit.symbol is None for hit in answer.hits[1:])


def test_secrets_inside_are_blanked(texts: Project, tree: Path) -> None:
    token = "AKIA" + "Z7XQ4M2K9TBW3HJD"
    write_tree(tree, {"config/secret_names.yml": f"key: {token}\n", "keys.stub": f"key {token}\n"})
    texts.index()
    assert found_by(texts, token, Mode.REGEX) == set()
    assert found_by(texts, r"key:? \*{20}", Mode.REGEX) == {"config/secret_names.yml", "keys.stub"}


def test_an_upgrade_finds_what_an_older_version_skipped(
    texts: Project, tree: Path, config: Config, catalog: Catalog
) -> None:
    stat = (tree / "CODEOWNERS").stat()
    database = config.data_dir / f"{project_id_of(str(tree))}.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE fingerprints SET value = 'older'")
        connection.execute("DELETE FROM files WHERE path = ?", (b"CODEOWNERS",))
        connection.execute(
            """INSERT INTO skips (branch_id, fingerprint_id, path, reason, detail, is_folder,
                                  size_bytes, mtime_ns, ctime_ns, inode)
               SELECT id, 1, ?, 'unknown_type', '', 0, ?, ?, ?, ? FROM branches""",
            (b"CODEOWNERS", stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino),
        )
    assert texts.why("CODEOWNERS").outcome == "skipped"
    texts.index()
    assert texts.why("CODEOWNERS").outcome == "indexed"
    assert "CODEOWNERS" in found_by(texts, needle_of("CODEOWNERS"), Mode.REGEX)
