"""Paths as people see them, and as the disk spells them: bytes that are not UTF-8 become U+FFFD."""

from engine.records import display_path
from engine.store import files, listing
from engine.store.connection import Handle

#: In a path that was shown: bytes that are not UTF-8, or that very character.
NOT_UTF8 = "\ufffd"


def read_all(handle: Handle, branch_id: int) -> list[str]:
    """Give the paths of all files of a branch as they are shown, sorted by their characters."""
    paths = b"\0".join(files.read_path_bytes(handle, branch_id)).decode("utf-8", "replace")
    return sorted(paths.split("\0")) if paths else []


def as_stored(handle: Handle, branch_id: int, path: str) -> str:
    """Give the path of a file as the disk spells it, which one with U+FFFD may not be."""
    if NOT_UTF8 not in path or files.read_file(handle, branch_id, path):
        return path
    odd = listing.read_odd_paths(handle, branch_id)
    return next((each for each in odd if display_path(each) == path), path)


def folder_as_stored(handle: Handle, branch_id: int, folder: str) -> str:
    """Give a folder as the disk spells it, which one with U+FFFD may not be."""
    if NOT_UTF8 not in folder or files.has_below(handle, branch_id, folder):
        return folder
    depth = folder.count("/") + 1
    for path in listing.read_odd_paths(handle, branch_id):
        above = "/".join(path.split("/")[:depth])
        if above != path and display_path(above) == folder:
            return above
    return folder
