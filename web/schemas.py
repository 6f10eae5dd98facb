"""Records as JSON objects, and JSON as msgspec types.

Keys are in the order of the record's fields. Output is valid UTF-8: other bytes of file names
become U+FFFD, and no control character reaches a terminal unescaped.
"""

import dataclasses
import json
import re
import threading
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Protocol, TypeVar

import msgspec

from engine.records import Checkpoint, SearchAnswer
from web.terminal import rejoined

_OPTIONAL = {"errors", "notes", "missing", "matches", "snippet_line", "explain"}
_PLAIN = frozenset({bool, int, type(None)})
_DIGITS = 6  # decimals; scores and milliseconds are not more precise

# json does not escape these, and a terminal would interpret some of them.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class _Encoded(Protocol):
    @property
    def encoding(self) -> str | None: ...


def as_json(value: object) -> object:
    """Convert a record, or a collection of records, to what ``json`` can write."""
    kind: Any = type(value)  # Any, as mypy does not know it to be hashable
    if kind in _PLAIN:
        return value
    if kind is str:
        return _valid(str(value))
    if isinstance(value, float):
        return round(value, _DIGITS)
    if dataclasses.is_dataclass(value):
        return {name: as_json(getattr(value, name)) for name in _names_of(kind)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_valid(str(key)): as_json(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(each) for each in value]
    return value if isinstance(value, int) else _valid(str(value))


@cache
def _names_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a record's fields, in order."""
    return tuple(each.name for each in dataclasses.fields(kind))


def answer_json(answer: SearchAnswer) -> dict[str, object]:
    """Return the JSON of a search answer, without empty values of ``_OPTIONAL`` keys."""
    shape = as_json(answer)
    assert isinstance(shape, dict)
    for each in (shape, *shape["hits"]):
        for name in _OPTIONAL & each.keys():
            if not each[name]:
                del each[name]
    return shape


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, object]:
    """Return the JSON of a checkpoint; only search results have a score."""
    shape = as_json(checkpoint)
    assert isinstance(shape, dict)
    return {name: value for name, value in shape.items() if name != "score" or value is not None}


def report_json(report: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON of an ``IndexReport``, without empty notes."""
    return {name: value for name, value in report.items() if name != "notes" or value}


def json_line(value: object, stream: _Encoded) -> str:
    """Return an object as one line of JSON in the stream's encoding."""
    text = json.dumps(as_json(value), ensure_ascii=not _is_utf8(stream), separators=(", ", ": "))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"


def _is_utf8(stream: _Encoded) -> bool:
    return (stream.encoding or "").lower().replace("_", "-") in {"utf-8", "utf8"}


def _valid(text: str) -> str:
    if text.isascii():
        return text
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
        with _lock:
            msgspec.json.Decoder(wanted)
            _prepared.add(wanted)
    return wanted


def converted(value: object, wanted: type[Wanted]) -> Wanted:
    """Convert a decoded JSON value to a type.

    Raises:
        msgspec.ValidationError: The value does not fit the type.
    """
    return msgspec.convert(value, _prepare(wanted))  # type: ignore[no-any-return]


def parsed(body: bytes, wanted: type[Wanted]) -> Wanted:
    """Decode JSON as a type.

    Raises:
        msgspec.DecodeError: It is not JSON; its subclass ValidationError: it does not fit the type.
    """
    return msgspec.json.decode(body, type=_prepare(wanted))  # type: ignore[no-any-return]
