"""Records as JSON objects, and JSON as msgspec types.

Keys are in the order of the record's fields, without empty ones that are marked ``WHEN_ANY``.
Output is valid UTF-8: other bytes of file names become U+FFFD, and no control character reaches a
terminal unescaped.
"""

import dataclasses
import json
import re
import threading
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Protocol, TypeVar

from engine.records import NOT_IN_JSON, WHEN_ANY
from web.terminal import rejoined

_EMPTY = (None, ())
_SOMETIMES = ("notes",)  # in reports
_PLAIN = frozenset({bool, int, type(None)})
_DIGITS = 6  # decimals; scores and milliseconds are not more precise

# json does not escape these, and a terminal would interpret some of them.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class _Encoded(Protocol):
    @property
    def encoding(self) -> str | None: ...


def as_json(value: object) -> Any:
    """Convert a record, or a collection of records, to what ``json`` can write."""
    kind: Any = type(value)  # Any, as mypy does not know it to be hashable
    if kind in _PLAIN:
        return value
    if kind is str:
        return _valid(str(value))
    if isinstance(value, float):
        return round(value, _DIGITS)
    if dataclasses.is_dataclass(value):
        return {
            name: as_json(getattr(value, name))
            for name, is_optional in fields_of(kind)
            if not is_optional or getattr(value, name) not in _EMPTY
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_valid(str(key)): as_json(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(each) for each in value]
    return value if isinstance(value, int) else _valid(str(value))


@cache
def fields_of(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Return the names of a record's fields, in order, and whether each is left out when empty.

    Without those that are not in JSON.
    """
    return tuple(
        (each.name, WHEN_ANY in notes)
        for each in dataclasses.fields(kind)
        if NOT_IN_JSON not in (notes := getattr(each.type, "__metadata__", ()))
    )


def values_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record, for a record that has more of them."""
    kind: Any = type(record)
    return {name: getattr(record, name) for name, _ in fields_of(kind)}


def report_json(report: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON of an ``IndexReport``, without what it has only sometimes."""
    return {name: value for name, value in report.items() if value or name not in _SOMETIMES}


def json_line(value: object, stream: _Encoded) -> str:
    """Return an object as one line of JSON in the stream's encoding."""
    text = json.dumps(as_json(value), ensure_ascii=not _is_utf8(stream), separators=(", ", ": "))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"


def _is_utf8(stream: _Encoded) -> bool:
    return (stream.encoding or "").lower().replace("_", "-") in {"utf-8", "utf8"}


def _valid(text: str) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:  # it has surrogates
        whole = rejoined(text, "replace")
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


Wanted = TypeVar("Wanted")

_prepared: set[Any] = set()
_lock = threading.Lock()


def _prepare(wanted: Any) -> Any:
    """Return a type after msgspec has inspected it under a lock.

    msgspec inspects a struct at its first use without a lock: two threads that use it first at the
    same time crash the process with a segmentation fault (seen with 0.22.0).
    """
    if wanted not in _prepared:
        import msgspec

        with _lock:
            msgspec.json.Decoder(wanted)
            _prepared.add(wanted)
    return wanted


def converted(value: object, wanted: type[Wanted]) -> Wanted:
    """Convert a decoded JSON value to a type.

    Raises:
        msgspec.ValidationError: The value does not fit the type.
    """
    import msgspec  # 8 ms that writing JSON does without

    return msgspec.convert(value, _prepare(wanted))  # type: ignore[no-any-return]


def parsed(body: bytes, wanted: type[Wanted]) -> Wanted:
    """Decode JSON as a type.

    Raises:
        msgspec.DecodeError: It is not JSON; its subclass ValidationError: it does not fit the type.
    """
    import msgspec

    return msgspec.json.decode(body, type=_prepare(wanted))  # type: ignore[no-any-return]
