"""Runs git as an oracle, apart from any settings of the machine."""

import os
import subprocess
from pathlib import Path


def git_environment(home: Path) -> dict[str, str]:
    """Give variables under which git, and this program, see no settings but those in ``home``."""
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
    }


def run_git(
    folder: Path | str,
    home: Path,
    *arguments: str,
    given: bytes = b"",
    codes: tuple[int, ...] = (0,),
    variables: dict[str, str] | None = None,
) -> bytes:
    """Run git in a folder and give what it prints; an exit code not in ``codes`` fails the test."""
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env={**git_environment(home), **(variables or {})},
        input=given,
        capture_output=True,
        check=False,
    )
    assert done.returncode in codes, (arguments, done.stderr)
    return done.stdout


def listed_by_git(folder: Path | str, home: Path) -> set[bytes]:
    """Give the files that git tracks or would take in, relative to the folder."""
    listed = run_git(folder, home, "ls-files", "-co", "--exclude-standard", "-z")
    return {path for path in listed.split(b"\0") if path}
