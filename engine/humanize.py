"""Numbers, times and names as text for people."""

import re

# Control characters of both halves (C1 holds the one-byte CSI), the marks that reorder text, and
# lone surrogates (bytes of file names that are not UTF-8).
_UNSAFE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE_IN_BLOCK = re.compile(f"[{_UNSAFE}]")
_UNSAFE_IN_LINE = re.compile(f"[\t\n{_UNSAFE}]")
_ESCAPED_BYTES = re.compile("[\udc80-\udcff]+")
_NAMED_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the right form: ``1 file``, ``1,200 files``."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith('x') else 's'}"


def duration(milliseconds: float) -> str:
    """Return a time with two or three digits: ``3.2 ms``, ``850 ms``, ``4.1 s``, ``2 min 05 s``."""
    if milliseconds < 9.95:
        return f"{milliseconds:.1f} ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def size(number_of_bytes: int) -> str:
    """Return a size in decimal units: ``812 bytes``, ``1.4 MB``."""
    value = float(number_of_bytes)
    for unit in _UNITS[:-1]:
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def percent(share: float) -> str:
    """Return a share as a percentage that reaches 100 and 0 only when it is all or nothing.

    Near the ends it has a decimal: ``0.3%``, ``42%``, ``99.9%``.
    """
    if 0 < share < 0.0095:
        return f"{max(share * 100, 0.1):.1f}%"
    if 0.99 < share < 1:
        return f"{min(share * 100, 99.9):.1f}%"
    return f"{share * 100:.0f}%"


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
    """Make text safe as a part of one line: control characters become visible escapes.

    Bytes of file names that are not UTF-8 become U+FFFD, as ``engine.records.display_path`` has
    them in addresses and in JSON.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE_IN_LINE.sub(_escape, rejoined(text, "replace"))


def printable_block(text: str) -> str:
    """Make text of several lines safe; line ends and tabs stay."""
    return _UNSAFE_IN_BLOCK.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    named = _NAMED_ESCAPES.get(character)
    if named:
        return named
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
