"""What happened to a job as a whole: counts by type, the last events, samples of many."""

from itertools import pairwise
from pathlib import Path

import pytest

from engine.store import jobs
from engine.store.jobs import append_event
from tests.support.ledger import FakeClock, claimed, ledger_in

_ALL = ("created", "started", "progress", "checkpoint", "completed")


@pytest.mark.parametrize("number", [0, 1, 9, 10, 11, 95])
def test_samples_are_few_spread_and_hold_every_change_and_the_last(
    tmp_path: Path, number: int
) -> None:
    clock = FakeClock()
    with ledger_in(tmp_path, clock) as ledger:
        row = claimed(ledger)
        with ledger.store.write() as handle:
            for place in range(number):
                append_event(handle, row.id, "progress", at_ms=place, context={"n": place})
        ledger.complete(row, {}, {})
        with ledger.store.read() as handle:
            counts = jobs.count_events(handle, row.id)
            found = jobs.read_samples(
                handle, row.id, {"created", "started", "completed"}, sampled={"progress"}, most=10
            )
            last = jobs.read_last_events(handle, row.id, _ALL, before=None, limit=3)
            before = jobs.read_last_events(handle, row.id, _ALL, before=last[0].sequence, limit=2)
            only = jobs.read_last_events(handle, row.id, {"completed"}, before=None, limit=9)
    assert counts == {
        "created": 1,
        "started": 1,
        "completed": 1,
        **({"progress": number} if number else {}),
    }
    assert [each.type for each in found if each.type != "progress"] == [
        "created",
        "started",
        "completed",
    ]
    samples = [each.sequence for each in found if each.type == "progress"]
    assert min(number, 5) <= len(samples) <= 11
    assert not number or samples[-1] == number + 2
    assert len({after - each for each, after in pairwise(samples)}) <= 1
    assert [each.sequence for each in last] == list(range(number + 1, number + 4))
    assert [each.sequence for each in before] == list(range(max(1, number - 1), number + 1))
    assert [each.type for each in only] == ["completed"]
