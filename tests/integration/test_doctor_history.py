"""The doctor of a history: damaged rows are found, removed, and read again from the repository."""

from pathlib import Path

import pytest

from engine.config import Config
from engine.doctor_records import FindingCode, Severity
from engine.roots import project_id_of
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.git_history import GitTree, sample_history
from tests.support.history_oracle import check_fresh
from tests.support.trees import write_tree

_ONE = "SELECT id FROM commits WHERE subject = 'Make retries exponential'"
_DAMAGE = {
    "no words": (f"DELETE FROM commit_terms WHERE rowid = ({_ONE})", FindingCode.HISTORY),
    "no files": (f"DELETE FROM commit_files WHERE commit_id = ({_ONE})", FindingCode.HISTORY),
    "no path": (
        "DELETE FROM commit_paths WHERE path = CAST('src/retry.py' AS BLOB)",
        FindingCode.HISTORY,
    ),
    "a torn message": (
        f"UPDATE commits SET body = x'28b52ffd00' WHERE id = ({_ONE})",
        FindingCode.HISTORY,
    ),
    "an author that is no text": (
        f"UPDATE commits SET author = CAST(x'ff41' AS TEXT) WHERE id = ({_ONE})",
        FindingCode.HISTORY,
    ),
    "a torn parent": (
        f"UPDATE commits SET parents = substr(parents, 2) WHERE id = ({_ONE})",
        FindingCode.HISTORY,
    ),
    "a short name": (
        f"UPDATE commits SET name = substr(name, 2) WHERE id = ({_ONE})",
        FindingCode.HISTORY,
    ),
    "no commit": (f"DELETE FROM commits WHERE id = ({_ONE})", FindingCode.HISTORY_LOST),
    "a flipped vector": (
        "UPDATE commit_vectors SET vector = CAST(x'00' || substr(vector, 2) AS BLOB)"
        f" WHERE commit_id = ({_ONE})",
        FindingCode.HISTORY_VECTORS,
    ),
    "damaged words": (
        "UPDATE commit_terms_data SET block = x'ff' WHERE id > 10",
        FindingCode.HISTORY_WORDS,
    ),
}


@pytest.fixture
def git(config: Config, tmp_path: Path) -> GitTree:
    """A repository whose files and history are indexed."""
    git = sample_history(tmp_path / "repository", tmp_path / "git")
    with open_catalog(config) as catalog:
        project = catalog.create(str(git.root))
        project.index()
        project.read_history()
    return git


def test_a_sound_history_is_counted(config: Config, git: GitTree) -> None:
    found = damage.verified(config, git.root)
    assert found.findings == ()
    assert found.checked["commits"] == 5


@pytest.mark.parametrize("name", _DAMAGE)
def test_damage_is_found_and_repaired(config: Config, git: GitTree, name: str) -> None:
    statement, code = _DAMAGE[name]
    damage.run(config.data_dir / f"{project_id_of(str(git.root))}.db", statement)
    found = damage.verified(config, git.root)
    assert not found.ok
    codes = {each.code: each.severity for each in found.findings}
    assert codes[code] is Severity.DAMAGE
    assert found.suggested_fixes[0] == f"cairn doctor {git.root} --repair"
    with open_catalog(config) as catalog:
        repaired = catalog.doctor(str(git.root)).repair()
        assert repaired.ok, repaired
        project = catalog.open(str(git.root))
        assert catalog.doctor(str(git.root)).verify().findings == ()
        assert project._indexer.is_history_due()
        project.read_history()
        assert not project._indexer.is_history_due()
    assert damage.verified(config, git.root).findings == ()
    check_fresh(config, git)


def test_a_project_without_a_history(config: Config, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "plain", {"a.py": "def one(): pass\n"})
    damage.indexed(config, tree)
    assert "commits" not in damage.verified(config, tree).checked
