"""The files that a caller of ``index_symbol_graph`` names: each one not indexed has a warning."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.errors import InvalidPathError
from engine.project import Project
from engine.records import display_path
from engine.roots import path_within, resolve

_MAX_WARNINGS = 10


class RequestedFiles(NamedTuple):
    """The named files of a call."""

    inside: tuple[str, ...]  # as named
    warnings: tuple[str, ...]  # about the others


def requested_files(folder: str, files: Iterable[str]) -> RequestedFiles:
    """Separate the files below a root from those that lie outside.

    Args:
        folder: The folder to index.
        files: Absolute, or relative to the root.

    Raises:
        InvalidPathError: All of them lie outside.
    """
    root = resolve(folder)
    inside: list[str] = []
    refused: list[InvalidPathError] = []
    for file in files:
        try:
            path_within(root, os.path.join(root, file))
            inside.append(file)
        except InvalidPathError as error:
            refused.append(error)
    if refused and not inside:
        raise refused[0]
    warnings = [f"not indexed: {error}" for error in refused[:_MAX_WARNINGS]]
    return RequestedFiles(tuple(inside), (*warnings, *_more(len(refused) - _MAX_WARNINGS)))


def warnings_about(index: Project, files: Sequence[str]) -> tuple[str, ...]:
    """Return a warning for each named file that is not in the index after a run, with the reason.

    Args:
        index: The project.
        files: Below its root.
    """
    if not files:
        return ()
    known = set(index.for_watcher().paths())
    paths = dict.fromkeys(path_within(index.root, os.path.join(index.root, file)) for file in files)
    missing = [path for path in paths if path not in known]
    found = [_warning_about(index, path) for path in missing[:_MAX_WARNINGS]]
    left = len(missing) - _MAX_WARNINGS
    return (*filter(None, found), *_more(left))


def _warning_about(index: Project, path: str) -> str:
    """Return why a path is not indexed; empty for a folder with indexed files."""
    shown = display_path(path)
    if not os.path.lexists(os.path.join(index.root, path)):
        return f"{shown}: path does not exist"
    told = index.why(path)
    if told.outcome == "folder":
        return "" if told.facts["files"] else f"{shown}: no file in this folder is indexed"
    reason = f"{told.reason.replace('_', ' ')}: " if told.reason else ""
    return f"{shown}: not indexed: {reason}{told.detail}"


def _more(left: int) -> tuple[str, ...]:
    return (f"{left:,} more of these files are not indexed",) if left > 0 else ()
