"""What happens to jobs and watchers, as server-sent events."""

import json
from collections.abc import AsyncIterator
from typing import Annotated

from litestar import get
from litestar.params import HeaderParameter
from litestar.response import Stream

from web.api.event_stream import Event
from web.api.service import Service
from web.schemas import as_json

_RETRY_MS = 2000
_PING = b": ping\n\n"


@get(
    "/events",
    operation_id="events",
    summary="What happens, as it happens",
    tags=("jobs",),
    media_type="text/event-stream",
)
async def events(
    service: Service,
    last_event_id: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", description="what came after it first")
    ] = None,
) -> Stream:
    """Tell of jobs and watchers of all projects.

    `state` comes first to a new client: `projects[]` (each `project_id, path, watch`) and `jobs[]`.
    Then `job` is a job's new state, `watch` a watcher's, and `project` says that one came or went.
    A client that comes back with `Last-Event-ID` gets what it missed, or `state` when that is too
    long ago. A line `: ping` comes at least every 15 s. 32 streams at most.
    """
    stream = service.pulse.stream(last_event_id)
    first = await anext(stream)  # it has its place before the answer begins, or is refused
    return Stream(_lines(first, stream), media_type="text/event-stream")


async def _lines(first: Event | None, stream: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
    yield f"retry: {_RETRY_MS}\n\n".encode() + _line(first)
    async for event in stream:
        yield _line(event)


def _line(event: Event | None) -> bytes:
    if event is None:
        return _PING
    data = json.dumps(as_json(event.data), separators=(",", ":"))
    return f"id: {event.id}\nevent: {event.type}\ndata: {data}\n\n".encode()


HANDLERS = (events,)
