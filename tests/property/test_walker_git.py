"""The walker finds what ``git ls-files -co --exclude-standard`` lists."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.records import FileEntry
from engine.source.git import find_repository, tracked_paths
from engine.source.walker import WalkRules, walk
from tests.support.budget import examples
from tests.support.git_trees import git_environment, listed_by_git, run_git

NAMES = ["a", "b", "ab", "foo", "foo.py", "foo.pyc", "x y", "é", "*", "[a]", "A", "#x", "!y", "z "]
NAMES += ["-", "a\\b", ".h", "1", os.fsdecode(b"\xff"), "new\nline"]
PIECES = [
    "a",
    "b",
    "f",
    "o",
    ".",
    "*",
    "?",
    "**",
    "[ab]",
    "[!a]",
    "[a-f]",
    "[]]",
    "[a-]",
    "[a",
    "\\",
]
PIECES += [
    "[[:alpha:]]",
    "[^[:digit:]]",
    "[[:no:]]",
    "\\a",
    "\\*",
    "[\\]]",
    "[a/]",
    "é",
    "[\\a-\\c]",
]
WHOLE = [*NAMES, "*", "**", "***", "?*", "*.py", "*.py?", "*a*", "f*o", "\\#x", "\\!y", "\\*", "é*"]

#: Git up to 2.51 takes ``foo**/bar`` for ``foo/**/bar``, against its own manual.
GIT_STRAYS = re.compile(rb"[^/*\n]\*\*+/")


@dataclass(frozen=True)
class Tree:
    """What a test makes on disk."""

    files: frozenset[str]
    tracked: frozenset[str]
    ignores: dict[str, bytes]  # folder to .gitignore
    exclude: bytes
    users: bytes  # the user's own ignore file


component = st.sampled_from(WHOLE) | st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(
    "".join
)


@st.composite
def rules(draw: st.DrawFn) -> bytes:
    """Give the content of an ignore file."""
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        path = "/".join(draw(st.lists(component, min_size=1, max_size=3)))
        before = draw(st.sampled_from(["", "", "", "/", "**/", "!", "!/", "#"]))
        after = draw(st.sampled_from(["", "", "", "/", "/**", " ", "\\ ", "\r", "\0x", "//"]))
        line = os.fsencode(before + path + after)
        if not GIT_STRAYS.search(line + b"/"):
            lines.append(line)
    start = draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]))
    return start + b"\n".join(lines) + draw(st.sampled_from([b"", b"\n"]))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Give files whose folders are no files, some of them tracked, and ignore rules."""
    names = st.sampled_from(NAMES)
    paths = draw(st.lists(st.lists(names, min_size=1, max_size=4), min_size=1, max_size=15))
    files: set[str] = set()
    folders = {""}
    for path in paths:
        above = {"/".join(path[:depth]) for depth in range(1, len(path))}
        whole = "/".join(path)
        if whole not in folders and not above & files:
            files.add(whole)
            folders |= above
    ordered = sorted(files)
    tracked = draw(st.sets(st.sampled_from(ordered), max_size=3))
    ignored = st.dictionaries(st.sampled_from(sorted(folders)), rules(), max_size=3)
    return Tree(frozenset(files), frozenset(tracked), draw(ignored), draw(rules()), draw(rules()))


def make(tree: Tree, top: Path, home: Path) -> None:
    for path in tree.files:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).touch()
    run_git(top, home, "init", "-q")
    if tree.tracked:
        listed = b"\0".join(b":(literal)" + os.fsencode(path) for path in tree.tracked)
        from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
        run_git(top, home, "add", "-f", *from_stdin, given=listed)
    for folder, data in tree.ignores.items():
        (top / folder / ".gitignore").write_bytes(data)
    (top / ".git" / "info" / "exclude").write_bytes(tree.exclude)
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_bytes(tree.users)


def walked(root: Path) -> set[bytes]:
    items = walk(str(root), WalkRules())
    return {os.fsencode(item.path) for item in items if isinstance(item, FileEntry)}


@contextmanager
def on_disk(tree: Tree) -> Iterator[tuple[Path, Path]]:
    """Make a tree and a home without other settings; give both."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        top, home = Path(folder, "top"), Path(folder, "home")
        top.mkdir()
        home.mkdir()
        for name, value in git_environment(home).items():
            patch.setenv(name, value)
        patch.delenv("GIT_CONFIG_GLOBAL", raising=False)
        make(tree, top, home)
        yield top, home


few = settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])


@given(tree=trees(), version=st.sampled_from(["2", "4"]))
@few
def test_the_walk_finds_what_git_lists(tree: Tree, version: str) -> None:
    with on_disk(tree) as (top, home):
        run_git(top, home, "update-index", "--index-version", version)
        assert walked(top) == listed_by_git(top, home)
        repository = find_repository(str(top))
        assert repository is not None
        tracked = tracked_paths(repository, str(top))
        assert {path for path in tree.files if tracked.has(path)} == tree.tracked


@given(tree=trees(), choice=st.data())
@few
def test_the_walk_of_a_subfolder_finds_what_git_lists(tree: Tree, choice: st.DataObject) -> None:
    folders = sorted({path.partition("/")[0] for path in tree.files if "/" in path})
    assume(folders)
    below = choice.draw(st.sampled_from(folders))
    with on_disk(tree) as (top, home):
        question = ("check-ignore", "--no-index", "-z", "--stdin")
        answer = run_git(top, home, *question, given=os.fsencode(below), codes=(0, 1))
        assume(not answer)  # an ignored root is walked all the same
        listed = listed_by_git(top / below, home)
        assume(listed)
        assert walked(top / below) == listed
