"""Stories that the product was asked for, told from their beginning to their end."""

from hashlib import sha256
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.index_records import IndexOptions
from tests.support.command import Command
from tests.support.git_trees import run_git
from tests.support.trees import write_tree

STATUS = """package handlers

import "net/http"

// Handler answers.
type Handler struct{}

// GetStatus says how the server is.
func (h *Handler) GetStatus(w http.ResponseWriter, r *http.Request) error {
	return nil
}
"""


def test_documents_are_indexed_and_what_is_too_large_is_not(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    files: dict[str, str | bytes] = {
        "file1.md": "# Documentation\n",
        "file2.txt": "Plain text\n",
        "large.txt": "x" * (2 << 20),
        "large.bin": b"\0" * (2 << 20),
    }
    index = catalog.create(str(write_tree(tree, files)))
    before = sorted(tree.rglob("*"))
    scope = IndexOptions(include_patterns=("*.md", "*.txt"), max_file_size=1 << 20)
    report = index.index(scope)
    assert (report.files_indexed, report.files_failed) == (2, 0)
    assert index.why("large.txt").reason == "too_large"
    assert report.project_id == sha256(str(tree).encode()).hexdigest()
    assert (config.data_dir / f"{report.project_id}.db").is_file()
    assert sorted(tree.rglob("*")) == before  # nothing is written where the source is
    found = index.checkpoints.search("documentation", tags=("indexed",))
    assert found[0].context == {"indexed_file": "file1.md"}


def test_each_stage_refuses_a_file_with_its_own_reason(catalog: Catalog, tree: Path) -> None:
    (tree.parent / "outside.py").write_text("x = 1\n")
    files: dict[str, str | bytes] = {
        "node_modules/a/index.py": "x = 1\n",
        "large.py": "# x\n" * 300,
        "large_test.py": "# x\n" * 300,
        "app_test.py": "x = 1\n",
        "notes_test.txt": "note\n",
        "notes.txt": "note\n",
        "binary.py": b"x = 1\0\n" * 9,
        "app.py": "x = 1\n",
    }
    (write_tree(tree, files) / "linked.py").symlink_to(tree.parent / "outside.py")
    scope = IndexOptions(
        include_patterns=("*.py",), exclude_patterns=("*_test.*",), max_file_size=1000
    )
    index = catalog.create(str(tree))
    assert index.index(scope).files_indexed == 1
    expected = {
        "node_modules/a/index.py": "default_excluded",
        "large.py": "too_large",
        "large_test.py": "excluded",
        "app_test.py": "excluded",
        "notes_test.txt": "excluded",
        "notes.txt": "not_included",
        "linked.py": "symlink_outside",
        "binary.py": "binary",
        "app.py": None,
    }
    assert {path: index.why(path).reason for path in expected} == expected


def index_numbered(catalog: Catalog, tree: Path, files: int) -> None:
    write_tree(tree, {f"part{n % 30}/file{n}.txt": f"content {n}\n" for n in range(files)})
    index = catalog.create(str(tree))
    report = index.index()
    assert (report.files_indexed, report.files_failed, report.errors) == (files, 0, ())
    assert index.status().files == files
    assert report.duration_ms < 300_000  # what is promised for a thousand files


def test_a_thousand_files(catalog: Catalog, tree: Path) -> None:
    index_numbered(catalog, tree, 1000)


@pytest.mark.soak
def test_fifteen_thousand_files(catalog: Catalog, tree: Path) -> None:
    index_numbered(catalog, tree, 15_000)


@pytest.mark.soak
def test_files_of_ten_megabytes(catalog: Catalog, tree: Path) -> None:
    line = "The session of a user is kept for an hour, and then it is closed.\n"
    text = (line * (1 + (10 << 20) // len(line)))[: 10 << 20]
    index = catalog.create(str(write_tree(tree, {"cap.md": text, "more.md": f"{text}x"})))
    report = index.index(IndexOptions(max_file_size=10 << 20))
    assert (report.files_indexed, report.files_failed) == (1, 0)
    assert index.why("more.md").reason == "too_large"
    assert index.checkpoints.list().checkpoints[0].context == {"indexed_file": "cap.md"}


def test_a_method_is_found_by_kind_path_and_branch(
    catalog: Catalog, config: Config, tmp_path: Path
) -> None:
    root = write_tree(tmp_path / "tree", {"handlers/status.go": STATUS, "README.md": "# Status\n"})
    run_git(root, tmp_path, "init", "-q", "-b", "main")
    run_git(root, tmp_path, "add", "-A")
    run_git(root, tmp_path, "commit", "-q", "-m", "first")
    index = catalog.create(str(root))
    index.index()
    run_git(root, tmp_path, "checkout", "-q", "-b", "feature")
    (root / "handlers/status.go").write_text(STATUS.replace("GetStatus", "GetHealth"))
    index.index()
    cairn = Command(home=config.data_dir, folder=root, variables={"CAIRN_WORKERS": "1"})

    [now] = cairn("search", "status", "--kind=method", "--json").json()["hits"]
    assert now["symbol"] == "Handler.GetHealth"
    for path, found in (("handlers/st", 1), ("other/", 0), ("andlers/", 0)):  # a prefix
        hits = cairn("search", "status", "--kind=method", f"--path={path}", "--json").json()["hits"]
        assert len(hits) == found, path
    [hit] = cairn(
        "search", "GetStatus", "--kind=method", "--path=handlers/", "--branch=main", "--limit=1",
        "--json",
    ).json()["hits"]  # fmt: skip
    assert (hit["path"], hit["kind"]) == ("handlers/status.go", "method")
    assert hit["signature"] == (
        "func (h *Handler) GetStatus(w http.ResponseWriter, r *http.Request) error"
    )
    assert hit["fresh"] is None  # that branch is not checked out
