"""Folders with how much of them is indexed, from rows that are added up already."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.browse_records import FileSize, FolderShare, FolderView
from engine.records import display_path
from engine.store import folders
from engine.store.connection import Handle
from engine.store.folders import FolderRow
from engine.store.project import BranchRow


@dataclass(slots=True)
class _Folder:
    """A folder while it is added up: first what is directly in it, then all."""

    path: str
    files: int = 0
    size_bytes: int = 0
    skipped: int = 0
    within: "dict[str, _Folder]" = field(default_factory=dict)

    def take(self, row: FolderRow) -> None:
        self.files += row.files
        self.size_bytes += row.size_bytes
        self.skipped += row.skipped


def folder_view(handle: Handle, branch: BranchRow, folder: str, most_files: int) -> FolderView:
    """Look at a folder of a branch; one that is not there holds nothing.

    Args:
        handle: A read transaction.
        branch: The branch.
        folder: From the root, as the disk spells it; empty for the root.
        most_files: How many of the files that are directly in it to name.
    """
    rows = folders.sum_folders(handle, branch.id, folder)
    named = folders.largest_files(handle, branch.id, folder, most_files)
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
    """Add up; a folder that holds nothing but another one is shown as one with that."""
    while may_join and len(folder.within) == 1 and not (folder.files or folder.skipped):
        [folder] = folder.within.values()
    inner = [_share_of(each, above=folder.path) for each in folder.within.values()]
    inner.sort(key=lambda each: (-each.size_bytes, each.path))
    return FolderShare(
        path=display_path(folder.path),
        name=display_path(folder.path[len(above) :].strip("/")),
        files=folder.files + sum(each.files for each in inner),
        size_bytes=folder.size_bytes + sum(each.size_bytes for each in inner),
        skipped=folder.skipped + sum(each.skipped for each in inner),
        folders=tuple(inner),
    )
