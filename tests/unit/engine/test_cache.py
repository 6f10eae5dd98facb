"""What was made of an index is made once for a state of it, and the oldest goes first."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from engine.cache import ByteCache, EntryCache
from tests.support.patience import patience


def test_a_value_is_made_once_and_the_one_longest_unasked_goes() -> None:
    kept: EntryCache[str] = EntryCache(2)
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    for name in ("a", "b", "a", "c", "a", "b"):
        assert kept.get((1, name), lambda name=name: make(name)) == name  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]
    assert kept.get((2, "a"), lambda: make("new")) == "new"


def test_so_many_bytes_are_kept_the_last_asked_for() -> None:
    kept: ByteCache[str] = ByteCache(10, len)
    made: list[str] = []

    def ask(name: str, value: str, state: int = 1) -> None:
        def make() -> str:
            made.append(name)
            return value

        assert kept.get((name,), make, state=state) == value

    for name in ("a", "b", "a"):
        ask(name, "1234")
    assert (made, kept.size_bytes) == (["a", "b"], 8)
    ask("c", "123")  # b is the one that was not asked for
    for name in ("c", "a", "b"):
        ask(name, "123" if name == "c" else "1234")
    assert made == ["a", "b", "c", "b"]
    ask("large", "x" * 11)
    ask("large", "x" * 11)
    assert (made[4:], kept.size_bytes) == (["large"], 11)  # alone, however large
    ask("a", "1234")
    assert kept.size_bytes == 4


def test_of_one_thing_only_the_latest_state_is_kept() -> None:
    kept: ByteCache[str] = ByteCache(10, len)
    for state, value in ((1, "old"), (2, "newer"), (2, "not made")):
        kept.get(("paths",), lambda value=value: value, state=state)  # type: ignore[misc]
    assert kept.size_bytes == len("newer")
    assert kept.get(("paths",), lambda: "again", state=1) == "again"


def test_what_cannot_be_made_is_tried_again() -> None:
    kept: ByteCache[str] = ByteCache(10, len)

    def fail() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kept.get(("a",), fail)
    assert kept.get(("a",), lambda: "made") == "made"


def test_what_several_want_one_makes_and_nobody_waits_for_another_value() -> None:
    kept: ByteCache[str] = ByteCache(100, len)
    made: list[str] = []
    is_other_made = threading.Event()

    def slow() -> str:
        made.append("slow")
        assert is_other_made.wait(patience(30))
        return "slow"

    def quick() -> str:
        is_other_made.set()
        return "quick"

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(kept.get, ("a",), slow) for _ in range(3)]
        assert kept.get(("b",), quick) == "quick"
        assert [each.result(patience(30)) for each in asked] == ["slow"] * 3
    assert made == ["slow"]


def test_never_do_two_make_the_same_at_once_though_it_fails_or_is_of_two_states() -> None:
    kept: ByteCache[str] = ByteCache(1, len)
    at_work = threading.Semaphore(1)

    def make(number: int) -> str:
        assert at_work.acquire(blocking=False), "two at once"
        time.sleep(0.002)
        at_work.release()
        if number % 3 == 0:
            raise ZeroDivisionError
        return str(number)

    def ask(number: int) -> None:
        with suppress(ZeroDivisionError):
            kept.get(("a",), lambda: make(number), state=number % 2)

    with ThreadPoolExecutor(6) as threads:
        for asked in [threads.submit(ask, number) for number in range(60)]:
            asked.result(patience(30))
    assert not kept._key_locks
