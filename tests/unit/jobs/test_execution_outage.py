"""When a job that waits looks again, and how long it has waited."""

from engine.jobs.execution import Outage


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def looks(outage: Outage, clock: Seconds, number: int, *, takes_s: float = 0.0) -> list[float]:
    """Look some times, each taking a while; the moments at which the looks begin."""
    moments = []
    for _ in range(number):
        clock.now += outage.until_probe_s()
        moments.append(clock.now)
        clock.now += takes_s
    return moments


def test_looks_become_rarer_and_are_never_more_than_eight_seconds_apart() -> None:
    clock = Seconds()
    outage = Outage(clock)
    outage.begin(0)
    assert looks(outage, clock, 7) == [100.5, 101.5, 103.5, 107.5, 115.5, 123.5, 131.5]
    assert outage.lasts_s == 31.5


def test_a_look_that_takes_long_is_followed_by_the_next() -> None:
    clock = Seconds()
    outage = Outage(clock)
    outage.begin(0)
    assert looks(outage, clock, 5, takes_s=7) == [100.5, 107.5, 114.5, 121.5, 129.5]


def test_the_first_look_is_when_the_resource_wants_it_within_a_minute() -> None:
    clock = Seconds()
    for wanted_s, first in ((0.1, 0.5), (20.0, 20.0), (3600.0, 60.0)):
        outage = Outage(clock)
        outage.begin(0, wanted_s)
        assert outage.until_probe_s() == first
        clock.now += first
        assert outage.until_probe_s() == 1


def test_going_on_in_vain_belongs_to_the_same_outage() -> None:
    clock = Seconds()
    outage = Outage(clock)
    rests = []
    for _ in range(8):
        outage.begin("as before")
        rests.append(outage.until_probe_s())
        clock.now += rests[-1]
    assert rests == [0.5, 1, 2, 4, 8, 15, 15, 15]
    assert outage.lasts_s == sum(rests)
    outage.begin("further")
    assert (outage.until_probe_s(), outage.lasts_s) == (0.5, 0)
