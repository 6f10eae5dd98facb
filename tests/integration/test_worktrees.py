"""Worktrees: a new one takes over what its siblings know."""

import os
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import ConflictError
from engine.index_records import IndexOptions
from engine.locks import indexing_lock
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from engine.source.git import sibling_folders
from tests.support.git_trees import run_git
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree

EXTRA = {"only_here.py": "def grown_in_the_worktree():\n    return 1\n"}


@pytest.fixture
def sibling(tree: Path, tmp_path: Path) -> Path:
    """A repository with a second worktree that has a file more and one less."""
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    other = tmp_path / "other"
    run_git(tree, tmp_path, "worktree", "add", "-q", "-b", "feature", str(other))
    write_tree(other, EXTRA)
    (other / sorted(SAMPLE)[0]).unlink()
    return other


def database(config: Config, folder: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(folder))}.db"


def test_worktrees_know_each_other(tree: Path, sibling: Path) -> None:
    assert list(sibling_folders(str(tree))) == [str(sibling)]
    assert list(sibling_folders(str(sibling))) == [str(tree)]
    (tree / "app").mkdir(exist_ok=True)
    assert list(sibling_folders(str(tree / "app"))) == [str(sibling / "app")]


def test_a_folder_that_only_claims_to_be_a_worktree_has_no_siblings(
    tree: Path, sibling: Path, tmp_path: Path
) -> None:
    claim = tmp_path / "claim"
    claim.mkdir()
    (claim / ".git").write_text((sibling / ".git").read_text())
    assert list(sibling_folders(str(claim))) == []
    assert list(sibling_folders(str(tmp_path))) == []


def test_a_new_worktree_parses_only_what_differs(
    catalog: Catalog, config: Config, tree: Path, sibling: Path
) -> None:
    catalog.create(str(tree)).index(IndexOptions(exclude_patterns=("nothing/**",)))
    before = contents(database(config, tree))
    index = catalog.create(str(sibling))
    report = index.index()
    assert report.files_indexed == len(SAMPLE)  # one more, one less
    assert report.cache_hit_rate == pytest.approx((len(SAMPLE) - 1) / len(SAMPLE))
    assert report.exclude_patterns == ()
    status = index.status()
    assert (status.path, status.branch, status.files) == (str(sibling), "feature", len(SAMPLE))
    found = index.search(SearchRequest(query="grown in the worktree")).hits
    assert found[0].path == "only_here.py"
    check_sound(database(config, sibling))
    assert contents(database(config, tree)) == before
    assert [item.name for item in config.data_dir.glob("*.seed*")] == []
    assert database(config, sibling).stat().st_mode & 0o777 == 0o600


def test_what_a_worktree_takes_over_equals_what_it_would_make(
    catalog: Catalog, config: Config, tree: Path, sibling: Path, tmp_path: Path
) -> None:
    catalog.create(str(tree)).index()
    catalog.create(str(sibling)).index()
    taken = contents(database(config, sibling))
    catalog.forget(str(sibling))
    catalog.forget(str(tree))
    catalog.create(str(sibling)).index()
    assert contents(database(config, sibling)) == taken


def test_a_worktree_inside_another_one_is_one_skip(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    run_git(tree, tmp_path, "worktree", "add", "-q", "-b", "fix", ".worktrees/fix")
    index = catalog.create(str(tree))
    index.index()
    status = index.status()
    assert (status.files, status.skips) == (len(SAMPLE), {"default_excluded": 2})  # and .git
    why = index.why(".worktrees/fix/README.md")
    assert (why.outcome, why.rule_path) == ("skipped", ".worktrees/fix")
    assert why.detail.startswith("a worktree of this repository; name it with --include")
    inner = catalog.create(str(tree / ".worktrees/fix"))
    inner.index()
    assert inner.status().files == len(SAMPLE)


def test_a_sibling_that_cannot_serve_is_passed_over(
    catalog: Catalog, config: Config, tree: Path, sibling: Path
) -> None:
    catalog.create(str(tree)).index()
    catalog.close()
    with database(config, tree).open("r+b") as file:
        file.write(os.urandom(4096))
    report = catalog.create(str(sibling)).index()
    assert report.cache_hit_rate == 0.0
    assert report.files_indexed == len(SAMPLE)


def test_a_sibling_may_be_busy(catalog: Catalog, config: Config, tree: Path, sibling: Path) -> None:
    catalog.create(str(tree)).index()
    with indexing_lock(database(config, tree)):
        with pytest.raises(ConflictError):
            catalog.create(str(tree)).index()
        assert catalog.create(str(sibling)).index().cache_hit_rate > 0
