"""The time, in the two forms that are stored and shown."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def iso_time(at_ms: int) -> str:
    """Write a time as ISO 8601 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_none(at_ms: int | None) -> str | None:
    """Write a time as ``iso_time`` does; None when there was none."""
    return None if at_ms is None else iso_time(at_ms)
