"""The resource ``logs://``: what jobs have left for people to read."""

import json
from collections.abc import Sequence

import re2  # type: ignore[import-untyped]

from engine.errors import InvalidInputError, NotFoundError
from engine.index import Index
from web.mcp.desk import Desk
from web.mcp.tool import Caller
from web.mcp.uri import Asked
from web.terminal import printable_block

_MOST_CONTEXT = 100  # lines
_MOST_PATTERN_CHARS = 1000
_COMPILE_BYTES = 1 << 20
_TRUE = {"true": True, "1": True, "yes": True, "": True, "false": False, "0": False, "no": False}


def list_logs(desk: Desk, index: Index, _asked: Asked, _caller: Caller) -> str:
    """Give the logs of a project."""
    logs = desk.catalog.jobs.logs(index.root)
    shape = [
        {
            "file": log.name,
            "status": log.status,
            "ended_at": log.ended_at,
            "size_bytes": log.size_bytes,
        }
        for log in logs
    ]
    return json.dumps({"logs": shape}, separators=(",", ":"))


def content(desk: Desk, index: Index, asked: Asked, _caller: Caller) -> str:
    """Give a log, the newest one when none is named; with a pattern, the lines it matches.

    Raises:
        NotFoundError: The project has no such log.
        InvalidInputError: The pattern is not one of RE2, or a number is out of range.
    """
    around = _context_of(asked.values.get("C"))
    is_numbered = _yes_or_no(asked.values.get("line_numbers"))
    pattern = _pattern_of(asked.values.get("pattern"))
    lines = _log_of(desk, index, asked.values.get("file")).splitlines()
    shown = range(len(lines)) if pattern is None else _around(lines, pattern, around)
    width = len(str(len(lines)))
    written = []
    before = -1
    for number in shown:
        if pattern is not None and before >= 0 and number > before + 1:
            written.append("--")
        before = number
        written.append(f"{number + 1:>{width}}: {lines[number]}" if is_numbered else lines[number])
    return printable_block("\n".join(written))


def _log_of(desk: Desk, index: Index, name: str | None) -> str:
    logs = desk.catalog.jobs.logs(index.root)
    found = next((log for log in logs if name is None or log.name == name), None)
    if found is not None:
        try:
            return found.read()
        except OSError:  # gone since, or a link now
            pass
    raise NotFoundError(f"no log {name!r}" if name else "no log yet", hint="logs://list lists them")


def _around(lines: Sequence[str], pattern: "re2._Regexp[bytes]", around: int) -> Sequence[int]:
    shown: set[int] = set()
    for number, line in enumerate(lines):
        if pattern.search(line.encode()):
            shown.update(range(max(0, number - around), min(len(lines), number + around + 1)))
    return sorted(shown)


def _pattern_of(text: str | None) -> "re2._Regexp[bytes] | None":
    if text is None:
        return None
    if len(text) > _MOST_PATTERN_CHARS:
        raise InvalidInputError(
            f"the pattern has {len(text):,} characters, at most {_MOST_PATTERN_CHARS:,} can be",
            field="pattern",
        )
    options = re2.Options()
    options.max_mem = _COMPILE_BYTES
    options.log_errors = False
    try:
        return re2.compile(text.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidInputError(
            f"the pattern cannot be read: {error}",
            hint="patterns are those of RE2: no look-around, no back-references",
            field="pattern",
        ) from error


def _context_of(text: str | None) -> int:
    if text is None:
        return 0
    if not text.isascii() or not text.isdigit() or int(text[:9]) > _MOST_CONTEXT:
        raise InvalidInputError(f"C is {text[:20]!r}, wanted 0 to {_MOST_CONTEXT} lines", field="C")
    return int(text)


def _yes_or_no(text: str | None) -> bool:
    if text is None:
        return False
    if text.lower() not in _TRUE:
        raise InvalidInputError(
            f"line_numbers is {text[:20]!r}, wanted true or false", field="line_numbers"
        )
    return _TRUE[text.lower()]
