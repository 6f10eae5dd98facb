"""Parameters of requests, declared once for all faces.

A field of a request that callers may set has a ``Parameter`` in its annotation. The engine checks
values against it; the command line, the HTTP API and the tools of agents derive their own options
from it.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from engine.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Parameter:
    """What callers may know of a field of a request, in the field's annotation.

    A field that has one is offered by every face: as an option of the command line, in the HTTP
    API, and to agents. Its name, type and default are the field's own; other fields are internal.
    """

    description: str  # a phrase without a full stop
    brief: str = ""  # for agents, who read all of them at once; empty when the name says it
    name: str = ""  # as callers write it, when not as the field
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None  # characters
    example: object = None


class RequestField(NamedTuple):
    """A field of a request that callers may set."""

    field: str
    name: str  # as callers write it
    kind: type  # of its values
    choices: tuple[str, ...]  # all its values; empty: any of its type
    is_nullable: bool
    default: Any  # ``dataclasses.MISSING`` when it must be given
    parameter: Parameter


def parameters_of(request: type) -> tuple[RequestField, ...]:
    """Return the fields of a request that callers may set, in order."""
    return _read_annotations(request)


@cache
def _read_annotations(request: Any) -> tuple[RequestField, ...]:  # mypy knows no hash of a type
    found = []
    for each in fields(request):
        if get_origin(each.type) is not Annotated:
            continue
        annotation, parameter = get_args(each.type)
        kinds = get_args(annotation) if NoneType in get_args(annotation) else (annotation,)
        kind, choices = kinds[0], ()
        if get_origin(kind) is Literal:
            kind, choices = str, get_args(kind)
        elif issubclass(kind, StrEnum):
            choices = tuple(member.value for member in kind)
        name = parameter.name or each.name
        is_nullable = NoneType in kinds
        found.append(
            RequestField(each.name, name, kind, choices, is_nullable, each.default, parameter)
        )
    return tuple(found)


def check_request(request: object) -> None:
    """Refuse a number out of its bounds, a text that is too long, and an unknown choice.

    Raises:
        InvalidInputError: Names the parameter.
    """
    for each in parameters_of(type(request)):
        value = getattr(request, each.field)
        problem = "" if value is None else _problem_of(value, each)
        if problem:
            raise InvalidInputError(problem, field=each.name)


def _problem_of(value: Any, asked: RequestField) -> str:
    declared = asked.parameter
    if asked.choices and value not in asked.choices:
        return f"{asked.name} is {value!r}, wanted one of {', '.join(asked.choices)}"
    if declared.max_length is not None and len(value) > declared.max_length:
        most = f"at most {declared.max_length} are allowed"
        return f"the {asked.name} has {len(value)} characters, {most}"
    is_low = declared.minimum is not None and value < declared.minimum
    is_high = declared.maximum is not None and value > declared.maximum
    if is_low or is_high:
        end = "or more" if declared.maximum is None else f"to {declared.maximum}"
        return f"{asked.name} is {value}, wanted {declared.minimum} {end}"
    return ""
