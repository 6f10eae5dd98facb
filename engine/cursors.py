"""Page cursors: opaque text that only the list that wrote it reads."""

import base64
from collections.abc import Callable
from typing import TypeVar

from engine.errors import InvalidInputError

Place = TypeVar("Place")


def cursor_of(place: bytes) -> str:
    """Encode a place as URL-safe text."""
    return base64.urlsafe_b64encode(place).decode()


def place_of(cursor: str | None, read: Callable[[bytes], Place]) -> Place | None:
    """Decode the place of a cursor; None without one, for the start of the list.

    Args:
        cursor: From the caller, not trusted.
        read: Makes the place of what ``cursor_of`` wrote; raises ValueError or OverflowError.

    Raises:
        InvalidInputError: The cursor is not valid.
    """
    if cursor is None:
        return None
    try:
        return read(base64.b64decode(cursor.encode("ascii"), b"-_", validate=True))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            "the cursor cannot be read", hint="start without one", field="cursor"
        ) from error
