"""Everything between HTTP and the handlers of the API: decoding, errors, paging.

Bodies and query parameters are checked strictly, so that a typo is an error instead of a default.
Exceptions become answers in the one error shape, with the status that ``web.errors`` names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, replace
from functools import cache
from inspect import Parameter as SignatureParameter
from inspect import Signature
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.constants import RESERVED_KWARGS
from litestar.di import Provide
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, QueryParameter
from msgspec import Meta

from engine.cursors import SearchCursor
from engine.errors import EngineError, InvalidInputError, UnavailableError
from engine.parameters import RequestField, parameters_of
from engine.search_records import MAX_HITS, SearchAnswer, SearchRequest
from web.api.shapes import ErrorAnswer
from web.errors import (
    UNFORESEEN,
    Refusal,
    nothing_here,
    outcome_of,
    translate,
    translate_text,
    wrong_method,
)
from web.parameters import decoded_as, meta_of, request_from
from web.schemas import as_json, parsed, values_of

Wanted = TypeVar("Wanted")

_AT = " - at `$"
_MOST_DETAIL = 300
_NOT_OF_QUERIES = frozenset({"data", "request"})


def in_query(meta: Meta, *, name: str | None = None) -> QueryParameter:
    """Describe a query parameter like a body field; the framework does not read ``Meta``.

    Args:
        meta: The description of the field; lengths are of strings.
        name: The name in the query, if the handler's differs.
    """
    return QueryParameter(
        name=name,
        description=meta.description,
        examples=[
            Example(value=value, id=f"{name}-example-{number}" if name else None)
            for number, value in enumerate(meta.examples or (), 1)
        ]
        or None,
        ge=meta.ge,
        le=meta.le,
        min_length=meta.min_length,
        max_length=meta.max_length,
    )


def in_url(request: type[Wanted]) -> Provide:
    """Return the dependency that reads a request from the query parameters of a URL.

    The framework learns the parameters from a signature, which is made of the request's.
    """

    def read(**given: Any) -> Wanted:
        return request_from(request, {name.rstrip("_"): given[name] for name in given})

    parameters = [_parameter_of(each) for each in parameters_of(request)]
    signature = Signature(parameters, return_annotation=request)
    read.__signature__ = signature  # type: ignore[attr-defined]
    annotations = {each.name: each.annotation for each in parameters}
    read.__annotations__ = {**annotations, "return": request}
    return Provide(read, sync_to_thread=False)


def _parameter_of(asked: RequestField) -> SignatureParameter:
    kind = decoded_as(asked)
    kind = kind | None if asked.is_nullable else kind
    return SignatureParameter(
        f"{asked.field}_" if asked.field in RESERVED_KWARGS else asked.field,
        SignatureParameter.KEYWORD_ONLY,
        default=SignatureParameter.empty if asked.default is MISSING else asked.default,
        annotation=Annotated[kind, in_query(meta_of(asked), name=asked.name)],
    )


class ApiRequest(Request[Any, Any, Any]):
    """A request whose body is decoded strictly as the type that its handler declares."""

    async def json(self) -> Any:
        """Return the decoded body.

        Raises:
            InvalidInputError: It is not JSON, or not of that type; the details name the field.
        """
        handler = self.route_handler
        assert isinstance(handler, HTTPRouteHandler)
        wanted = handler.parsed_data_field
        return decoded(await self.body(), wanted.annotation if wanted else object)


def decoded(body: bytes, wanted: Any) -> Any:
    """Decode JSON as a type.

    Raises:
        InvalidInputError: It is not JSON, or not of that type; the details name the field.
    """
    try:
        return parsed(body, wanted)
    except msgspec.ValidationError as error:
        message, field = _problem_in(str(error))
        raise InvalidInputError(message, field=field or "body") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"the body is not valid JSON: {error}", field="body") from error


def _problem_in(error: str) -> tuple[str, str]:
    """Split an error message of msgspec, e.g. ``… - at `$.limit```, into problem and field."""
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
    """Refuse a query with an unknown parameter, or with a single-valued one given twice.

    Raises:
        InvalidInputError: The details name the parameter.
    """
    known = _parameters_of(connection.route_handler)  # ``_copy`` is a new one for each request
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
    """Return the query parameters of a handler, and whether each may be repeated."""
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


_RETRY_AFTER_S = "1"
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "payload_too_large"}
_SERVER_ERROR = 500
_WORDS = {
    "new": r'POST /api/v1/projects with path "\1"',
    "confirm": 'confirm it with "confirmed": true',
    "why": "GET /api/v1/projects/ID/why?path=PATH",
    "cancel": r"POST /api/v1/jobs/\1/cancel",
    "jobs": "GET /api/v1/jobs",
    "repair": "POST /api/v1/projects/ID/doctor/repair",
    "rebuild": "POST /api/v1/projects/ID/doctor/rebuild",
    "index": "POST /api/v1/projects",
    "projects": "GET /api/v1/projects",
}
_PAGE_WORDS = {
    "new": "choose “Index a folder” on the page of projects",
    "cancel": "cancel it on its page",
    "jobs": "the page Jobs lists those that are there",
    "repair": "“Health” of the project repairs it",
}
_API = "/api/"
_ALL_PATHS = "/openapi.json"
_BEGINNING = re.compile(r"^/api(?:/v\d+)?(?=/|$)")
_MIN_LIKENESS = 0.7
_OF_OTHER_LENGTH = 0.9
_MISSING = re.compile(r"Missing required \w+ parameter '([^']+)'")

Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def in_api(text: str) -> str:
    """Rewrite the commands in a hint as requests."""
    return translate_text(text, _WORDS)


def handlers_of(note: Callable[[BaseException], None]) -> dict[int | type[Exception], Handler]:
    """Return the exception handlers.

    Args:
        note: Logs the traceback of an unexpected exception.
    """

    def unexpected(_request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        note(error)
        return _answer(Refusal("internal_error", UNFORESEEN))

    def foreseen(request: Request[Any, Any, Any], error: EngineError) -> Response[Any]:
        status = outcome_of(error).http_status
        if status >= _SERVER_ERROR and error.code == EngineError.code:
            note(error)
        headers = {"Retry-After": _RETRY_AFTER_S} if isinstance(error, UnavailableError) else {}
        words = _WORDS if request.url.path.startswith(_API) else _PAGE_WORDS
        shape = as_json(translate(error, words).as_json())
        return Response(shape, status_code=status, headers=headers)

    def framed(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        if error.status_code >= _SERVER_ERROR:
            return unexpected(request, error)
        if isinstance(error, NotFoundException) and request.url.path.startswith(_API):
            return _answer(_unknown_path(request), error.headers)
        return _answer(_refusal_of(error), error.headers)

    return {
        Refusal: lambda _request, refusal: _answer(refusal),
        EngineError: foreseen,
        HTTPException: framed,
        Exception: unexpected,
    }


def _unknown_path(request: Request[Any, Any, Any]) -> Refusal:
    """Return the refusal of a path of the API that does not exist, with the one most like it."""
    asked = _parts_of(request.url.path)
    known = {route.path_format for route in request.app.routes if route.path.startswith(_API)}
    likeness = {each: _likeness(asked, _parts_of(each)) for each in sorted(known)}
    nearest = max(likeness, key=lambda each: (likeness[each], -len(each)))
    if likeness[nearest] < _MIN_LIKENESS:
        return nothing_here(hint=f"GET {_ALL_PATHS} lists all paths")
    return nothing_here(
        hint=f"the nearest path is {nearest}; GET {_ALL_PATHS} lists them all", nearest=nearest
    )


def _parts_of(path: str) -> list[str]:
    """Return the parts of a path of the API after its version."""
    return [part for part in _BEGINNING.sub("", path).split("/") if part]


def _likeness(asked: Sequence[str], known: Sequence[str]) -> float:
    """Return how alike two paths are, 0 to 1: by their least alike part.

    In a known path ``{name}`` stands for any part. Of paths of different length only the last part
    counts, and a little less.
    """
    from rapidfuzz import fuzz  # only for an unknown path

    if not asked or not known:
        return 0.0
    if len(asked) == len(known):
        pairs, weight = list(zip(asked, known, strict=True)), 1.0
    else:
        pairs, weight = [(asked[-1], known[-1])], _OF_OTHER_LENGTH
    named = [pair for pair in pairs if not pair[1].startswith("{")]
    return weight * min((fuzz.ratio(*pair) / 100 for pair in named), default=0.0)


def _refusal_of(error: HTTPException) -> Refusal:
    """Translate an exception of the framework."""
    if isinstance(error, ValidationException):
        found = error.extra[0] if isinstance(error.extra, list) and error.extra else {}
        if isinstance(found, Mapping) and found:
            if found.get("key") == "data":  # the parameter name of bodies in handlers
                return Refusal("validation_error", "the body is missing", field="body")
            message, inner = _problem_in(str(found.get("message", "")))
            return Refusal("validation_error", message, field=str(found.get("key") or inner))
        missing = _MISSING.match(error.detail)
        if missing:
            return Refusal("validation_error", f"{missing[1]} is missing", field=missing[1])
        message = error.detail.partition(" for path ")[0]
        return Refusal("validation_error", message[:1].lower() + message[1:])
    if isinstance(error, MethodNotAllowedException):
        return wrong_method()
    code = _CODES.get(error.status_code, "validation_error")
    return nothing_here() if code == "not_found" else Refusal(code, error.detail)


def _answer(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response[Any]:
    return Response(
        as_json(refusal.as_json()), status_code=refusal.status, headers=dict(headers or {})
    )


def _spec(status: int, code: str, message: str, **details: object) -> tuple[int, ResponseSpec]:
    value = {"error": code, "message": message, "details": details}
    example = Example(summary=code, value=value)
    return status, ResponseSpec(
        data_container=ErrorAnswer,
        description=message,
        generate_examples=False,
        examples=[example],
    )


#: Error answers that any handler can give.
RESPONSES: Mapping[int, ResponseSpec] = dict(
    (
        _spec(400, "validation_error", "limit is 0, wanted 1 to 100", field="limit"),
        _spec(401, "unauthorized", "this server requires a token"),
        _spec(403, "forbidden", "pages of another origin may not use this server"),
        _spec(404, "not_found", "/nowhere is not indexed", path="/nowhere"),
        _spec(405, "method_not_allowed", "this method does not work here"),
        _spec(408, "request_timeout", "the body took too long to come"),
        _spec(409, "conflict", "the project is being indexed by process 4711"),
        _spec(413, "payload_too_large", "the body has more than 1048576 bytes"),
        _spec(414, "uri_too_long", "the query has more than 4096 bytes"),
        _spec(415, "unsupported_media_type", "the body is not declared as JSON"),
        _spec(421, "misdirected_request", "this server does not answer to that host"),
        _spec(429, "too_many_requests", "more than 50 requests a second"),
        _spec(431, "headers_too_large", "the head of the request is too long"),
        _spec(500, "damaged_index", "the index file is damaged", hint="cairn forget PATH"),
        _spec(503, "unavailable", "the database stayed locked", hint="try again in a moment"),
    )
)

#: Error answer of a handler that takes ``timeout_s``.
TIMEOUT_RESPONSE: Mapping[int, ResponseSpec] = dict(
    (_spec(504, "timeout_error", "repository indexing timed out", timeout="5s", timeout_s=5),)
)


def offset_of(cursor: str | None, request: SearchRequest, projects: list[str]) -> int:
    """Return the number of hits on the pages before a cursor.

    Raises:
        InvalidInputError: The cursor cannot be read, or belongs to another query.
    """
    return _cursor_of(request, projects).offset_of(cursor)


def page_within(request: SearchRequest, offset: int) -> SearchRequest:
    """Return the request for the page at an offset; the last page may be shorter."""
    return replace(request, limit=min(request.limit, MAX_HITS - offset)) if offset else request


def next_cursor(
    answer: SearchAnswer, request: SearchRequest, projects: list[str], offset: int
) -> str | None:
    """Return the cursor of the next page, or None for the last page."""
    end = offset + len(answer.hits)
    is_last = len(answer.hits) < request.limit or end >= min(MAX_HITS, answer.total)
    return None if is_last else cursor_at(end, request, projects)


def cursor_at(offset: int, request: SearchRequest, projects: list[str]) -> str:
    """Return the cursor of the page that begins after so many hits."""
    return _cursor_of(request, projects).at(offset)


def _cursor_of(request: SearchRequest, projects: list[str]) -> SearchCursor:
    return SearchCursor({**values_of(request), "projects": projects}, most=MAX_HITS)


PageLimit = Annotated[int, QueryParameter(ge=1, le=1000, description="maximum number per page")]
PageCursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the previous page")]


class Paging(NamedTuple):
    """Which page of a list is requested."""

    limit: int
    cursor: str | None


def paging_of(limit: PageLimit = 50, cursor: PageCursor = None) -> Paging:
    """Gather the paging parameters of a URL."""
    return Paging(limit, cursor)


#: The dependency ``paging`` of a handler that lists.
PAGING = {"paging": Provide(paging_of, sync_to_thread=False)}
