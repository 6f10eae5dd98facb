"""Cancellation tokens, and waiting for work that cannot be interrupted until it is cancelled."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from engine.errors import Cancelled

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Return whether the caller wants the work to end. Polled often, in the thread that does the work,
#: so it must be cheap; once true it stays true. Work that ends early raises ``Cancelled``. Every
#: parameter of this type is called ``cancelled``.
CancelToken = Callable[[], bool]

_POLL_S = 0.1

T = TypeVar("T")


def never() -> bool:
    """Return False: the token of work that nobody cancels."""
    return False


def run_cancellable(
    work: Callable[[], T], cancelled: CancelToken, *, on_cancel: Callable[[], None] | None = None
) -> T:
    """Do blocking work, such as loading a model, in a thread, and return or raise what it does.

    After a cancellation the thread goes on until the work ends; the process does not exit before.

    Args:
        work: The work.
        cancelled: Polled ten times a second, in the caller's thread.
        on_cancel: Called after a cancellation, to make the work end soon.

    Raises:
        Cancelled: ``cancelled`` returned true.
    """
    from concurrent.futures import Future  # with logging, 8 ms that a search does not need

    future: Future[T] = Future()
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    threading.Thread(target=_run, args=(work, future), name="embedding").start()
    try:
        while not done.wait(_POLL_S):
            if cancelled():
                raise Cancelled("embedding was stopped")
    except BaseException:  # Ctrl-C too
        if on_cancel:
            on_cancel()
        raise
    return future.result()


def _run(work: Callable[[], T], future: "Future[T]") -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again by ``future.result``
        future.set_exception(error)
