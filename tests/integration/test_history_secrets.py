"""Secrets in the history of a project: none of them gets into the index."""

from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.project import Project
from tests.support.git_history import GitTree, sample_history
from tests.support.history_oracle import find, raw_bytes, subjects

TOKEN = "ghp_" + "a8Kd72mQpX04LrT9vBn3WzYc61HsJeUf5Gio"


@pytest.fixture
def git(tree: Path, tmp_path: Path) -> GitTree:
    return sample_history(tree, tmp_path)


@pytest.fixture
def project(catalog: Catalog, git: GitTree) -> Project:
    project = catalog.create(str(git.root))
    project.index()
    project.read_history()
    return project


def test_secrets_in_messages_and_lines_are_blanked(
    project: Project, git: GitTree, config: Config
) -> None:
    git.commit(f"Use the token {TOKEN}", {"deploy.py": f'token = "{TOKEN}"\n', ".env": "K=hush\n"})
    project.read_history()
    [hit] = find(project, "deploy token", limit=1).commits
    assert hit.subject == f"Use the token {'*' * len(TOKEN)}"
    assert [(file.path, file.added) for file in hit.files] == [(".env", None), ("deploy.py", 1)]
    assert subjects(project, "hush") == []
    project.close()
    assert TOKEN.encode() not in raw_bytes(config)
    assert TOKEN[4:20].lower().encode() not in raw_bytes(config)


def test_lines_that_a_secret_file_had_are_not_read(
    project: Project, git: GitTree, config: Config
) -> None:
    kept = "".join(f"SETTING_{number}=\n" for number in range(9))
    git.commit("Set up", {".env": f"{kept}DB_USER=shopadmin\n"})
    git.commit("Show how", {"env.txt": f"{kept}DB_USER=somebody\n"}, gone=".env")
    project.read_history()
    [file] = find(project, "show how", limit=1).commits[0].files
    assert (file.path, file.old_path, file.added) == ("env.txt", ".env", None)
    assert subjects(project, "shopadmin") == []
    project.close()
    assert b"shopadmin" not in raw_bytes(config)


def test_parts_of_secrets_are_blanked(project: Project, git: GitTree, config: Config) -> None:
    begin, end = (f"-----{each} RSA PRIVATE KEY-----" for each in ("BEGIN", "END"))
    body = "\n".join("MIIEpQ" + f"{'Zebra' * 11}{number}" for number in range(9))
    git.commit("A key", {"a.txt": f"{begin}\n{body}\n{end}\n"})
    git.commit("Another key", {"a.txt": f"{begin}\n{body.replace('Zebra', 'Quagg')}\n{end}\n"})
    git.commit("A long line", {"b.py": f'{"x = 1; " * 40}token = "{TOKEN}"\n'})
    project.read_history()
    assert subjects(project, "quagg") == []
    project.close()
    raw = raw_bytes(config).lower()
    assert b"quagg" not in raw
    assert TOKEN[4:20].lower().encode() not in raw
