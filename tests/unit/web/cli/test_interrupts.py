"""The first signal asks, the second insists."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from engine.errors import NotFoundError
from tests.support.patience import patience
from web.cli import main
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


def test_one_that_was_raised_while_the_command_started_counts_as_the_first() -> None:
    cancelled = []
    with handled_early():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:  # in here none is raised again
            with Interrupt() as interrupt:
                cancelled.append(interrupt.cancelled())
    assert cancelled == [True]


def test_without_one_nothing_is_cancelled() -> None:
    with handled_early(), Interrupt() as interrupt:
        assert not interrupt.cancelled()


@contextlib.contextmanager
def handled_early() -> Iterator[EarlyInterrupt]:
    """Handle SIGINT as a command that starts does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    early = EarlyInterrupt()
    try:
        early.install()
        yield early
    finally:
        early.take_over()
        signal.signal(signal.SIGINT, before)


class _Finalized:
    """What is raised in its finalizer is lost."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_is_lost_is_raised_again() -> None:
    def work(early: EarlyInterrupt) -> None:
        try:
            unwanted = _Finalized()
            del unwanted  # raises, and nobody gets it
            time.sleep(patience(60))
        finally:
            early.take_over()

    with handled_early() as early, pytest.raises(KeyboardInterrupt):
        work(early)


def test_one_that_is_handled_is_not_raised_again() -> None:
    cleaned_up = []

    def work(early: EarlyInterrupt) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            with contextlib.suppress(KeyError):  # what cleans up may handle errors of its own
                try:
                    raise KeyError
                finally:
                    time.sleep(1)
            cleaned_up.append(True)
            early.take_over()

    with handled_early() as early, pytest.raises(KeyboardInterrupt):
        work(early)
    assert cleaned_up


def test_none_is_raised_again_after_it_was_taken_over() -> None:
    taken = []
    with handled_early() as early:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            taken.append(early.take_over())
        time.sleep(1)
    assert taken == [True]


def test_what_an_interrupt_led_to_ends_a_command_as_the_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def __set_name__(self, _owner: type, _name: str) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    def invoke(*_arguments: object) -> None:
        type("Holder", (), {"attribute": Interrupted()})  # Python 3.11 raises RuntimeError from it

    monkeypatch.setattr(main.cairn, "invoke", invoke)
    with handled_early():
        assert main.run(["status"]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert capsys.readouterr().err == "interrupted: nothing was left half done\n"


def test_an_error_while_an_interrupt_is_handled_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def invoke(*_arguments: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            raise NotFoundError("the file is gone")

    monkeypatch.setattr(main.cairn, "invoke", invoke)
    with handled_early():
        assert main.run(["status"]) == 3
    assert "the file is gone" in capsys.readouterr().err
