"""The files that callers name: why those that are not indexed are not."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from engine.browse_records import PathExplanation
from engine.errors import EngineError, FileNotIndexedError, InvalidPathError
from engine.project import Project
from engine.records import display_path
from engine.roots import path_within, resolve
from web.mcp.failures import in_tools

_MAX_WARNINGS = 10
_PATH_FILTER = re.compile(r'(?<!\S)path:(?:"(?P<quoted>[^"]+)"|(?P<plain>[^\s"]+))')
_WILDCARDS = frozenset("*?[")
#: Options of commands, in what is told of a path, and what they are of tools.
_OPTIONS = (
    (re.compile(r"(?:an )?--(include|exclude)(?: patterns?)?\b"), r"\1_patterns"),
    (re.compile(r"--max-size\b"), "max_file_size"),
)


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
    return _told(shown, told)


def _told(shown: str, told: PathExplanation) -> str:
    reason = f"{told.reason.replace('_', ' ')}: " if told.reason else ""
    return f"{shown}: not indexed: {reason}{_detail_of(told)}"


def _detail_of(told: PathExplanation) -> str:
    detail = in_tools(told.detail)
    for option, parameter in _OPTIONS:
        detail = option.sub(parameter, detail)
    return detail


@contextmanager
def explaining(index: Project) -> Iterator[None]:
    """Add the reason to errors about files that are not indexed."""
    try:
        yield
    except FileNotIndexedError as error:
        with suppress(EngineError):
            told = index.why(str(error.details["path"]))
            if told.outcome != "folder":
                reason = {"reason": told.reason} if told.reason else {}
                error.details.update(reason, detail=_detail_of(told))
        raise


def why_nothing(index: Project, query: str, path: str | None) -> tuple[str, ...]:
    """Return a note if a search found nothing because the path that it names is not indexed.

    Args:
        index: The project.
        query: The query, which may have a filter ``path:``.
        path: The path asked for beside it.
    """
    found = _PATH_FILTER.search(query)
    named = path or (found and (found["quoted"] or found["plain"])) or ""
    if not named or not _WILDCARDS.isdisjoint(named):
        return ()
    with suppress(EngineError):
        told = index.why(named)
        if told.outcome in ("skipped", "not_seen"):
            return (_told(named, told),)
    return ()


def _more(left: int) -> tuple[str, ...]:
    return (f"{left:,} more of these files are not indexed",) if left > 0 else ()
