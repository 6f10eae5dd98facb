"""Numbers, sizes, times and names as the operation log writes them."""

import re

# Control characters of both halves, the marks that reorder text, and lone surrogates, which stand
# for bytes of file names that are not UTF-8.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Make text safe as one line: control characters become visible escapes."""
    return _UNSAFE.sub(_escape, text)


def number_of(value: object) -> str:
    """Write a whole number with separators; what is none as it is."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def bytes_of(value: object) -> str:
    """Write a size."""
    if not isinstance(value, int):
        return str(value)
    if value < 1000:
        return f"{value} bytes"
    if value < 1_000_000:
        return f"{value / 1000:.1f} kB"
    return f"{value / 1_000_000:,.1f} MB"


def duration_of(milliseconds: int) -> str:
    """Write a length of time: ``0.4s``, ``27s``, ``5m 27s``, ``2h 5m``."""
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # the byte that surrogateescape stands for
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
