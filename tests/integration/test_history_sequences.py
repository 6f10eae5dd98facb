"""Whatever happens to branches, the stored history is the one that a run from nothing stores."""

from pathlib import Path
from random import Random

import pytest

from engine.catalog import Catalog
from engine.config import Config
from tests.support.git_history import GitTree, sample_history
from tests.support.git_trees import run_git
from tests.support.history_oracle import check_fresh


class _Branches:
    """A repository to which something happens at random."""

    def __init__(self, git: GitTree, random: Random) -> None:
        self._git = git
        self._random = random
        self._number = 0
        git.git("branch", "-M", "main")

    def step(self) -> None:
        """Do one thing."""
        happens = (
            self._change, self._change, self._change, self._drop, self._move, self._branch,
            self._switch, self._merge, self._rebase, self._reset, self._amend, self._delete_branch,
            self._pack,
        )  # fmt: skip
        self._random.choice(happens)()

    def _files(self) -> list[str]:
        return self._git.git("ls-files").splitlines()

    def _others(self) -> list[str]:
        current = self._git.git("branch", "--show-current")
        names = self._git.git("branch", "--format=%(refname:short)").splitlines()
        return [name for name in names if name != current]

    def _change(self) -> None:
        self._number += 1
        file = f"src/file{self._random.randrange(6)}.py"
        lines = [f"value_{self._random.randrange(40)} = {line}" for line in range(12)]
        self._git.commit(f"Change {self._number}", {file: "\n".join(lines)})

    def _drop(self) -> None:
        if files := self._files():
            self._number += 1
            self._git.commit(f"Drop {self._number}", gone=self._random.choice(files))

    def _move(self) -> None:
        if files := self._files():
            self._number += 1
            self._git.git("mv", "-k", self._random.choice(files), f"moved{self._number}.py")
            self._git.commit(f"Move {self._number}")

    def _branch(self) -> None:
        self._number += 1
        self._git.git("checkout", "-q", "-b", f"branch{self._number}")

    def _switch(self) -> None:
        if others := self._others():
            self._git.git("checkout", "-q", self._random.choice(others))

    def _merge(self) -> None:
        self._combine("merge", "-q", "--no-ff", "-m", "Merge", "-X", "theirs")

    def _rebase(self) -> None:
        self._combine("rebase", "-q", "-X", "theirs")

    def _combine(self, command: str, *options: str) -> None:
        if others := self._others():
            other = self._random.choice(others)
            root, home = self._git.root, self._git.home
            run_git(root, home, command, *options, other, codes=(0, 1))
            run_git(root, home, command, "--abort", codes=(0, 128))

    def _reset(self) -> None:
        back = self._random.randrange(1, 4)
        if len(self._git.listed()) > back:
            self._git.git("reset", "-q", "--hard", f"HEAD~{back}")

    def _amend(self) -> None:
        self._number += 1
        self._git.git("commit", "-q", "--amend", "--allow-empty", "-m", f"Amended {self._number}")

    def _delete_branch(self) -> None:
        if others := self._others():
            self._git.git("branch", "-D", self._random.choice(others))

    def _pack(self) -> None:
        self._git.git("gc", "-q", "--prune=now")


@pytest.mark.parametrize("seed", range(4))
def test_the_stored_history_is_that_of_a_run_from_nothing(
    catalog: Catalog, git: GitTree, config: Config, seed: int
) -> None:
    random = Random(seed)
    branches = _Branches(git, random)
    project = catalog.create(str(git.root))
    project.index()
    for _ in range(8):
        for _ in range(random.randrange(1, 6)):
            branches.step()
        project.read_history()
        check_fresh(config, git)


@pytest.fixture
def git(tree: Path, tmp_path: Path) -> GitTree:
    return sample_history(tree, tmp_path)
