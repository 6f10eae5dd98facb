"""Branches: each as last seen, sharing every blob."""

import os
import subprocess
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from tests.support.oracle import check_sound
from tests.support.trees import SAMPLE, write_tree


def git(tree: Path, *words: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tree),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    subprocess.run(
        ["git", "-C", str(tree), *words], check=True, env=environment, capture_output=True
    )


def commit_all(tree: Path, message: str) -> None:
    """Commit all files of a tree, ignored ones too."""
    git(tree, "add", "-A", "-f")
    git(tree, "commit", "-q", "-m", message)


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, SAMPLE)
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "first")
    index = catalog.create(str(tree))
    index.index()
    git(tree, "checkout", "-q", "-b", "feature")
    (tree / "app/feature.py").write_text("def only_here() -> None:\n    pass\n")
    (tree / "README.md").unlink()
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "second")
    return index


def test_a_switch_parses_only_what_is_new(index: Project, config: Config) -> None:
    report = index.index()
    assert report.files_indexed == len(SAMPLE)  # all are new on this branch …
    assert report.chunks == 1  # … and one of them has a blob that was not known
    assert report.cache_hit_rate == pytest.approx(1 - 1 / len(SAMPLE))
    assert index.status().branch == "feature"
    check_sound(config.data_dir / f"{project_id_of(index.root)}.db")


def test_a_branch_counts_its_own_symbols_and_chunks(index: Project, tree: Path) -> None:
    def counts() -> tuple[int, int]:
        status = index.status()
        return status.symbols, status.chunks

    on_main = counts()
    index.index()
    assert counts() != on_main
    git(tree, "checkout", "-q", "main")
    index.index()
    assert counts() == on_main
    index.index(IndexOptions(force_clean=True))  # without the other branch
    assert counts() == on_main


def test_searches_see_the_branch_that_is_checked_out(index: Project, tree: Path) -> None:
    index.index()

    def paths(query: str) -> list[str]:
        return [hit.path for hit in index.search(SearchRequest(query=query)).hits]

    assert paths("only_here") == ["app/feature.py"]
    assert "README.md" not in paths("session")
    assert "README.md" in paths("session branch:main")
    answer = index.search(SearchRequest(query="session", branch="main"))
    assert all(hit.fresh is None for hit in answer.hits)
    git(tree, "checkout", "-q", "main")
    assert paths("only_here") == []
    assert index.search(SearchRequest(query="session")).hits[0].fresh is True


def test_a_branch_that_was_never_indexed_falls_back_to_the_latest(
    index: Project, tree: Path
) -> None:
    answer = index.search(SearchRequest(query="open_session"))
    assert answer.hits[0].path == "app/session.py"
    assert answer.hits[0].fresh is None
    assert not answer.coverage.complete
    assert "branch feature is not indexed yet" in answer.notes[0]
    assert index.status().branch == "main"
    index.index()
    assert index.search(SearchRequest(query="open_session")).notes == ()


def test_a_branch_checked_out_during_a_run_is_not_taken_for_the_old_one(
    index: Project, tree: Path
) -> None:
    switched: list[bool] = []

    def switch(_progress: object) -> None:
        if not switched:
            switched.append(True)
            git(tree, "checkout", "-q", "main")

    index.index(on_progress=switch)
    answer = index.search(SearchRequest(query="README session"))
    assert (index.status().branch, answer.coverage.complete) == ("main", True)
    feature = index.search(SearchRequest(query="session branch:feature"))
    assert not feature.coverage.complete


def test_deleted_branches_are_pruned(index: Project, tree: Path, config: Config) -> None:
    index.index()
    git(tree, "checkout", "-q", "main")
    git(tree, "branch", "-q", "-D", "feature")
    index.index()
    answer = index.search(SearchRequest(query="only_here"))
    assert answer.hits == ()
    with pytest.raises(Exception, match="not indexed"):
        index.search(SearchRequest(query="only_here branch:feature"))
    check_sound(config.data_dir / f"{project_id_of(index.root)}.db")


@pytest.mark.parametrize("is_away", [True, False], ids=["away", "damaged"])
def test_branches_stay_while_the_repository_cannot_be_read(
    index: Project, tree: Path, is_away: bool
) -> None:
    index.index()
    git(tree, "checkout", "-q", "main")
    index.index()
    head = tree / ".git/HEAD"
    if is_away:
        (tree / ".git").rename(tree.parent / "kept")
    else:
        head.write_bytes(b"\0")
    index.index()
    if is_away:
        (tree.parent / "kept").rename(tree / ".git")
    head.write_text("ref: refs/heads/main\n")
    index.index()
    assert index.search(SearchRequest(query="only_here branch:feature")).hits


def test_an_answer_says_why_no_branch_is_known(index: Project, tree: Path) -> None:
    def said() -> tuple[str, ...]:
        return index.search(SearchRequest(query="shared")).notes

    known = said()
    (tree / ".git/HEAD").write_text("no commit and no branch\n")
    this = "this is main as last indexed"
    assert set(said()) - set(known) == {f"git's HEAD cannot be read, {this}: run cairn index"}
    (tree / ".git").rename(tree.parent / "git")
    assert set(said()) - set(known) == {
        f"the folder is not in a git repository, {this}: run cairn index"
    }
    tree.rename(tree.parent / "moved")
    assert set(said()) - set(known) == {f"the folder is gone, {this}"}
