"""A project as a whole, for callers that poll: folders with their share of indexed files.

Shares are summed from what is directly in each folder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.browse_records import FileSize, FolderShare, FolderView, IndexFile, MeaningMap
from engine.browsing.branch_files import BranchFiles, KeptFiles
from engine.browsing.folders import Checkout, state_of
from engine.cache import EntryCache
from engine.jobs.operation_log import last_check
from engine.records import display_path
from engine.store import listing, migrate, project
from engine.store.connection import Handle
from engine.store.files import count_files
from engine.store.listing import FolderRow, folder_as_stored
from engine.store.models import read_current_model
from engine.store.project import BranchRow

if TYPE_CHECKING:
    from engine.browsing.meaning_map import KeptMeans
    from engine.search.blob_facts import BlobFacts

#: Levels of folders that are told apart; what is deeper counts for the last one.
LEVELS = 4
_MOST_FILES = 40
_MOST_KEPT = 16
_MOST_DRAWN_AHEAD = 20_000  # files


@dataclass(slots=True)
class _Folder:
    """The sums of a folder: first of its direct entries, then of all below it."""

    path: str
    files: int = 0
    size_bytes: int = 0
    skipped: int = 0
    within: "dict[str, _Folder]" = field(default_factory=dict)

    def take(self, row: FolderRow) -> None:
        self.files += row.files
        self.size_bytes += row.size_bytes
        self.skipped += row.skipped


def folder_view(
    handle: Handle, branch: BranchRow, files: BranchFiles, folder: str, most_files: int
) -> FolderView:
    """Look at a folder of a branch; one that is not there holds nothing.

    Args:
        handle: A read transaction.
        branch: The branch.
        files: Its files.
        folder: From the root, as the disk spells it; empty for the root.
        most_files: How many of the files that are directly in it to name.
    """
    rows = files.sum_folders(folder, LEVELS)
    named = (
        listing.largest_files(handle, branch.id, folder, most_files)
        if folder
        else files.largest_in_root(most_files)
    )
    return FolderView(
        branch=branch.name,
        folder=_share_of(_tree_of(folder, rows), above=folder, may_join=False),
        files=tuple(
            FileSize(path=display_path(file.path), size_bytes=file.size_bytes) for file in named
        ),
    )


def _tree_of(folder: str, rows: Sequence[FolderRow]) -> _Folder:
    top = _Folder(folder)
    for row in rows:
        at = top
        below = row.path[len(folder) :].strip("/")
        for name in below.split("/") if below else ():
            path = f"{at.path}/{name}" if at.path else name
            at = at.within.setdefault(name, _Folder(path))
        at.take(row)
    return top


def _share_of(folder: _Folder, *, above: str, may_join: bool = True) -> FolderShare:
    """Add up a folder; one that holds only another folder is joined with it."""
    while may_join and len(folder.within) == 1 and not (folder.files or folder.skipped):
        [folder] = folder.within.values()
    inner = [_share_of(each, above=folder.path) for each in folder.within.values()]
    inner.sort(key=lambda each: (-each.size_bytes, each.path))
    files, size_bytes, skipped = folder.files, folder.size_bytes, folder.skipped
    for each in inner:
        files += each.files
        size_bytes += each.size_bytes
        skipped += each.skipped
    return FolderShare(
        path=display_path(folder.path),
        name=display_path(folder.path[len(above) :].strip("/")),
        files=files,
        size_bytes=size_bytes,
        skipped=skipped,
        folders=tuple(inner),
    )


class Overview:
    """Looks at one project as a whole. For any number of threads.

    Args:
        checkout: The project.
        kept: Its files.
        facts: As for ``SymbolList``.
    """

    def __init__(
        self,
        checkout: Checkout,
        kept: KeptFiles,
        facts: "Callable[[Handle], BlobFacts | None]",
    ) -> None:
        self._checkout = checkout
        self._kept = kept
        self._folders: EntryCache[FolderView] = EntryCache(_MOST_KEPT)
        self._facts = facts
        self._maps: EntryCache[MeaningMap] = EntryCache(1)
        self._means: KeptMeans | None = None

    def warm(self) -> None:
        """Fill the caches for the first looks.

        The map is drawn if that writes nothing, as its stored axes still fit, and takes below a
        second.
        """
        self.folder()
        with self._checkout.read() as (handle, branch):
            if count_files(handle, branch.id) > _MOST_DRAWN_AHEAD:
                return
            from engine.browsing.meaning_map import map_on_stored_axes  # with numpy

            drawn = map_on_stored_axes(handle, branch, *self._drawn_from(handle, branch))
            if drawn is not None:
                self._maps.get(state_of(handle, branch), lambda: drawn)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of what the map is drawn from."""
        means = self._means
        return means.size_bytes if means else 0

    def evict(self) -> None:
        """Drop what the map is drawn from."""
        self._means = None

    def _drawn_from(
        self, handle: Handle, branch: BranchRow
    ) -> "tuple[BranchFiles, BlobFacts, KeptMeans]":
        """Return the files of a branch, the facts of their blobs, and their means."""
        from engine.browsing.meaning_map import KeptMeans  # with numpy
        from engine.search.blob_facts import read_facts  # likewise

        means = self._means = self._means or KeptMeans()
        facts = self._facts(handle) or read_facts(handle)
        return self._kept.of(handle, branch.id), facts, means

    def folder(self, path: str = "") -> FolderView:
        """Return the share of a folder that is indexed, and its place; empty if there is none.

        Args:
            path: Absolute, or relative to the root; as it is shown when it is not UTF-8.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = self._checkout.path_within(path)
        with self._checkout.read() as (handle, branch):
            files = self._kept.of(handle, branch.id)
            return self._folders.get(
                (files.number, branch.name, relative),
                lambda: folder_view(
                    handle,
                    branch,
                    files,
                    folder_as_stored(handle, branch.id, relative),
                    _MOST_FILES,
                ),
            )

    def meaning_map(self) -> MeaningMap:
        """Lay out the files by meaning; see ``meaning_map.meaning_map``."""
        from engine.browsing.meaning_map import NewAxes, meaning_map, store_axes  # with numpy

        new: NewAxes | None = None

        def made() -> MeaningMap:
            nonlocal new
            made, new = meaning_map(handle, branch, *self._drawn_from(handle, branch))
            return made

        with self._checkout.read() as (handle, branch):
            found = self._maps.get(state_of(handle, branch), made)
        if new:
            store_axes(self._checkout.store, new)
        return found

    def index_file(self) -> IndexFile:
        """Describe the database file of the index, and its last check."""
        store = self._checkout.store
        file = store.path
        check = last_check(file.parent / "logs" / file.stem)
        with store.read() as handle:
            row = project.read_project(handle)
            model = read_current_model(handle)
            return IndexFile(
                path=display_path(str(file)),
                size_bytes=store.size_bytes(),
                schema_version=migrate.version_of(handle),
                fingerprint=(row.fingerprint if row else None) or "",
                model=model.name if model else None,
                dimension=model.dimension if model else None,
                checked_at=check.log.ended_at if check else None,
                was_sound=check is not None and check.is_sound,
            )
