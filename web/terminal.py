"""Terminal output: safe text, colours, and widths.

The only module of ``web`` that reads the environment (``NO_COLOR`` and ``TERM``, which are
conventions of terminals and not settings of this program).
"""

import os
import unicodedata
from dataclasses import dataclass
from typing import TextIO

from engine.humanize import printable, printable_block, rejoined

__all__ = [
    "Style",
    "columns_of",
    "printable",
    "printable_block",
    "rejoined",
    "shortened",
    "style_for",
    "width_of",
]


@dataclass(frozen=True, slots=True)
class Style:
    """Text styles of a terminal; plain text elsewhere."""

    color: bool = False

    def dim(self, text: str) -> str:
        """Mark less important text."""
        return self._marked(text, "2")

    def bold(self, text: str) -> str:
        """Mark the most important text."""
        return self._marked(text, "1")

    def place(self, text: str) -> str:
        """Mark a path with its lines."""
        return self._marked(text, "36")

    def match(self, text: str) -> str:
        """Mark matches of a query."""
        return self._marked(text, "1;31")

    def warning(self, text: str) -> str:
        """Mark warnings."""
        return self._marked(text, "33")

    def good(self, text: str) -> str:
        """Mark success or progress."""
        return self._marked(text, "32")

    def bad(self, text: str) -> str:
        """Mark failures."""
        return self._marked(text, "31")

    def _marked(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def style_for(stream: TextIO) -> Style:
    """Return a style with colours for a terminal that wants them, otherwise a plain one."""
    refused = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Style(color=stream.isatty() and not refused)


def columns_of(stream: TextIO) -> int | None:
    """Return the width of a terminal in columns, or None if the stream is not one."""
    if not stream.isatty():
        return None
    from shutil import get_terminal_size  # 3 ms

    return get_terminal_size().columns


def width_of(text: str) -> int:
    """Return the columns of printable text: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def shortened(text: str, width: int, *, keep: str = "start") -> str:
    """Cut printable text to a width; an ellipsis marks the cut.

    Args:
        text: One line.
        width: The most columns, 1 or more.
        keep: ``start`` or ``end``; the end of a path says more than its beginning.
    """
    if width_of(text) <= width:
        return text
    kept: list[str] = []
    left = width - 1
    for character in reversed(text) if keep == "end" else text:
        left -= _columns(character)
        if left < 0:
            break
        kept.append(character)
    return "…" + "".join(reversed(kept)) if keep == "end" else "".join(kept) + "…"


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
