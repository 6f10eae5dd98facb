"""Blocks of tests in JavaScript and TypeScript: calls of ``describe``, ``it`` and ``test``.

Jest, Vitest, Mocha and others run functions without a name, which are known by the titles that
they are registered with.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.references.sources import Source

LANGUAGES = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
_BLOCK = re.compile(
    rb"(?<![\w$.])(?:describe|context|suite|it|test|specify)(?:\.\w{1,30}){0,3}\s{0,20}(\()"
    rb"\s{0,200}([\"'`])((?:\\.|(?!\2)[^\\\n]){0,300})\2"
)
_BRACKET = re.compile(rb"[()]")
_ESCAPED = re.compile(r"\\(.)")
_BETWEEN = " > "
_MOST_TITLE = 300  # characters, the last ones: nested blocks must not add up


class Block(NamedTuple):
    """A block of tests."""

    start: int
    end: int
    title: str  # after those of the blocks around it
    around: int | None  # the number of the block around it


def blocks_of(source: Source) -> Sequence[Block]:
    """Return the blocks of a file, in text order; a call that is not closed is none."""
    if source.language not in LANGUAGES or not source.is_marked:
        return ()
    found = {
        match.start(1): match
        for match in _BLOCK.finditer(source.text)
        if not source.marks.is_text(match.start())
    }
    blocks: list[Block] = []
    opened: list[int | None] = []  # the block of each open bracket, if it begins one
    around: list[int] = []  # the blocks that are open
    for offset in _brackets_of(source) if found else ():
        if source.text[offset : offset + 1] == b"(":
            match = found.get(offset)
            opened.append(len(blocks) if match else None)
            if match:
                outer = around[-1] if around else None
                said = _ESCAPED.sub(r"\1", match[3].decode("utf-8", "replace")).strip()
                title = said if outer is None else f"{blocks[outer].title}{_BETWEEN}{said}"
                around.append(len(blocks))
                blocks.append(Block(match.start(), -1, title[-_MOST_TITLE:], outer))
        elif opened and (number := opened.pop()) is not None:
            around.pop()
            blocks[number] = blocks[number]._replace(end=offset)
    return blocks


def block_at(blocks: Sequence[Block], offset: int) -> Block | None:
    """Return the innermost block around a place."""
    number: int | None = bisect_right(blocks, offset, key=lambda each: each.start) - 1
    while number is not None and number >= 0:
        if offset < blocks[number].end:
            return blocks[number]
        number = blocks[number].around
    return None


def _brackets_of(source: Source) -> Iterator[int]:
    """Yield where round brackets stand outside of comments and literals."""
    texts = source.marks.texts()
    start, end = next(texts, (-1, -1))
    for match in _BRACKET.finditer(source.text):
        offset = match.start()
        while start >= 0 and end <= offset:
            start, end = next(texts, (-1, -1))
        if not 0 <= start <= offset:
            yield offset
