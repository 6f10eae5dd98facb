"""Where an answer goes on: a cursor says how far a caller has read, and of which question."""

import base64
import binascii
import json
from collections.abc import Mapping
from hashlib import sha256

from engine.errors import InvalidInputError

_MARK_CHARS = 16
_MOST_DIGITS = 9


def cursor_of(question: Mapping[str, object], offset: int) -> str:
    """Give the cursor of what follows.

    Args:
        question: All that the answer depends on.
        offset: How many hits were given so far.
    """
    return base64.urlsafe_b64encode(f"{offset}.{_mark_of(question)}".encode()).decode()


def offset_of(question: Mapping[str, object], cursor: str | None) -> int:
    """Give how many hits to leave out; 0 without a cursor.

    Raises:
        InvalidInputError: No answer of this question gave that cursor.
    """
    if cursor is None:
        return 0
    try:
        digits, _, mark = base64.urlsafe_b64decode(cursor).decode("ascii").partition(".")
    except (binascii.Error, ValueError):
        digits, mark = "", ""
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    if not is_number or mark != _mark_of(question):
        raise InvalidInputError(
            "the cursor does not belong to this question",
            hint="repeat query and filters as in the answer that gave it, or start without one",
            field="cursor",
        )
    return int(digits)


def _mark_of(question: Mapping[str, object]) -> str:
    text = json.dumps(question, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:_MARK_CHARS]
