"""What to say of paths that are asked for and are not in the index."""

from collections.abc import Iterable

from engine.errors import FileNotIndexedError
from engine.humanize import count
from engine.records import display_path, is_path
from engine.search.selection import path_passes
from engine.store import files
from engine.store.connection import Handle


def missing_file(
    handle: Handle, branch_id: int, path: str, requested: str | None = None
) -> FileNotIndexedError:
    """Return the error for a path that is no indexed file: perhaps it is a folder.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        path: Relative to the root.
        requested: The path as the caller wrote it; by default the same.
    """
    shown = display_path(path if requested is None else requested)
    number, _ = files.count_below(handle, branch_id, path.rstrip("/"))
    if number:
        return FileNotIndexedError(
            f"{shown} is a folder of {count(number, 'indexed file')}, not a file",
            hint="name one of its files; cairn outline FOLDER lists them",
            path=shown,
            files=number,
        )
    return FileNotIndexedError(
        f"{shown} is not in the index", hint="cairn why PATH shows the reason", path=shown
    )


def nothing_below(handle: Handle, branch_ids: Iterable[int], path: str | None) -> tuple[str, ...]:
    """Return a note if no file of these branches is below a path, or fits a glob."""
    passes = path_passes(handle, path)
    if not path or passes is None:
        return ()
    if any(passes(each, "") for id_ in branch_ids for each in files.read_paths(handle, id_)):
        return ()
    shown = display_path(path) if is_path(path) else path.encode("utf-8", "replace").decode()
    return (f"no indexed file is below {shown}",)
