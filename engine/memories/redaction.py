"""Secrets out of what is saved, by the rules that hold for files, before anything is stored.

Byte lengths stay, as in files, so no limit is met that the text as given did not meet.
"""

import json
from collections.abc import Mapping
from typing import Any

from engine.memory_records import NewMemory
from engine.source.secrets import redact


def redacted(new: NewMemory) -> NewMemory:
    """Give a memory, which was checked, with its secrets blotted out everywhere."""
    return NewMemory(
        summary=_text(new.summary),
        description=_text(new.description),
        context={_text(key): _value(key, value) for key, value in new.context.items()},
        tags=tuple(_text(tag) for tag in new.tags),
    )


def _text(text: str) -> str:
    return redact(text.encode())[0].decode("utf-8", "replace")


def _value(key: str, value: Any) -> Any:
    """Blot out a value of a context; its key can say that it is a secret."""
    if isinstance(value, Mapping):
        return {_text(inner): _value(inner, inside) for inner, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_value(key, inside) for inside in value]
    if isinstance(value, str):
        return _leaf(key, _text(value))
    return value


def _leaf(key: str, text: str) -> str:
    """Blot out a text that is a secret because of the key before it."""
    line = json.dumps({key: text}, ensure_ascii=False)
    found = redact(line.encode())[0].decode("utf-8", "replace")
    if found == line:
        return text
    try:
        [kept] = json.loads(found).values()
    except ValueError:  # a part of an escape was blotted out
        kept = None
    return kept if isinstance(kept, str) else "*" * len(text.encode())
