"""Several runs over one pool: they take turns, and none takes anything from another."""

import threading
from collections.abc import Iterator

import pytest

from engine.errors import UnavailableError
from engine.indexing.fork_server import WorkerLimits
from engine.indexing.parse_records import Outcome, Parsed, Task
from engine.indexing.workers import Channel, WorkerPool
from engine.records import Skip

_LIMITS = WorkerLimits(deadline_ms=500, grace_s=0.5)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2, _LIMITS) as pool:
        yield pool


def tasks(channel: int, *numbers: int) -> list[Task]:
    """Files whose tickets tell which channel they came by."""
    text = b"def f():\n    pass\n"
    return [Task(channel * 1000 + number, f"f{number}.py", "python", text) for number in numbers]


def collect(channel: Channel) -> list[Outcome]:
    outcomes: list[Outcome] = []
    while channel.pending_batches:
        outcomes.extend(channel.poll(0.1))
    assert channel.pending_bytes == 0
    return outcomes


def tickets(outcomes: list[Outcome]) -> list[int]:
    return sorted(outcome.ticket for outcome in outcomes)


def test_each_thread_gets_its_own_outcomes(pool: WorkerPool) -> None:
    found: dict[int, list[int]] = {}

    def work(number: int) -> None:
        with pool.channel() as channel:
            for start in range(0, 60, 3):
                channel.submit(tasks(number, start, start + 1, start + 2))
            found[number] = tickets(collect(channel))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: list(range(number * 1000, number * 1000 + 60)) for number in range(3)}


def test_a_channel_that_comes_late_takes_its_turn() -> None:
    done: list[int] = []
    total = 1000  # so many that the first half outlasts any pause of this thread
    with WorkerPool(1, _LIMITS) as pool, pool.channel() as early, pool.channel() as late:
        for number in range(total):
            early.submit(tasks(0, number))
        early_outcomes = early.poll(60)  # the worker has begun
        late.submit(tasks(1, 0))
        late.submit(tasks(1, 1))
        while late.pending_batches:
            done += tickets(late.poll(0.1))
        assert done == [1000, 1001]
        early_outcomes += early.poll(0.0)
        assert len(early_outcomes) < total / 2
        assert tickets(early_outcomes + collect(early)) == list(range(total))


def test_what_one_channel_forgets_costs_the_other_nothing(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", "hang:parse:poison.py")
    with pool.channel() as kept:
        for round_ in range(5):
            numbers = range(round_ * 100, round_ * 100 + 20)
            with pool.channel() as dropped:
                dropped.submit([Task(1, "poison.py", "python", b"x = 1\n")])
                for number in numbers:
                    kept.submit(tasks(1, number))
                    dropped.submit(tasks(2, number))
                outcomes = kept.poll(60)
                dropped.discard()
                assert (dropped.pending_batches, dropped.pending_bytes) == (0, 0)
                assert dropped.poll(0.0) == []
                outcomes += collect(kept)
            assert tickets(outcomes) == [1000 + number for number in numbers]
            assert _parse_results(outcomes) == {"ok"}


def test_poison_in_one_channel_costs_the_other_no_file(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", "die:inspect:poison.py")
    with pool.channel() as sound, pool.channel() as poisoned:
        for number in range(30):
            sound.submit(tasks(0, number))
            poison = [Task(1500 + number, "poison.py", "python", b"x")] if number < 3 else []
            poisoned.submit([*tasks(1, number), *poison])
        outcomes = collect(sound)
        assert tickets(outcomes) == list(range(30))
        assert _parse_results(outcomes) == {"ok"}
        others = collect(poisoned)
        assert tickets(others) == [*range(1000, 1030), *range(1500, 1503)]
        skipped = [each for each in others if isinstance(each.result, Skip)]
        assert tickets(skipped) == [1500, 1501, 1502]


def test_who_waits_when_the_pool_is_closed_gets_an_error(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", "hang:parse:f1.py")
    with pool.channel() as channel:
        channel.submit(tasks(0, 1))
        channel.submit(tasks(0, 2))
        pool.close()
        with pytest.raises(UnavailableError, match="pool was closed"):
            collect(channel)
        with pytest.raises(UnavailableError, match="pool was closed"):
            channel.submit(tasks(0, 3))
    monkeypatch.delenv("CAIRN_FAULT")
    with pool.channel() as later:
        later.submit(tasks(0, 1))
        assert tickets(collect(later)) == [1]


def _parse_results(outcomes: list[Outcome]) -> set[str]:
    return {
        outcome.result.analysis.parse_result
        for outcome in outcomes
        if isinstance(outcome.result, Parsed)
    }


def test_what_a_worker_thread_does_not_foresee_ends_the_run_and_not_the_pool() -> None:
    cannot_be_sent = Task(1, "a.py", "python", memoryview(b"x = 1\n"))  # type: ignore[arg-type]
    with WorkerPool(1, _LIMITS) as pool:
        with pool.channel() as channel:
            channel.submit([cannot_be_sent])
            with pytest.raises(TypeError, match="memoryview"):
                collect(channel)
        with pool.channel() as channel:
            channel.submit(tasks(0, 1))
            assert tickets(collect(channel)) == [1]
