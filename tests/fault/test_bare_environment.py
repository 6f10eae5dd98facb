"""Without what a shell usually gives: a home, a language, a width, rights to write, an account."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.command import CODE, ROOT
from tests.support.git_trees import run_git
from tests.support.jobs import until
from tests.support.killing import processes_of
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

_NOBODY = 65534
_ENVIRONMENTS: dict[str, dict[str, str]] = {
    "nothing": {},
    "LANG=C": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"},
    "POSIX": {"LC_ALL": "POSIX", "TERM": "dumb"},
    "an unknown language": {"LANG": "xx_XX.UTF-8", "LC_ALL": "xx_XX"},
    "width 20": {"COLUMNS": "20", "LINES": "5"},
    "width 1": {"COLUMNS": "1"},
    "no width": {"COLUMNS": "nothing"},
    "a home that is a file": {"HOME": "/dev/null"},
    "a home that is gone": {"HOME": "/nonexistent/home", "XDG_DATA_HOME": "/nonexistent/data"},
}
_COMMANDS = (
    ("index",),
    ("search", "open session"),
    ("search", "open session", "--format", "markdown"),
    ("symbols", "SessionStore"),
    ("related", "app/session.py:9"),
    ("status",),
    ("why", "app/session.py"),
    ("projects",),
    ("jobs", "list"),
    ("doctor",),
    ("index", "--force"),
)


class Account:
    """Somebody who runs the program in a repository that is for reading only.

    Args:
        folder: For a repository and a data directory.
        python: An interpreter that may be run.
        user: As whom, None for oneself.
    """

    def __init__(self, folder: Path, python: list[str], user: int | None) -> None:
        self._python, self._user = python, user
        self.tree = write_tree(folder / "tree", {**SAMPLE, "naïve.py": "def naïve(): pass\n"})
        run_git(self.tree, folder, "init", "-q")
        run_git(self.tree, folder, "add", "-A")
        run_git(self.tree, folder, "commit", "-q", "-m", "first")
        self.home = folder / "home"
        self.home.mkdir()
        if user is not None:
            os.chown(self.home, user, user)
            for above in (folder, *folder.parents):
                if above.stat().st_uid == os.geteuid() and above != Path("/"):
                    above.chmod(above.stat().st_mode | 0o055)
        for place in (self.tree, *self.tree.rglob("*")):
            place.chmod(0o555 if place.is_dir() else 0o444)

    def run(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command with these variables alone."""
        paths = os.pathsep.join([str(ROOT), sysconfig.get_paths()["purelib"]])
        return subprocess.run(
            [*self._python, "-c", CODE, *arguments],
            cwd=self.tree,
            env={"PATH": os.defpath, "PYTHONPATH": paths, **variables},
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
            capture_output=True,
            encoding="utf-8",
            timeout=patience(60),
            check=False,
        )

    def open_up(self) -> None:
        """Let the tree be deleted."""
        for place in (self.tree, *self.tree.rglob("*")):
            place.chmod(0o755)


@cache
def _python_of_nobody() -> list[str] | None:
    """Return an interpreter that somebody without rights may run, of the same version."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin") or ""):
        try:
            ended = subprocess.run(
                [python, "-c", "import apsw"],
                env={"PYTHONPATH": sysconfig.get_paths()["purelib"]},
                user=_NOBODY,
                extra_groups=[],
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if ended.returncode == 0:
            return [python]
    return None


@pytest.fixture(params=["oneself", "nobody"])
def account(request: pytest.FixtureRequest) -> Iterator[Account]:
    python, user = [sys.executable], None
    if request.param == "nobody":
        if os.geteuid() != 0:
            pytest.skip("only root can become somebody else")
        found = _python_of_nobody()
        if found is None:
            pytest.skip("there is no Python that others may run")
        python, user = found, _NOBODY
    # Another run of pytest takes the rights of others from the folder of all temporary folders.
    with tempfile.TemporaryDirectory(prefix="cairn-account-") as folder:
        account = Account(Path(folder), python, user)
        yield account
        until(lambda: not processes_of(account.home))  # a runner, which writes there to its end
        account.open_up()


@pytest.mark.parametrize("name", _ENVIRONMENTS)
def test_every_command_works(account: Account, name: str) -> None:
    variables = {**_ENVIRONMENTS[name], "CAIRN_HOME": str(account.home)}
    before = sorted(account.tree.rglob("*"))
    for arguments in _COMMANDS:
        ended = account.run(*arguments, **variables)
        assert ended.returncode == 0, (arguments, ended)
        assert "Traceback" not in ended.stderr, ended
        assert "Warning" not in ended.stderr, ended
        assert ended.stdout.strip(), (arguments, ended)
    told = json.loads(account.run("search", "open session", "--json", **variables).stdout)
    assert told["hits"][0]["path"] == "app/session.py"
    told = json.loads(account.run("search", "naïve", "--json", **variables).stdout)
    assert told["hits"][0]["path"] == "naïve.py"
    assert sorted(account.tree.rglob("*")) == before
    assert not (account.home / "logs" / "cairn.log").exists()


def test_without_any_home_it_says_what_to_set(account: Account) -> None:
    ended = account.run("index", HOME="/nonexistent/home", XDG_DATA_HOME="/dev/null/data")
    assert (ended.returncode, ended.stdout) == (5, "")
    assert "CAIRN_HOME" in ended.stderr
    assert "Traceback" not in ended.stderr
