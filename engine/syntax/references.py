"""Marks of a text: where it refers to names and in which role, and where it is no code.

The captures of ``queries/*.references.scm`` are the names of ``Role``, each on the node of a name
(the last one of a qualified name), and ``@text`` on comments and on the literal parts of strings.
Plain uses of a name (a variable that is read) have no mark: they are the other occurrences of the
name that stand outside of ``@text``. So a file costs one small integer a call, not one an
identifier.

The name of a reference is not stored either; it is the identifier that begins at its offset.
"""

import functools
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from tree_sitter import Node

from engine.syntax.languages import LANGUAGES, QUERIES


class Role(StrEnum):
    """What a reference does with a name. Of two roles of a node, the earlier one here counts."""

    INHERIT = "inherit"  # extends or implements it
    IMPORT = "import"
    CALL = "call"  # calls or constructs it, or decorates with it
    TYPE = "type"


#: The low bits of a mark; the rest is the byte offset. An end sorts before a start at its offset.
_BITS = 3
_MASK = (1 << _BITS) - 1
_CODES = {role.value: code for code, role in enumerate(Role, 1)}
_ROLES = {code: Role(name) for name, code in _CODES.items()}
_TEXT_END, _TEXT_START = 5, 6
_TEXT = "text"
_PREFIX = "text.prefix"

#: Elixir writes definitions, imports and attributes as calls of these words. 0: no mark.
_CODES_AFTER = {
    **dict.fromkeys(
        b"def defp defmacro defmacrop defguard defguardp defdelegate defn defnp defmodule "
        b"defprotocol @type @typep @opaque @spec @callback @macrocallback".split(),
        0,
    ),
    **dict.fromkeys(b"alias import require use".split(), _CODES[Role.IMPORT]),
    **dict.fromkeys(b"defimpl @behaviour".split(), _CODES[Role.INHERIT]),
}
_MAX_WORD = 20  # bytes before a name that are read
_KEYWORD = ".keyword"

_NAME = re.compile(rb"[\w$\x80-\xff]+")
_NAME_WITH_MARK = re.compile(rb"[\w$\x80-\xff]+[?!]?")
#: Here a name can end with ``?`` or ``!``.
NAMES_WITH_MARKS = frozenset({"elixir", "julia", "ruby"})


def marks_of(captures: Mapping[str, Sequence[Node]], text: bytes) -> list[int]:
    """Return the marks of captures, rising: ``offset << 3 | code``, one an offset and role.

    ``@text.prefix`` is on what opens a string; it is text if it begins with a letter, as in ``f"``.
    Of ``@call.keyword`` and ``@type.keyword`` (Elixir), the word before the name tells whether it
    is a definition (then it has no mark), an import, a base or what the capture says.
    """
    marks: list[int] = []
    for name, nodes in captures.items():
        if name in {_TEXT, _PREFIX}:
            is_any = name == _TEXT
            found = [node for node in nodes if is_any or _is_letter_at(node.start_byte, text)]
            marks += [node.start_byte << _BITS | _TEXT_START for node in found]
            marks += [node.end_byte << _BITS | _TEXT_END for node in found]
        elif name.endswith(_KEYWORD):
            marks += _marks_by_words(_CODES[name.removesuffix(_KEYWORD)], nodes, text)
        else:
            code = _CODES[name]
            marks += [node.start_byte << _BITS | code for node in nodes]
    return sorted(set(marks))


def _is_letter_at(offset: int, text: bytes) -> bool:
    return text[offset : offset + 1].isalpha()  # also at the end of the text


def _marks_by_words(code: int, nodes: Sequence[Node], text: bytes) -> Iterator[int]:
    for node in nodes:
        start = node.start_byte
        own = code
        before = text[start - 1 : start]
        if before == b" ":
            words = text[max(start - _MAX_WORD, 0) : start].split()
            own = _CODES_AFTER.get(words[-1], code) if words else code
        elif before == b"@":
            own = 0  # sets an attribute
        if own:
            # A qualified name is a single node.
            start = max(start, text.rfind(b".", start, node.end_byte) + 1)
            yield start << _BITS | own


def names_of(marks: Sequence[int], text: bytes, language: str) -> list[int]:
    """Return the hashes of the names that marks refer to, rising, each once; see ``name_hash``.

    Args:
        marks: As ``marks_of`` returns them.
        text: The text.
        language: Of the text.
    """
    name_at = name_pattern(language).match
    found = (name_at(text, mark >> _BITS) for mark in marks if mark & _MASK < _TEXT_END)
    return sorted(map(crc32, {match.group() for match in found if match}))


def has_names(marks: Sequence[int]) -> bool:
    """Return whether marks refer to names."""
    return any(mark & _MASK < _TEXT_END for mark in marks)


def name_hash(name: str) -> int:
    """Return the hash of a name, 32 bits: the CRC-32 of its UTF-8."""
    return crc32(name.encode())


def name_pattern(language: str) -> re.Pattern[bytes]:
    """Return the pattern of an identifier of a language."""
    return _NAME_WITH_MARK if language in NAMES_WITH_MARKS else _NAME


@functools.cache
def has_references(language: str) -> bool:
    """Return whether the references of a language are read."""
    grammar = LANGUAGES[language].grammar if language in LANGUAGES else None
    names = grammar.queries if grammar else ()
    return any((QUERIES / f"{name}.references.scm").is_file() for name in names)


def offset_of(mark: int) -> int:
    """Return the byte offset of a mark."""
    return mark >> _BITS


def texts_of(marks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the stretches that are comments and literals, in order; none within another."""
    starts = [mark >> _BITS for mark in marks if mark & _MASK == _TEXT_START]
    ends = [mark >> _BITS for mark in marks if mark & _MASK == _TEXT_END]
    found = list(zip(starts, ends, strict=False))
    if all(after[0] >= before[1] for before, after in pairwise(found)):
        return found
    outer = found[:1]
    # The nth end is that of the nth start, as far as what is covered goes.
    for start, end in found[1:]:
        if start < outer[-1][1]:
            outer[-1] = (outer[-1][0], max(end, outer[-1][1]))
        else:
            outer.append((start, end))
    return outer


class Reference(NamedTuple):
    """A name in a role."""

    offset: int  # of its first byte
    role: Role


class Marks:
    """The marks of a text, to be asked.

    Args:
        marks: As ``marks_of`` returns them.
    """

    def __init__(self, marks: Sequence[int]) -> None:
        self._marks = marks if isinstance(marks, array) else array("I", marks)

    @cached_property
    def _starts(self) -> Sequence[int]:
        return array("I", [mark for mark in self._marks if mark & _MASK == _TEXT_START])

    @cached_property
    def _ends(self) -> Sequence[int]:
        return array("I", [mark for mark in self._marks if mark & _MASK == _TEXT_END])

    def role_at(self, offset: int) -> Role | None:
        """Return the role of the name at an offset, or None if it has none."""
        place = bisect_left(self._marks, offset << _BITS)
        if place < len(self._marks) and self._marks[place] >> _BITS == offset:
            return _ROLES.get(self._marks[place] & _MASK)
        return None

    def is_text(self, offset: int) -> bool:
        """Return whether an offset is within a comment or a literal."""
        mark = offset << _BITS | _MASK
        return bisect_right(self._starts, mark) > bisect_right(self._ends, mark)

    def texts(self) -> Iterator[tuple[int, int]]:
        """Yield the stretches of comments and literals; one can lie in another."""
        return zip(*self.text_bounds(), strict=True)

    def text_bounds(self) -> tuple["array[int]", "array[int]"]:
        """Return where comments and literals start, and where they end."""
        bounds = (self._starts, self._ends)
        first, last = (array("I", [mark >> _BITS for mark in each]) for each in bounds)
        return first, last

    def within(self, start: int, end: int) -> Iterator[Reference]:
        """Yield the references of a stretch of the text, in order."""
        first = bisect_left(self._marks, start << _BITS)
        last = bisect_left(self._marks, end << _BITS)
        before = -1
        for mark in self._marks[first:last]:
            offset, role = mark >> _BITS, _ROLES.get(mark & _MASK)
            if role is not None and offset != before:
                before = offset
                yield Reference(offset, role)
