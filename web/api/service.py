"""What handlers work with: the catalog, the threads, and what goes on behind the requests."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from engine.catalog import Catalog
from engine.errors import ProjectNotFoundError
from engine.index import Index
from web.api.lanes import Lanes
from web.api.pulse import Pulse, Pulses
from web.security.serving import Serving

Result = TypeVar("Result")
_ID_CHARS = 64
_HEX = frozenset("0123456789abcdef")


class Observer(Protocol):
    """Who measures."""

    #: Of what ``exposition`` gives.
    content_type: str

    def start(self) -> None:
        """Begin to listen."""

    def stop(self) -> None:
        """Listen no more."""

    def exposition(self) -> bytes:
        """Give all numbers in Prometheus' text format."""


@dataclass(slots=True, kw_only=True)
class Service:
    """One server, from its start to its end."""

    catalog: Catalog
    serving: Serving
    observer: Observer
    lanes: Lanes = field(default_factory=Lanes)
    closing: threading.Event = field(default_factory=threading.Event)  # waiting is to end
    started_s: float = field(default_factory=time.monotonic)
    pulse: Pulse = field(init=False)

    def __post_init__(self) -> None:
        self.pulse = Pulse(self._look)

    @property
    def is_ending(self) -> bool:
        """Whether what goes on is to stop."""
        return self.closing.is_set()

    async def work(self, act: Callable[[], Result]) -> Result:
        """Do something that ends soon, in another thread."""
        return await self.lanes.work.run(act)

    async def end_waiting(self) -> None:
        """Let streams end, and requests that wait for a job: the server is to end."""
        self.closing.set()
        await self.pulse.close()

    def index_of(self, project: str) -> Index:
        """Open a project by its id, or by its root or a folder in it.

        Raises:
            ProjectNotFoundError: There is none.
        """
        if len(project) == _ID_CHARS and _HEX.issuperset(project):
            return self.catalog.open_id(project)
        if not project.startswith(("/", "~")):
            raise ProjectNotFoundError(
                f"no project has the id {project[:_ID_CHARS]!r}",
                hint="give a whole id, or an absolute path; list the projects to see them",
            )
        return self.catalog.open(project)

    def roots(self) -> list[str]:
        """Give the roots that a question is put to that names no project; ids of broken ones."""
        if self.serving.roots:
            return list(self.serving.roots)
        return self.catalog.everywhere()

    async def _look(self) -> Pulses:
        return await asyncio.shield(self.lanes.work.run(self.catalog.feed.look))
