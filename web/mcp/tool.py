"""What a tool is: its name, what it takes and gives, and the function that does it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from mcp.types import Tool as ToolInfo

from engine.errors import EngineError, InvalidInputError
from engine.job_records import Job
from web.decoding import converted
from web.mcp.shapes import Shape, input_shape
from web.schemas import as_json

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
