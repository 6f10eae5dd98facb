"""Coding agents and their configuration files: adds and removes the entry of this MCP server.

Files are JSON, perhaps with comments and trailing commas like those of VS Code, or TOML. Only one
entry of one section changes; all other bytes stay. The edited text is parsed and compared with the
intended result, and a file that cannot be edited safely is left alone. A file is backed up before
it is replaced atomically.
"""

import contextlib
import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import ConflictError, InvalidInputError, UnavailableError
from engine.record_class import record
from engine.roots import real_path
from web.agent_clients import AgentClient
from web.agent_entries import NAME, UneditableError, toml_entry

Entry = Mapping[str, object]

_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*") | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<space>[\s\ufeff]+) | (?P<mark>[{}\[\],:]) | (?P<word>[^\s"/{}\[\],:]+|.)""",
    re.DOTALL | re.VERBOSE,
)
_OWN_KEYS = ("type", "command", "args", "url")  # of the entry; other keys are the user's
_BACKUP = ".cairn-backup"
_MAX_BYTES = 64 << 20
_BY_HAND = "edit it by hand: cairn mcp install --print shows the entry"


class _Member(NamedTuple):
    """A member of a JSON object, as offsets."""

    key: str
    start: int
    value: int
    end: int


class JsonText:
    """Edits a JSON file that has entries in a section."""

    def read(self, text: str) -> dict[str, Any]:
        """Parse a text; an empty one is an empty object.

        Raises:
            UneditableError: It is not a JSON object.
        """
        try:
            found = json.loads(_minified(text) or "{}")
        except (ValueError, RecursionError) as error:
            raise UneditableError(f"it is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise UneditableError("it is not an object")
        return found

    def write(self, section: str, name: str, entry: Entry) -> str:
        """Return the text of a new file with this entry alone."""
        return json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"

    def put(self, text: str, section: str, name: str, entry: Entry) -> str:
        """Add an entry to the text, or replace it."""
        if not _minified(text):
            return self.write(section, name, entry)
        root = _object_at(text, _after_space(text, 0))
        line_end = "\r\n" if "\r\n" in text else "\n"
        outer = _last(root.members, section)
        if outer is None:
            return _inserted(text, root, section, {name: entry}, line_end)
        inner = _object_at(text, outer.value)
        member = _last(inner.members, name)
        if member is None:
            return _inserted(text, inner, name, entry, line_end)
        written = _formatted(entry, _indent_at(text, member.start), _unit_of(text, root), line_end)
        return text[: member.value] + written + text[member.end :]

    def drop(self, text: str, section: str, name: str) -> str:
        """Remove an entry from the text, with its comma."""
        root = _object_at(text, _after_space(text, 0))
        outer = _last(root.members, section)
        if outer is None:
            return text
        inner = _object_at(text, outer.value)
        member = _last(inner.members, name)
        if member is None:
            return text
        start = len(text[: member.start].rstrip(_SPACE))
        after = _after_space(text, member.end)
        if text[after : after + 1] == ",":
            return text[:start] + text[member.end : after] + text[after + 1 :]
        at = inner.members.index(member)
        if at == 0:
            is_bare = start == inner.start + 1 and after == inner.end
            return text[:start] + text[inner.end if is_bare else member.end :]
        comma = _after_space(text, inner.members[at - 1].end)
        return text[:comma] + text[comma + 1 : start] + text[member.end :]


class _Object(NamedTuple):
    """A JSON object, as offsets."""

    start: int
    end: int  # of its closing brace
    members: list[_Member]


def _object_at(text: str, at: int) -> _Object:
    if at >= len(text) or text[at] != "{":
        raise UneditableError("an object is expected, but there is none")
    members = []
    place = _after_space(text, at + 1)
    while place < len(text) and text[place] != "}":
        if text[place] != '"':
            raise UneditableError("a key is not in quotes")
        end = _end_of_value(text, place)
        key = json.loads(text[place:end], strict=False)
        colon = _after_space(text, end)
        value = _after_space(text, colon + 1)
        value_end = _end_of_value(text, value)
        members.append(_Member(key, place, value, value_end))
        place = _after_space(text, value_end)
        if text[place : place + 1] == ",":
            place = _after_space(text, place + 1)
    if place >= len(text):
        raise UneditableError("an object has no end")
    return _Object(at, place, members)


def _last(members: list[_Member], key: str) -> _Member | None:
    return next((member for member in reversed(members) if member.key == key), None)


def _tokens(text: str, at: int = 0) -> Iterator[tuple[str, str, int]]:
    """Yield the tokens of a text: kind, text and offset."""
    for match in _TOKEN.finditer(text, at):
        yield match.lastgroup or "", match[0], match.start()


def _after_space(text: str, at: int) -> int:
    """Return the offset at which white space and comments end."""
    for kind, _, start in _tokens(text, at):
        if kind not in ("space", "comment"):
            return start
    return len(text)


def _end_of_value(text: str, at: int) -> int:
    depth = 0
    for kind, piece, start in _tokens(text, at):
        depth += (piece in "{[") - (piece in "}]") if kind == "mark" else 0
        if depth < 0:
            break
        is_value = kind in ("string", "word") or piece in ("}", "]")
        if depth == 0 and is_value:
            return start + len(piece)
        if depth == 0:
            break
    raise UneditableError("a value has no end")


def _minified(text: str) -> str:
    """Return a text without comments and trailing commas."""
    kept: list[str] = []
    for kind, piece, _ in _tokens(text):
        if kind in ("space", "comment"):
            continue
        if piece in ("}", "]") and kept and kept[-1] == ",":
            kept.pop()
        kept.append(piece)
    return " ".join(kept)


def _inserted(text: str, into: _Object, key: str, value: object, line_end: str) -> str:
    """Insert a member at the end of an object."""
    root = _object_at(text, _after_space(text, 0))
    unit = _unit_of(text, root)
    closing = _indent_at(text, into.start)
    last = len(text[: into.end].rstrip(_SPACE))  # comments stay with what they follow
    if into.members:
        indent = _indent_at(text, into.members[0].start)
        at = into.members[-1].end
        comma = _after_space(text, at)
        has_comma = text[comma : comma + 1] == ","  # a trailing comma, which is kept
        written = f"{json.dumps(key)}: {_formatted(value, indent, unit, line_end)}"
        head = text[:last] if has_comma else f"{text[:at]},{text[at:last]}"
        return f"{head}{line_end}{indent}{written}{',' * has_comma}{text[last:]}"
    indent = closing + unit
    written = f"{json.dumps(key)}: {_formatted(value, indent, unit, line_end)}"
    return f"{text[:last]}{line_end}{indent}{written}{line_end}{closing}{text[into.end :]}"


def _formatted(value: object, indent: str, unit: str, line_end: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{line_end}{indent}".join(lines)


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line at an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit_of(text: str, root: _Object) -> str:
    return (_indent_at(text, root.members[0].start) if root.members else "") or "  "


class TomlText:
    """Edits a TOML file that has entries in a table."""

    def read(self, text: str) -> dict[str, Any]:
        """Parse a text.

        Raises:
            UneditableError: It is not TOML.
        """
        try:
            return tomllib.loads(text.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise UneditableError(f"it is not TOML: {error}") from error

    def write(self, section: str, name: str, entry: Entry) -> str:
        """Return the text of a new file with this entry alone."""
        return toml_entry(section, name, entry)

    def put(self, text: str, section: str, name: str, entry: Entry) -> str:
        """Add an entry to the text, or replace it."""
        block = self.write(section, name, entry)
        if "\r\n" in text:
            block = block.replace("\n", "\r\n")
        lines = text.splitlines(keepends=True)
        spans = list(_spans_of(lines, section, name))
        if spans:
            first = spans[0][0]
            return "".join([*_without(lines[:first], []), block, *_rest(lines, spans)])
        if not text.strip():
            return text + block
        line_end = "\r\n" if "\r\n" in text else "\n"
        return text + ("" if text.endswith("\n") else line_end) + line_end + block

    def drop(self, text: str, section: str, name: str) -> str:
        """Remove an entry from the text, with the blank line before it."""
        lines = text.splitlines(keepends=True)
        spans = list(_spans_of(lines, section, name))
        if spans and spans[0][0] > 0 and not lines[spans[0][0] - 1].strip():
            spans[0] = (spans[0][0] - 1, spans[0][1])
        return "".join(_without(lines, spans))


def _rest(lines: list[str], spans: list[tuple[int, int]]) -> list[str]:
    first = spans[0][0]
    return _without(lines[first:], [(start - first, end - first) for start, end in spans])


def _without(lines: list[str], spans: list[tuple[int, int]]) -> list[str]:
    gone = {number for start, end in spans for number in range(start, end)}
    return [line for number, line in enumerate(lines) if number not in gone]


def _spans_of(lines: list[str], section: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of a table and its subtables, each from header to last key."""
    key = rf"\s*\[\s*{re.escape(section)}\s*\.\s*(?:\"{name}\"|'{name}'|{name})\s*[\].]"
    header, ours = re.compile(r"\s*\["), re.compile(key)
    number = 0
    while number < len(lines):
        if not ours.match(lines[number]):
            number += 1
            continue
        start = number
        end = number = number + 1
        while number < len(lines) and not header.match(lines[number]):
            number += 1
            if lines[number - 1].strip() and not lines[number - 1].lstrip().startswith("#"):
                end = number
        yield start, end


def editor_of(client: AgentClient) -> JsonText | TomlText:
    """Return the editor for the format of a client's file."""
    return TomlText() if client.is_toml else JsonText()


@record
class Change:
    """The outcome of an edit of an agent's file."""

    agent: str
    file: str
    outcome: str  # added, updated, unchanged, removed or absent
    backup: str | None  # path of the copy of the old file


def install(agent: AgentClient, file: Path, entry: Entry, *, within: Path) -> Change:
    """Add the entry of this server to an agent's file, or update it.

    Args:
        agent: The agent.
        file: Its file, created if it does not exist.
        entry: The entry; keys that the user has added to the old one are kept.
        within: The folder that a link must not lead out of.

    Raises:
        InvalidInputError: The file cannot be edited safely; it is unchanged.
        UnavailableError: It cannot be read or written; it is unchanged.
    """
    return _changed(agent, file, entry, within)


def uninstall(agent: AgentClient, file: Path, *, within: Path) -> Change:
    """Remove the entry of this server from an agent's file.

    Raises:
        InvalidInputError: As for ``install``.
        UnavailableError: As for ``install``.
    """
    return _changed(agent, file, None, within)


def _changed(agent: AgentClient, file: Path, entry: Entry | None, within: Path) -> Change:
    try:
        return _changed_there(agent, file, entry, within)
    except OSError as error:
        raise UnavailableError(
            f"cannot read or write {file}: {error.strerror}", hint=_BY_HAND, path=str(file)
        ) from error


def _changed_there(agent: AgentClient, file: Path, entry: Entry | None, within: Path) -> Change:
    target = _real_file(file, within)
    before = _read(target)
    try:
        after, outcome = _edited(agent, before.decode(), entry)
    except (UneditableError, UnicodeDecodeError, IndexError) as error:
        raise InvalidInputError(
            f"{file} cannot be edited safely: {error}",
            hint=_BY_HAND,
            field="agent",
            path=str(file),
        ) from error
    backup = None
    if outcome not in ("unchanged", "absent"):
        backup = _replaced(target, before, after.encode())
    return Change(agent=agent.name, file=str(file), outcome=outcome, backup=backup)


def _edited(agent: AgentClient, text: str, entry: Entry | None) -> tuple[str, str]:
    """Return the new text of a file, verified by parsing it, and the outcome."""
    editor = editor_of(agent)
    data = editor.read(text)
    servers = data.get(agent.section, {})
    if not isinstance(servers, dict):
        raise UneditableError(f"{agent.section} is not a table")
    old = servers.get(NAME)
    if entry is None and old is None:
        return text, "absent"
    wanted = {**data, agent.section: {name: each for name, each in servers.items() if name != NAME}}
    if entry is None:
        after = editor.drop(text, agent.section, NAME)
        outcome = "removed"
    else:
        kept = old if isinstance(old, dict) else {}
        new = {**entry, **{key: each for key, each in kept.items() if key not in _OWN_KEYS}}
        if new == old:
            return text, "unchanged"
        wanted[agent.section][NAME] = new
        after = editor.put(text, agent.section, NAME, new)
        outcome = "updated" if old is not None else "added"
    found = editor.read(after)
    found.setdefault(agent.section, {})
    if found != wanted:
        raise UneditableError("its style is not supported")
    return after, outcome


def _real_file(file: Path, within: Path) -> Path:
    """Resolve links to the actual file.

    Raises:
        InvalidInputError: A link leads outside or is broken, or it is not a regular file.
    """
    target = Path(real_path(file))
    problem = ""
    if file.is_symlink() and not target.exists():
        problem = "is a broken link"
    elif not target.is_relative_to(real_path(within)):
        problem = f"leads outside of {within}"
    elif target.exists() and not target.is_file():
        problem = "is not a regular file"
    if problem:
        raise InvalidInputError(
            f"{file} {problem}",
            hint=_BY_HAND,
            field="agent",
            path=str(file),
        )
    return target


def _read(file: Path) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_MAX_BYTES)
    except FileNotFoundError:
        return b""


def _replaced(file: Path, before: bytes, after: bytes) -> str | None:
    """Replace a file atomically, after a copy of it beside; return the path of the copy."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o600
    backup = None
    if file.exists():
        backup = file.with_name(file.name + _BACKUP)
        _write(backup, before, mode)
    if _read(file) != before:
        raise ConflictError(
            f"{file} was changed by another program", hint="try again", path=str(file)
        )
    _write(file, after, mode)
    return str(backup) if backup else None


def _write(file: Path, content: bytes, mode: int) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
