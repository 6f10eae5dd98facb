"""Secret files that the user's settings admit: found from the next run on, and only while so."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidInputError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search_records import SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.trees import write_tree

_PASSWORD = "hunter2-Xq9vTz4LwP"
_FILES = {
    "app.py": "def started():\n    return 1\n",
    ".env": f"REGION=frankfurt\nDB_PASSWORD={_PASSWORD}\n",
    "fixtures/.env.test": "REGION=reykjavik\n",
    ".cairnignore": "!.env\n",
    # Not the user's: a repository must not decide which of its files are secret.
    "config.toml": "allow_secret_files = ['*']\n",
}


@pytest.fixture
def secret_tree(tree: Path) -> Path:
    """Give a folder with secret files."""
    return write_tree(tree, _FILES)


def _allowing(config: Config, globs: str) -> Config:
    return replace(config, allow_secret_files=globs)


def _paths(index: Project, word: str) -> list[str]:
    return [hit.path for hit in index.search(SearchRequest(query=f'"{word}"')).hits]


def _index(config: Config, tree: Path, *only: str) -> list[str]:
    """Run, and give the secret files that are found."""
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        index.index(IndexOptions(only=only))
        return sorted({*_paths(index, "frankfurt"), *_paths(index, "reykjavik")})


def test_nothing_admits_them_but_the_setting(config: Config, secret_tree: Path) -> None:
    assert _index(config, secret_tree) == []
    assert _index(_allowing(config, "*.pem"), secret_tree) == []
    assert _index(_allowing(config, "/.env"), secret_tree) == [".env"]


@pytest.mark.parametrize("only", [(), ("app.py",)])
def test_a_changed_setting_takes_effect_at_the_next_run(
    config: Config, secret_tree: Path, only: tuple[str, ...]
) -> None:
    assert _index(config, secret_tree) == []
    allowing = _allowing(config, ".env, fixtures/**")
    assert _index(allowing, secret_tree, *only) == [".env", "fixtures/.env.test"]
    assert _index(_allowing(config, "fixtures/**"), secret_tree, *only) == ["fixtures/.env.test"]
    assert _index(config, secret_tree, *only) == []
    raw = b"".join(file.read_bytes() for file in config.data_dir.glob("*.db*"))
    assert b"frankfurt" not in raw.lower()


def test_secrets_inside_them_stay_redacted(config: Config, secret_tree: Path) -> None:
    assert _index(_allowing(config, ".env"), secret_tree) == [".env"]
    raw = b"".join(file.read_bytes() for file in config.data_dir.glob("*.db*"))
    assert b"hunter2" not in raw
    with open_catalog(_allowing(config, ".env")) as catalog:
        index = catalog.open(str(secret_tree))
        assert index.why(".env").facts["redactions"] == 1
        [hit] = index.search(SearchRequest(query='"frankfurt"')).hits
        assert _PASSWORD not in str(hit)


def test_an_empty_setting_is_shown_as_none(tmp_path: Path) -> None:
    command = Command(home=tmp_path / "home", folder=tmp_path)
    assert "  allow_secret_files = none (default)\n" in command("config").out
    set_here = replace(command, variables={"CAIRN_ALLOW_SECRET_FILES": "*.pem , *.key"})
    shown = set_here("config", "allow_secret_files").out
    assert "  allow_secret_files = *.pem, *.key globs (environment, default none)\n" in shown


def test_why_names_the_setting(config: Config, secret_tree: Path) -> None:
    _index(config, secret_tree)
    with open_catalog(config) as catalog:
        skipped = catalog.open(str(secret_tree)).why(".env")
    assert (skipped.outcome, skipped.reason) == ("skipped", "secret_file")
    assert "setting allow_secret_files" in skipped.detail
    allowing = _allowing(config, "*.pem, .env")
    with open_catalog(allowing) as catalog:
        index = catalog.open(str(secret_tree))
        assert index.why(".env").facts["next_run"]["does"] == "index"  # type: ignore[index]
        index.index()
        assert index.why(".env").facts["allowed_by"] == ".env in the setting allow_secret_files"
        assert index.why("app.py").facts["allowed_by"] == ""
    with open_catalog(config) as catalog:
        then = catalog.open(str(secret_tree)).why(".env").facts["next_run"]
    assert (then["does"], then["reason"]) == ("skip", "secret_file")  # type: ignore[index]


def test_a_watcher_sees_what_the_setting_changes(config: Config, secret_tree: Path) -> None:
    _index(config, secret_tree)
    with open_catalog(_allowing(config, "*")) as catalog:
        watched = catalog.open(str(secret_tree)).for_watcher()
        assert watched.rules().allow_secret_files == ("*",)
        for only in ((), ("app.py",)):  # over some paths alone a run would not be enough
            assert watched.stale(only, cancelled=lambda: False) is None
        catalog.open(str(secret_tree)).index()
        # Over some paths it is again; one that was saved a moment ago is looked at once more.
        assert watched.stale(("app.py",), cancelled=lambda: False) is not None


def test_a_glob_that_cannot_be_read_is_told_with_the_setting(
    catalog: Catalog, config: Config, secret_tree: Path
) -> None:
    with open_catalog(_allowing(config, "[")) as other, pytest.raises(InvalidInputError) as raised:
        other.create(str(secret_tree)).index()
    assert raised.value.details["field"] == "allow_secret_files"
