"""JSON from clients: declared, in UTF-8, and within bounds, so that parsing it delays nobody.

A parser holds Python's lock while it makes values, a microsecond and more for each: 4 MB of
``[],[],…`` would take seconds.
"""

import re

from web.errors import Refusal

MOST_DEPTH = 64
#: Brackets, commas and texts; a context of 64 KiB, which a memory may have, has fewer.
MOST_TOKENS = 70_000

_JSON = re.compile(rb"application/json\s*(?:;\s*charset\s*=\s*\"?utf-?8\"?\s*)?", re.IGNORECASE)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|$)|[\[{\]},]', re.DOTALL)


def check_json(body: bytes, content_types: list[bytes]) -> None:
    """Refuse a body that is not declared as JSON or takes long to parse; does not parse it.

    Browsers send other content types cross-origin without a preflight request, but never JSON.

    Raises:
        Refusal: It is not declared as JSON, not UTF-8, too deep, or has too many values.
    """
    if len(content_types) != 1 or not _JSON.fullmatch(content_types[0].strip()):
        raise Refusal(
            "unsupported_media_type",
            "the body is not declared as JSON",
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
    if excess := excess_of(body):
        raise Refusal("validation_error", f"the body {excess}", field="body")


def excess_of(body: bytes) -> str:
    """Return what a body has or is too much of, as a predicate; empty if nothing."""
    depth = 0
    for number, token in enumerate(_TOKEN.finditer(body)):
        if number >= MOST_TOKENS:
            return f"has more than {MOST_TOKENS:,} brackets, commas and texts"
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > MOST_DEPTH:
                return f"is nested deeper than {MOST_DEPTH}"
        elif first in b"]}":
            depth -= 1
    return ""
