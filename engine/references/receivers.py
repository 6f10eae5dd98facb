"""What stands before the dot of a name."""

import re
from typing import NamedTuple

from engine.references.sources import Source

_RECEIVER = re.compile(rb"(?:([\w$@\x80-\xff]+)|[)\]}>\"'?])\s*(?:\?\.|!\.|\?->|->|\.|::|\\)\s*$")
_SUPER_CALL = re.compile(rb"\bsuper\s*\([^()]*\)\s*\.\s*$")
#: Here ``->`` stands before the type of a result, or before what a lambda takes or returns.
_RESULT_ARROW = frozenset(
    "elixir groovy haskell java kotlin python ruby rust scala swift zig".split()
)
_ARROW = re.compile(rb"->\s*$")
_LUA_RECEIVER = re.compile(rb"(?:([\w\x80-\xff]+)|[)\]])\s*[.:]\s*$")
_AFTER_DOT = re.compile(rb"(?:\.|->|::)\s*$")
_DOTS = frozenset(b".:>\\")
_BLANK_BYTES = 60  # between a dot and the name
_BEFORE_BYTES = 80


class Receiver(NamedTuple):
    """What stands before the dot."""

    name: str  # empty for an expression
    offset: int  # of the name, or of the dot behind an expression
    is_chained: bool  # another dot stands before it


def receiver_at(source: Source, offset: int) -> Receiver | None:
    """Return what stands before the dot of a name, or None if no dot does."""
    text = source.text
    pattern = _LUA_RECEIVER if source.language == "lua" else _RECEIVER
    before = text[max(0, offset - _BLANK_BYTES) : offset].rstrip()
    if before and before[-1] not in _DOTS:
        is_own = before[-1:] == b"@" and text[offset - 1 : offset] == b"@"
        return (
            Receiver("@", offset, is_chained=False)
            if is_own and source.language == "ruby"
            else None
        )
    found = pattern.search(text, max(0, offset - _BEFORE_BYTES), offset)
    if found is None:
        return None
    if source.language in _RESULT_ARROW and _ARROW.search(text, max(0, offset - 20), offset):
        return None
    if _SUPER_CALL.search(text, max(0, found.start() - 40), offset):
        return Receiver("super", found.start(), is_chained=False)
    if not found[1]:
        return Receiver("", found.start(), is_chained=False)
    start = found.start(1)
    is_chained = _AFTER_DOT.search(text, max(0, start - 8), start) is not None
    return Receiver(found[1].decode("utf-8", "replace"), start, is_chained)
