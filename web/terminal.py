"""What a terminal may be shown: safe text, colours, and how wide it is.

The only module of ``web`` that reads the environment (``NO_COLOR`` and ``TERM``, which are no
settings of this program but habits of terminals).
"""

import os
import re
import shutil
import unicodedata
from dataclasses import dataclass
from typing import TextIO

# Control characters of both halves (C1 holds the one-byte CSI), the marks that reorder text, and
# lone surrogates (bytes of file names that are not UTF-8).
_UNSAFE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE_IN_BLOCK = re.compile(f"[{_UNSAFE}]")
_UNSAFE_IN_LINE = re.compile(f"[\t\n{_UNSAFE}]")
_ESCAPED_BYTES = re.compile("[\udc80-\udcff]+")
_NAMED_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def rejoined(text: str, errors: str) -> str:
    """Read bytes of file names that the locale could not decode as UTF-8.

    Args:
        text: With such bytes as ``surrogateescape`` leaves them.
        errors: What to do with those that are not UTF-8 either: ``replace`` or ``surrogateescape``.
    """
    return _ESCAPED_BYTES.sub(
        lambda match: bytes(ord(each) - 0xDC00 for each in match[0]).decode("utf-8", errors), text
    )


def printable(text: str) -> str:
    """Make text safe as a part of one line: control characters become visible escapes."""
    return _UNSAFE_IN_LINE.sub(_escape, rejoined(text, "surrogateescape"))


def printable_block(text: str) -> str:
    """Make text of several lines safe; line ends and tabs stay."""
    return _UNSAFE_IN_BLOCK.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    named = _NAMED_ESCAPES.get(character)
    if named:
        return named
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # the byte that surrogateescape stands for
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@dataclass(frozen=True, slots=True)
class Style:
    """How to mark up text; plain unless there is a terminal to see it."""

    color: bool = False

    def dim(self, text: str) -> str:
        """Mark what matters less."""
        return self._marked(text, "2")

    def bold(self, text: str) -> str:
        """Mark what matters most."""
        return self._marked(text, "1")

    def place(self, text: str) -> str:
        """Mark a path with its lines."""
        return self._marked(text, "36")

    def match(self, text: str) -> str:
        """Mark what was searched for."""
        return self._marked(text, "1;31")

    def warning(self, text: str) -> str:
        """Mark what should be noticed."""
        return self._marked(text, "33")

    def good(self, text: str) -> str:
        """Mark what went well, or goes on."""
        return self._marked(text, "32")

    def bad(self, text: str) -> str:
        """Mark what went wrong."""
        return self._marked(text, "31")

    def _marked(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def style_for(stream: TextIO) -> Style:
    """Give colours to a terminal that wants them, to nothing else."""
    refused = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Style(color=stream.isatty() and not refused)


def columns_of(stream: TextIO) -> int | None:
    """Give the width of a terminal in columns; ``None`` for anything else, which has no end."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def width_of(text: str) -> int:
    """Give the columns that printable text takes: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def shortened(text: str, width: int, *, keep: str = "start") -> str:
    """Cut printable text to a width; an ellipsis stands for what went.

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
