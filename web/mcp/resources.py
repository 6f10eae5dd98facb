"""The resources of the MCP server: ``symbols://`` and ``project://`` as JSON, ``logs://`` as text.

A URI is split once and each of its parts is decoded once. A path of a caller is never opened: it is
looked up in the index or in the list of logs, and is not found otherwise.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import re2
from mcp.types import Resource as ResourceInfo
from mcp.types import ResourceTemplate

from engine.browse_records import SymbolListRequest
from engine.errors import (
    FileNotIndexedError,
    InvalidInputError,
    InvalidPathError,
    NotFoundError,
)
from engine.project import Project
from engine.record_class import record
from engine.records import is_path
from engine.search_records import SymbolRequest
from engine.state_records import JobFilter, JobState
from web.mcp.listed_files import PAGING, list_files, structure
from web.mcp.requested_files import explaining
from web.mcp.tool import Caller, ToolContext
from web.operations import find_symbols
from web.schemas import as_json, values_of
from web.terminal import printable_block

_MAX_CHARS = 8192
_MAX_SYMBOLS = 100
_MAX_CONTEXT = 100  # lines
_MAX_PATTERN_CHARS = 1000
_COMPILE_BYTES = 1 << 20
_BOOLEANS = {
    "true": True,
    "1": True,
    "yes": True,
    "": True,
    "false": False,
    "0": False,
    "no": False,
}
_JSON = "application/json"
_TEXT = "text/plain"
_PROJECT = "project"
_LISTED = (
    "symbols://list",
    "symbols://stats",
    "project://structure",
    "project://contexts",
    "logs://list",
    "logs://server",
)


class ParsedUri(NamedTuple):
    """A URI, split into its parts."""

    kind: str  # scheme and fixed part, as in ``symbols://list``
    path: str  # the value of {path}, or empty
    query: Mapping[str, str]


def parse_uri(uri: str) -> ParsedUri:
    """Split a URI into its parts.

    Raises:
        NotFoundError: No resource has such a URI, or its path is not below a root.
        InvalidInputError: Its query is malformed.
    """
    if len(uri) > _MAX_CHARS:
        raise NotFoundError("the URI of the resource is too long")
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise NotFoundError(f"no resource: {uri}") from error
    if parts.fragment or not uri.startswith(f"{parts.scheme}://"):
        raise NotFoundError(f"no resource: {uri}")
    kind, path = _kind_of(parts.scheme, f"{parts.netloc}{parts.path}")
    return ParsedUri(kind, _below_root(path, uri), _query_of(parts.query))


def _kind_of(scheme: str, rest: str) -> tuple[str, str]:
    """Return the kind of a resource and the path in its URI."""
    if scheme == "project":
        path, _, last = rest.rpartition("/")
        return f"project://{last}", path if path != "." else ""
    if scheme == "symbols" and rest.startswith("file/"):
        return "symbols://file", rest.removeprefix("file/")
    is_file = scheme == "symbols" and rest == "file"  # without a path
    return ("", "") if is_file else (f"{scheme}://{rest.removesuffix('/')}", "")


def _below_root(raw: str, uri: str) -> str:
    """Decode a path and check that it is below the root as written."""
    try:
        path = unquote(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise NotFoundError(f"no resource: {uri}") from error
    parts = path.split("/")
    if path and (not is_path(path) or any(part in ("", ".", "..") for part in parts)):
        raise NotFoundError(f"not a path in an index: {path!r}")
    return path


def _query_of(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except ValueError as error:
        raise InvalidInputError("the query of the URI is malformed") from error
    values = dict(pairs)
    if len(values) < len(pairs):
        raise InvalidInputError("a parameter of the URI is given twice")
    return values


def indexed_files(_context: ToolContext, index: Project, uri: ParsedUri, _caller: Caller) -> str:
    """Return the paths of all indexed files, as an array, or by page."""
    return _json(list_files(index, uri.query))


def search_symbols(_context: ToolContext, index: Project, uri: ParsedUri, _caller: Caller) -> str:
    """Return symbols by name: whole, or else those with that prefix; or all of a type, by page.

    Raises:
        InvalidInputError: Name and type are missing, or the type is unknown.
    """
    name, kind = uri.query.get("name", ""), uri.query.get("type")
    if not name and not kind:
        raise InvalidInputError("name or type is required", field="name")
    if not name:
        cursor = uri.query.get("cursor")
        page = index.browse.symbols(SymbolListRequest(kind=kind, limit=_MAX_SYMBOLS, cursor=cursor))
        is_cut = page.next_cursor is not None
        return _json(
            {
                "symbols": page.symbols,
                "total": page.total,
                "truncated": is_cut,
                "next_cursor": page.next_cursor,
            }
        )
    if "cursor" in uri.query:
        raise InvalidInputError("cursor goes with type alone", field="cursor")
    wanted = SymbolRequest(name=name, kind=kind, limit=_MAX_SYMBOLS)
    found = find_symbols(index, wanted)
    if not found.symbols:
        found = find_symbols(index, replace(wanted, match="prefix"))
    return _json(found.as_json())


def file_symbols(_context: ToolContext, index: Project, uri: ParsedUri, _caller: Caller) -> str:
    """Return the symbols of a file, and the names of the project that they refer to.

    Raises:
        NotFoundError: The file is not in the index.
    """
    try:
        with explaining(index):
            symbols = index.outline(uri.path)
            relations = index.references.relations(uri.path)
    except InvalidPathError as error:
        raise FileNotIndexedError(f"{uri.path} is not in the index") from error
    return _json({"path": uri.path, "symbols": symbols, "relations": relations})


def stats(context: ToolContext, index: Project, _uri: ParsedUri, _caller: Caller) -> str:
    """Return the status of an index, with the cache hit rate of its last run."""
    wanted = JobFilter(status=JobState.COMPLETED, target=index.root, limit=1)
    jobs = context.catalog.jobs.list(wanted).jobs
    report = jobs[0].result if jobs and jobs[0].result else {}
    status = values_of(index.status())
    return _json({**status, "cache_hit_rate": report.get("cache_hit_rate")})


def compared_files(_context: ToolContext, index: Project, uri: ParsedUri, caller: Caller) -> str:
    """Return the files of a folder and those that have changed, by page."""
    return _json(structure(index, uri.path, uri.query, caller.cancelled))


def contexts(context: ToolContext, _uri: ParsedUri) -> str:
    """Return the named sets of projects."""
    return _json({"contexts": context.catalog.contexts.all()})


def _json(value: object) -> str:
    return json.dumps(as_json(value), ensure_ascii=False, separators=(",", ":"))


def list_logs(context: ToolContext, index: Project, _uri: ParsedUri, _caller: Caller) -> str:
    """Return the list of a project's logs."""
    logs = context.catalog.jobs.logs(index.root)
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


def content(context: ToolContext, index: Project, uri: ParsedUri, _caller: Caller) -> str:
    """Return a log, by default the newest; with a pattern, only the matching lines.

    Raises:
        NotFoundError: The project has no such log.
        InvalidInputError: The pattern is invalid in RE2, or a number is out of range.
    """
    return _shown(_log_of(context, index, uri.query.get("file")).splitlines(), uri)


def server_log(context: ToolContext, uri: ParsedUri) -> str:
    """Return what servers and runners logged last, the newest line last.

    Raises:
        InvalidInputError: As for ``content``.
    """
    return _shown(context.catalog.log_lines(), uri)


def _shown(lines: Sequence[str], uri: ParsedUri) -> str:
    """Return the lines that the parameters of a URI ask for."""
    around = _context_lines(uri.query.get("C"))
    is_numbered = _boolean(uri.query.get("line_numbers"))
    pattern = _pattern_of(uri.query.get("pattern"))
    shown = range(len(lines)) if pattern is None else _matching_lines(lines, pattern, around)
    width = len(str(len(lines)))
    written = []
    before = -1
    for number in shown:
        if pattern is not None and before >= 0 and number > before + 1:
            written.append("--")
        before = number
        written.append(f"{number + 1:>{width}}: {lines[number]}" if is_numbered else lines[number])
    return printable_block("\n".join(written))


def _log_of(context: ToolContext, index: Project, name: str | None) -> str:
    logs = context.catalog.jobs.logs(index.root)
    found = next((log for log in logs if name is None or log.name == name), None)
    if found is not None:
        try:
            return found.read()
        except OSError:  # deleted since, or now a link
            pass
    raise NotFoundError(f"no log {name!r}" if name else "no log yet", hint="logs://list lists them")


def _matching_lines(
    lines: Sequence[str], pattern: "re2._Regexp[bytes]", around: int
) -> Sequence[int]:
    shown: set[int] = set()
    for number, line in enumerate(lines):
        if pattern.search(line.encode()):
            shown.update(range(max(0, number - around), min(len(lines), number + around + 1)))
    return sorted(shown)


def _pattern_of(text: str | None) -> "re2._Regexp[bytes] | None":
    if text is None:
        return None
    if len(text) > _MAX_PATTERN_CHARS:
        raise InvalidInputError(
            f"the pattern has {len(text):,} characters, the limit is {_MAX_PATTERN_CHARS:,}",
            field="pattern",
        )
    options = re2.Options()
    options.max_mem = _COMPILE_BYTES
    options.log_errors = False
    try:
        return re2.compile(text.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidInputError(
            f"invalid pattern: {_plain(error)}",
            hint="patterns use RE2 syntax: no look-around, no back-references",
            field="pattern",
        ) from error


def _plain(error: Exception) -> str:
    """Return the text of an error that re2 may give as bytes."""
    first = error.args[0] if error.args else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(error)


def _context_lines(text: str | None) -> int:
    if text is None:
        return 0
    if not text.isascii() or not text.isdigit() or int(text[:9]) > _MAX_CONTEXT:
        raise InvalidInputError(
            f"C is {text[:20]!r}, expected 0 to {_MAX_CONTEXT} lines", field="C"
        )
    return int(text)


def _boolean(text: str | None) -> bool:
    if text is None:
        return False
    if text.lower() not in _BOOLEANS:
        raise InvalidInputError(
            f"line_numbers is {text[:20]!r}, expected true or false", field="line_numbers"
        )
    return _BOOLEANS[text.lower()]


@record
class _Resource:
    """A kind of resource."""

    template: str  # without the project
    title: str
    parameters: tuple[str, ...]  # names in the query, besides the project
    mime_type: str
    read: Callable[[ToolContext, Project, ParsedUri, Caller], str] | None = None
    #: In place of ``read``, of a resource that belongs to no project.
    read_global: Callable[[ToolContext, ParsedUri], str] | None = None

    @property
    def known(self) -> list[str]:
        """The names in the query."""
        return [*self.parameters, *([] if self.read is None else [_PROJECT])]


_RESOURCES: Final[dict[str, _Resource]] = {
    "symbols://list": _Resource(
        template="symbols://list",
        title="All indexed files, as a JSON array of paths; by page with limit",
        parameters=PAGING,
        mime_type=_JSON,
        read=indexed_files,
    ),
    "symbols://search": _Resource(
        template="symbols://search",
        title="Symbols by name and type, or all of a type",
        parameters=("name", "type", "cursor"),
        mime_type=_JSON,
        read=search_symbols,
    ),
    "symbols://file": _Resource(
        template="symbols://file/{+path}",
        title="The symbols of a file, in source order, and the names that they refer to",
        parameters=(),
        mime_type=_JSON,
        read=file_symbols,
    ),
    "symbols://stats": _Resource(
        template="symbols://stats",
        title="What is indexed and what is not, and the cache hit rate of the last run",
        parameters=(),
        mime_type=_JSON,
        read=stats,
    ),
    "project://structure": _Resource(
        template="project://{+path}/structure",
        title="Folders and files below a folder (. is the root), and changed files, by page",
        parameters=PAGING,
        mime_type=_JSON,
        read=compared_files,
    ),
    "project://contexts": _Resource(
        template="project://contexts",
        title="Named sets of projects, which context:NAME in a query searches",
        parameters=(),
        mime_type=_JSON,
        read_global=contexts,
    ),
    "logs://list": _Resource(
        template="logs://list",
        title="The logs of finished jobs, newest first",
        parameters=(),
        mime_type=_JSON,
        read=list_logs,
    ),
    "logs://content": _Resource(
        template="logs://content",
        title="A log, or its lines that match a pattern with C lines of context",
        parameters=("file", "pattern", "line_numbers", "C"),
        mime_type=_TEXT,
        read=content,
    ),
    "logs://server": _Resource(
        template="logs://server",
        title="The latest requests and job events of all servers, newest last",
        parameters=("pattern", "line_numbers", "C"),
        mime_type=_TEXT,
        read_global=server_log,
    ),
}


class Resources:
    """The resources of a server.

    Args:
        context: The projects to read from.
    """

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def listed(self) -> list[ResourceInfo]:
        """Return descriptions of the resources without parameters."""
        return [
            ResourceInfo(
                uri=each.template.replace("{+path}", "."),
                name=kind,
                title=each.title,
                mime_type=each.mime_type,
            )
            for kind, each in _RESOURCES.items()
            if kind in _LISTED
        ]

    def templates(self) -> list[ResourceTemplate]:
        """Return descriptions of the resources with parameters."""
        return [
            ResourceTemplate(
                uri_template=each.template + (f"{{?{','.join(each.known)}}}" if each.known else ""),
                name=kind,
                title=each.title,
                mime_type=each.mime_type,
            )
            for kind, each in _RESOURCES.items()
        ]

    def read(self, uri: str, caller: Caller) -> tuple[str, str]:
        """Return the text of a resource and its MIME type.

        Raises:
            NotFoundError: It does not exist.
            InvalidInputError: A parameter is unknown or invalid.
        """
        parsed = parse_uri(uri)
        resource = _RESOURCES.get(parsed.kind)
        if resource is None:
            raise NotFoundError(f"no resource: {uri}", hint="resources/templates/list lists them")
        unknown = parsed.query.keys() - set(resource.known)
        if unknown:
            name = min(unknown)
            raise InvalidInputError(
                f"{parsed.kind} has no parameter {name!r}",
                hint=f"it takes {', '.join(resource.known) or 'none'}",
                field=name,
            )
        if resource.read_global is not None:
            return resource.read_global(self._context, parsed), resource.mime_type
        assert resource.read is not None
        index = self._context.projects.index(parsed.query.get(_PROJECT), caller, field=_PROJECT)
        return resource.read(self._context, index, parsed, caller), resource.mime_type
