"""Read when a question about commits begins or ends: a date, a moment, an age or a day's name."""

import re
from datetime import UTC, datetime
from typing import Final

from engine.clock import now_ms
from engine.errors import InvalidInputError, InvalidQueryError

#: What can be written, for hints.
EXAMPLES: Final = (
    "2024-05-31, 2024-05, 2024, today, yesterday, or an age: 30d, 8w, 6m, 2y, last-month"
)

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_AGE = re.compile(r"(\d{1,5} ?|last |an? )(h|d|w|m|y|hours?|days?|weeks?|months?|years?)(?: ago)?")
_BETWEEN_WORDS = re.compile(r"[\s._-]+")  # 2.weeks.ago needs no quotes, as with git
_DAY_S: Final = 86_400
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24, "m": 30.4375 * 24, "y": 365.25 * 24}
_DAYS_BACK: Final = {"today": 0, "yesterday": 1}


def seconds_of(text: str, position: int) -> int:
    """Return the beginning of a day, a month or a year, a moment, or the time so long ago.

    Days begin by UTC, and so are moments without an offset.

    Raises:
        InvalidQueryError: It is none of these.
    """
    try:
        found = _moment_of(text.strip())
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise InvalidQueryError(f"{text!r} is no date", position=position, hint=EXAMPLES)
    return found


def field_seconds(field: str, value: str) -> int:
    """Return what ``seconds_of`` does for a field of a request.

    Raises:
        InvalidInputError: It cannot be read.
    """
    try:
        return seconds_of(value, 0)
    except InvalidQueryError as error:
        raise InvalidInputError(error.message, hint=error.hint, field=field) from error


def _moment_of(text: str) -> int | None:
    """Return the seconds since 1970, or None.

    Raises:
        ValueError: There is no such day or time.
        OverflowError: It is too far away.
    """
    now_s = now_ms() // 1000
    date = _DATE.fullmatch(text)
    if date:
        year, month, day = (int(part or 1) for part in date.groups())
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    words = _BETWEEN_WORDS.sub(" ", text.lower())
    if words in _DAYS_BACK:
        return now_s - now_s % _DAY_S - _DAYS_BACK[words] * _DAY_S
    age = _AGE.fullmatch(words)
    if age:
        number = int(age[1]) if age[1].strip().isdecimal() else 1
        return now_s - int(number * _HOURS[age[2][0]] * 3600)
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
