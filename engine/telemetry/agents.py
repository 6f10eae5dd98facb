"""The calls of coding agents, as the servers of a data directory log them.

Every process that serves agents writes to ``agents.log``, so one page can show them all. A line has
the tool, the project, the time and the size of the answer, never what was asked.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

from engine.clock import now_ms
from engine.processes import is_alive
from engine.record_class import record
from engine.telemetry.logs import JobLog

_EVENT = "agent"
_MOST_EVENTS = 1000  # that are read, the newest
_MOST_AGENTS = 20
_MOST_CALLS = 20
#: An agent over HTTP is connected if it has asked within this time.
CONNECTED_MINUTES = 5


@record
class AgentCall:
    """A call of a tool."""

    at: str  # ISO 8601, UTC
    client: Annotated[str, "name and version, as the agent tells them"]
    tool: str
    project: Annotated[str | None, "its folder; null: none, or several"]
    took_ms: float
    tokens: Annotated[int, "of the answer, estimated: one per 3.5 bytes"]
    outcome: Annotated[str, "ok, or the code of the error"]


@record
class Agent:
    """An agent, by name, version and process; over HTTP all of a name and version together."""

    client: Annotated[str, "name and version, as the agent tells them"]
    transport: Annotated[str, "stdio or http"]
    connected: Annotated[
        bool, f"stdio: its server runs; http: it asked within {CONNECTED_MINUTES} minutes"
    ]
    first_seen_at: str
    last_seen_at: str
    calls: int
    tokens: Annotated[int, "of all its answers, estimated: one per 3.5 bytes"]


@record
class AgentActivity:
    """The agents of a data directory and their last calls, as far back as the log is read."""

    agents: tuple[Agent, ...]  # the one seen last first
    calls: tuple[AgentCall, ...]  # the newest first
    tokens: Annotated[int, "of all answers, estimated: one per 3.5 bytes"]
    since: Annotated[str | None, "time of the oldest line that counts"]


#: Writes an event to a log: its type and fields.
NoteEvent = Callable[..., None]


def note_agent(note: NoteEvent, *, client: str, transport: str) -> None:
    """Log that an agent has connected.

    Args:
        note: Writes to the log of agents.
        client: Its name and version.
        transport: ``stdio`` or ``http``.
    """
    note(_EVENT, client=client, transport=transport, pid=os.getpid())


def note_call(note: NoteEvent, *, client: str, transport: str, **call: object) -> None:
    """Log that an agent has called a tool.

    Args:
        note: As for ``note_agent``.
        client: As for ``note_agent``.
        transport: As for ``note_agent``.
        call: Fields of ``AgentCall``.
    """
    note(_EVENT, client=client, transport=transport, pid=os.getpid(), **call)


def activity_in(log: JobLog) -> AgentActivity:
    """Return the agents and calls of the last day in a log."""
    oldest = _now() - timedelta(days=1)
    events = [
        event
        for event in log.of_type(_EVENT, _MOST_EVENTS)
        if (at := _time_in(event)) is not None and oldest <= at
    ]
    calls = tuple(_call_in(event) for event in events if event.get("tool"))
    return AgentActivity(
        agents=_agents_of(events),
        calls=calls[:_MOST_CALLS],
        tokens=sum(call.tokens for call in calls),
        since=str(events[-1]["timestamp"]) if events else None,
    )


def _time_in(event: Mapping[str, object]) -> datetime | None:
    """Return the time of an event; None if it has none, as in a damaged line."""
    try:
        at = datetime.fromisoformat(str(event.get("timestamp", "")))
    except ValueError:
        return None
    return None if at.tzinfo is None else at


def _call_in(event: Mapping[str, object]) -> AgentCall:
    project = event.get("project")
    return AgentCall(
        at=str(event["timestamp"]),
        client=str(event.get("client", "")),
        tool=str(event["tool"]),
        project=str(project) if project else None,
        took_ms=_number(event.get("took_ms")),
        tokens=int(_number(event.get("tokens"))),
        outcome=str(event.get("outcome", "")),
    )


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def _agents_of(events: Iterable[Mapping[str, object]]) -> tuple[Agent, ...]:
    """Return the agents of events that come the newest first."""
    found: dict[tuple[str, str, object], Agent] = {}
    for event in events:
        client, transport = str(event.get("client", "")), str(event.get("transport", ""))
        pid = event.get("pid") if transport == "stdio" else None
        at = str(event["timestamp"])
        agent = found.get((client, transport, pid)) or Agent(
            client=client,
            transport=transport,
            connected=_is_connected(pid, at),
            first_seen_at=at,
            last_seen_at=at,
            calls=0,
            tokens=0,
        )
        found[client, transport, pid] = replace(
            agent,
            first_seen_at=at,
            calls=agent.calls + bool(event.get("tool")),
            tokens=agent.tokens + int(_number(event.get("tokens"))),
        )
    agents = sorted(found.values(), key=lambda agent: not agent.connected)
    return tuple(agents[:_MOST_AGENTS])


def _is_connected(pid: object, last_seen_at: str) -> bool:
    if isinstance(pid, int):
        return is_alive(pid)
    return _now() - datetime.fromisoformat(last_seen_at) < timedelta(minutes=CONNECTED_MINUTES)


def _now() -> datetime:
    return datetime.fromtimestamp(now_ms() / 1000, UTC)
