"""The process pool: a hostile file costs a worker, never the others' work."""

import gc
import sys
import time
from collections.abc import Collection, Iterator

import pytest

from engine.errors import UnavailableError
from engine.indexing.fork_server import ForkServer, Worker, WorkerLimits
from engine.indexing.parse_records import Outcome, Parsed, Task, symbols_of
from engine.indexing.parsing import process
from engine.indexing.workers import Channel, WorkerPool
from engine.records import Skip, SkipReason
from tests.support.patience import patience


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2, WorkerLimits(deadline_ms=500, grace_s=0.5)) as pool:
        yield pool


@pytest.fixture
def channel(pool: WorkerPool) -> Iterator[Channel]:
    with pool.channel() as channel:
        yield channel


def task(ticket: int, path: str, text: str = "def f():\n    pass\n") -> Task:
    return Task(ticket, path, "python", text.encode())


def collect(channel: Channel) -> dict[int, Outcome]:
    outcomes: dict[int, Outcome] = {}
    while channel.pending_batches:
        for outcome in channel.poll(0.1):
            assert outcome.ticket not in outcomes
            outcomes[outcome.ticket] = outcome
    assert channel.pending_bytes == 0
    return outcomes


def test_every_task_has_one_outcome(channel: Channel) -> None:
    for start in range(0, 50, 5):
        channel.submit([task(ticket, f"f{ticket}.py") for ticket in range(start, start + 5)])
    outcomes = collect(channel)
    assert sorted(outcomes) == list(range(50))
    first = outcomes[0].result
    assert isinstance(first, Parsed)
    assert [symbol.name for symbol in symbols_of(first.analysis)] == ["f"]


@pytest.mark.parametrize(
    ("action", "others"), [("die", ["a.py", "c.py"]), ("die", []), ("hang", []), ("eat", [])]
)
def test_a_file_that_costs_its_parser_is_kept_without_symbols(
    channel: Channel, action: str, others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", f"{action}:parse:poison.py")
    channel.submit([task(number, path) for number, path in enumerate(["poison.py", *others])])
    outcomes = collect(channel)
    analyses = [
        result.analysis
        for _, outcome in sorted(outcomes.items())
        if isinstance(result := outcome.result, Parsed)
    ]
    assert [each.parse_result for each in analyses] == ["failed", *["ok"] * len(others)]
    assert [len(each.symbols) for each in analyses] == [0, *[1] * len(others)]
    assert analyses[0].chunks[0][-1] == "def pass"


@pytest.mark.parametrize(
    ("action", "cause"), [("die", "died"), ("hang", "took longer"), ("eat", "MemoryError")]
)
def test_a_poisonous_file_is_skipped_and_the_rest_is_done(
    channel: Channel, action: str, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", f"{action}:inspect:poison.py")
    channel.submit([task(1, "a.py"), task(2, "poison.py"), task(3, "c.py")])
    outcomes = collect(channel)
    poison = outcomes[2].result
    assert isinstance(poison, Skip)
    assert poison.reason is SkipReason.PARSER_FAILED
    assert cause in poison.detail
    assert isinstance(outcomes[1].result, Parsed)
    assert isinstance(outcomes[3].result, Parsed)


def test_discard_forgets_work_at_once_and_the_pool_goes_on(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", "hang:parse:poison.py")
    channel.submit([task(1, "poison.py")])
    channel.submit([task(2, "b.py")])
    channel.discard()
    assert channel.poll(0.0) == []
    monkeypatch.delenv("CAIRN_FAULT")
    channel.submit([task(3, "c.py")])
    assert list(collect(channel)) == [3]


def test_idle_processes_end_and_start_again() -> None:
    server = ForkServer()
    with WorkerPool(2, WorkerLimits(deadline_ms=500, idle_s=0.05), server) as pool:
        for ticket in range(3):
            with pool.channel() as channel:
                channel.submit([task(ticket, "a.py")])
                channel.submit([task(ticket + 10, "b.py")])
                assert sorted(collect(channel)) == [ticket, ticket + 10]
            latest_s = time.monotonic() + patience(10)
            while server._process:  # which outlives its workers
                assert time.monotonic() < latest_s, "it holds its memory"
                time.sleep(0.01)


def test_workers_that_cannot_start_are_an_error_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with WorkerPool(1, WorkerLimits(deadline_ms=500)) as pool, pool.channel() as channel:
        channel.submit([task(1, "a.py")])
        with pytest.raises(UnavailableError, match="no parsing process"):
            channel.poll(30)


def test_workers_that_die_at_once_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with WorkerPool(1, WorkerLimits(deadline_ms=500)) as pool, pool.channel() as channel:
        channel.submit([task(1, "a.py")])
        with pytest.raises(UnavailableError, match="exit status 1"):
            channel.poll(30)


class _KillingServer(ForkServer):
    """A fork server whose first workers are killed as soon as they are forked."""

    kills = 2

    def fork(
        self, connection: int, stderr: int, limits: WorkerLimits, languages: Collection[str] = ()
    ) -> Worker:
        worker = super().fork(connection, stderr, limits, languages)
        if self.kills:
            self.kills -= 1
            worker.kill()
        return worker


def test_a_worker_that_is_killed_while_it_starts_is_replaced() -> None:
    server = _KillingServer()
    with WorkerPool(1, WorkerLimits(deadline_ms=500), server) as pool, pool.channel() as channel:
        channel.submit([task(1, "a.py"), task(2, "b.py")])
        outcomes = collect(channel)
    assert server.kills == 0
    assert sorted(outcomes) == [1, 2]
    for outcome in outcomes.values():
        assert isinstance(outcome.result, Parsed)
        assert outcome.result.analysis.symbols


def test_a_file_leaves_no_cycles() -> None:
    """Workers do not look for cycles, so one a file would grow them without end."""
    text = "import os\n\nclass A:\n    def f(self):\n        return os\n\nX = A().f\n"
    process([task(1, "a.py", text)], 1000)
    gc.collect()
    gc.disable()
    try:
        for ticket in range(20):
            process([task(ticket, "a.py", text)], 1000)
        assert gc.collect() == 0
    finally:
        gc.enable()
