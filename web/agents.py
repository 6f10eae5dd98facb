"""Coding agents: where each keeps its MCP servers, and ours put in and taken out.

Nothing else in their files changes. A file is backed up before it is written, replaced in one step,
and left alone when it cannot be edited without harm.
"""

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ConflictError, InvalidInputError
from web.config_text import Entry, JsonText, TomlText, UneditableError

#: What our entry is called.
NAME = "codecairn"
_OWN_KEYS = ("type", "command", "args", "url")  # of an entry; others are the user's
_BACKUP = ".cairn-backup"
_MOST_BYTES = 64 << 20

_CODE_USER = (
    "Library/Application Support/Code/User" if sys.platform == "darwin" else ".config/Code/User"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent, and how it is told of servers."""

    name: str
    title: str
    section: str  # of its file, with an entry a server
    user_file: str  # below the home folder
    project_file: str  # below a project's root
    traces: tuple[str, ...]  # below the home folder; one of them is there when it is installed
    command: str  # likewise, on the PATH
    has_type: bool = True  # an entry says which transport it is of

    @property
    def text(self) -> JsonText | TomlText:
        """How its file is edited."""
        return TomlText() if self.user_file.endswith(".toml") else JsonText()

    def file(self, scope: str, home: Path, project: Path) -> Path:
        """Give its file.

        Args:
            scope: ``user`` or ``project``.
            home: The user's home folder.
            project: The project's root.
        """
        return home / self.user_file if scope == "user" else project / self.project_file

    def is_installed(self, home: Path) -> bool:
        """Say whether the agent seems to be on this machine."""
        return shutil.which(self.command) is not None or any(
            (home / trace).exists() for trace in self.traces
        )

    def stdio_entry(self, command: list[str], variables: Mapping[str, str]) -> dict[str, object]:
        """Give the entry of a server that the agent starts."""
        entry: dict[str, object] = {"type": "stdio"} if self.has_type else {}
        entry.update(command=command[0], args=command[1:])
        return {**entry, "env": dict(variables)} if variables else entry

    def http_entry(self, url: str) -> dict[str, object]:
        """Give the entry of a server that runs already."""
        return {"type": "http", "url": url} if self.has_type else {"url": url}


AGENTS = (
    Agent(
        name="claude-code",
        title="Claude Code",
        section="mcpServers",
        user_file=".claude.json",
        project_file=".mcp.json",
        traces=(".claude.json", ".claude"),
        command="claude",
    ),
    Agent(
        name="codex",
        title="Codex",
        section="mcp_servers",
        user_file=".codex/config.toml",
        project_file=".codex/config.toml",
        traces=(".codex",),
        command="codex",
        has_type=False,
    ),
    Agent(
        name="cursor",
        title="Cursor",
        section="mcpServers",
        user_file=".cursor/mcp.json",
        project_file=".cursor/mcp.json",
        traces=(".cursor",),
        command="cursor",
        has_type=False,
    ),
    Agent(
        name="vscode",
        title="VS Code",
        section="servers",
        user_file=f"{_CODE_USER}/mcp.json",
        project_file=".vscode/mcp.json",
        traces=(_CODE_USER,),
        command="code",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of an agent's file."""

    agent: str
    file: str
    outcome: str  # added, updated, unchanged, removed or absent
    backup: str | None  # what the file was before


def install(agent: Agent, file: Path, entry: Entry, *, within: Path) -> Change:
    """Put our entry into an agent's file.

    Args:
        agent: The agent.
        file: Its file; made when it is not there.
        entry: Our entry; what the user has added to it stays.
        within: A link may not lead out of this folder.

    Raises:
        InvalidInputError: The file cannot be edited without harm; it is as it was.
    """
    return _changed(agent, file, entry, within)


def uninstall(agent: Agent, file: Path, *, within: Path) -> Change:
    """Take our entry out of an agent's file.

    Raises:
        InvalidInputError: As for ``install``.
    """
    return _changed(agent, file, None, within)


def _changed(agent: Agent, file: Path, entry: Entry | None, within: Path) -> Change:
    target = _real_file(file, within)
    before = _read(target)
    try:
        after, outcome = _edited(agent, before.decode(), entry)
    except (UneditableError, UnicodeDecodeError, IndexError) as error:
        raise InvalidInputError(
            f"{file} cannot be edited without harm: {error}",
            hint="add --print to see what to paste",
            field="agent",
            path=str(file),
        ) from error
    backup = None
    if outcome not in ("unchanged", "absent"):
        backup = _replaced(target, before, after.encode())
    return Change(agent=agent.name, file=str(file), outcome=outcome, backup=backup)


def _edited(agent: Agent, text: str, entry: Entry | None) -> tuple[str, str]:
    """Give the new text of a file, proved to say what was meant, and what was done."""
    editor = agent.text
    data = editor.read(text)
    servers = data.get(agent.section, {})
    if not isinstance(servers, dict):
        raise UneditableError(f"{agent.section} is no table")
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
        raise UneditableError("it is written in a way that this program does not know")
    return after, outcome


def _real_file(file: Path, within: Path) -> Path:
    """Give the file that is meant, behind links.

    Raises:
        InvalidInputError: It leads out, or nowhere, or is no file.
    """
    target = Path(os.path.realpath(file))
    problem = ""
    if file.is_symlink() and not target.exists():
        problem = "is a link that leads nowhere"
    elif not target.is_relative_to(os.path.realpath(within)):
        problem = f"leads out of {within}"
    elif target.exists() and not target.is_file():
        problem = "is no file"
    if problem:
        raise InvalidInputError(
            f"{file} {problem}",
            hint="add --print to see what to paste",
            field="agent",
            path=str(file),
        )
    return target


def _read(file: Path) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_MOST_BYTES)
    except FileNotFoundError:
        return b""


def _replaced(file: Path, before: bytes, after: bytes) -> str | None:
    """Write a file in one step, a copy of what it was beside it; where that is."""
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
    descriptor, beside = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(beside, mode)
        os.replace(beside, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
