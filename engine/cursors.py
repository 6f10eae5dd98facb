"""Places in a list, as callers carry them from page to page: text that only the list reads."""

import base64
from collections.abc import Callable
from typing import TypeVar

from engine.errors import InvalidInputError

Place = TypeVar("Place")


def cursor_of(place: bytes) -> str:
    """Write a place; the text can stand in an address."""
    return base64.urlsafe_b64encode(place).decode()


def place_of(cursor: str | None, read: Callable[[bytes], Place]) -> Place | None:
    """Give the place that a cursor says; None without one, where the list begins.

    Args:
        cursor: As a caller gives it, perhaps made up.
        read: Makes the place of what ``cursor_of`` wrote; raises ValueError or OverflowError.

    Raises:
        InvalidInputError: It is none.
    """
    if cursor is None:
        return None
    try:
        return read(base64.b64decode(cursor.encode("ascii"), b"-_", validate=True))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            "the cursor cannot be read", hint="start without one", field="cursor"
        ) from error
