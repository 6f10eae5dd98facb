"""The definition of a tool: its parameters, its schemas and the function that runs it.

Parameters are msgspec structs; their JSON schemas are kept as small as possible, because an agent
reads all of them before its first query. Parameters are validated here and nowhere else.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType
from typing import Annotated, Any, Protocol, get_args, get_origin, get_type_hints

import msgspec
from mcp.types import Tool as ToolInfo
from mcp.types import ToolAnnotations
from msgspec import Meta

from engine import record_class
from engine.catalog import Catalog
from engine.errors import EngineError, InvalidInputError
from engine.humanize import count
from engine.state_records import Job
from web.mcp.failures import error_text
from web.mcp.projects import Projects
from web.schemas import converted, fields_of
from web.terminal import shortened

Schema = dict[str, Any]

_SHORT: dict[str, Schema] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "record": {"type": "object"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "records": {"type": "array", "items": {"type": "object"}},
    "list": {"type": "array"},
}
_UNKNOWN = re.compile(r"unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"missing required field `(\w+)`")
_OF_LENGTH = re.compile(r"Expected `(str|array)` of length (>=|<=) (\d+)")
_OF_SIZE = re.compile(r"Expected `(?:int|float)` (>=|<=) (\S+)")
_TYPE = re.compile(r"`(\w+)(?: \| null)?`")
_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_VALUE_COLUMNS = 100  # of a value that is refused
_AT = re.compile(r" - at `\$\.(\w+)(.*)`", re.DOTALL)


def record(**fields: str | Schema) -> Schema:
    """Return the schema of a tool's answer, without a list of required fields: that takes space.

    Args:
        fields: For each field a schema, or the name of a short one (``text``, ``integer``,
            ``number``, ``boolean``, ``record``, ``texts``, ``records``, ``list``). The suffix
            ``|null`` makes it nullable.
    """
    schemas = {name: _schema_of(each) for name, each in fields.items()}
    return {"type": "object", "properties": schemas}


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


def _schema_of(described: str | Schema) -> Schema:
    """Look up a schema by its short name."""
    if not isinstance(described, str):
        return described
    schema = _SHORT[described.removesuffix("|null")]
    return {**schema, "type": [schema["type"], "null"]} if described.endswith("|null") else schema


def input_schema(parameters: type[msgspec.Struct]) -> Schema:
    """Return the schema of a tool's parameters without redundant parts.

    It omits that a parameter may be null, which means the same as leaving it out, and bounds that
    no sensible call comes near: an empty text where none is needed, very long texts and lists, and
    numbers below 1.
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
    left_out = {"maxItems", "maxLength"}
    if schema.get("minimum") == 1:
        left_out.add("minimum")
    if "default" in schema:
        left_out |= {"minLength"} if schema["default"] is not None else {"minLength", "default"}
    schema = {name: value for name, value in schema.items() if name not in left_out}
    if "enum" in schema:
        schema = {"type": "string", **schema}
    return schema


ProjectPath = Annotated[
    str,
    Meta(min_length=1, description="folder or name; default: here"),
]


class Parameters(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Base of a tool's parameters; a subclass has one field per parameter."""


class Caller(Protocol):
    """The caller of a tool: it can cancel the call and receives progress."""

    def cancelled(self) -> bool:
        """Return whether the caller no longer waits for the answer."""

    def on_progress(self, job: Job) -> None:
        """Receive the progress of a job."""

    def on_project(self, root: str) -> None:
        """Receive the folder of the project that the call is about."""

    @property
    def folders(self) -> Sequence[str] | None:
        """The folders that the client works in; None until it was asked for them."""


@record_class.record
class Answer:
    """The answer of a tool."""

    content: Mapping[str, object]  # conforms to the tool's output schema
    text: str  # short, for reading
    is_error: bool = False


def failure(error: EngineError) -> Answer:
    """Return an error as an answer: the common JSON shape, and all of it as text."""
    shape = error.as_json()
    return Answer(content=shape, text=error_text({**shape, "message": str(error)}), is_error=True)


def failed(shape: Mapping[str, object]) -> Answer:
    """Return the JSON shape of an error, which may have more keys, as an answer."""
    return Answer(content=shape, text=error_text(shape), is_error=True)


@record_class.record
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
            raise _input_error(str(error), self, arguments) from error

    def info(self) -> ToolInfo:
        """Return the tool's description for the protocol."""
        return ToolInfo(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_schema(self.parameters),
            output_schema=self.output_schema,
            annotations=ToolAnnotations(  # without what is meant when nothing is said
                read_only_hint=self.read_only or None,
                destructive_hint=None if self.read_only or self.destructive else False,
                idempotent_hint=None if self.read_only else True,
                open_world_hint=False,
            ),
        )


def _input_error(message: str, tool: Tool, arguments: Mapping[str, object]) -> InvalidInputError:
    unknown = _UNKNOWN.search(message)
    if unknown:
        name = unknown[1]
        return InvalidInputError(
            f"{tool.name} has no parameter {name!r}",
            hint=f"it takes {', '.join(tool.parameters.__struct_encode_fields__)}",
            field=name,
        )
    missing = _MISSING.search(message)
    if missing:
        return InvalidInputError(f"{missing[1]} is required", field=missing[1])
    at = _AT.search(message)
    if at is None:
        return InvalidInputError(message.replace("`", ""))
    problem = _plain(message[: at.start()])
    if not at[2] and "enum value" in problem:
        values = input_schema(tool.parameters)["properties"][at[1]]["enum"]
        given = shortened(repr(arguments[at[1]]), _VALUE_COLUMNS)
        problem = f"{given} is none of {', '.join(map(str, values))}"
    return InvalidInputError(f"{at[1]}{at[2]}: {problem}", field=at[1])


def _plain(problem: str) -> str:
    """Return what is wrong with a value in words that name no type of Python."""
    if bounds := _OF_LENGTH.fullmatch(problem):
        noun = "character" if bounds[1] == "str" else "value"
        many = count(int(bounds[3]), noun)
        return f"expected {'at least' if bounds[2] == '>=' else 'at most'} {many}"
    if bounds := _OF_SIZE.fullmatch(problem):
        return f"expected {bounds[2]} or {'more' if bounds[1] == '>=' else 'less'}"
    named = _TYPE.sub(lambda found: _TYPES.get(found[1], found[1]), problem)
    return named[:1].lower() + named[1:]


@record_class.record
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
