"""Server-sent event streams: one poll of the engine serves all of them, and only while any is open.

An event carries the newest state of a job or watcher, so a client that missed events has lost only
intermediate steps. The last events are cached for clients that reconnect.
"""

import asyncio
import itertools
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from engine.errors import EngineError
from engine.state_records import Job, ProjectActivity
from web.errors import Refusal

MOST_STREAMS = 32
LOOK_S = 0.5
PING_S = 15.0
_KEPT = 1000
_MOST_BEHIND = 1000  # unread events; a client with more is disconnected

Activities = tuple[ProjectActivity, ...]


class Event(NamedTuple):
    """A change of state."""

    id: str
    type: str  # state, job, watch or project
    data: object  # a record of the engine


class EventStream:
    """All streams of a server, for the event loop's thread only.

    Args:
        look: Returns the current activity.
        look_s: Seconds between two polls.
        ping_s: Seconds for which a stream may be silent.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Activities]],
        *,
        look_s: float = LOOK_S,
        ping_s: float = PING_S,
    ) -> None:
        self._look = look
        self._look_s = look_s
        self._ping_s = ping_s
        self._boot = uuid.uuid4().hex[:8]
        self._numbers = itertools.count(1)
        self._kept: deque[Event] = deque(maxlen=_KEPT)
        self._last: Activities | None = None
        self._queues: set[asyncio.Queue[Event | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._last_id = f"{self._boot}-0"

    @property
    def streams(self) -> int:
        """The number of open streams."""
        return len(self._queues)

    def _check_room(self) -> None:
        if self.streams >= MOST_STREAMS:
            raise Refusal(
                "too_many_requests", f"{MOST_STREAMS} streams are open", hint="share one a page"
            )

    async def stream(self, last_id: str | None) -> AsyncIterator[Event | None]:
        """Yield events as they happen, and None after a silence of ``ping_s``.

        The first item is available at once; the stream counts as open from then on.

        Args:
            last_id: The id of the last event that the client saw. The events after it come first,
                or None if there are none. If it is unknown, the current state comes first.

        Raises:
            Refusal: ``MOST_STREAMS`` streams are open.
        """
        self._check_room()
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_MOST_BEHIND)
        self._queues.add(queue)
        try:
            await self._refresh()
            missed = self._since(last_id)
            while not queue.empty():  # these are in ``missed`` or in the current state
                queue.get_nowait()
            if missed is None:
                yield self._state()
            for event in (None,) if missed == [] else missed or ():
                yield event
            self._keep_looking()
            while not self._is_closed:
                try:
                    async with asyncio.timeout(self._ping_s):
                        event = await queue.get()
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    return
                yield event
        finally:
            self._queues.discard(queue)

    async def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self._end_streams()
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _end_streams(self) -> None:
        for queue in list(self._queues):
            _put(queue, None)

    def _keep_looking(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_on())

    async def _look_on(self) -> None:
        try:
            while self._queues and not self._is_closed:
                await asyncio.sleep(self._look_s)
                with suppress(EngineError):  # e.g. an overloaded server: try again next time
                    await self._refresh()
        except Exception:  # noqa: BLE001 - a client that connects again is told
            self._end_streams()

    async def _refresh(self) -> None:
        now = await self._look()
        before, self._last = self._last, now
        for type_, data in _changes(before, now) if before is not None else ():
            self._last_id = f"{self._boot}-{next(self._numbers)}"
            event = Event(self._last_id, type_, data)
            self._kept.append(event)
            for queue in list(self._queues):
                if not _put(queue, event):
                    self._queues.discard(queue)  # its client does not read

    def _since(self, last_id: str | None) -> list[Event] | None:
        """Return the events after the given one, or None if it is unknown."""
        if last_id == self._last_id:
            return []
        ids = [event.id for event in self._kept]
        if last_id not in ids:
            return None
        return list(self._kept)[ids.index(last_id) + 1 :]

    def _state(self) -> Event:
        activities = self._last or ()
        projects = [
            {"project_id": each.project_id, "path": each.path, "watch": each.watch}
            for each in activities
        ]
        jobs = [job for each in activities for job in each.jobs]
        return Event(self._last_id, "state", {"projects": projects, "jobs": jobs})


def _changes(before: Activities, now: Activities) -> Iterator[tuple[str, object]]:
    """Yield type and data of each change, the oldest job first."""
    known = {each.project_id: each for each in before}
    for each in now:
        old = known.pop(each.project_id, None)
        name = {"project_id": each.project_id, "path": each.path}
        if old is None:
            yield "project", {**name, "is_there": True}
        seen = set(map(_state_of, old.jobs)) if old else set()
        for job in reversed(each.jobs):
            if _state_of(job) not in seen:
                yield "job", job
        if (old.watch if old else None) != each.watch:
            yield "watch", {**name, "watch": each.watch}
    for gone in known.values():
        yield "project", {"project_id": gone.project_id, "path": gone.path, "is_there": False}


def _state_of(job: Job) -> tuple[object, ...]:
    """Return the fields that make a job count as changed; elapsed time alone does not."""
    return (
        job.job_id,
        job.status,
        job.position,
        job.phase,
        job.done,
        job.total,
        job.files_done,
        job.current_file,
        job.waiting,
        job.attempt,
        job.cancel_requested,
        job.heartbeat_at,
        job.log,
    )


def _put(queue: asyncio.Queue[Event | None], event: Event | None) -> bool:
    if queue.full() and event is None:
        queue.get_nowait()
    try:
        queue.put_nowait(event)
    except asyncio.QueueFull:
        with suppress(asyncio.QueueEmpty):
            queue.get_nowait()
        queue.put_nowait(None)
        return False
    return True
