"""What a client sends, read within limits of size, time, form and depth."""

import asyncio
import re
from collections.abc import Mapping

from litestar.types import HTTPReceiveMessage, Receive

from web.errors import Refusal

MIB = 1 << 20
MOST_BYTES = MIB
MOST_BYTES_OF_AGENTS = 4 * MIB
MOST_DEPTH = 64
#: A body that takes longer is not waited for, nor one that stops in between.
WHOLE_S = 30.0
PAUSE_S = 10.0

_NUMBER = re.compile(rb"[0-9]{1,18}")
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|$)|[\[{\]}]', re.DOTALL)
_JSON = re.compile(rb"application/json\s*(?:;\s*charset\s*=\s*\"?utf-?8\"?\s*)?", re.IGNORECASE)
_FORM = re.compile(
    rb"application/x-www-form-urlencoded\s*(?:;\s*charset\s*=\s*utf-?8\s*)?", re.IGNORECASE
)


async def read_body(
    receive: Receive,
    headers: Mapping[bytes, list[bytes]],
    *,
    most_bytes: int,
    whole_s: float = WHOLE_S,
    pause_s: float = PAUSE_S,
) -> bytes:
    """Read a whole body.

    Args:
        receive: Gives its pieces.
        headers: Of the request, names in lower case.
        most_bytes: How long it may be.
        whole_s: How long all of it may take.
        pause_s: How long may pass between two pieces.

    Raises:
        Refusal: It is too long, too slow, or its length is no number.
        Disconnected: The client is gone.
    """
    lengths = headers.get(b"content-length", [])
    if len(lengths) > 1 or any(not _NUMBER.fullmatch(length) for length in lengths):
        raise Refusal("validation_error", "the header Content-Length cannot be read")
    if lengths and int(lengths[0]) > most_bytes:
        raise too_large(most_bytes)
    pieces: list[bytes] = []
    left = most_bytes
    try:
        async with asyncio.timeout(whole_s):
            is_more = True
            while is_more:
                async with asyncio.timeout(pause_s):
                    message = await receive()
                if message["type"] != "http.request":
                    raise Disconnected
                pieces.append(message["body"])
                left -= len(pieces[-1])
                if left < 0:
                    raise too_large(most_bytes)
                is_more = message.get("more_body", False)
    except TimeoutError as error:
        raise Refusal("request_timeout", "the body took too long to come") from error
    return b"".join(pieces)


def check_json(body: bytes, content_types: list[bytes]) -> None:
    """Refuse a body that is not JSON, or nested too deep; the rest is for who decodes it.

    A browser sends other types to any server without asking it first, and this one never.

    Raises:
        Refusal: It is not said to be JSON, not UTF-8, or too deep.
    """
    if len(content_types) != 1 or not _JSON.fullmatch(content_types[0].strip()):
        raise Refusal(
            "unsupported_media_type",
            "the body is not said to be JSON",
            hint="send Content-Type: application/json",
            field="Content-Type",
        )
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(
            "validation_error",
            f"the body is not UTF-8 from byte {error.start} on",
            field="body",
            position=error.start,
        ) from error
    if _is_deeper_than(body, MOST_DEPTH):
        raise Refusal(
            "validation_error", f"the body is nested deeper than {MOST_DEPTH}", field="body"
        )


def check_form(content_types: list[bytes]) -> None:
    """Refuse a body that is not the form of a page.

    Raises:
        Refusal: It is said to be something else, or nothing.
    """
    if len(content_types) != 1 or not _FORM.fullmatch(content_types[0].strip()):
        raise Refusal(
            "unsupported_media_type",
            "the body is not said to be a form",
            hint="send Content-Type: application/x-www-form-urlencoded",
            field="Content-Type",
        )


def already_read(body: bytes, receive: Receive) -> Receive:
    """Give what an application receives: the whole body at once, then what comes after it."""
    is_given = False

    async def give() -> HTTPReceiveMessage:
        nonlocal is_given
        if is_given:
            return await receive()  # type: ignore[return-value]
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def too_large(most_bytes: int) -> Refusal:
    """Say that a body is too long."""
    return Refusal(
        "payload_too_large", f"the body has more than {most_bytes} bytes", max_allowed=most_bytes
    )


class Disconnected(Exception):  # noqa: N818 - a signal, not an error
    """The client has gone before it had said everything."""


def _is_deeper_than(body: bytes, most: int) -> bool:
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > most:
                return True
        elif first in b"]}":
            depth -= 1
    return False
