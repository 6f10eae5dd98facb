"""JSON shapes: records become objects whose keys stand in the order of their fields.

Everything printed is valid UTF-8 JSON: bytes of file names that are not UTF-8 become U+FFFD, and no
control character reaches a terminal unescaped.

Values as types of msgspec, in any thread.
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
_DIGITS = 6  # after the point; scores and milliseconds say nothing beyond

# json leaves these as they are; a terminal would obey some of them.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class _Encoded(Protocol):
    @property
    def encoding(self) -> str | None: ...


def as_json(value: object) -> object:
    """Give a record, or a collection of them, as what ``json`` can write."""
    kind: Any = type(value)  # of which a cache is not sure that it has a hash
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
    """Give the names of a record's fields, in their order."""
    return tuple(each.name for each in dataclasses.fields(kind))


def answer_json(answer: SearchAnswer) -> dict[str, object]:
    """Give the answer to a search; keys of ``_OPTIONAL`` are there only when they say something."""
    shape = as_json(answer)
    assert isinstance(shape, dict)
    for each in (shape, *shape["hits"]):
        for name in _OPTIONAL & each.keys():
            if not each[name]:
                del each[name]
    return shape


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, object]:
    """Give the keys of a checkpoint; the score is that of a search alone."""
    shape = as_json(checkpoint)
    assert isinstance(shape, dict)
    return {name: value for name, value in shape.items() if name != "score" or value is not None}


def report_json(report: Mapping[str, object]) -> dict[str, object]:
    """Give what an indexing run did, by the names of ``IndexReport``; notes only when any."""
    return {name: value for name, value in report.items() if name != "notes" or value}


def json_line(value: object, stream: _Encoded) -> str:
    """Give one object as one line that the stream's encoding can carry."""
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

_met: set[Any] = set()
_lock = threading.Lock()


def met(wanted: Any) -> Any:
    """Give a type, after msgspec has learned all that it is made of.

    msgspec learns a struct at its first use and lets others use it meanwhile: two threads that are
    the first together end the process with a segmentation fault (seen with 0.22.0).
    """
    if wanted not in _met:
        with _lock:
            msgspec.json.Decoder(wanted)
            _met.add(wanted)
    return wanted


def converted(value: object, wanted: type[Wanted]) -> Wanted:
    """Give a value, as JSON has it, as a type.

    Raises:
        msgspec.ValidationError: It is none of these.
    """
    return msgspec.convert(value, met(wanted))  # type: ignore[no-any-return]


def parsed(body: bytes, wanted: type[Wanted]) -> Wanted:
    """Give JSON as a type.

    Raises:
        msgspec.DecodeError: It is no JSON; of which ValidationError: it is none of these.
    """
    return msgspec.json.decode(body, type=met(wanted))  # type: ignore[no-any-return]
