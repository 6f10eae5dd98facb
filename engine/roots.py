"""A project is known by its root: the resolved path of a folder, and the id made of it."""

import os
from hashlib import sha256

from engine.errors import InvalidPathError
from engine.records import is_path


def project_id_of(root: str) -> str:
    """Give the project id of a resolved root: the SHA-256 of its path, hexadecimal."""
    return sha256(os.fsencode(root)).hexdigest()


def resolve(path: str) -> str:
    """Give the absolute path without links.

    Raises:
        InvalidPathError: No path can have these characters, such as NUL.
    """
    if not is_path(path):
        raise InvalidPathError("no path can have these characters", field="path")
    return os.path.realpath(os.path.expanduser(path))


def upwards(folder: str) -> list[str]:
    """Give a folder and those above it, up to the root of the disk."""
    folders = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folders.append(parent)
        folder = parent
    return folders
