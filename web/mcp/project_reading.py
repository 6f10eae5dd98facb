"""The resources ``symbols://`` and ``project://``: what an index holds, as JSON."""

import json
import os

from engine.errors import FileNotIndexedError, InvalidInputError, InvalidPathError, NotFoundError
from engine.index import Index
from engine.job_records import JobFilter, JobState
from engine.records import display_path
from web.mcp.desk import Desk
from web.mcp.tool import Caller
from web.mcp.uri import Asked
from web.schemas import as_json
from web.symbol_answers import find_symbols

_MOST_SYMBOLS = 100


def list_files(_desk: Desk, index: Index, _asked: Asked, _caller: Caller) -> str:
    """Give the paths of all indexed files, as an array."""
    return _json([display_path(path) for path in index.for_watcher().paths()])


def search_symbols(_desk: Desk, index: Index, asked: Asked, _caller: Caller) -> str:
    """Give symbols by name, exact ones first, then those that begin so.

    Raises:
        InvalidInputError: There is no name.
    """
    name, kind = asked.values.get("name", ""), asked.values.get("type")
    if not name:
        raise InvalidInputError("name is required", field="name")
    found = find_symbols(index, name, kind=kind, limit=_MOST_SYMBOLS)
    if not found.symbols:
        found = find_symbols(index, name, kind=kind, match="prefix", limit=_MOST_SYMBOLS)
    return _json(found.as_json())


def file_symbols(_desk: Desk, index: Index, asked: Asked, _caller: Caller) -> str:
    """Give the symbols of a file.

    Raises:
        NotFoundError: The file is not in the index.
    """
    try:
        return _json({"path": asked.path, "symbols": index.outline(asked.path)})
    except InvalidPathError as error:
        raise FileNotIndexedError(f"{asked.path} is not in the index") from error


def stats(desk: Desk, index: Index, _asked: Asked, _caller: Caller) -> str:
    """Give what is indexed, and how much of the last run was known already."""
    wanted = JobFilter(status=JobState.COMPLETED, target=index.root, limit=1)
    jobs = desk.catalog.jobs.list(wanted).jobs
    report = jobs[0].result if jobs and jobs[0].result else {}
    shape = as_json(index.status())
    assert isinstance(shape, dict)
    shape["cache_hit_rate"] = report.get("cache_hit_rate")
    return _json(shape)


def structure(_desk: Desk, index: Index, asked: Asked, caller: Caller) -> str:
    """Give the files of a folder and what a run would do something about.

    ``files`` are those of the index that are still there. ``changed`` are paths that the next run
    would index or remove: new, edited or deleted ones; null when it would look at all.

    Raises:
        NotFoundError: No indexed file lies below the folder.
    """
    watched = index.for_watcher()
    below = f"{asked.path}/" if asked.path else ""
    paths = [path for path in watched.paths() if path.startswith(below)]
    known = frozenset(paths)
    stale = watched.stale([asked.path] if asked.path else (), cancelled=caller.is_gone)
    changed = None
    if stale is not None:
        changed = [path for path in stale if path in known or _is_to_index(index, path)]
    if asked.path and not paths and not changed:
        raise NotFoundError(f"{asked.path!r} is no folder of the index")
    gone = {path for path in changed or () if not os.path.lexists(f"{index.root}/{path}")}
    files = sorted(known - gone | set(changed or ()) - gone)
    return _json(
        {
            "project": display_path(index.root),
            "path": asked.path or ".",
            "folders": _folders_of(files, below),
            "files": [display_path(path) for path in files],
            "changed": None if changed is None else [display_path(path) for path in changed],
        }
    )


def _is_to_index(index: Index, path: str) -> bool:
    told = index.why(path).facts.get("next_run")
    return isinstance(told, dict) and told.get("does") == "index"


def _folders_of(files: list[str], below: str) -> list[str]:
    """Give the folders that hold files, without the one that was asked for."""
    found: set[str] = set()
    for path in files:
        folder = os.path.dirname(path)
        while len(folder) > len(below) and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(display_path(folder) for folder in found)


def _json(value: object) -> str:
    return json.dumps(as_json(value), ensure_ascii=False, separators=(",", ":"))
