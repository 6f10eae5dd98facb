"""What agents can read: the symbols and files of an index, its structure, and the logs of its jobs.

What is not in the index, or not in the list of logs, is not found, however it is spelled; no path
of a caller is opened.

The resources ``symbols://`` and ``project://``: what an index holds, as JSON.

The resource ``logs://``: what jobs have left for people to read.

URIs of resources, taken apart once, and each of their parts decoded once.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import re2
from mcp.types import Resource as ResourceInfo
from mcp.types import ResourceTemplate

from engine.errors import (
    FileNotIndexedError,
    InvalidInputError,
    InvalidPathError,
    NotFoundError,
)
from engine.project import Index
from engine.records import display_path, is_path
from engine.state_records import JobFilter, JobState
from web.answers import find_symbols
from web.mcp.tool import Caller, Desk
from web.schemas import as_json
from web.terminal import printable_block

_MOST_CHARS = 8192


class Asked(NamedTuple):
    """A URI, taken apart."""

    kind: str  # scheme and fixed part, as in ``symbols://list``
    path: str  # what stands for {path}; empty without one
    values: Mapping[str, str]  # of the query


def taken_apart(uri: str) -> Asked:
    """Take a URI apart.

    Raises:
        NotFoundError: There is nothing of that kind, or its path cannot be one below a root.
        InvalidInputError: Its query cannot be read.
    """
    if len(uri) > _MOST_CHARS:
        raise NotFoundError("no resource has so long a name")
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise NotFoundError(f"no resource: {uri}") from error
    if parts.fragment or not uri.startswith(f"{parts.scheme}://"):
        raise NotFoundError(f"no resource: {uri}")
    kind, path = _kind_of(parts.scheme, f"{parts.netloc}{parts.path}")
    return Asked(kind, _below_root(path, uri), _values_of(parts.query))


def _kind_of(scheme: str, rest: str) -> tuple[str, str]:
    """Tell what kind of resource it is, and the path in it."""
    if scheme == "project":
        path, _, last = rest.rpartition("/")
        return f"project://{last}", path if path != "." else ""
    if scheme == "symbols" and rest.startswith("file/"):
        return "symbols://file", rest.removeprefix("file/")
    is_file = scheme == "symbols" and rest == "file"  # without a path
    return ("", "") if is_file else (f"{scheme}://{rest.removesuffix('/')}", "")


def _below_root(raw: str, uri: str) -> str:
    """Decode a path that must lie below the root, as it is written."""
    try:
        path = unquote(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise NotFoundError(f"no resource: {uri}") from error
    parts = path.split("/")
    if path and (not is_path(path) or any(part in ("", ".", "..") for part in parts)):
        raise NotFoundError(f"no path of an index: {path!r}")
    return path


def _values_of(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except ValueError as error:
        raise InvalidInputError("the query of the URI cannot be read") from error
    values = dict(pairs)
    if len(values) < len(pairs):
        raise InvalidInputError("a parameter of the URI is given twice")
    return values


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


_MOST_CONTEXT = 100  # lines
_MOST_PATTERN_CHARS = 1000
_COMPILE_BYTES = 1 << 20
_TRUE = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


def list_logs(desk: Desk, index: Index, _asked: Asked, _caller: Caller) -> str:
    """Give the logs of a project."""
    logs = desk.catalog.jobs.logs(index.root)
    shape = [
        {
            "file": log.name,
            "status": log.status,
            "ended_at": log.ended_at,
            "size_bytes": log.size_bytes,
        }
        for log in logs
    ]
    return json.dumps({"logs": shape}, separators=(",", ":"))


def content(desk: Desk, index: Index, asked: Asked, _caller: Caller) -> str:
    """Give a log, the newest one when none is named; with a pattern, the lines it matches.

    Raises:
        NotFoundError: The project has no such log.
        InvalidInputError: The pattern is not one of RE2, or a number is out of range.
    """
    around = _context_of(asked.values.get("C"))
    is_numbered = _yes_or_no(asked.values.get("line_numbers"))
    pattern = _pattern_of(asked.values.get("pattern"))
    lines = _log_of(desk, index, asked.values.get("file")).splitlines()
    shown = range(len(lines)) if pattern is None else _around(lines, pattern, around)
    width = len(str(len(lines)))
    written = []
    before = -1
    for number in shown:
        if pattern is not None and before >= 0 and number > before + 1:
            written.append("--")
        before = number
        written.append(f"{number + 1:>{width}}: {lines[number]}" if is_numbered else lines[number])
    return printable_block("\n".join(written))


def _log_of(desk: Desk, index: Index, name: str | None) -> str:
    logs = desk.catalog.jobs.logs(index.root)
    found = next((log for log in logs if name is None or log.name == name), None)
    if found is not None:
        try:
            return found.read()
        except OSError:  # gone since, or a link now
            pass
    raise NotFoundError(f"no log {name!r}" if name else "no log yet", hint="logs://list lists them")


def _around(lines: Sequence[str], pattern: "re2._Regexp[bytes]", around: int) -> Sequence[int]:
    shown: set[int] = set()
    for number, line in enumerate(lines):
        if pattern.search(line.encode()):
            shown.update(range(max(0, number - around), min(len(lines), number + around + 1)))
    return sorted(shown)


def _pattern_of(text: str | None) -> "re2._Regexp[bytes] | None":
    if text is None:
        return None
    if len(text) > _MOST_PATTERN_CHARS:
        raise InvalidInputError(
            f"the pattern has {len(text):,} characters, at most {_MOST_PATTERN_CHARS:,} can be",
            field="pattern",
        )
    options = re2.Options()
    options.max_mem = _COMPILE_BYTES
    options.log_errors = False
    try:
        return re2.compile(text.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidInputError(
            f"the pattern cannot be read: {error}",
            hint="patterns are those of RE2: no look-around, no back-references",
            field="pattern",
        ) from error


def _context_of(text: str | None) -> int:
    if text is None:
        return 0
    if not text.isascii() or not text.isdigit() or int(text[:9]) > _MOST_CONTEXT:
        raise InvalidInputError(f"C is {text[:20]!r}, wanted 0 to {_MOST_CONTEXT} lines", field="C")
    return int(text)


def _yes_or_no(text: str | None) -> bool:
    if text is None:
        return False
    if text.lower() not in _TRUE:
        raise InvalidInputError(
            f"line_numbers is {text[:20]!r}, wanted true or false", field="line_numbers"
        )
    return _TRUE[text.lower()]


_JSON = "application/json"
_TEXT = "text/plain"
_PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resource:
    """Something that can be read."""

    template: str  # without the project
    title: str
    takes: tuple[str, ...]  # names of the query, besides the project
    mime_type: str
    read: Callable[[Desk, Index, Asked, Caller], str]


_RESOURCES: Final[dict[str, _Resource]] = {
    "symbols://list": _Resource(
        template="symbols://list",
        title="All indexed files, as a JSON array of paths",
        takes=(),
        mime_type=_JSON,
        read=list_files,
    ),
    "symbols://search": _Resource(
        template="symbols://search",
        title="Symbols by name and type",
        takes=("name", "type"),
        mime_type=_JSON,
        read=search_symbols,
    ),
    "symbols://file": _Resource(
        template="symbols://file/{+path}",
        title="The symbols of a file, in text order",
        takes=(),
        mime_type=_JSON,
        read=file_symbols,
    ),
    "symbols://stats": _Resource(
        template="symbols://stats",
        title="What is indexed and what is not, with the cache hit rate of the last run",
        takes=(),
        mime_type=_JSON,
        read=stats,
    ),
    "project://structure": _Resource(
        template="project://{+path}/structure",
        title="Folders and files below a folder (. is the root), and those to index anew",
        takes=(),
        mime_type=_JSON,
        read=structure,
    ),
    "logs://list": _Resource(
        template="logs://list",
        title="The logs of jobs that have ended, the newest first",
        takes=(),
        mime_type=_JSON,
        read=list_logs,
    ),
    "logs://content": _Resource(
        template="logs://content",
        title="A log, or its lines that match a pattern with C lines around them",
        takes=("file", "pattern", "line_numbers", "C"),
        mime_type=_TEXT,
        read=content,
    ),
}
_PLAIN = ("symbols://list", "symbols://stats", "project://structure", "logs://list")


class Resources:
    """The resources of a server.

    Args:
        desk: What to read from.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def listed(self) -> list[ResourceInfo]:
        """Describe what can be read without parameters."""
        return [
            ResourceInfo(
                uri=each.template.replace("{+path}", "."),
                name=kind,
                title=each.title,
                mime_type=each.mime_type,
            )
            for kind, each in _RESOURCES.items()
            if kind in _PLAIN
        ]

    def templates(self) -> list[ResourceTemplate]:
        """Describe what can be read with parameters."""
        return [
            ResourceTemplate(
                uri_template=f"{each.template}{{?{','.join([*each.takes, _PROJECT])}}}",
                name=kind,
                title=each.title,
                mime_type=each.mime_type,
            )
            for kind, each in _RESOURCES.items()
        ]

    def read(self, uri: str, caller: Caller) -> tuple[str, str]:
        """Read one; its text and the type of that.

        Raises:
            NotFoundError: It is not there.
            InvalidInputError: A parameter of it is unknown, or has a wrong value.
        """
        asked = taken_apart(uri)
        resource = _RESOURCES.get(asked.kind)
        if resource is None:
            raise NotFoundError(f"no resource: {uri}", hint="resources/templates/list lists them")
        unknown = asked.values.keys() - {*resource.takes, _PROJECT}
        if unknown:
            name = min(unknown)
            raise InvalidInputError(
                f"{asked.kind} has no parameter {name!r}",
                hint=f"it takes {', '.join([*resource.takes, _PROJECT])}",
                field=name,
            )
        index = self._desk.projects.index(asked.values.get(_PROJECT), field=_PROJECT)
        return resource.read(self._desk, index, asked, caller), resource.mime_type
