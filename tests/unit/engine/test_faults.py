"""Which place a fault means."""

import pytest

from engine import faults


@pytest.mark.parametrize(
    ("place", "name", "detail", "is_meant"),
    [
        ("parse", "parse", "", True),
        ("parse", "parse", "any.py", True),
        ("parse:poison.py", "parse", "poison.py", True),
        ("parse:poison.py", "parse", "other.py", False),
        ("parse:at@2", "parse", "at@2", True),
        ("parse", "inspect", "", False),
        ("parse:poison.py", "inspect", "poison.py", False),
    ],
)
def test_a_place(place: str, name: str, detail: str, is_meant: bool) -> None:
    assert faults._is_requested(place, name, detail) == is_meant


def test_a_place_that_is_reached_for_the_third_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_reached", {})
    met = [faults._is_requested("parse@3", "parse", str(number)) for number in range(5)]
    assert met == [False, False, True, False, False]
    assert not faults._is_requested("parse@3", "inspect", "")


def test_without_a_fault_a_point_does_nothing() -> None:
    for name in faults.FAULT_POINTS:
        faults.fault_point(name)
    assert faults.vfs_name() == ""
