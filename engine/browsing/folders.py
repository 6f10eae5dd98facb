"""The folders of an index: list one, find a path, and locate a file on disk.

All reads go through ``Checkout``: the branch that is checked out, in one snapshot.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.browse_records import FolderEntry, FolderName, FolderPage, FoundPath
from engine.browsing.branch_files import KeptFiles
from engine.browsing.explain import ADVICE
from engine.cache import ByteCache
from engine.clock import iso_time
from engine.errors import InvalidInputError
from engine.records import FileEntry, FileStat, Skip, SkipReason, display_path
from engine.roots import path_within, real_path
from engine.source.reader import TreeReader
from engine.store import files, listing, project
from engine.store.connection import Handle, Store
from engine.store.listing import EntryRow, FileDetails, as_stored, folder_as_stored
from engine.store.project import BranchRow

if TYPE_CHECKING:
    from engine.browsing.typeahead import BranchPaths, Pathfinder

MOST_ENTRIES = 1000
_MAX_IMAGE_BYTES = 16 << 20
_NO_STAT = FileStat(-1, -1, -1, -1)
MOST_FOUND = 200


class Checkout:
    """The checked-out branch of a project. For any number of threads.

    Args:
        store: The project's database.
        root: The resolved folder.
        branch: Returns the branch to read: the one checked out, or the latest.
    """

    def __init__(self, store: Store, root: str, branch: Callable[[Handle], BranchRow]) -> None:
        self.store = store
        self.root = root
        self._branch = branch

    @contextmanager
    def read(self) -> Iterator[tuple[Handle, BranchRow]]:
        """Yield a snapshot of the index, and the branch to read in it."""
        with self.store.read() as handle:
            yield handle, self._branch(handle)

    def path_within(self, path: str) -> str:
        """Return a path relative to the root, from one that may be absolute.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        return path_within(self.root, path)


def state_of(handle: Handle, branch: BranchRow) -> tuple[int | None, int]:
    """Return a cache key that changes whenever the contents of a branch may have changed."""
    return project.count_changes(handle), branch.id


class Folders:
    """Reads the folders of one project's index. For any number of threads.

    Args:
        checkout: The project.
        kept: Its files.
    """

    def __init__(self, checkout: Checkout, kept: KeptFiles) -> None:
        self._checkout = checkout
        self._kept = kept
        #: A limit of 0 keeps the last one.
        self._finders: ByteCache[Pathfinder] = ByteCache(0, lambda finder: finder.size_bytes)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the paths that are kept to be found."""
        return self._finders.size_bytes

    @property
    def used_s(self) -> float:
        """When a path was last looked for, on the monotonic clock; 0 if none was."""
        return self._finders.used_s

    def evict(self) -> None:
        """Drop the paths that are kept to be found."""
        self._finders.clear()

    def entries(self, folder: str, *, limit: int = MOST_ENTRIES, offset: int = 0) -> FolderPage:
        """List a folder: folders first, each kind by name; what is skipped is in it too.

        Args:
            folder: Absolute, or relative to the root; "" is the root.
            limit: 1 to 1,000.
            offset: How many to leave out before; 0 or more. Past the end, the total is still told.

        Raises:
            InvalidInputError: The path lies outside the root, or a number is out of range.
        """
        if not 1 <= limit <= MOST_ENTRIES or not 0 <= offset <= 1 << 31:
            raise InvalidInputError(
                f"limit is {limit} and offset {offset}, wanted 1 to {MOST_ENTRIES} and 0 or more",
                field="limit",
            )
        relative = self._checkout.path_within(folder)
        with self._checkout.read() as (handle, branch):
            relative = folder_as_stored(handle, branch.id, relative)
            if relative:

                def read(limit: int, offset: int) -> list[EntryRow]:
                    return listing.list_entries(
                        handle, branch.id, relative, limit=limit, offset=offset
                    )
            else:
                read = self._kept.of(handle, branch.id).entries
            rows = read(limit, offset)
            known = rows or read(1, 0)
            below = [_joined(relative, row.name) for row in rows if row.files and not row.is_folder]
            details = listing.read_details(handle, branch.id, below)
        return FolderPage(
            branch=branch.name,
            path=display_path(relative),
            entries=tuple(
                _entry(relative, row, details.get(_joined(relative, row.name))) for row in rows
            ),
            total=known[0].total if known else 0,
            updated_at=None if branch.indexed_at_ms is None else iso_time(branch.indexed_at_ms),
        )

    def nearest(self, path: str) -> str:
        """Return the innermost folder above a path that holds anything indexed or skipped.

        It goes down from the root, so that a path of many missing folders costs no more than one.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        folder = ""
        *above, _ = self._checkout.path_within(path).split("/")
        with self._checkout.read() as (handle, branch):
            for name in above:
                inner = _joined(folder, name)
                stored = folder_as_stored(handle, branch.id, inner)
                if not files.has_below(handle, branch.id, stored):
                    break
                folder = inner
        return folder

    def recent(self, *, most: int) -> tuple[tuple[str, str], ...]:
        """Return the paths and times of the files changed last, the latest first."""
        with self._checkout.read() as (handle, branch):
            rows = self._kept.of(handle, branch.id).recent(most)
        return tuple((display_path(os.fsdecode(path)), iso_time(changed)) for path, changed in rows)

    def names(self, folder: str, *, most: int) -> tuple[FolderName, ...]:
        """Return what is indexed in a folder, folders first; not what is below them.

        A folder that holds nothing but a folder stands with it in one name: ``src/main/java``.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = self._checkout.path_within(folder)
        with self._checkout.read() as (handle, branch):
            relative = folder_as_stored(handle, branch.id, relative)
            rows = [
                (_joined(relative, name), is_folder)
                for name, is_folder in listing.list_names(handle, branch.id, relative, most=most)
            ]
            paths = [
                (
                    listing.deepest_single_folder(handle, branch.id, path) if is_folder else path,
                    is_folder,
                )
                for path, is_folder in sorted(rows, key=lambda row: not row[1])
            ]
        above = len(relative) + 1 if relative else 0
        return tuple(
            FolderName(display_path(path[above:]), display_path(path), is_folder)
            for path, is_folder in paths
        )

    def find(self, typed: str, *, limit: int = 50) -> tuple[FoundPath, ...]:
        """Return the indexed paths that match some typed letters, best first.

        Args:
            typed: Words that all occur, or letters in their order; "" gives the shortest paths.
            limit: 1 to 200.

        Raises:
            InvalidInputError: The limit is out of range.
        """
        if not 1 <= limit <= MOST_FOUND:
            raise InvalidInputError(f"limit is {limit}, wanted 1 to {MOST_FOUND}", field="limit")
        return tuple(
            FoundPath(match.path, match.tier, match.cost, match.marks)
            for match in self._pathfinder().find(typed, limit)
        )

    def paths(self) -> "BranchPaths":
        """Return the paths of all indexed files."""
        return self._pathfinder().paths

    def _pathfinder(self) -> "Pathfinder":
        from engine.browsing.typeahead import Pathfinder  # numpy, which most commands do without

        with self._checkout.read() as (handle, branch):
            return self._finders.get(
                (branch.id,),
                lambda: Pathfinder(listing.read_all(handle, branch.id)),
                state=project.count_changes(handle),
            )

    def image(self, path: str) -> bytes | None:
        """Return the bytes of a file on the disk, or None if it is too large or cannot be read.

        Args:
            path: As stored; links on the way are not followed.

        Raises:
            InvalidPathError: The path lies outside the root, or the root cannot be opened.
        """
        relative = self._checkout.path_within(path)
        with TreeReader(self._checkout.root) as reader:
            found = reader.read(FileEntry(relative, _NO_STAT, relative), _MAX_IMAGE_BYTES)
        return None if isinstance(found, Skip) else found.data

    def place(self, path: str) -> str | None:
        """Return the absolute path of an indexed file on the disk, as the disk spells it.

        None when it is not indexed, or when what is there now is no regular file inside the root.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = self._checkout.path_within(path)
        with self._checkout.read() as (handle, branch):
            relative = as_stored(handle, branch.id, relative)
            if files.read_file(handle, branch.id, relative) is None:
                return None
        root = self._checkout.root
        place = real_path(os.path.join(root, relative))
        is_inside = place.startswith(root.rstrip("/") + "/")
        return place if is_inside and os.path.isfile(place) else None


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _entry(folder: str, row: EntryRow, details: FileDetails | None) -> FolderEntry:
    return FolderEntry(
        name=display_path(row.name),
        path=display_path(_joined(folder, row.name)),
        is_folder=row.is_folder,
        files=row.files,
        skipped=row.skipped,
        size_bytes=row.size_bytes if row.files or not row.is_folder else None,
        changed_at=None if row.changed_at_ms is None else iso_time(row.changed_at_ms),
        language=details.language if details else None,
        lines=details.line_count if details else None,
        symbols=details.symbols if details else None,
        reason=row.reason if not row.files else None,
        detail=(row.detail or "") if not row.files else "",
        advice=ADVICE[SkipReason(row.reason)] if row.reason and not row.files else "",
    )
