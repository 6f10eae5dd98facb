"""Takes in counts, times and spans, and hands them to whoever listens.

The listener belongs to the process, as in telemetry libraries: a measure is taken deep in the
engine, and whoever wants it stands at the top. While nobody listens, a call looks at a global
variable: some 0.1 µs, and nothing is made.

On whose behalf something is done: which face was asked, by which request.

It goes with the context of the caller, into tasks and into the threads that are handed one. A
thread that begins by itself, such as the runner's, acts on nobody's behalf.
"""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, Protocol

from engine.telemetry.measures import Measure

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


class Meter(Protocol):
    """Listens to numbers; for any thread."""

    def count(self, measure: Measure, amount: float, labels: tuple[str, ...]) -> None:
        """Add to a counter; the labels are in the order of the measure's."""

    def time(self, measure: Measure, seconds: float, labels: tuple[str, ...]) -> None:
        """Take in how long something took."""


class Span(Protocol):
    """Something that goes on, while it does."""

    def tell(self, **facts: str | float | bool | None) -> None:
        """Add what is known of it by now; None is left out."""

    def name(self, name: str) -> None:
        """Call it otherwise."""

    def fail(self, code: str) -> None:
        """Say that it went wrong, by an error code: messages can quote what was asked."""


class Tracer(Protocol):
    """Listens to spans."""

    def span(self, name: str) -> AbstractContextManager[Span]:
        """Begin something that ends with the context; inside another one, it is a part of it."""


class _Unheard:
    """A span that nobody hears of."""

    __slots__ = ()

    def __enter__(self) -> "_Unheard":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def tell(self, **facts: str | float | bool | None) -> None:
        """Forget it."""

    def name(self, name: str) -> None:
        """Forget it."""

    def fail(self, code: str) -> None:
        """Forget it."""


_UNHEARD: Final = _Unheard()
_meter: Meter | None = None
_tracer: Tracer | None = None
#: Whether a question is being answered: one that is put to several projects is one.
_is_asking: ContextVar[bool] = ContextVar("is_asking", default=False)


@contextmanager
def heard_by(meter: Meter) -> Iterator[None]:
    """Let a meter hear the numbers of this process."""
    global _meter  # noqa: PLW0603 - see above
    before, _meter = _meter, meter
    try:
        yield
    finally:
        _meter = before


@contextmanager
def traced_by(tracer: Tracer) -> Iterator[None]:
    """Let somebody hear the spans of this process."""
    global _tracer  # noqa: PLW0603 - see above
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before


def count(measure: Measure, *labels: str, amount: float = 1) -> None:
    """Add to a counter."""
    if _meter is not None:
        _meter.count(measure, amount, labels)


def took(measure: Measure, seconds: float, *labels: str) -> None:
    """Record how long something took."""
    if _meter is not None:
        _meter.time(measure, seconds, labels)


def span(name: str) -> AbstractContextManager[Span]:
    """Begin something that ends with the context."""
    return _UNHEARD if _tracer is None else _tracer.span(name)


class Stages:
    """Spans that follow each other, such as the phases of a job; for one thread."""

    def __init__(self) -> None:
        self._now = ExitStack()

    def enter(self, name: str) -> None:
        """Begin the next one."""
        self.leave()
        self._now.enter_context(span(name))

    def leave(self) -> None:
        """End the last one."""
        self._now.close()


@contextmanager
def _asked(mode: str) -> Iterator[Span]:
    token = _is_asking.set(True)
    started_s = time.perf_counter()
    face = origin().face
    try:
        with span("search") as shown:
            yield shown
    except BaseException as error:
        count(Measure.SEARCH_ERRORS, str(getattr(error, "code", "internal_error")), face)
        raise
    else:
        took(Measure.SEARCH_DURATION, time.perf_counter() - started_s, mode, face)
    finally:
        _is_asking.reset(token)


def asking(mode: str) -> AbstractContextManager[Span]:
    """Measure a question that is answered within the context, unless it is a part of another one.

    Args:
        mode: Of the search, or ``related`` or ``symbols``.
    """
    if not (_meter or _tracer) or _is_asking.get():
        return _UNHEARD
    return _asked(mode)
