"""A clock that obeys, a ledger of one project, and a job of it in hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.jobs.ledger import Ledger
from tests.support.ledger import FakeClock, claimed, context_of, ledger_in
from tests.support.work import Work


@pytest.fixture
def clock() -> FakeClock:
    """Milliseconds that a test lets pass."""
    return FakeClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    """An open ledger with that clock."""
    with ledger_in(tmp_path, clock) as ledger:
        yield ledger


@pytest.fixture
def work(ledger: Ledger, clock: FakeClock) -> Iterator[Work]:
    """A claimed job of that ledger, in hand."""
    with context_of(ledger, claimed(ledger), clock) as context:
        yield Work(ledger, context)
