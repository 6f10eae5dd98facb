"""Cancellation tokens, and waiting for work that cannot be interrupted until it is cancelled."""

import threading
from collections.abc import Callable
from typing import TypeVar

from engine.errors import Cancelled

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
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=run, name="embedding")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_S)
            if thread.is_alive() and cancelled():
                raise Cancelled("embedding was stopped")
    except BaseException:  # Ctrl-C too
        if on_cancel:
            on_cancel()
        raise
    if errors:
        raise errors[0]
    return results[0]
