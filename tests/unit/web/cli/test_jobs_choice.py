"""Moments as they are typed."""

from datetime import UTC, datetime

import pytest

from engine.errors import InvalidInputError
from web.cli.jobs import moment_of

NOW = datetime(2025, 10, 17, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "moment"),
    [
        ("90s", "2025-10-17T08:58:30.000Z"),
        ("20min", "2025-10-17T08:40:00.000Z"),
        ("20 m", "2025-10-17T08:40:00.000Z"),
        ("2h", "2025-10-17T07:00:00.000Z"),
        ("3d", "2025-10-14T09:00:00.000Z"),
        ("1w", "2025-10-10T09:00:00.000Z"),
        ("2025-10-01", "2025-10-01T00:00:00.000Z"),
        ("2025-10-01T12:30", "2025-10-01T12:30:00.000Z"),
        ("2025-10-01T12:30+02:00", "2025-10-01T10:30:00.000Z"),
        ("2025-10-01T12:30:00.250Z", "2025-10-01T12:30:00.250Z"),
    ],
)
def test_a_date_a_time_or_a_span(typed: str, moment: str) -> None:
    assert moment_of(typed, NOW, "since") == moment


def test_no_moment() -> None:
    assert moment_of(None, NOW, "since") is None


@pytest.mark.parametrize("typed", ["", "soon", "2 fortnights", "2025-13-01", "999999w", "-2h"])
def test_anything_else_is_refused(typed: str) -> None:
    with pytest.raises(InvalidInputError, match="--until is ") as caught:
        moment_of(typed, NOW, "until")
    assert caught.value.details["field"] == "until"
