"""One state of the index that an answer is made from, and what is read of it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from engine.records import Coverage, display_path
from engine.references.kept import Kept
from engine.references.lookup import Lookup
from engine.search.missing_paths import nothing_below
from engine.search.searcher import Searcher
from engine.store.connection import Handle, Store
from engine.store.files import read_file
from engine.store.project import BranchRow

_MOST_ASKED = 20  # files


class Snapshot:
    """The branch that is checked out, as it is indexed, within one read transaction.

    Args:
        handle: The transaction.
        branch: The branch, or the one that stands in for it.
        checked_out: The name of the branch that is checked out.
        searcher: Of the project, for coverage.
        kept: What the process keeps of the project.
    """

    def __init__(
        self,
        handle: Handle,
        branch: BranchRow,
        checked_out: str,
        searcher: Searcher,
        kept: Kept,
    ) -> None:
        self.handle = handle
        self.branch = branch
        self.kept = kept.branch(handle, branch.id)
        self.lookup = Lookup(handle, branch, self.kept)
        self._checked_out = checked_out
        self._searcher = searcher

    @property
    def coverage(self) -> Coverage:
        """How much of the branch is indexed."""
        return self._searcher.coverage(self.handle, self.branch)

    @property
    def branch_notes(self) -> tuple[str, ...]:
        """Sentences on what the branch lacks."""
        is_elsewhere = self.branch.name != self._checked_out
        notes = self._searcher.branch_notes(
            self.branch, self._checked_out, is_elsewhere=is_elsewhere
        )
        return tuple(notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the limits of an answer, as far as it has been looked up."""
        return (*self.branch_notes, *self.lookup.notes)

    def stale_notes(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Say which of the files that an answer shows have changed since they were indexed."""
        return self._searcher.stale_notes(self.handle, self.branch, self._checked_out, paths)

    def path_notes(self, path: str | None, *, is_empty: bool) -> tuple[str, ...]:
        """Say that an answer is empty because no file is below a path, or fits a glob."""
        return nothing_below(self.handle, (self.branch.id,), path) if is_empty else ()

    def gap_notes(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Say which of some files are not read as a whole, the first if there are several."""
        for path in paths[:_MOST_ASKED]:
            facts = read_file(self.handle, self.branch.id, path)
            if facts is not None and facts.parse_result == "errors":
                shown = display_path(path)
                return (f"parts of {shown} do not fit the grammar: calls there may be missing",)
        return ()


@contextmanager
def read_snapshot(
    store: Store, searcher: Searcher, checked_out: str, kept: Kept
) -> Iterator[Snapshot]:
    """Open a snapshot of a project.

    Args:
        store: The project's database.
        searcher: Of the project.
        checked_out: The name of the branch that is checked out.
        kept: What the process keeps of the project.
    """
    with store.read() as handle:
        branch = searcher.branch(handle, None, checked_out)
        yield Snapshot(handle, branch, checked_out, searcher, kept)
