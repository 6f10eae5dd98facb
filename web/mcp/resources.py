"""What agents can read: the symbols and files of an index, its structure, and the logs of its jobs.

What is not in the index, or not in the list of logs, is not found, however it is spelled; no path
of a caller is opened.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp.types import Resource as ResourceInfo
from mcp.types import ResourceTemplate

from engine.errors import InvalidInputError, NotFoundError
from engine.index import Index
from web.mcp import logs, project_reading
from web.mcp.desk import Desk
from web.mcp.tool import Caller
from web.mcp.uri import Asked, taken_apart

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
        read=project_reading.list_files,
    ),
    "symbols://search": _Resource(
        template="symbols://search",
        title="Symbols by name and type",
        takes=("name", "type"),
        mime_type=_JSON,
        read=project_reading.search_symbols,
    ),
    "symbols://file": _Resource(
        template="symbols://file/{+path}",
        title="The symbols of a file, in text order",
        takes=(),
        mime_type=_JSON,
        read=project_reading.file_symbols,
    ),
    "symbols://stats": _Resource(
        template="symbols://stats",
        title="What is indexed and what is not, with the cache hit rate of the last run",
        takes=(),
        mime_type=_JSON,
        read=project_reading.stats,
    ),
    "project://structure": _Resource(
        template="project://{+path}/structure",
        title="Folders and files below a folder (. is the root), and those to index anew",
        takes=(),
        mime_type=_JSON,
        read=project_reading.structure,
    ),
    "logs://list": _Resource(
        template="logs://list",
        title="The logs of jobs that have ended, the newest first",
        takes=(),
        mime_type=_JSON,
        read=logs.list_logs,
    ),
    "logs://content": _Resource(
        template="logs://content",
        title="A log, or its lines that match a pattern with C lines around them",
        takes=("file", "pattern", "line_numbers", "C"),
        mime_type=_TEXT,
        read=logs.content,
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
