"""On whose behalf something is done: which face was asked, by which request.

It goes with the context of the caller, into tasks and into the threads that are handed one. A
thread that begins by itself, such as the runner's, acts on nobody's behalf.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Origin(NamedTuple):
    """Who asked."""

    face: str = "library"  # http or mcp, where a face says so
    request_id: str | None = None


_NOBODY: Final = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=_NOBODY)


def origin() -> Origin:
    """Give on whose behalf this is done."""
    return _origin.get()


@contextmanager
def on_behalf_of(face: str, request_id: str | None = None) -> Iterator[None]:
    """Act for a caller.

    Args:
        face: Which one was asked.
        request_id: Of the request; None keeps the one that is known.
    """
    token = _origin.set(Origin(face, request_id or _origin.get().request_id))
    try:
        yield
    finally:
        _origin.reset(token)


def is_request_id(text: str) -> bool:
    """Say whether a text can stand for a request in logs: a short word of plain characters."""
    return _SANE.fullmatch(text) is not None
