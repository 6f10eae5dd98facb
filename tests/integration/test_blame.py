"""The last commit of each line of a file, beside what ``git blame`` says."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from sys import getsizeof

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.history import versions
from engine.history_records import Blame, LineOrigin
from engine.project import Project
from engine.source import git_history
from engine.store.history import KnownCommit
from tests.support.catalogs import open_catalog
from tests.support.git_history import GitTree, sample_history
from tests.support.git_trees import run_git

_RETRY = "src/net/retry.py"


def read(catalog: Catalog, root: Path) -> Project:
    project = catalog.create(str(root))
    project.index()
    project.read_history()
    return project


def blame(project: Project, path: str) -> Blame:
    return project.history.blame(path, project.browse.content(path))


def commits_of(found: Blame) -> list[str]:
    """Give the commit of each line, or why there is none."""
    return [
        run.commit.commit if run.commit else run.origin
        for run in found.runs
        for _ in range(run.line_start, run.line_end + 1)
    ]


def told_by_git(git: GitTree, path: str) -> list[str]:
    said = git.git("blame", "--line-porcelain", "--", path).splitlines()
    heads = [line for at, line in enumerate(said) if at == 0 or said[at - 1].startswith("\t")]
    return [line.split()[0] for line in heads]


class RandomHistory:
    """Writes commits with edits, renames and merges as a stream for ``git fast-import``.

    Args:
        chance: Decides everything.
        date_of: Returns the date of a commit by its number.
    """

    def __init__(self, chance: random.Random, date_of: Callable[[int], int]) -> None:
        self._chance = chance
        self._date_of = date_of
        self._marks = self._lines = self._names = 0
        self.stream = ""
        self.path = "deep/er/file_0.txt"

    def write(self, number: int) -> None:
        """Write a first commit, and then so many edits, renames and merges."""
        sides = [self._new(30), self._new(30)]
        at = self._commit((), self._text(sides))
        for _ in range(number):
            what = self._chance.choice(["edit", "edit", "rename", "merge"])
            if what == "merge":
                at = self._merge(at, sides)
                continue
            side = self._chance.randrange(2)
            sides[side] = self._edited(sides[side])
            at = self._commit(
                (at,), (self._rename() if what == "rename" else "") + self._text(sides)
            )

    def _merge(self, base: int, sides: list[list[str]]) -> int:
        """Change each side on a branch of its own, sometimes one under a new name, and join."""
        before = self.path
        ends: list[int] = []
        changed: list[list[str]] = []
        for side in range(2):
            texts, at = list(sides), base
            for _ in range(self._chance.randint(1, 3)):
                texts[side] = self._edited(texts[side])
                at = self._commit((at,), self._text(texts))
            ends.append(at)
            changed.append(texts[side])
        sides[:] = changed
        renamed_by = self._chance.choice(["a side", "the merge", "nobody"])
        if renamed_by == "a side":
            ends[0] = self._commit((ends[0],), self._rename())
        if self._chance.random() < 0.3:
            sides[0] = self._edited(sides[0])  # by the merge itself
        self._chance.shuffle(ends)
        if renamed_by == "the merge":
            self._rename()
        gone = f"D {before}\n" if self.path != before else ""
        return self._commit(tuple(ends), gone + self._text(sides))

    def _commit(self, parents: tuple[int, ...], changes: str) -> int:
        self._marks += 1
        origin = "".join(
            f"{'merge' if at else 'from'} :{parent}\n" for at, parent in enumerate(parents)
        )
        self.stream += (
            f"commit refs/heads/main\nmark :{self._marks}\n"
            f"committer A <a@example.org> {self._date_of(self._marks)} +0000\n"
            f"data 1\nx\n{origin}{changes}"
        )
        return self._marks

    def _rename(self) -> str:
        self._names += 1
        old, self.path = self.path, f"deep/file_{self._names}.txt"
        return f"R {old} {self.path}\n"

    def _text(self, sides: list[list[str]]) -> str:
        text = "".join((*sides[0], "the middle\n", *sides[1]))
        return f"M 644 inline {self.path}\ndata {len(text)}\n{text}\n"

    def _new(self, number: int) -> list[str]:
        self._lines += number
        return [f"line {self._lines - each}\n" for each in range(number)]

    def _edited(self, lines: list[str]) -> list[str]:
        """Replace, add or remove a few lines; all lines differ, so that there is one answer."""
        start = self._chance.randrange(len(lines) + 1)
        end = min(len(lines), start + self._chance.randrange(4))
        least = 1 if start == end else 0
        return [*lines[:start], *self._new(self._chance.randint(least, 4)), *lines[end:]]


@pytest.mark.parametrize("is_skewed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_it_says_what_git_says(
    catalog: Catalog, tree: Path, tmp_path: Path, seed: int, is_skewed: bool
) -> None:
    chance = random.Random(seed)
    past = RandomHistory(
        chance,
        lambda number: 1_600_000_000 + (chance.randrange(10**8) if is_skewed else number * 1000),
    )
    past.write(40)
    git = GitTree(tree, tmp_path)
    git.feed("fast-import", "--quiet", given=past.stream.encode())
    git.git("checkout", "-q", "main")
    found = blame(read(catalog, git.root), past.path)
    assert commits_of(found) == told_by_git(git, past.path)
    assert found.notes == ()
    assert len({run.commit.commit for run in found.runs if run.commit}) > 15


@pytest.fixture
def git(tree: Path, tmp_path: Path) -> GitTree:
    return sample_history(tree, tmp_path)


def test_runs_cover_all_lines_and_name_their_commits(catalog: Catalog, git: GitTree) -> None:
    found = blame(read(catalog, git.root), _RETRY)
    places = [(run.line_start, run.line_end) for run in found.runs]
    assert places == [(1, 5), (6, 6), (7, 12)]
    subjects = [run.commit.subject for run in found.runs if run.commit]
    assert subjects == ["Begin", "Make retries exponential", "Begin"]
    assert found.runs[1].commit is not None
    assert found.runs[1].commit.author == "Ada Example"


def test_lines_that_are_not_committed_are_said(catalog: Catalog, git: GitTree) -> None:
    text = "class AnswerCache:\n    fresh = 1\n    size = 10\n"
    (git.root / "src/cache.py").write_text(text)
    (git.root / "new.py").write_text("x = 1\ny = 2\n")
    project = read(catalog, git.root)
    last = git.listed()[0]
    assert commits_of(blame(project, "src/cache.py")) == [last, LineOrigin.UNCOMMITTED, last]
    found = blame(project, "new.py")
    assert commits_of(found) == [LineOrigin.UNCOMMITTED] * 2
    assert "new.py is not in the last commit" in found.notes[0]


def test_redacted_lines_have_their_commits(catalog: Catalog, git: GitTree) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = git.commit("Add a token", {"token.py": f'x = 1\ntoken = "{secret}"\n'})
    project = read(catalog, git.root)
    content = project.browse.content("token.py")
    assert content.redactions == 1
    assert commits_of(blame(project, "token.py")) == [made] * 2


def test_the_files_of_a_repository_that_was_merged_into_a_folder(
    catalog: Catalog, git: GitTree
) -> None:
    home = git.git("branch", "--show-current")
    git.git("checkout", "-q", "--orphan", "library")
    git.git("rm", "-rfq", ".")
    text = "".join(f"def number_{each}(): return {each}\n" for each in range(30))
    others = {f"test_{each}.py": f"import {each}\n" for each in range(60)}
    git.commit("Begin a library", {"lib.py": text, "near/lib.py": "x = 1\n" * 9, **others})
    git.git("checkout", "-q", home)
    git.git("merge", "-q", "--allow-unrelated-histories", "-s", "ours", "--no-commit", "library")
    git.git("read-tree", "--prefix=deps/lib/", "-u", "library")
    git.commit("Take the library in", {"deps/lib/lib.py": text.replace("n 7\n", "n 0\n")})
    git.git("checkout", "-q", "library")
    git.commit("Change the library", {"lib.py": text.replace("n 9\n", "n 1\n")})
    git.git("checkout", "-q", home)
    git.git("merge", "-q", "-X", "subtree=deps/lib", "-m", "Renew the library", "library")
    found = commits_of(blame(read(catalog, git.root), "deps/lib/lib.py"))
    assert found == told_by_git(git, "deps/lib/lib.py")
    assert len(set(found)) == 3


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1251"])
def test_lines_in_another_encoding_have_their_commits(
    catalog: Catalog, git: GitTree, encoding: str
) -> None:
    word = "Фёдор и Анна пишут" if encoding == "cp1251" else "café, naïve, Zoë"
    text = f"# {word}\nx = 1\n\n\n# {word}\n"
    (git.root / "old.py").write_bytes(text.encode(encoding))
    made = git.commit("Add an old file")
    assert commits_of(blame(read(catalog, git.root), "old.py")) == [made] * 5


def test_lines_of_a_notebook_are_said_to_be_others(catalog: Catalog, git: GitTree) -> None:
    cell = {"cell_type": "code", "source": ["x = 1\n", "y = 2"], "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    git.commit("Add a notebook", {"a.ipynb": json.dumps(notebook, indent=1)})
    found = blame(read(catalog, git.root), "a.ipynb")
    assert set(commits_of(found)) == {LineOrigin.OLDER}
    assert "its commits have other lines" in found.notes[0]


def test_other_line_ends_are_no_change(catalog: Catalog, git: GitTree) -> None:
    file = git.root / "src/cache.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert commits_of(blame(read(catalog, git.root), "src/cache.py")) == [git.listed()[0]] * 2


def test_a_large_file_is_followed(catalog: Catalog, git: GitTree) -> None:
    lines = [f"number_{number} = {number}  # {'x' * 40}\n" for number in range(12_000)]
    first = git.commit("Add numbers", {"numbers.py": "".join(lines)})
    lines[7000] = "changed = 1\n"
    last = git.commit("Change one", {"numbers.py": "".join(lines)})
    found = blame(read(catalog, git.root), "numbers.py")
    assert commits_of(found) == [first] * 7000 + [last] + [first] * 4999


def test_a_project_in_a_folder_of_the_repository(catalog: Catalog, git: GitTree) -> None:
    found = blame(read(catalog, git.root / "src"), "net/retry.py")
    assert commits_of(found) == told_by_git(git, _RETRY)


def test_lines_beyond_what_was_read_are_older(git: GitTree, config: Config, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--depth=2", f"file://{git.root}", str(clone))
    with open_catalog(replace(config, history_commits=2, history_days=1)) as catalog:
        for root in (git.root, clone):
            project = read(catalog, root)
            found = blame(project, _RETRY)
            assert commits_of(found) == [LineOrigin.OLDER] * 12
            assert "older than the commits that were read" in found.notes[0]
            assert commits_of(blame(project, "src/cache.py")) == [git.listed()[0]] * 2


def test_lines_before_a_missing_version_are_older(catalog: Catalog, git: GitTree) -> None:
    git.commit("Grow", {_RETRY: (git.root / _RETRY).read_text() + "x = 1\n"})
    project = read(catalog, git.root)
    blob = git.git("rev-parse", f"HEAD^:{_RETRY}")
    (git.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    found = blame(project, _RETRY)
    assert commits_of(found) == [LineOrigin.OLDER] * 13
    assert found.notes[0].startswith("older changes are unknown: ")


@pytest.mark.parametrize("limit", ["_MOST_LOOKUPS", "_MOST_COMPARED_LINES", "_MOST_STEPS"])
def test_too_much_work_is_cut_and_said(
    catalog: Catalog, git: GitTree, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    git.commit("Double", {_RETRY: "x = 1\n" + (git.root / _RETRY).read_text()})
    project = read(catalog, git.root)
    monkeypatch.setattr(versions, limit, {"_MOST_COMPARED_LINES": 40}.get(limit, 3))
    found = blame(project, _RETRY)
    assert commits_of(found)[0] == git.listed()[0]
    assert LineOrigin.OLDER in commits_of(found)
    assert "so often that older commits were not looked at" in found.notes[0]


def test_too_many_searches_for_renamed_files_are_cut(
    catalog: Catalog, git: GitTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = git.git("commit-tree", git.git("mktree"), "-m", "Other")
    joined = []
    for number in range(4):
        git.commit("Change", {_RETRY: f"x = {number}\n" + (git.root / _RETRY).read_text()})
        tree = git.git("write-tree")
        joined.append(git.git("commit-tree", tree, "-p", "HEAD^", "-p", other, "-m", "Join"))
        git.git("reset", "-q", "--hard", joined[-1])
    project = read(catalog, git.root)
    monkeypatch.setattr(versions, "_MOST_LOOKUPS", 2100)
    found = blame(project, _RETRY)
    assert commits_of(found)[:3] == [joined[3], joined[2], LineOrigin.OLDER]
    assert "so often that older commits were not looked at" in found.notes[0]


def test_a_change_in_a_folder_that_is_too_large_is_found(
    catalog: Catalog, git: GitTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.commit("Many", {f"large/{n}.py": "x = 1\n" for n in range(100)})
    git.commit("Change one", {"large/7.py": "x = 1\ny = 2\n"})
    git.commit("Change both", {"large/7.py": "x = 3\ny = 2\n", "large/8.py": ""})
    monkeypatch.setattr(git_history, "_MAX_TREE_BYTES", 2000)
    found = blame(read(catalog, git.root), "large/7.py")
    assert commits_of(found) == told_by_git(git, "large/7.py") == git.listed()[:2]
    assert found.notes == ()


def test_the_parents_of_commits_are_counted_as_memory() -> None:
    parents = tuple(number.to_bytes(20, "big") for number in range(500))
    known = {b"a": KnownCommit(1, parents, 0, False), b"b": KnownCommit(2, (), 0, False)}
    assert versions.StoredHistory(None, known, set()).size_bytes > sum(map(getsizeof, parents))


def test_without_a_history_all_lines_are_older(
    catalog: Catalog, git: GitTree, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.py").write_text("x = 1\n")
    (plain / "empty.py").write_text("")
    project = read(catalog, plain)
    found = blame(project, "a.py")
    assert (commits_of(found), len(found.notes)) == ([LineOrigin.OLDER], 1)
    assert blame(project, "empty.py").runs == ()


def test_answers_are_kept_until_the_history_is_read_again(catalog: Catalog, git: GitTree) -> None:
    project = read(catalog, git.root)
    first = blame(project, _RETRY)
    assert blame(project, _RETRY) is first
    git.commit("Double", {_RETRY: "x = 1\n" + (git.root / _RETRY).read_text()})
    project.index()
    assert commits_of(blame(project, _RETRY))[0] == LineOrigin.UNCOMMITTED
    project.read_history()
    assert commits_of(blame(project, _RETRY))[0] == git.listed()[0]


def test_the_stored_commits_are_kept_and_dropped_with_the_blames(
    catalog: Catalog, git: GitTree
) -> None:
    project = read(catalog, git.root)
    blame(project, _RETRY)
    kept = project.history.size_bytes
    blame(project, "src/cache.py")
    of_commits = 600 * len(git.listed())
    assert of_commits < kept < project.history.size_bytes < 2 * kept
    project.history.evict()
    assert project.history.size_bytes == 0
