"""Where a pattern of Rust binds a name: ``let``, ``for``, the arms of ``match``, closures."""

import re

from engine.references.brackets import Brackets

_MOST_LEVELS = 4  # of brackets in a pattern
_MOST_BLOCKS = 6  # between a pattern and its block that are passed
_MOST_BYTES = 400  # of a pattern
_BEFORE_BYTES = 120
_AFTER_BYTES = 300
_NO_PATTERN = re.compile(rb"[;?]|=>|->|\b(?:fn|let|for|if|match)\b")
_MODIFIED = re.compile(rb"(?:&\s*|\bmut\s+|\bref\s+)+$")
#: The name of the type before the bracket of a pattern.
_PATH = re.compile(rb"[\w:]*\s*$")
_HEAD = re.compile(rb"\b(?:(if|while)\s+)?(let|for)\s*$")
_CLOSURE = re.compile(rb"(?:[(,=]|\bmove)\s*\|(?:[^|;{}()]*,)?\s*$")
_CLOSURE_END = re.compile(rb"[^|;{}]*\|")
_ARM = re.compile(rb"\s*(?:\|[^;{}=|]*)?(?:\bif\b[^;{}]{0,200}?)?=>\s*(\{)?")
_IN_PATTERN = re.compile(rb"\s*(?:[,)\]}|]|@|:(?!:)|=|in\b|if\b)")


def binding_of(
    brackets: Brackets, text: bytes, offset: int, end: int
) -> tuple[int | None, int] | None:
    """Return the stretch in which a name is bound, or None if no pattern binds it.

    Args:
        brackets: Of the text.
        text: The text.
        offset: Where the name begins.
        end: Where it ends.

    Returns:
        The start and the end; a start of None means the block around the name.
    """
    if text[offset : offset + 1].isupper() or not _IN_PATTERN.match(text, end):
        return None
    start, place = offset, brackets.around(offset)
    for _ in range(_MOST_LEVELS):
        found = _bound_at(brackets, text, _without_modifiers(text, start), end, place)
        if found:
            return found
        if place < 0:
            return None
        start, end = brackets.opens[place], brackets.ends[place] + 1
        if end - start > _MOST_BYTES or _NO_PATTERN.search(text, start, end):
            return None
        before = _PATH.search(text, max(0, start - _BEFORE_BYTES), start)
        start = before.start() if before else start
        place = brackets.parents[place]
    return None


def _without_modifiers(text: bytes, start: int) -> int:
    found = _MODIFIED.search(text, max(0, start - 20), start)
    return found.start() if found else start


def _bound_at(
    brackets: Brackets, text: bytes, start: int, end: int, place: int
) -> tuple[int | None, int] | None:
    """Return the same for a whole pattern from ``start`` to ``end`` in the bracket ``place``."""
    low = max(0, start - _BEFORE_BYTES)
    last = brackets.ends[place] if place >= 0 else len(text)
    if head := _HEAD.search(text, low, start):
        if head[1] is None and head[2] == b"let":
            return None, last
        return _block_behind(brackets, text, end, place)
    if _CLOSURE.search(text, low, start) and _CLOSURE_END.match(text, end, end + _AFTER_BYTES):
        return start, last
    is_in_block = place >= 0 and text[brackets.opens[place]] == ord("{")
    if is_in_block and (arm := _ARM.match(text, end, end + _AFTER_BYTES)):
        if arm[1]:
            return start, brackets.ends[brackets.around(arm.end())]
        comma = text.find(b",\n", arm.end(), last)
        return start, comma if comma >= 0 else last
    return None


def _block_behind(brackets: Brackets, text: bytes, end: int, place: int) -> tuple[int, int] | None:
    """Return the block behind a pattern; what it is matched with does not see its names."""
    at = text.find(b"{", end)
    for _ in range(_MOST_BLOCKS):
        if at < 0:
            break
        block = brackets.around(at + 1)
        if brackets.parents[block] == place:
            return brackets.opens[block], brackets.ends[block]
        at = text.find(b"{", at + 1)
    return None
