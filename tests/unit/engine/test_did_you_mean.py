"""A name that is not known is refused with the nearest one, when one is near."""

import pytest

from engine.did_you_mean import did_you_mean, unknown

_KNOWN = ("python", "Java", "javascript")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("pyhton", ", did you mean 'python'"),
        ("JAVE", ", did you mean 'Java'"),
        ("", ""),
        ("cobol", ""),
        ("x" * 10_000, ""),
    ],
)
def test_the_nearest_is_named(typed: str, said: str) -> None:
    assert did_you_mean(typed, _KNOWN) == said


def test_an_error_names_all_that_would_do() -> None:
    error = unknown("language", "pyhton", _KNOWN)
    assert error.message == "unknown language 'pyhton', did you mean 'python'"
    assert (error.hint, error.details["field"]) == ("known: Java, javascript, python", "language")
