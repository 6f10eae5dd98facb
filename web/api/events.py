"""State changes of jobs and watchers as server-sent events."""

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
    summary="Stream of events",
    tags=("jobs",),
    media_type="text/event-stream",
)
async def events(
    service: Service,
    last_event_id: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", description="the last event seen")
    ] = None,
) -> Stream:
    """Stream the state of jobs and watchers of all projects.

    A new client first gets `state`: `projects[]` (each `project_id, path, watch`) and `jobs[]`.
    After that, `job` is a job's new state, `watch` a watcher's, and `project` says that a project
    was added or removed. A client that reconnects with `Last-Event-ID` gets the events it missed,
    or `state` if they are no longer cached. A line `: ping` is sent at least every 15 s. At most
    32 streams can be open.
    """
    stream = service.event_stream.stream(last_event_id)
    first = await anext(stream)  # opens or refuses the stream before the response starts
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
