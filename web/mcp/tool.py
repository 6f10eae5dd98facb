"""The definition of a tool: its parameters, its schemas and the function that runs it.

Parameters are msgspec structs; their JSON schemas are kept as small as possible, because an agent
reads all of them before its first query. Parameters are validated here and nowhere else.
``Projects`` resolves the project that a call names.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from types import NoneType
from typing import Any, Protocol, get_args, get_origin, get_type_hints

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
from engine.project import Project
from engine.records import display_path
from engine.state_records import Job
from web.mcp.failures import error_text
from web.project_selection import can_be_name, open_named, root_of
from web.schemas import as_json, converted, fields_of

Schema = dict[str, Any]

_SHORT: dict[str, Schema] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "record": {"type": "object"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "records": {"type": "array", "items": {"type": "object"}},
}
_UNKNOWN = re.compile(r"unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"missing required field `(\w+)`")
_AT = re.compile(r" - at `\$\.(\w+)(.*)`", re.DOTALL)
_MAX_LISTED = 50


def record(**fields: str | Schema) -> Schema:
    """Return the schema of a tool's answer.

    Args:
        fields: For each field a schema, or the name of a short one (``text``, ``integer``,
            ``number``, ``boolean``, ``record``, ``texts``, ``records``). The suffix ``|null`` makes
            it nullable, ``?`` makes it optional.
    """
    required = [name for name, each in fields.items() if not str(each).endswith("?")]
    return {**object_of(**fields), "required": required}


def fields_in(kind: Any, *names: str) -> dict[str, str | Schema]:
    """Return the fields of a record for ``record``, each as the name of its schema.

    Args:
        kind: The class of the record.
        names: The fields, in this order; by default those that are never left out.
    """
    hints = get_type_hints(kind)
    wanted = names or (name for name, is_optional in fields_of(kind) if not is_optional)
    return {name: _short_name(hints[name]) for name in wanted}


def _short_name(hint: Any) -> str:
    """Return the name in ``_SHORT`` of a type, or of a type that may be None."""
    options = [each for each in get_args(hint) if each is not NoneType]
    if NoneType in get_args(hint):
        return f"{_short_name(options[0])}|null"
    if get_origin(hint) is tuple:
        return "texts" if options[0] is str else "records"
    if get_origin(hint) or is_dataclass(hint):
        return "record"
    return {int: "integer", float: "number", bool: "boolean"}.get(hint, "text")


def object_of(**fields: str | Schema) -> Schema:
    """Return the schema of an object inside an answer, without a list of required fields."""
    schemas = {name: _schema_of(each) for name, each in fields.items()}
    return {"type": "object", "properties": schemas}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def _schema_of(described: str | Schema) -> Schema:
    """Look up a schema by its short name."""
    if not isinstance(described, str):
        return described
    name = described.removesuffix("?")
    schema = _SHORT[name.removesuffix("|null")]
    return {**schema, "type": [schema["type"], "null"]} if name.endswith("|null") else schema


def input_schema(parameters: type[msgspec.Struct]) -> Schema:
    """Return the schema of a tool's parameters without redundant parts.

    It omits that a parameter may be null, which means the same as leaving it out.
    """
    schema: Schema = msgspec.json.schema(parameters)["$defs"][parameters.__name__]
    properties = {field: _simplified(each) for field, each in schema["properties"].items()}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _simplified(schema: Schema) -> Schema:
    alternatives = schema.get("anyOf")
    if alternatives:
        [alternative] = [each for each in alternatives if each != {"type": "null"}]
        schema = {**schema, **alternative}
        del schema["anyOf"]
    if schema.get("default", ...) is None:
        schema = {name: value for name, value in schema.items() if name != "default"}
    if "enum" in schema:
        schema = {"type": "string", **schema}
    return schema


class Parameters(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Base of a tool's parameters; a subclass has one field per parameter."""


class Caller(Protocol):
    """The caller of a tool: it can cancel the call and receives progress."""

    def cancelled(self) -> bool:
        """Return whether the caller no longer waits for the answer."""

    def on_progress(self, job: Job) -> None:
        """Receive the progress of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a tool."""

    content: Mapping[str, object]  # conforms to the tool's output schema
    text: str  # short, for reading
    is_error: bool = False

    def as_result(self) -> CallToolResult:
        """Return the answer as a protocol result."""
        return CallToolResult(
            content=[TextContent(type="text", text=self.text)],
            structured_content=as_json(self.content),
            is_error=self.is_error,
        )


def failure(error: EngineError) -> Answer:
    """Return an error as an answer: the common JSON shape, and all of it as text."""
    return failed(error.as_json())


def failed(shape: Mapping[str, object]) -> Answer:
    """Return the JSON shape of an error, which may have more keys, as an answer."""
    return Answer(content=shape, text=error_text(shape), is_error=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Args:
        name: The name that agents call.
        title: The name that people see.
        description: When to use it, for agents.
        parameters: The struct of its parameters.
        output_schema: The schema of its answer.
        run: Runs it in a worker thread; engine errors that it raises become answers.
        read_only: Whether it changes nothing.
        destructive: Whether it can delete data.
        long_running: Whether it can take half a minute, most of it waiting.
        fail: Converts an error to an answer.
    """

    name: str
    title: str
    description: str
    parameters: type[Parameters]
    output_schema: Schema
    run: Callable[[Any, Caller], Answer]
    read_only: bool = False
    destructive: bool = False
    long_running: bool = False
    fail: Callable[[EngineError], Answer] = failure

    def parse(self, arguments: Mapping[str, object]) -> Parameters:
        """Validate the arguments of a call; null means that a parameter is not given.

        Raises:
            InvalidInputError: A parameter is unknown, missing or invalid; ``details`` name it.
        """
        known = self.parameters.__struct_encode_fields__
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in known
        }
        try:
            return converted(given, self.parameters)
        except msgspec.ValidationError as error:
            raise _input_error(str(error), self.name, known) from error

    def info(self) -> ToolInfo:
        """Return the tool's description for the protocol."""
        return ToolInfo(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_schema(self.parameters),
            output_schema=self.output_schema,
            annotations=ToolAnnotations(
                read_only_hint=self.read_only,
                destructive_hint=None if self.read_only else self.destructive,
                idempotent_hint=None if self.read_only else True,
                open_world_hint=False,
            ),
        )


def _input_error(message: str, tool: str, known: tuple[str, ...]) -> InvalidInputError:
    unknown = _UNKNOWN.search(message)
    if unknown:
        name = unknown[1]
        return InvalidInputError(
            f"{tool} has no parameter {name!r}", hint=f"it takes {', '.join(known)}", field=name
        )
    missing = _MISSING.search(message)
    if missing:
        return InvalidInputError(f"{missing[1]} is required", field=missing[1])
    at = _AT.search(message)
    if at is None:
        return InvalidInputError(message.replace("`", ""))
    problem = message[: at.start()].replace("`", "")
    return InvalidInputError(f"{at[1]}{at[2]}: {problem[:1].lower()}{problem[1:]}", field=at[1])


class Projects:
    """Resolves the project that a call names.

    Args:
        catalog: The projects.
        served: Folders that this server serves by default.
        is_local: Whether the server runs in the caller's folder, so that relative paths are
            meaningful.
    """

    def __init__(self, catalog: Catalog, served: tuple[str, ...], *, is_local: bool) -> None:
        self._catalog = catalog
        self._served = served
        self._is_local = is_local

    def index(self, path: str | None, *, field: str = "project_path") -> Project:
        """Open a project; by default the single served one, or the only one there is.

        Args:
            path: The folder, one inside it, or the name of a project.
            field: The name of the parameter, for errors.

        Raises:
            InvalidInputError: There are several and none is named; ``projects`` lists them.
            ProjectNotFoundError: It is not indexed.
        """
        if path is not None:
            return self._open(self.root(path, field=field), field)
        if len(self._served) == 1:
            return self._open(self._served[0], field)
        roots = self.roots()
        if len(roots) == 1:
            return self._open(roots[0], field)
        if not roots:
            raise ProjectNotFoundError(
                "no project is indexed",
                hint="call index_repository with the path of a repository",
            )
        raise InvalidInputError(
            f"{len(roots)} projects are indexed and {field} is missing",
            hint=f"set {field} to one of these projects",
            field=field,
            projects=[display_path(root) for root in roots[:_MAX_LISTED]],
        )

    def roots(self) -> list[str]:
        """Return the sorted roots of all projects that can be opened."""
        return [root_of(each) for each in self._catalog.projects() if each.error is None]

    def root(self, path: str, *, field: str) -> str:
        """Return the folder that a path or the name of a project stands for.

        Args:
            path: A folder, which need not be indexed, or the name of a project.
            field: As for ``index``.

        Raises:
            ProjectNotFoundError: No project or several have that name; ``projects`` lists them.
        """
        if not can_be_name(path) or (self._is_local and os.path.exists(path)):
            return self.folder(path, field=field)
        try:
            return open_named(self._catalog, path).root
        except ProjectNotFoundError as error:
            error.details["field"] = field
            if not error.details.get("projects"):
                error.hint = "call index_repository with the absolute path of a repository"
            raise

    def folder(self, path: str, *, field: str) -> str:
        """Validate the path of a folder, which need not exist.

        Raises:
            InvalidPathError: It is relative and the server does not run in the caller's folder.
        """
        if not self._is_local and not os.path.isabs(os.path.expanduser(path)):
            raise InvalidPathError(
                f"{field} is {path!r}, expected an absolute path",
                hint="this server does not run in your folder",
                field=field,
                path=path,
            )
        return path

    def _open(self, path: str, field: str) -> Project:
        try:
            return self._catalog.open(path)
        except ProjectNotFoundError as error:
            shown = display_path(path)
            projects = [display_path(root) for root in self.roots()[:_MAX_LISTED]]
            others = f", or set {field} to one of these projects" if projects else ""
            raise ProjectNotFoundError(
                f"{shown} is not indexed",
                hint=f'call index_repository with path "{shown}"{others}',
                path=shown,
                projects=projects,
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The dependencies of tools and resources."""

    catalog: Catalog
    projects: Projects
    is_runner: bool  # whether this process runs jobs; otherwise a separate process does

    def ensure_runner(self) -> None:
        """Ensure that jobs run, even if this server ends.

        Raises:
            UnavailableError: No process can be started.
        """
        if not self.is_runner:
            self.catalog.jobs.ensure_runner()
