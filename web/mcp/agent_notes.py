"""Notes who calls which tool, in the log of all agents: never what was asked or answered."""

from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context

from engine.records import display_path
from engine.telemetry.agents import NoteEvent, note_agent, note_call
from web.terminal import printable

if TYPE_CHECKING:
    from mcp.types import Implementation

_MAX_NAME_CHARS = 60
_ARRIVAL = "tools/list"  # which clients send when they have connected


class AgentNotes:
    """Writes the notes of one server.

    Args:
        note: Writes an event to the log.
        transport: ``stdio`` or ``http``.
    """

    def __init__(self, note: NoteEvent, transport: str) -> None:
        self._note = note
        self._transport = transport

    async def of_arrival(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Note that an agent has connected, then handle its request."""
        if ctx.method == _ARRIVAL:
            note_agent(self._note, client=_name_of(ctx.session), transport=self._transport)
        return await call_next(ctx)

    def call(
        self,
        context: Context[Any, Any] | None,
        tool: str,
        project: str | None,
        took_s: float,
        tokens: int,
        outcome: str,
    ) -> None:
        """Note a call of a tool."""
        note_call(
            self._note,
            client=_name_of(context.session) if context else "",
            transport=self._transport,
            tool=tool,
            project=display_path(project) if project else None,
            took_ms=round(took_s * 1000, 1),
            tokens=tokens,
            outcome=outcome,
        )


def _name_of(session: Any) -> str:
    """Return the name and version that a client tells, in short; empty if it does not."""
    params = session.client_params
    info: Implementation | None = params.client_info if params else None
    if info is None:
        return ""
    told = f"{info.title or info.name} {info.version}".strip()
    return printable(told)[:_MAX_NAME_CHARS]
