"""Feeds the streams of events: one look at the engine for all of them, and only while there is one.

An event is the newest state of a job or of a watcher, so that a client that missed some has lost
nothing but the steps between. The last events are kept, for clients that come back.
"""

import asyncio
import itertools
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from engine.errors import EngineError
from engine.state_records import Job, ProjectPulse
from web.errors import Refusal

MOST_STREAMS = 32
LOOK_S = 0.5
PING_S = 15.0
_KEPT = 1000
_MOST_BEHIND = 1000  # events that a client has not taken yet; then it is dropped


Pulses = tuple[ProjectPulse, ...]


class Event(NamedTuple):
    """Something that has happened."""

    id: str
    type: str  # state, job, watch or project
    data: object  # a record of the engine


class Pulse:
    """All streams of a server; of the event loop's thread.

    Args:
        look: Gives what goes on; asked twice a second.
        look_s: How long to wait between two looks.
        ping_s: How long a stream may be silent.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Pulses]],
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
        self._last: Pulses | None = None
        self._queues: set[asyncio.Queue[Event | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._last_id = f"{self._boot}-0"

    @property
    def streams(self) -> int:
        """How many there are."""
        return len(self._queues)

    def _check_room(self) -> None:
        if self.streams >= MOST_STREAMS:
            raise Refusal(
                "too_many_requests", f"{MOST_STREAMS} streams are open", hint="share one a page"
            )

    async def stream(self, last_id: str | None) -> AsyncIterator[Event | None]:
        """Give events as they happen, None when there was none for a while.

        It has its place from its first item on, which is there at once.

        Args:
            last_id: Of the last event that the client saw; the ones after it come first, or None.
                When it is not known any more, and for a new client, the present state comes first.

        Raises:
            Refusal: There are as many streams as there may be.
        """
        self._check_room()
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_MOST_BEHIND)
        self._queues.add(queue)
        try:
            await self._refresh()
            missed = self._since(last_id)
            while not queue.empty():  # these are among the missed ones, or in the present state
                queue.get_nowait()
            if missed is None:
                yield self._state()
            for event in (None,) if missed == [] else missed or ():
                yield event
            self._keep_looking()
            while not self._is_closed:
                try:
                    async with asyncio.timeout(self._ping_s):
                        told = await queue.get()
                except TimeoutError:
                    yield None
                    continue
                if told is None:
                    return
                yield told
        finally:
            self._queues.discard(queue)

    async def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        for queue in list(self._queues):
            _put(queue, None)
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _keep_looking(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_on())

    async def _look_on(self) -> None:
        while self._queues and not self._is_closed:
            await asyncio.sleep(self._look_s)
            with suppress(EngineError):  # such as a server that has too much to do: the next time
                await self._refresh()

    async def _refresh(self) -> None:
        now = await self._look()
        before, self._last = self._last, now
        for type_, data in _changes(before, now) if before is not None else ():
            self._last_id = f"{self._boot}-{next(self._numbers)}"
            event = Event(self._last_id, type_, data)
            self._kept.append(event)
            for queue in list(self._queues):
                if not _put(queue, event):
                    self._queues.discard(queue)  # its client takes nothing

    def _since(self, last_id: str | None) -> list[Event] | None:
        """Give the events after one; None when it is not known."""
        if last_id == self._last_id:
            return []
        ids = [event.id for event in self._kept]
        if last_id not in ids:
            return None
        return list(self._kept)[ids.index(last_id) + 1 :]

    def _state(self) -> Event:
        pulses = self._last or ()
        projects = [
            {"project_id": each.project_id, "path": each.path, "watch": each.watch}
            for each in pulses
        ]
        jobs = [job for each in pulses for job in each.jobs]
        return Event(self._last_id, "state", {"projects": projects, "jobs": jobs})


def _changes(before: Pulses, now: Pulses) -> Iterator[tuple[str, object]]:
    """Give what is other than it was, the oldest job first."""
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
    """Give what tells whether a job has changed; time alone does not count."""
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
