"""The clients of agents: how each writes an entry for this server, and where it keeps it."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from engine.record_class import record
from web.agent_entries import NAME

ACCESS_VARIABLE: Final = "CAIRN_TOKEN"
_CODE_USER = (
    "Library/Application Support/Code/User" if sys.platform == "darwin" else ".config/Code/User"
)


@record
class AgentClient:
    """A client of agents, the shape of its configuration, and its files."""

    name: str
    title: str
    file: str  # as a person reads it; empty: none in particular
    section: str = "mcpServers"  # of its file, with one entry per server
    has_type: bool = False  # whether an entry names its transport
    url: str = "url"  # the key of an address; empty: it starts servers only
    reference: str = ""  # how a header refers to an environment variable, or to an input
    add: str = ""  # the command that adds a server over HTTP
    add_token: str = ""  # the rest of it for a server with a token
    note: str = ""
    user_file: str = ""  # below the home folder; empty: `cairn mcp install` leaves it alone
    project_file: str = ""  # below a project's root
    traces: tuple[str, ...] = ()  # below the home folder; one is there if it is installed
    program: str = ""  # on the PATH if it is installed

    @property
    def is_toml(self) -> bool:
        """Whether its file is TOML; otherwise it is JSON."""
        return self.file.endswith(".toml")

    def config_file(self, scope: str, home: Path, project: Path) -> Path:
        """Return its configuration file.

        Args:
            scope: ``user`` or ``project``.
            home: The user's home folder.
            project: The project's root.
        """
        return home / self.user_file if scope == "user" else project / self.project_file

    def is_installed(self, home: Path) -> bool:
        """Return whether it seems to be installed on this machine."""
        return shutil.which(self.program) is not None or any(
            (home / trace).exists() for trace in self.traces
        )

    def stdio_entry(self, command: list[str], variables: Mapping[str, str]) -> dict[str, object]:
        """Return the entry of a server that it starts."""
        entry: dict[str, object] = {"type": "stdio"} if self.has_type else {}
        entry.update(command=command[0], args=command[1:])
        return {**entry, "env": dict(variables)} if variables else entry

    def http_entry(self, url: str, *, has_token: bool = False) -> dict[str, object]:
        """Return the entry of a server that is already running."""
        entry: dict[str, object] = {"type": "http"} if self.has_type else {}
        entry[self.url] = url
        if has_token and self.reference:
            entry["headers"] = {"Authorization": f"Bearer {self.reference}"}
        elif has_token:
            entry["bearer_token_env_var"] = ACCESS_VARIABLE
        return entry


CLIENTS = (
    AgentClient(
        name="claude-code",
        title="Claude Code",
        file="~/.claude.json, or .mcp.json in a project",
        has_type=True,
        reference=f"${{{ACCESS_VARIABLE}}}",
        add=f"claude mcp add --transport http --scope user {NAME} {{url}}",
        add_token=f' --header "Authorization: Bearer ${ACCESS_VARIABLE}"',
        user_file=".claude.json",
        project_file=".mcp.json",
        traces=(".claude.json", ".claude"),
        program="claude",
    ),
    AgentClient(
        name="claude-desktop",
        title="Claude Desktop",
        file="claude_desktop_config.json (Settings, Developer, Edit Config)",
        url="",
        note="It starts the server itself. Restart it after the change.",
    ),
    AgentClient(
        name="cursor",
        title="Cursor",
        file="~/.cursor/mcp.json, or .cursor/mcp.json in a project",
        reference=f"${{env:{ACCESS_VARIABLE}}}",
        user_file=".cursor/mcp.json",
        project_file=".cursor/mcp.json",
        traces=(".cursor",),
        program="cursor",
    ),
    AgentClient(
        name="vscode",
        title="VS Code with Copilot",
        file=".vscode/mcp.json, or “MCP: Open User Configuration”",
        section="servers",
        has_type=True,
        reference="${input:cairn-token}",
        user_file=f"{_CODE_USER}/mcp.json",
        project_file=".vscode/mcp.json",
        traces=(_CODE_USER,),
        program="code",
    ),
    AgentClient(
        name="windsurf",
        title="Windsurf",
        file="~/.codeium/windsurf/mcp_config.json",
        url="serverUrl",
        reference=f"${{env:{ACCESS_VARIABLE}}}",
    ),
    AgentClient(
        name="zed",
        title="Zed",
        file="~/.config/zed/settings.json",
        section="context_servers",
        reference="YOUR_TOKEN",
        note="Zed reads no variables here: write the token in place of YOUR_TOKEN.",
    ),
    AgentClient(
        name="codex",
        title="Codex CLI",
        file="~/.codex/config.toml",
        section="mcp_servers",
        add=f"codex mcp add {NAME} --url {{url}}",
        add_token=f" --bearer-token-env-var {ACCESS_VARIABLE}",
        user_file=".codex/config.toml",
        project_file=".codex/config.toml",
        traces=(".codex",),
        program="codex",
    ),
    AgentClient(
        name="gemini",
        title="Gemini CLI",
        file="~/.gemini/settings.json",
        url="httpUrl",
        reference=f"${ACCESS_VARIABLE}",
        add=f"gemini mcp add --scope user --transport http {NAME} {{url}}",
        add_token=f' --header "Authorization: Bearer ${ACCESS_VARIABLE}"',
    ),
    AgentClient(
        name="other",
        title="Any other client",
        file="",
        has_type=True,
        reference=f"${{{ACCESS_VARIABLE}}}",
        note="Streamable HTTP at this address; /sse beside it is for older clients.",
    ),
)

#: Those whose files `cairn mcp install` edits.
EDITED: Final = tuple(client for client in CLIENTS if client.user_file)
