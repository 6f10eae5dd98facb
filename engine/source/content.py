"""Which text is worth indexing: empty, pointer, minified, generated and lock files told apart.

Pure functions of the name and the bytes. How bytes become text is said by ``charsets``, what
language the text is in by ``syntax.languages``, what it must not show by ``secrets``.
"""

import re
from typing import NamedTuple

from engine.records import Skip, SkipReason
from engine.source import charsets
from engine.source.notebook import NOTEBOOK_LANGUAGE, notebook_text
from engine.source.provenance import GENERATED_MARK

_LFS_START = b"version https://git-lfs.github.com/spec/"
_LFS_MAX_BYTES = 1024

#: Above this size a file is minified when nearly all of it stands in lines that nobody types. Code
#: around one embedded picture or data set stays: it can be a module of 500 lines.
_MINIFIED_MIN_BYTES = 5000
_AVERAGE_LINE_BYTES = 500
_LONG_LINE_BYTES = 1000
_LONG_LINES_SHARE = 0.9

#: Languages in which a line holds a paragraph; refused only when no person can have written it.
_PROSE = frozenset(
    {"asciidoc", "latex", "markdown", "org", "plaintext", "restructuredtext", "rst", "tex", "text"}
)
_PROSE_MIN_BYTES = 50_000
_PROSE_AVERAGE_LINE_BYTES = 10_000

_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|mjs|cjs|css|html|svg)$", re.IGNORECASE)
_SOURCE_MAP_HEAD = re.compile(rb'\s*\{[^\0]{0,200}?"(?:version|mappings|sources|file)"')

_GENERATED_HEAD_BYTES = 2048
_GENERATED_NAME = re.compile(
    r"""(?:
      _pb2(?:_grpc)?\.pyi? | \.pb(?:\.gw)?\.(?:go|cc|h|swift|dart|c) | _pb\.(?:js|d\.ts|rb)
    | \.(?:g|freezed|gr|mocks|pbenum|pbjson|pbserver)\.dart
    | \.(?:designer|g|g\.i|generated)\.(?:cs|vb)
    | (?:\.gen|[._]generated)\.(?:go|ts|tsx|js|py|rs|kt|swift|java|c|h|cc|cpp)
    | \.tab\.[ch] | (?:^|/)(?: zz_generated[^/]*\.go | lex\.yy\.c | __generated__/.* )
    )\Z""",
    re.IGNORECASE | re.VERBOSE,
)

_LOCK_NAMES = frozenset(
    {
        "brewfile.lock.json",
        "bun.lockb",
        "cabal.project.freeze",
        "cartfile.resolved",
        "gems.locked",
        "go.sum",
        "go.work.sum",
        "npm-shrinkwrap.json",
        "package.resolved",
        "packages.lock.json",
        "project.assets.json",
    }
)
_LOCK_ENDINGS = (".lock", ".lockfile", ".lock.hcl", "-lock.json", "-lock.yaml", "-lock.yml")


class Inspected(NamedTuple):
    """A text as it is to be indexed."""

    text: bytes  # valid UTF-8 without a byte order mark; line breaks as in the file (or notebook)
    encoding: str  # what the file was in, as Python names it
    generated: bool  # written by a program, going by its name or its own words


def is_lock_file(path: str) -> bool:
    """Say by the name whether a file pins dependencies, and so holds nothing that people wrote."""
    name = path[path.rfind("/") + 1 :].lower()
    return name.endswith(_LOCK_ENDINGS) or name in _LOCK_NAMES


def inspect(path: str, data: bytes, language: str) -> Inspected | Skip:
    """Turn the bytes of a file into a text to index, or say why not.

    The text of a notebook is that of its cells.

    Linear in the size; about 11 µs for 10 kB of ASCII. The outcome depends on the arguments alone,
    so a skip may be stored with the file's stat.

    Args:
        path: For what its name says, and for the skip.
        data: The whole file.
        language: As ``syntax.languages`` names it; prose may have long lines.

    Returns:
        The text; else a skip that is ``LFS_POINTER``, ``BINARY``, ``UNDECODABLE`` or ``MINIFIED``.
    """
    if not data:
        return Inspected(b"", "utf-8", False)
    if len(data) < _LFS_MAX_BYTES and data.startswith(_LFS_START):
        return Skip(path, SkipReason.LFS_POINTER, "stored in Git LFS, only its pointer is here")
    decoded = charsets.decode(data)
    if decoded is SkipReason.BINARY:
        return Skip(path, SkipReason.BINARY, "not a text")
    if isinstance(decoded, SkipReason):
        return Skip(path, decoded, "a text in no encoding that is known")
    text, encoding = decoded
    if language == NOTEBOOK_LANGUAGE:
        cells = notebook_text(text)
        text = text if cells is None else cells
    minified = _minified_by(path, text, language)
    if minified:
        return Skip(path, SkipReason.MINIFIED, minified)
    return Inspected(text, encoding, _is_generated(path, text))


def _minified_by(path: str, text: bytes, language: str) -> str:
    """Give what shows that a text was written for machines only; empty when nothing does."""
    if "min." in path and _MINIFIED_NAME.search(path):
        return "the name says that it is minified"
    if path.endswith(".map") and _SOURCE_MAP_HEAD.match(text):
        return "a source map"
    size_bytes = len(text)
    if size_bytes <= _MINIFIED_MIN_BYTES:
        return ""
    line_break = b"\n" if b"\n" in text else b"\r"
    average_bytes = size_bytes // (text.count(line_break) + 1)
    if language in _PROSE:
        extreme = size_bytes > _PROSE_MIN_BYTES and average_bytes > _PROSE_AVERAGE_LINE_BYTES
        return f"lines of {average_bytes} bytes on average" if extreme else ""
    if average_bytes > _AVERAGE_LINE_BYTES:
        return f"lines of {average_bytes} bytes on average"
    long_bytes = _bytes_in_long_lines(text, line_break)
    if long_bytes > size_bytes * _LONG_LINES_SHARE:
        return f"{long_bytes} of {size_bytes} bytes in lines longer than {_LONG_LINE_BYTES}"
    return ""


def _bytes_in_long_lines(text: bytes, line_break: bytes) -> int:
    """Count the bytes in lines longer than ``_LONG_LINE_BYTES``, one look per that many bytes."""
    total = 0
    start = 0  # of a line
    size_bytes = len(text)
    while size_bytes - start > _LONG_LINE_BYTES:
        last = text.rfind(line_break, start, start + _LONG_LINE_BYTES + 1)
        if last >= 0:
            start = last + 1
            continue
        end = text.find(line_break, start + _LONG_LINE_BYTES)
        if end < 0:
            end = size_bytes
        total += end - start
        start = end + 1
    return total


def _is_generated(path: str, text: bytes) -> bool:
    head = text[:_GENERATED_HEAD_BYTES]
    if (b"enerated" in head or b"DO NOT " in head) and GENERATED_MARK.search(head):
        return True
    return _GENERATED_NAME.search(path) is not None
