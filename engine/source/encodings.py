"""Detect the encoding of a file and convert it to UTF-8, or recognise that it is binary.

Nearly every file is ASCII or UTF-8, which is verified at memory speed. The rest is decided by the
byte order mark, NUL bytes, an encoding declaration in the file and finally by statistics.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator

from engine.records import SkipReason

#: How many bytes are searched for NUL to detect binary files; the same as in git.
HEAD_BYTES = 8000

#: Longer marks first: the UTF-16 mark is the start of the UTF-32 one.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_STARTS = b"\xef\xfe\xff\x00"

#: Starts of formats whose head may be free of NUL bytes.
_MAGIC = (
    b"%PDF-", b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"PK\x03\x04", b"PK\x05\x06",
    b"\x7fELF", b"\x1f\x8b\x08", b"BZh91AY&SY", b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ", b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd", b"OggS\x00", b"ID3\x03", b"ID3\x04", b"fLaC\x00", b"\x00asm",
    b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"!<arch>\n",
    b"SQLite format 3\x00", b"wOFF\x00", b"wOF2\x00", b"\xd0\xcf\x11\xe0",
)  # fmt: skip

#: Control characters that no text uses. Tab, line breaks and form feed are used everywhere,
#: backspace in formatted manual pages, escape in terminal logs.
_CONTROLS = bytes([*range(8), 11, *range(14, 27), *range(28, 32), 127])
_SAMPLE_BYTES = 2048

_ASCII = bytes(range(128))
_HIGH = bytes(range(128, 256))
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_AROUND_BYTES = 500  # of a line, before and after a byte above 127
_FROM_HIGH = re.compile(rb"[\x80-\xff][^\r\n]{0,%d}" % _AROUND_BYTES)

#: Encoding declarations in the first lines of a file: Python and Emacs, Vim, XML, HTML.
_DECLARED = re.compile(
    rb"(?:coding|encoding|charset)\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z][\w.-]{2,30})"
)
_DECLARED_HEAD_BYTES = 512

#: Encodings accepted from declarations or guesses, as Python names them. UTF-7, escapes etc. are
#: left out: a hostile file could declare one of them to hide its real text.
_LEGACY = (
    "cp1252", "iso8859-1", "iso8859-15", "cp1250", "iso8859-2", "cp1251", "koi8-r", "koi8-u",
    "cp866", "iso8859-5", "cp1253", "iso8859-7", "cp1254", "iso8859-9", "cp1255", "cp1256",
    "shift_jis", "cp932", "euc_jp", "gb18030", "gbk", "gb2312", "big5", "euc_kr", "cp949", "cp437",
    "cp850", "cp852", "mac-roman",
)  # fmt: skip

#: Fewer bytes above 127 are not enough for statistics.
_GUESS_MIN_HIGH_BYTES = 8
_GUESS_SAMPLE_BYTES = 32_768


def decode(data: bytes) -> tuple[bytes, str] | SkipReason:
    """Return a file's text as valid UTF-8 without byte order mark, and its original encoding.

    Line breaks stay as they are. What cannot be decoded in a text that is UTF-8 otherwise, such as
    a lone surrogate, becomes U+FFFD. About 3 µs for 10 kB of ASCII.

    Args:
        data: At least one byte.

    Returns:
        Text and encoding as Python names it (``utf-8-sig`` with a mark); else ``BINARY`` or
        ``UNDECODABLE``.
    """
    if data[0] in _MARK_STARTS:
        marked = _decode_marked(data)
        if marked is not None:
            return marked if _looks_like_text(marked[0]) else SkipReason.BINARY
    if data.startswith(_MAGIC):
        return SkipReason.BINARY
    if b"\0" in data and _has_many_nuls(data):
        return _decode_wide(data) or SkipReason.BINARY
    if not _looks_like_text(data):
        return SkipReason.BINARY
    if data.isascii():
        return data, "utf-8"
    try:
        data.decode()
    except UnicodeDecodeError:
        return _decode_damaged(data) or _decode_legacy(data) or SkipReason.UNDECODABLE
    return data, "utf-8"


def _looks_like_text(data: bytes) -> bool:
    """Return whether control characters are rare in the head; no text has one in 50."""
    head = data[:_SAMPLE_BYTES]
    return (len(head) - len(head.translate(None, _CONTROLS))) * 50 <= len(head)


def _has_many_nuls(data: bytes) -> bool:
    """Return whether a file is binary rather than text with a few NUL bytes far from its start."""
    return b"\0" in data[:HEAD_BYTES] or data.count(b"\0") * 1000 > len(data)


def _decode_marked(data: bytes) -> tuple[bytes, str] | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding.removesuffix("-sig"), "replace")
            return text.encode(), encoding
    return None


def _decode_wide(data: bytes) -> tuple[bytes, str] | None:
    """Decode UTF-16 without a mark, where every other byte of mostly Latin text is NUL."""
    head = data[:HEAD_BYTES]
    even = head[0::2].count(0)
    odd = head[1::2].count(0)
    if min(even, odd) * 20 > max(even, odd) or max(even, odd) * 4 < len(head):
        return None
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    try:
        text = data.decode(encoding).encode()
    except UnicodeDecodeError:
        return None
    return (text, encoding) if b"\0" not in text and _looks_like_text(text) else None


def _decode_damaged(data: bytes) -> tuple[bytes, str] | None:
    """Repair UTF-8 in which at most one character in ten beyond ASCII is broken."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - bad - len(data.translate(None, _HIGH))
    return (text.encode(), "utf-8") if good >= 10 * bad else None


def _decode_legacy(data: bytes) -> tuple[bytes, str] | None:
    """Try the declared encoding, then a statistical guess, then Western European."""
    for encoding in _encodings_of(data):
        text = _decoded(data, encoding) if encoding else None
        if text is not None and encoding is not None:
            return text, encoding
    return None


def _encodings_of(data: bytes) -> Iterator[str | None]:
    """Yield the encodings that a text can have, each when those before it do not fit."""
    declared = _DECLARED.findall(data[:_DECLARED_HEAD_BYTES])
    yield from dict.fromkeys(_python_name(name.decode()) for name in declared)
    yield _guess(data)
    yield _western(data)


def _python_name(declared: str) -> str | None:
    try:
        name = codecs.lookup(declared).name
    except LookupError:
        return None
    return name if name in _LEGACY else None


def _decoded(data: bytes, encoding: str) -> bytes | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return text.encode() if _is_plausible(text) else None


def _is_plausible(text: str) -> bool:
    """Return whether nearly all characters beyond ASCII are letters, marks or common symbols."""
    beyond = [character for character in text if character > "\x7f"][:_SAMPLE_BYTES]
    odd = sum(unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs") for character in beyond)
    return odd * 20 <= len(beyond)


def _guess(data: bytes) -> str | None:
    """Guess the encoding from the lines that have bytes above 127."""
    if len(data.translate(None, _ASCII)) < _GUESS_MIN_HIGH_BYTES:
        return None
    sample = b"\n".join(_high_lines(data))
    # Imported here because it takes 40 ms and nearly no tree has such a file.
    from charset_normalizer import from_bytes

    found = from_bytes(
        sample,
        cp_isolation=[name.replace("-", "_") for name in _LEGACY],
        preemptive_behaviour=False,
    )
    best = found.best()
    if best is None:
        return None
    # The most common one wins a tie; with enough Polish or Czech text there is no tie.
    for match in found:
        if match.chaos <= best.chaos and "cp1252" in match.could_be_from_charset:
            return "cp1252"
    return _python_name(best.encoding)


def _high_lines(data: bytes) -> list[bytes]:
    """Return what stands around bytes above 127, at most their lines, as far as it is needed."""
    lines: list[bytes] = []
    size_bytes = end = 0
    for match in _FROM_HIGH.finditer(data):
        high = match.start()
        start = max(end, high - _AROUND_BYTES)
        start = max(start, data.rfind(b"\n", start, high) + 1, data.rfind(b"\r", start, high) + 1)
        end = match.end()
        lines.append(data[start:end])
        size_bytes += end - start
        if size_bytes > _GUESS_SAMPLE_BYTES:
            break
    return lines


def _western(data: bytes) -> str | None:
    """Decode single bytes above 127 between ASCII letters as accented letters."""
    high_bytes = len(data.translate(None, _ASCII))
    runs = len(_HIGH_RUN.findall(data))
    return "cp1252" if high_bytes <= 2 * runs and high_bytes * 3 <= len(data) else None
