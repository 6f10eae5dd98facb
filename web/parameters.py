"""Parameters of requests as types that decode them.

The engine's requests declare their parameters once, in annotations
(``engine.parameters.Parameter``). Here they become fields of structs, for bodies of the API and for
tools of agents; ``web.api.requests`` makes query parameters of them, and ``web.cli.options``
options.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from engine.parameters import RequestField, parameters_of

Request = TypeVar("Request")
Shape = TypeVar("Shape", bound=Struct)


def with_parameters_of(
    request: type, *, without: Collection[str] = (), for_agents: bool = False
) -> Callable[[type[Shape]], type[Shape]]:
    """Return a decorator that adds the parameters of a request to a struct, before its own fields.

    The struct has fields alone, no methods.

    Args:
        request: The request.
        without: Fields of it that are not offered.
        for_agents: Whether they are described in as few words as possible, and required texts
            refused when empty, which is then a slip.
    """

    def extend(shape: type[Shape]) -> type[Shape]:
        declared = [
            _struct_field(each, for_agents=for_agents)
            for each in parameters_of(request)
            if each.field not in without
        ]
        own = [_own_field(each) for each in msgspec.structs.fields(shape)]
        extended: Any = msgspec.defstruct(
            shape.__name__,
            [*declared, *own],
            bases=shape.__bases__,
            module=shape.__module__,
            namespace={"__doc__": shape.__doc__},
            kw_only=True,
            frozen=True,
            forbid_unknown_fields=True,
        )
        return cast("type[Shape]", extended)

    return extend


def _own_field(own: msgspec.structs.FieldInfo) -> tuple[str, Any, Any]:
    if own.default_factory is NODEFAULT:
        return own.name, own.type, msgspec.field(default=own.default)
    return own.name, own.type, msgspec.field(default_factory=own.default_factory)


def _struct_field(asked: RequestField, *, for_agents: bool) -> tuple[str, Any, Any]:
    told: Any = Annotated[decoded_as(asked), meta_of(asked, for_agents=for_agents)]
    default = NODEFAULT if asked.default is MISSING else asked.default
    return (
        asked.field,
        told | None if asked.is_nullable else told,
        msgspec.field(name=asked.name, default=default),
    )


def decoded_as(asked: RequestField) -> Any:
    """Return the type that decodes a value other than None."""
    return Literal[asked.choices] if asked.choices else asked.kind


def meta_of(asked: RequestField, *, for_agents: bool = False) -> Meta:
    """Return the description and the bounds of a parameter."""
    declared = asked.parameter
    has_example = declared.example is not None and not for_agents
    is_text = asked.kind is str and not asked.choices
    told: dict[str, Any] = {
        "description": (declared.brief or None) if for_agents else declared.description,
        "ge": declared.minimum,
        "le": declared.maximum,
        "min_length": 1 if for_agents and is_text and asked.default is MISSING else None,
        "max_length": declared.max_length,
        "examples": [declared.example] if has_example else None,
    }
    return Meta(**told)


def request_from(request: type[Request], given: Struct | Mapping[str, Any]) -> Request:
    """Build a request from decoded parameters; those that are not offered keep their defaults.

    Args:
        request: The request.
        given: A struct with the fields, or the values by field.
    """
    values = given if isinstance(given, Mapping) else msgspec.structs.asdict(given)
    return request(
        **{
            each.field: _converted(values[each.field], each)
            for each in parameters_of(request)
            if each.field in values
        }
    )


def _converted(value: Any, asked: RequestField) -> Any:
    return asked.kind(value) if asked.choices and value is not None else value
