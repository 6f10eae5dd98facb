"""Reads what a client asks: strictly, so that a typing error is an error and not a default."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, QueryParameter
from msgspec import Meta

from engine.errors import InvalidInputError
from web.decoding import parsed

_AT = " - at `$"
_MOST_DETAIL = 300
_NOT_OF_QUERIES = frozenset({"data", "request"})


def in_query(meta: Meta, *, name: str | None = None) -> QueryParameter:
    """Describe a parameter of a query as a field of a body is: the framework reads no ``Meta``.

    Args:
        meta: How the field is described; lengths are those of texts.
        name: In the query, when the handler calls it otherwise.
    """
    return QueryParameter(
        name=name,
        description=meta.description,
        examples=[Example(value=value) for value in meta.examples or ()] or None,
        ge=meta.ge,
        le=meta.le,
        min_length=meta.min_length,
        max_length=meta.max_length,
    )


class ApiRequest(Request[Any, Any, Any]):
    """A request whose body is decoded by the type that its handler wants, and no more loosely."""

    async def json(self) -> Any:
        """Give the body.

        Raises:
            InvalidInputError: It is no JSON, or not of that type; the details name the field.
        """
        handler = self.route_handler
        assert isinstance(handler, HTTPRouteHandler)
        wanted = handler.parsed_data_field
        return decoded(await self.body(), wanted.annotation if wanted else object)


def decoded(body: bytes, wanted: Any) -> Any:
    """Decode JSON as a type.

    Raises:
        InvalidInputError: It is no JSON, or not of that type; the details name the field.
    """
    try:
        return parsed(body, wanted)
    except msgspec.ValidationError as error:
        message, field = told(str(error))
        raise InvalidInputError(message, field=field or "body") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"the body is no JSON: {error}", field="body") from error


def told(error: str) -> tuple[str, str]:
    """Give what is wrong, and the field, from an error such as ``… - at `$.limit```."""
    message, _, place = error.partition(_AT)
    field = place.strip("`").lstrip(".")
    prefix = "Object contains unknown field `"
    if message.startswith(prefix):
        name = message.removeprefix(prefix).rstrip("`")
        return f"unknown field {name[:_MOST_DETAIL]!r}", f"{field}.{name}".lstrip(".")
    prefix = "Object missing required field `"
    if message.startswith(prefix):
        name = message.removeprefix(prefix).rstrip("`")
        return f"{name} is missing", f"{field}.{name}".lstrip(".")
    return message[:_MOST_DETAIL], field


async def refuse_unknown_parameters(
    connection: ASGIConnection[Any, Any, Any, Any], _copy: BaseRouteHandler
) -> None:
    """Refuse a query with a parameter that the handler does not know, or with one twice.

    Raises:
        InvalidInputError: Names the parameter.
    """
    known = _parameters_of(connection.route_handler)  # a guard is given a copy for each request
    seen: set[str] = set()
    for name, _ in connection.query_params.multi_items():
        if name not in known:
            raise InvalidInputError(
                f"unknown parameter {name[:_MOST_DETAIL]!r}",
                hint=f"known: {', '.join(sorted(known)) or 'none'}",
                field=name,
            )
        if name in seen and not known[name]:
            raise InvalidInputError(f"{name} is given twice", field=name)
        seen.add(name)


@cache
def _parameters_of(handler: BaseRouteHandler) -> Mapping[str, bool]:
    """Give the parameters of a handler's query, and whether each may be given several times."""
    providers = handler.resolve_dependencies()
    signatures = [handler.parsed_fn_signature]
    signatures += [each.parsed_fn_signature for each in providers.values()]
    return {
        _name_in_query(name, definition.kwarg_definition): definition.is_non_string_sequence
        or any(inner.is_non_string_sequence for inner in definition.inner_types)
        for signature in signatures
        for name, definition in signature.parameters.items()
        if name not in {*_NOT_OF_QUERIES, *providers}
        and not isinstance(definition.kwarg_definition, HeaderParameter)
        and not _is_in_path(name, handler)
    }


def _is_in_path(name: str, handler: BaseRouteHandler) -> bool:
    return any(f"{{{name}:" in path for path in handler.paths)


def _name_in_query(name: str, declared: object) -> str:
    return declared.name or name if isinstance(declared, QueryParameter) else name
