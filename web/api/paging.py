"""Cursors of answers: where the next page starts, and of which question."""

import base64
import binascii
import hashlib
from dataclasses import fields, replace

from engine.errors import InvalidInputError
from engine.records import SearchAnswer, SearchRequest

#: Hits are ranked up to here; there are no pages beyond.
MOST_HITS = 100
_DIGITS = 12
_SHOWN = frozenset({"limit", "max_tokens", "context", "explain", "detailed"})
_ASKED = tuple(each.name for each in fields(SearchRequest) if each.name not in _SHOWN)


def offset_of(cursor: str | None, request: SearchRequest, projects: list[str]) -> int:
    """Give how many hits the pages before had.

    Raises:
        InvalidInputError: The cursor cannot be read, or is of another question.
    """
    if cursor is None:
        return 0
    try:
        text = base64.b64decode(cursor.encode("ascii"), b"-_", validate=True).decode("ascii")
        number, _, question = text.partition("/")
        offset = int(number)
    except (binascii.Error, ValueError) as error:
        raise _unreadable() from error
    if question != _digest(request, projects) or not 0 < offset < MOST_HITS:
        raise _unreadable()
    return offset


def page_within(request: SearchRequest, offset: int) -> SearchRequest:
    """Give the request for a page that may be the last one, and shorter."""
    return replace(request, limit=min(request.limit, MOST_HITS - offset)) if offset else request


def next_cursor(
    answer: SearchAnswer, request: SearchRequest, projects: list[str], offset: int
) -> str | None:
    """Give the cursor for the page after this one; None when there is none."""
    end = offset + len(answer.hits)
    is_last = len(answer.hits) < request.limit or end >= min(MOST_HITS, answer.total)
    if is_last:
        return None
    return base64.urlsafe_b64encode(f"{end}/{_digest(request, projects)}".encode()).decode()


def _digest(request: SearchRequest, projects: list[str]) -> str:
    """Tell questions apart; how much of an answer is shown is not part of one."""
    asked = [getattr(request, name) for name in _ASKED]
    text = repr((asked, projects)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def _unreadable() -> InvalidInputError:
    return InvalidInputError(
        "the cursor cannot be read, or is of another question",
        hint="start without one",
        field="cursor",
    )
