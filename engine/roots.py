"""The root of a project: a folder's resolved path, and the project id made from it."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from engine.errors import InvalidPathError
from engine.records import display_path, is_path

_SHORT_ID_CHARS = 6
_MOST_TRIES = 100
_MIN_PART_CHARS = 3

_ID = re.compile(r"[0-9a-f]{64}")


def project_id_of(root: str) -> str:
    """Return the project id of a resolved root: the SHA-256 of its path, hexadecimal."""
    return sha256(os.fsencode(root)).hexdigest()


def database_of(data_dir: Path, root: str) -> Path:
    """Return the database file of a resolved root; need not exist."""
    return data_dir / f"{project_id_of(root)}.db"


def is_project_id(text: str) -> bool:
    """Return whether a project can have this id."""
    return _ID.fullmatch(text) is not None


def expanded(path: str) -> str:
    """Return a path with a home directory in place of a ``~`` at its start.

    Raises:
        InvalidPathError: No path can have these characters, such as NUL.
    """
    if not is_path(path):
        raise InvalidPathError("no path can have these characters", field="path")
    return os.path.expanduser(path)


def resolve(path: str) -> str:
    """Return the absolute path without links.

    Raises:
        InvalidPathError: As for ``expanded``.
    """
    return real_path(expanded(path))


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path without links, also while some of them are replaced.

    ``os.path.realpath`` asks first whether a name is a link and then where it leads, and raises
    what the second question does when the link is gone by then.

    Raises:
        OSError: That happened each time.
    """
    for _ in range(_MOST_TRIES):
        with suppress(OSError):
            return os.path.realpath(path)
    return os.path.realpath(path)


def folder_at(path: str) -> str:
    """Return the absolute path without links of a folder that is there and can be read.

    Raises:
        InvalidPathError: It is not there, is no folder, or cannot be read.
    """
    root = resolve(path)
    if not os.path.exists(root):
        raise InvalidPathError("path does not exist", about=path, field="path", path=path)
    if not os.path.isdir(root):
        raise InvalidPathError(
            f"path is not a folder: {path}", hint="name a folder", field="path", path=path
        )
    if not os.access(root, os.R_OK | os.X_OK):
        raise InvalidPathError(
            f"permission denied: {path}",
            hint="make the folder readable",
            field="path",
            path=path,
        )
    return root


def path_within(root: str, path: str) -> str:
    """Return a path relative to the root, without following links.

    Args:
        root: The resolved root.
        path: Absolute, or relative to the root.

    Raises:
        InvalidPathError: The path lies outside the root, or cannot be one.
    """
    absolute = os.path.normpath(os.path.join(root, expanded(path)))
    if absolute == root:
        return ""
    prefix = root.rstrip("/") + "/"
    if not absolute.startswith(prefix):
        raise InvalidPathError(
            f"path traversal detected: {display_path(path)}",
            about=f"it is outside {display_path(root)}",
            field="path",
            path=display_path(path),
        )
    return absolute.removeprefix(prefix)


def upwards(folder: str) -> list[str]:
    """Return a folder and those above it, up to the root of the disk."""
    folders = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folders.append(parent)
        folder = parent
    return folders


def matches_name(path: str, value: str) -> bool:
    """Return whether a value names a project: the end of its path, or the start of its id.

    Of a project whose path is unknown, ``path`` is the id.
    """
    if is_project_id(path):
        return len(value) >= _SHORT_ID_CHARS and path.startswith(value.lower())
    root = resolve(path)
    if f"{root}/".endswith(f"/{value.strip('/')}/"):
        return True
    return len(value) >= _SHORT_ID_CHARS and project_id_of(root).startswith(value.lower())


def named(roots: Iterable[str], value: str) -> list[str]:
    """Return the projects that a value names, or else those of whose name it is a part.

    Args:
        roots: Their roots; of a project whose path is unknown, its id.
        value: As typed after ``project:``, or for an option that takes a name.
    """
    known = list(roots)
    whole = [root for root in known if matches_name(root, value)]
    return whole or [root for root in known if matches_part(root, value)]


def matches_part(path: str, value: str) -> bool:
    """Return whether a value is a part of the name of a project's folder, in any case.

    One or two characters are in too many names to choose a project.
    """
    is_part = len(value) >= _MIN_PART_CHARS and not is_project_id(path)
    return is_part and value.casefold() in os.path.basename(resolve(path)).casefold()
