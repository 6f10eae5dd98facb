"""Values as types of msgspec, in any thread."""

import threading
from typing import Any, TypeVar

import msgspec

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
