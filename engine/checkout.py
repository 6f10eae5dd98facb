"""A project's index as those see it who look at it: the branch of its folder, in one snapshot."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.indexing.scope import path_within
from engine.store import project
from engine.store.connection import Handle, Store
from engine.store.project import BranchRow


class Checkout:
    """What is checked out of one project. For any number of threads.

    Args:
        store: The project's database.
        root: The resolved folder.
        branch: Gives the branch to look at: the one checked out, or the latest.
    """

    def __init__(self, store: Store, root: str, branch: Callable[[Handle], BranchRow]) -> None:
        self.store = store
        self.root = root
        self._branch = branch

    @contextmanager
    def read(self) -> Iterator[tuple[Handle, BranchRow]]:
        """Give a snapshot of the index, and the branch to look at in it."""
        with self.store.read() as handle:
            yield handle, self._branch(handle)

    def path_within(self, path: str) -> str:
        """Give a path relative to the root, from one that may be absolute.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        return path_within(self.root, path)


def state_of(handle: Handle, branch: BranchRow) -> tuple[int | None, int]:
    """Give what is the same as long as a branch holds the same: a key for what is kept of it."""
    return project.count_changes(handle), branch.id
