"""The files of a project for resources, by page: those in its index, and those on its disk."""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from engine import cursors
from engine.errors import Cancelled, InvalidInputError, NotFoundError
from engine.project import Project
from engine.records import display_path

#: On a page; a list without pages is whole or refused.
MOST_PATHS = 10_000
_DEFAULT_PATHS = 1000  # of a page that is compared with the disk
#: Parameters of a page, in the query of a URI.
PAGING = ("limit", "cursor")


class _Page(NamedTuple):
    """Some of all paths, in order."""

    paths: Sequence[str]
    next_cursor: str | None

    def as_json(self) -> dict[str, object]:
        """Return what tells of further pages."""
        return {"truncated": self.next_cursor is not None, "next_cursor": self.next_cursor}


def list_files(index: Project, query: Mapping[str, str]) -> object:
    """Return the paths of all indexed files as an array; as an object with pages if one is asked.

    Raises:
        InvalidInputError: They are too many for an array, or a parameter is invalid.
    """
    paths = index.for_watcher().paths()
    if query.keys().isdisjoint(PAGING):
        if len(paths) > MOST_PATHS:
            raise InvalidInputError(
                f"{len(paths):,} files are indexed, a list without limit is of {MOST_PATHS:,}",
                hint="symbols://list?limit=1000 answers by page, with next_cursor",
                field="limit",
            )
        return list(map(display_path, paths))
    page = _page_of(paths, query)
    return {"files": list(map(display_path, page.paths)), "total": len(paths), **page.as_json()}


def structure(
    index: Project, folder: str, query: Mapping[str, str], cancelled: Callable[[], bool]
) -> dict[str, object]:
    """Return the files of a folder and those that have changed, by page.

    ``files`` are the indexed files that still exist. ``changed`` are the paths that the next run
    would index or remove: new, edited or deleted ones; null if it would look at all files.

    Raises:
        NotFoundError: No indexed file is below the folder.
        InvalidInputError: A parameter is invalid.
        Cancelled: ``cancelled`` returned true.
    """
    watched = index.for_watcher()
    below = f"{folder}/" if folder else ""
    known = frozenset(path for path in watched.paths() if path.startswith(below))
    stale = watched.changed([folder] if folder else (), cancelled=cancelled)
    page = _page_of(known.union(stale or ()), query)
    doubtful = frozenset(stale or ())
    changed, files = [], []
    for path in page.paths:
        if cancelled():
            raise Cancelled("the comparison was stopped")
        is_changed = path in doubtful and (path in known or _is_to_index(index, path))
        if is_changed:
            changed.append(path)
        is_there = not is_changed or os.path.lexists(f"{index.root}/{path}")
        if is_there and (is_changed or path in known):
            files.append(path)
    is_all = page.next_cursor is None and "cursor" not in query
    if folder and is_all and not known and not changed:
        raise NotFoundError(f"{folder!r} is not a folder in the index")
    return {
        "project": display_path(index.root),
        "path": folder or ".",
        "folders": _folders_of(files, below),
        "files": list(map(display_path, files)),
        "changed": None if stale is None else list(map(display_path, changed)),
        **page.as_json(),
    }


def _page_of(paths: Iterable[str], query: Mapping[str, str]) -> _Page:
    limit = _limit_of(query.get("limit"))
    last = cursors.place_of(query.get("cursor"), os.fsdecode)
    ordered = sorted(paths)
    start = 0 if last is None else bisect_right(ordered, last)
    shown = ordered[start : start + limit]
    is_more = start + limit < len(ordered)
    return _Page(shown, cursors.cursor_of(os.fsencode(shown[-1])) if is_more else None)


def _limit_of(text: str | None) -> int:
    if text is None:
        return _DEFAULT_PATHS
    if not re.fullmatch("[0-9]{1,5}", text) or not 1 <= int(text) <= MOST_PATHS:
        raise InvalidInputError(
            f"limit is {text[:20]!r}, expected 1 to {MOST_PATHS:,}", field="limit"
        )
    return int(text)


def _is_to_index(index: Project, path: str) -> bool:
    next_run = index.why(path).facts.get("next_run")
    return isinstance(next_run, dict) and next_run.get("does") == "index"


def _folders_of(files: list[str], below: str) -> list[str]:
    """Return the folders that contain files, without the requested one."""
    found: set[str] = set()
    for path in files:
        folder = os.path.dirname(path)
        while len(folder) > len(below) and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(map(display_path, found))
