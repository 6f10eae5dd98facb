"""Where a file gives a name to a type parameter: in ``<…>`` behind the name of a type or function.

It holds in the type or function, from its head on.
"""

import re
from collections.abc import Iterator, Sequence

from engine.references.sources import Source

_LIST_BYTES = 300  # between the angle bracket and a name that are read
_HEAD_BYTES = 120
_BODY_BYTES = 1000
_MOST = 100  # uses of a name that are looked at
#: What stands between the name and the bracket or comma before it.
_BEFORE_NAME = re.compile(rb"[<,]\s*(?:(?:in|out|reified|const)\s+|@\w+\s+)*$")
#: What stands before the bracket: the name of a type or function with its keyword.
_HEAD = re.compile(
    rb"\b(?:(?:class|interface|struct|enum|trait|type|typealias|function|fun|func|fn|record"
    rb"|protocol|actor)(?:\s+[\w$]+)?|impl|delegate\s+[\w.\[\]]+\s+\w+)\s*$"
)
#: The same of a method of Java, whose type parameters stand before its type.
_HEAD_OF_JAVA = re.compile(
    rb"(?:^|[{};)]|\*/|@\w+|\b(?:public|private|protected|static|final|abstract|default"
    rb"|synchronized|native))\s*$"
)
#: The same of a method or an arrow function without a keyword.
_HEAD_WITHOUT = re.compile(rb"(?:[\w$]|[=(,:])\s*$")
_PARAMETERS = re.compile(rb"[\w\s,:=.?'\[\]|]*(?:<[\w\s,.]*>[\w\s,:=.?'\[\]|]*)*>\s*\(")


def stretches_of(source: Source, name: str, offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Return the stretches of a file in which a name is a type parameter.

    Args:
        source: The file.
        name: The name.
        offsets: Where it stands in the file.
    """
    declared = [each for each in offsets[:_MOST] if _is_declared(source, each, len(name.encode()))]
    return [found for each in declared for found in _stretches_of(source, each)]


def _is_declared(source: Source, offset: int, size: int) -> bool:
    text = source.text
    if not _BEFORE_NAME.search(text, max(0, offset - 40), offset):
        return False
    opening = _opening_before(text, offset)
    if opening < 0:
        return False
    start = max(0, opening - _HEAD_BYTES)
    if _HEAD.search(text, start, opening):
        return True
    if source.language == "java":
        return _HEAD_OF_JAVA.search(text, start, opening) is not None
    # A type that is passed has a role.
    return (
        source.marks.role_at(offset) is None
        and _HEAD_WITHOUT.search(text, start, opening) is not None
        and _PARAMETERS.match(text, offset + size, offset + size + _LIST_BYTES) is not None
    )


def _opening_before(text: bytes, offset: int) -> int:
    """Return where the angle bracket around an offset opens, or -1."""
    depth = 0
    for at in range(offset - 1, max(-1, offset - _LIST_BYTES), -1):
        byte = text[at]
        if byte == ord("<"):
            if not depth:
                return at
            depth -= 1
        elif byte == ord(">"):
            depth += 1
        elif byte in b";{}()":
            break
    return -1


def _stretches_of(source: Source, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the type or function in whose head a name stands, or the block behind it."""
    text = source.text
    around = source.enclosing(offset)
    if around and b"{" not in text[around.byte_start : offset]:
        yield around.byte_start, around.byte_end
        return
    start = text.find(b"{", offset, offset + _BODY_BYTES)
    if start >= 0 and b";" not in text[offset:start]:
        place = source.brackets.around(start + 1)
        yield offset, source.brackets.stretch(place, len(text))[1]
        return
    end = text.find(b"\n", offset)
    yield offset, end if end >= 0 else len(text)
