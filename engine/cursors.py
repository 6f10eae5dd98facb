"""Page cursors: opaque text that only the list that wrote it reads."""

import base64
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TypeVar

from engine.errors import InvalidInputError

Place = TypeVar("Place")

#: Options of a search that change only how much is shown, or how.
SHOWN = frozenset({"limit", "max_tokens", "context", "explain", "detailed", "format", "cursor"})
_DIGITS = 12  # of a digest


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


class SearchCursor:
    """The cursors of a search: how many hits were returned, valid for its question only.

    Args:
        question: The options of the search, and where it searches; those in ``SHOWN`` may differ
            from page to page.
        most: The most hits that a search has.
    """

    def __init__(self, question: Mapping[str, object], *, most: int) -> None:
        asked = {name: value for name, value in question.items() if name not in SHOWN}
        text = json.dumps(asked, sort_keys=True)
        self._digest = sha256(text.encode()).hexdigest()[:_DIGITS]
        self._most = most

    def at(self, offset: int) -> str:
        """Return the cursor of the page that begins after so many hits."""
        return cursor_of(f"{offset}/{self._digest}".encode())

    def offset_of(self, cursor: str | None) -> int:
        """Return the number of hits on the pages before a cursor; 0 without one.

        Raises:
            InvalidInputError: The cursor cannot be read, or belongs to another query.
        """
        try:
            offset, digest = place_of(cursor, _offset_and_digest) or (0, self._digest)
        except InvalidInputError:
            offset, digest = 0, ""
        if digest != self._digest or not (cursor is None or 0 < offset < self._most):
            raise InvalidInputError(
                "the cursor cannot be read, or belongs to another query",
                hint="repeat the query and filters of the page before, or start without a cursor",
                field="cursor",
            )
        return offset


def _offset_and_digest(place: bytes) -> tuple[int, str]:
    number, _, digest = place.decode("ascii").partition("/")
    return int(number), digest
