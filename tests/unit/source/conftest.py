"""Tests of what is on disk see no settings of the machine's user."""

from pathlib import Path

import pytest

from tests.support.git_trees import git_environment


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name, value in git_environment(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    return folder
