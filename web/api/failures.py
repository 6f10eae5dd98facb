"""What went wrong in a handler, in the one shape, with its status."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, ValidationException
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import Example

from engine.errors import EngineError, UnavailableError
from web.api.requests import told
from web.api.shapes import ErrorAnswer
from web.errors import Refusal, nothing_here, outcome_of, wrong_method
from web.hints import translate
from web.schemas import as_json

_RETRY_AFTER_S = "1"
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "payload_too_large"}
_SERVER_ERROR = 500
_WORDS = {
    "new": r'POST /api/v1/projects with path "\1"',
    "why": "GET /api/v1/projects/ID/why?path=PATH",
    "cancel": r"POST /api/v1/jobs/\1/cancel",
    "jobs": "GET /api/v1/jobs",
    "repair": "POST /api/v1/projects/ID/doctor/repair",
    "index": "POST /api/v1/projects",
}
_MISSING = re.compile(r"Missing required \w+ parameter '([^']+)'")

Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def handlers_of(note: Callable[[BaseException], None]) -> dict[int | type[Exception], Handler]:
    """Give the handlers of exceptions.

    Args:
        note: Keeps the traceback of what nobody expected.
    """

    def unexpected(_request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        note(error)
        return _answer(Refusal("internal_error", "the server failed; its log says why"))

    def foreseen(_request: Request[Any, Any, Any], error: EngineError) -> Response[Any]:
        status = outcome_of(error).http_status
        if status >= _SERVER_ERROR and error.code == EngineError.code:
            note(error)
        headers = {"Retry-After": _RETRY_AFTER_S} if isinstance(error, UnavailableError) else {}
        shape = as_json(translate(error, _WORDS).as_json())
        return Response(shape, status_code=status, headers=headers)

    def framed(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        if error.status_code >= _SERVER_ERROR:
            return unexpected(request, error)
        return _answer(_refusal_of(error), error.headers)

    return {
        Refusal: lambda _request, refusal: _answer(refusal),
        EngineError: foreseen,
        HTTPException: framed,
        Exception: unexpected,
    }


def _refusal_of(error: HTTPException) -> Refusal:
    """Say what the framework refused."""
    if isinstance(error, ValidationException):
        found = error.extra[0] if isinstance(error.extra, list) and error.extra else {}
        if isinstance(found, Mapping) and found:
            if found.get("key") == "data":  # what handlers call the body
                return Refusal("validation_error", "the body is missing", field="body")
            message, inner = told(str(found.get("message", "")))
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


#: What any handler can answer with besides its own.
RESPONSES: Mapping[int, ResponseSpec] = dict(
    (
        _spec(400, "validation_error", "limit is 0, wanted 1 to 100", field="limit"),
        _spec(401, "unauthorized", "this server wants its token"),
        _spec(403, "forbidden", "pages of another origin may not use this server"),
        _spec(404, "not_found", "/nowhere is not indexed", path="/nowhere"),
        _spec(405, "method_not_allowed", "this method does not work here"),
        _spec(408, "request_timeout", "the body took too long to come"),
        _spec(409, "conflict", "the project is being indexed by process 4711"),
        _spec(413, "payload_too_large", "the body has more than 1048576 bytes"),
        _spec(414, "uri_too_long", "the query has more than 4096 bytes"),
        _spec(415, "unsupported_media_type", "the body is not said to be JSON"),
        _spec(421, "misdirected_request", "this server does not answer to that host"),
        _spec(429, "too_many_requests", "more than 50 requests a second"),
        _spec(431, "headers_too_large", "the head of the request is too long"),
        _spec(500, "damaged_index", "the index file is damaged", hint="cairn forget PATH"),
        _spec(503, "unavailable", "the database stayed locked", hint="try again in a moment"),
    )
)

#: What a handler can answer with that takes ``timeout_s``.
TIMEOUT_RESPONSE: Mapping[int, ResponseSpec] = dict(
    (_spec(504, "timeout_error", "repository indexing timed out", timeout="5.0 s", timeout_s=5),)
)
