"""Connect an agent: what to paste into each client, and which agents are connected.

The address is the one that the browser has used; of a token only the variable is named, never its
text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, get

from engine.telemetry.agents import CONNECTED_MINUTES
from web.agent_entries import NAME, server_command, server_variables, toml_entry
from web.api.service import Service
from web.pages.rendering import PageRequest, Pages, page, page_request_of

_VARIABLE = "CAIRN_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client of agents, and the shape of its configuration."""

    name: str
    title: str
    file: str  # empty: none in particular
    section: str = "mcpServers"
    has_type: bool = False  # whether an entry names its transport
    url: str = "url"  # the key of an address; empty: it starts servers only
    reference: str = ""  # how a header refers to an environment variable, or to an input
    add: str = ""  # the command that adds a server over HTTP
    add_token: str = ""  # the rest of it for a server with a token
    note: str = ""


CLIENTS = (
    Client(
        name="claude-code",
        title="Claude Code",
        file="~/.claude.json, or .mcp.json in a project",
        has_type=True,
        reference=f"${{{_VARIABLE}}}",
        add=f"claude mcp add --transport http --scope user {NAME} {{url}}",
        add_token=f' --header "Authorization: Bearer ${_VARIABLE}"',
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        file="claude_desktop_config.json (Settings, Developer, Edit Config)",
        url="",
        note="It starts the server itself. Restart it after the change.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        file="~/.cursor/mcp.json, or .cursor/mcp.json in a project",
        reference=f"${{env:{_VARIABLE}}}",
    ),
    Client(
        name="vscode",
        title="VS Code with Copilot",
        file=".vscode/mcp.json, or “MCP: Open User Configuration”",
        section="servers",
        has_type=True,
        reference="${input:cairn-token}",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        file="~/.codeium/windsurf/mcp_config.json",
        url="serverUrl",
        reference=f"${{env:{_VARIABLE}}}",
    ),
    Client(
        name="zed",
        title="Zed",
        file="~/.config/zed/settings.json",
        section="context_servers",
        reference="YOUR_TOKEN",
        note="Zed reads no variables here: write the token in place of YOUR_TOKEN.",
    ),
    Client(
        name="codex",
        title="Codex CLI",
        file="~/.codex/config.toml",
        section="mcp_servers",
        add=f"codex mcp add {NAME} --url {{url}}",
        add_token=f" --bearer-token-env-var {_VARIABLE}",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        file="~/.gemini/settings.json",
        url="httpUrl",
        reference=f"${_VARIABLE}",
        add=f"gemini mcp add --scope user --transport http {NAME} {{url}}",
        add_token=f' --header "Authorization: Bearer ${_VARIABLE}"',
    ),
    Client(
        name="other",
        title="Any other client",
        file="",
        has_type=True,
        reference=f"${{{_VARIABLE}}}",
        note="Streamable HTTP at this address; /sse beside it is for older clients.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippets:
    """What a client needs."""

    client: Client
    command: str  # that adds this server; empty: there is none
    http: str  # the entry for this server; empty: it cannot be used
    stdio: str  # the entry for a server that the client starts


@get("/connect")
async def connect(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Render the page; for htmx the connected agents."""
    page_request = page_request_of(request)
    host = request.headers.get("host", "")
    url = f"http://{host}/mcp" if host else f"{service.settings.url}/mcp"
    return page(await service.work(lambda: _page(service, pages, page_request, url)))


def _page(service: Service, pages: Pages, page_request: PageRequest, url: str) -> bytes:
    context: dict[str, Any] = {
        "activity": service.catalog.agent_activity(),
        "minutes": CONNECTED_MINUTES,
    }
    if page_request.is_fragment:
        return pages.html("parts/agents.html", page_request, context)
    command, variables = server_command(), server_variables(str(service.catalog.data_dir))
    has_token = bool(service.settings.token)
    context |= {
        "has_token": has_token,
        "variable": _VARIABLE,
        "is_loopback": service.settings.is_loopback,
        "clients": [
            snippets_for(client, url, command, variables, has_token=has_token) for client in CLIENTS
        ],
    }
    return pages.html("connect.html", page_request, context)


def snippets_for(
    client: Client,
    url: str,
    command: list[str],
    variables: Mapping[str, str],
    *,
    has_token: bool,
) -> Snippets:
    """Return what to paste into a client.

    Args:
        client: The client.
        url: Of this server's ``/mcp``.
        command: That starts a server over standard input and output.
        variables: Of its environment.
        has_token: Whether this server requires a token.
    """
    stdio: dict[str, object] = {"type": "stdio"} if client.has_type else {}
    stdio.update(command=command[0], args=command[1:])
    if variables:
        stdio["env"] = dict(variables)
    http: dict[str, object] = {"type": "http"} if client.has_type else {}
    http[client.url] = url
    if has_token and client.reference:
        http["headers"] = {"Authorization": f"Bearer {client.reference}"}
    elif has_token:
        http["bearer_token_env_var"] = _VARIABLE
    add = client.add.format(url=url) + (client.add_token if has_token else "")
    return Snippets(
        client=client,
        command=add if client.add else "",
        http=_written(client, http) if client.url else "",
        stdio=_written(client, stdio),
    )


def _written(client: Client, entry: Mapping[str, object]) -> str:
    if client.file.endswith(".toml"):
        return toml_entry(client.section, NAME, entry).rstrip()
    whole: dict[str, object] = {client.section: {NAME: entry}}
    if "${input:" in str(entry):
        asked = {"type": "promptString", "id": "cairn-token", "description": "CodeCairn token"}
        whole = {"inputs": [{**asked, "password": True}], **whole}
    return json.dumps(whole, indent=2, ensure_ascii=False)
