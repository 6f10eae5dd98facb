"""What a tool is: its name, what it takes and gives, and the function that does it.

What all tools and resources work with.

Which project a call speaks of, and what to say when it is none.

JSON schemas, as small as they can be: an agent reads all of them before its first question.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from mcp.types import Tool as ToolInfo

from engine.catalog import Catalog
from engine.errors import (
    EngineError,
    InvalidInputError,
    InvalidPathError,
    ProjectNotFoundError,
)
from engine.project import Index
from engine.records import display_path
from engine.state_records import Job
from web.project_selection import can_be_name, open_called, root_of
from web.schemas import as_json, converted

Shape = dict[str, Any]

_SHORT: dict[str, Shape] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "yes_no": {"type": "boolean"},
    "record": {"type": "object"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "records": {"type": "array", "items": {"type": "object"}},
}


def record(**fields: str | Shape) -> Shape:
    """Give the schema of what a tool answers.

    Args:
        fields: Of each a schema, or the name of a short one (``text``, ``integer``, ``number``,
            ``yes_no``, ``record``, ``texts``, ``records``); with ``|null`` it can be null, with
            ``?`` it can be left out.
    """
    required = [name for name, each in fields.items() if not str(each).endswith("?")]
    return {**part(**fields), "required": required}


def part(**fields: str | Shape) -> Shape:
    """Give the schema of an object inside of an answer; which fields it has always goes unsaid."""
    shapes = {name: shape_of(each) for name, each in fields.items()}
    return {"type": "object", "properties": shapes}


def list_of(item: Shape) -> Shape:
    """Give the schema of a list."""
    return {"type": "array", "items": item}


def shape_of(said: str | Shape) -> Shape:
    """Give a schema by its short name."""
    if not isinstance(said, str):
        return said
    name = said.removesuffix("?")
    shape = _SHORT[name.removesuffix("|null")]
    return {**shape, "type": [shape["type"], "null"]} if name.endswith("|null") else shape


def input_shape(takes: type[msgspec.Struct]) -> Shape:
    """Give the schema of a tool's parameters, without what says nothing.

    That a parameter may be null goes unsaid: it is the same as leaving it out.
    """
    name = takes.__name__
    shape: Shape = msgspec.json.schema(takes)["$defs"][name]
    properties = {field: _plain(each) for field, each in shape["properties"].items()}
    required = {"required": shape["required"]} if shape.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _plain(shape: Shape) -> Shape:
    kinds = shape.get("anyOf")
    if kinds:
        [kind] = [each for each in kinds if each != {"type": "null"}]
        shape = {**shape, **kind}
        del shape["anyOf"]
    if shape.get("default", ...) is None:
        shape = {name: value for name, value in shape.items() if name != "default"}
    if "enum" in shape:
        shape = {"type": "string", **shape}
    return shape


_UNKNOWN = re.compile(r"unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"missing required field `(\w+)`")
_AT = re.compile(r" - at `\$\.(\w+)(.*)`", re.DOTALL)


class Given(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """What a caller gives a tool; a subclass has a field a parameter."""


class Caller(Protocol):
    """Who called, as far as a tool has to know."""

    def is_gone(self) -> bool:
        """Say whether nobody waits for the answer any more."""

    def hear(self, job: Job) -> None:
        """Let the caller know how far a job is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool gives back."""

    content: Mapping[str, object]  # by the tool's output schema
    text: str  # for reading; short
    is_error: bool = False

    def as_result(self) -> CallToolResult:
        """Give it as the protocol has it."""
        content = as_json(self.content)
        assert isinstance(content, dict)
        return CallToolResult(
            content=[TextContent(type="text", text=self.text)],
            structured_content=content,
            is_error=self.is_error,
        )


def failure(error: EngineError) -> Answer:
    """Give an error in the one shape, and as two lines: what happened, and what to do."""
    return Answer(content=error.as_json(), text=failure_text(error), is_error=True)


def failure_text(error: EngineError) -> str:
    """Say what happened and what to do."""
    hint = f"\nhint: {error.hint}" if error.hint else ""
    return f"{error.code}: {error.message}{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Args:
        name: As agents call it.
        title: As people see it.
        description: When to use it, for agents.
        takes: Its parameters.
        gives: The schema of its answer.
        run: Does it, in a worker thread; what it raises of the engine's errors is told.
        reads_only: It changes nothing.
        destroys: It can drop what was there.
        waits: It can take half a minute, during which it mostly waits.
        fail: Makes an answer of an error.
    """

    name: str
    title: str
    description: str
    takes: type[Given]
    gives: Shape
    run: Callable[[Any, Caller], Answer]
    reads_only: bool = False
    destroys: bool = False
    waits: bool = False
    fail: Callable[[EngineError], Answer] = failure

    def read(self, arguments: Mapping[str, object]) -> Given:
        """Check what a caller gives; null stands for what is not given.

        Raises:
            InvalidInputError: A parameter is unknown, missing, or has a wrong value; ``details``
                name it.
        """
        known = self.takes.__struct_fields__
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in known
        }
        try:
            return converted(given, self.takes)
        except msgspec.ValidationError as error:
            raise _refusal(str(error), self.name, known) from error

    def info(self) -> ToolInfo:
        """Describe it as the protocol has it."""
        return ToolInfo(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_shape(self.takes),
            output_schema=self.gives,
            annotations=ToolAnnotations(
                read_only_hint=self.reads_only,
                destructive_hint=None if self.reads_only else self.destroys,
                idempotent_hint=None if self.reads_only else True,
                open_world_hint=False,
            ),
        )


def _refusal(said: str, tool: str, known: tuple[str, ...]) -> InvalidInputError:
    unknown = _UNKNOWN.search(said)
    if unknown:
        name = unknown[1]
        return InvalidInputError(
            f"{tool} has no parameter {name!r}", hint=f"it takes {', '.join(known)}", field=name
        )
    missing = _MISSING.search(said)
    if missing:
        return InvalidInputError(f"{missing[1]} is required", field=missing[1])
    at = _AT.search(said)
    if at is None:
        return InvalidInputError(said.replace("`", ""))
    problem = said[: at.start()].replace("`", "")
    return InvalidInputError(f"{at[1]}{at[2]}: {problem[:1].lower()}{problem[1:]}", field=at[1])


_MOST_LISTED = 50


class Projects:
    """The projects of a catalog, as agents name them.

    Args:
        catalog: Where they are.
        served: Folders that this server is about.
        is_local: Whether the server runs in the caller's folder, so that relative paths mean
            something.
    """

    def __init__(self, catalog: Catalog, served: tuple[str, ...], *, is_local: bool) -> None:
        self._catalog = catalog
        self._served = served
        self._is_local = is_local

    def index(self, path: str | None, *, field: str = "project_path") -> Index:
        """Open the project of a folder; of none, the one served, or the only one there is.

        Args:
            path: The folder, one inside it, or the name of a project.
            field: What the caller calls it, for the error.

        Raises:
            InvalidInputError: There are several, and none is named; ``projects`` lists them.
            ProjectNotFoundError: It is not indexed.
        """
        if path is not None:
            return self._open(self.root(path, field=field))
        if len(self._served) == 1:
            return self._open(self._served[0])
        roots = self.roots()
        if len(roots) == 1:
            return self._open(roots[0])
        if not roots:
            raise ProjectNotFoundError(
                "no project is indexed",
                hint="call index_repository with the path of a repository",
            )
        raise InvalidInputError(
            f"{len(roots)} projects are indexed, and {field} does not say which is meant",
            hint=f"give {field}, one of those in details.projects",
            field=field,
            projects=[display_path(root) for root in roots[:_MOST_LISTED]],
        )

    def roots(self) -> list[str]:
        """Give the roots of all projects that can be opened, sorted."""
        return [root_of(each) for each in self._catalog.projects() if each.error is None]

    def root(self, path: str, *, field: str) -> str:
        """Give the folder that a caller means by a path, or by the name of a project.

        Args:
            path: A folder, which need not be indexed; where there is none, a name.
            field: As for ``index``.

        Raises:
            ProjectNotFoundError: It is a name, of none or of several; ``projects`` lists them.
        """
        if not can_be_name(path) or (self._is_local and os.path.exists(path)):
            return self.folder(path, field=field)
        try:
            return open_called(self._catalog, path).root
        except ProjectNotFoundError as error:
            error.details["field"] = field
            if not error.details.get("projects"):
                error.hint = "call index_repository with the absolute path of a repository"
            raise

    def folder(self, path: str, *, field: str) -> str:
        """Check a folder that a caller names; it need not exist.

        Raises:
            InvalidPathError: It is relative, and the server is not where the caller is.
        """
        if not self._is_local and not os.path.isabs(os.path.expanduser(path)):
            raise InvalidPathError(
                f"{field} is {path!r}, wanted an absolute path",
                hint="this server does not run in your folder",
                field=field,
                path=path,
            )
        return path

    def _open(self, path: str) -> Index:
        try:
            return self._catalog.open(path)
        except ProjectNotFoundError as error:
            shown = display_path(path)
            raise ProjectNotFoundError(
                f"{shown} is not indexed",
                hint=f'call index_repository with path "{shown}"',
                path=shown,
                projects=[display_path(root) for root in self.roots()[:_MOST_LISTED]],
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The projects, and how this server stands to them."""

    catalog: Catalog
    projects: Projects
    is_runner: bool  # this process runs jobs; else a process of its own does

    def ensure_runner(self) -> None:
        """See to it that a job goes on, also without this server.

        Raises:
            UnavailableError: No process can be started.
        """
        if not self.is_runner:
            self.catalog.jobs.ensure_runner()
