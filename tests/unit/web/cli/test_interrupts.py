"""The first signal asks, the second insists."""

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest

from web.cli.interrupts import EarlyInterrupt, Interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_insists(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with Interrupt() as interrupt:
        assert not interrupt.cancelled()
        os.kill(os.getpid(), number)
        assert interrupt.cancelled()
        assert "stopping" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_it_asks_although_nobody_reads_what_is_said() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    kept = os.dup(2)
    os.dup2(writer, 2)
    try:
        with Interrupt() as interrupt:
            os.kill(os.getpid(), signal.SIGINT)
            assert interrupt.cancelled()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(writer)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        EarlyInterrupt().install()
        with Interrupt() as interrupt:
            os.kill(os.getpid(), signal.SIGINT)
            assert not interrupt.cancelled()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_that_was_lost_while_the_command_started_counts_as_the_first() -> None:
    with handled_early():
        with contextlib.suppress(KeyboardInterrupt):  # as a callback of an import does
            os.kill(os.getpid(), signal.SIGINT)
        with Interrupt() as interrupt:
            assert interrupt.cancelled()


def test_without_one_nothing_is_cancelled() -> None:
    with handled_early(), Interrupt() as interrupt:
        assert not interrupt.cancelled()


@contextlib.contextmanager
def handled_early() -> Iterator[None]:
    """Handle SIGINT as a command that starts does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        EarlyInterrupt().install()
        yield
    finally:
        signal.signal(signal.SIGINT, before)
