"""Connect an agent: what to paste into each client, and which agents are connected.

The address is the one that the browser has used; of a token only the variable is named, never its
text.
"""

import json
from collections.abc import Mapping
from typing import Any

from litestar import Request, Response, get

from engine.record_class import record
from engine.telemetry.agents import CONNECTED_MINUTES
from web.agent_clients import ACCESS_VARIABLE, CLIENTS, AgentClient
from web.agent_entries import NAME, server_command, server_variables, toml_entry
from web.api.service import Service
from web.pages.rendering import PageRequest, Pages, page, page_request_of


@record
class Snippets:
    """What a client needs."""

    client: AgentClient
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
        "variable": ACCESS_VARIABLE,
        "is_loopback": service.settings.is_loopback,
        "clients": [
            snippets_for(client, url, command, variables, has_token=has_token) for client in CLIENTS
        ],
    }
    return pages.html("connect.html", page_request, context)


def snippets_for(
    client: AgentClient,
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
    add = client.add.format(url=url) + (client.add_token if has_token else "")
    return Snippets(
        client=client,
        command=add if client.add else "",
        http=_written(client, client.http_entry(url, has_token=has_token)) if client.url else "",
        stdio=_written(client, client.stdio_entry(command, variables)),
    )


def _written(client: AgentClient, entry: Mapping[str, object]) -> str:
    if client.is_toml:
        return toml_entry(client.section, NAME, entry).rstrip()
    whole: dict[str, object] = {client.section: {NAME: entry}}
    if "${input:" in str(entry):
        asked = {"type": "promptString", "id": "cairn-token", "description": "CodeCairn token"}
        whole = {"inputs": [{**asked, "password": True}], **whole}
    return json.dumps(whole, indent=2, ensure_ascii=False)
