"""Waiting for what cannot be interrupted, such as a model that loads, only until told to stop."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from engine.errors import Cancelled

_LOOK_S = 0.1  # how often one who waits asks whether to stop

T = TypeVar("T")


def result_of(
    work: Callable[[], T], stop: Callable[[], bool], *, hurry: Callable[[], None] | None = None
) -> T:
    """Do something in a thread of its own, and give or raise what it does.

    After a stop the thread goes on until the work ends by itself; the process does not end before.

    Args:
        work: Takes its time.
        stop: Asked ten times a second, in the thread of the caller.
        hurry: Called after a stop, to make the work end soon.

    Raises:
        Cancelled: ``stop`` said so.
    """
    future: Future[T] = Future()
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    threading.Thread(target=_do, args=(work, future), name="embedding").start()
    try:
        while not done.wait(_LOOK_S):
            if stop():
                raise Cancelled("embedding was stopped")
    except BaseException:  # Ctrl-C too
        if hurry:
            hurry()
        raise
    return future.result()


def _do(work: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is wanted
        future.set_exception(error)
