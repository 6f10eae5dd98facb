"""What handlers work with: the catalog, the threads, and what goes on behind the requests.

The projects that were just forgotten, so that the page after it can say which; by ids alone.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from engine.catalog import Catalog
from engine.errors import ProjectNotFoundError
from engine.project import Index
from engine.records import SearchAnswer, SearchRequest
from engine.roots import is_project_id
from engine.state_records import ServerCondition
from web.api.event_stream import Pulse, Pulses
from web.api.executors import Lanes
from web.api.maintenance import Exports, Treatments
from web.project_selection import can_be_name, open_called
from web.security.serving import Serving

_KEPT_S = 300.0
_MOST = 100


class Farewells:
    """Remembers for five minutes what was forgotten through this server; for any thread.

    An address names an id, and an id that nothing was forgotten of says nothing: no address can
    make a page say what did not happen.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._paths: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def note(self, project_id: str, path: str) -> None:
        """Take in that a project was forgotten; its root is empty when nothing told it."""
        with self._lock:
            self._paths.pop(project_id, None)
            self._paths[project_id] = (path, self._clock())  # the newest stand last
            if len(self._paths) > _MOST:
                del self._paths[next(iter(self._paths))]

    def path_of(self, project_id: str) -> str | None:
        """Give the root of a project that was just forgotten; None for any other."""
        with self._lock:
            path, at_s = self._paths.get(project_id, ("", 0.0))
            is_known = project_id in self._paths and self._clock() - at_s < _KEPT_S
        return path if is_known else None


Result = TypeVar("Result")
#: Why nothing is found when all that a server was started for is forgotten.
NOTHING_SERVED = (
    "nothing is searched: the projects that this server serves are forgotten; "
    "name another one, or index a folder again"
)
_ID_CHARS = 64  # of an id that is not there, as it is quoted


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

    def condition(self) -> ServerCondition:
        """Say how the server and its data directory are."""


@dataclass(slots=True, kw_only=True)
class Service:
    """One server, from its start to its end."""

    catalog: Catalog
    serving: Serving
    observer: Observer
    lanes: Lanes = field(default_factory=Lanes)
    treatments: Treatments = field(default_factory=Treatments)
    exports: Exports = field(default_factory=Exports)
    farewells: Farewells = field(default_factory=Farewells)
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
        """Let streams end, requests that wait for a job, and long looks: the server is to end."""
        self.closing.set()
        self.catalog.views.end()
        await self.pulse.close()

    def index_of(self, project: str) -> Index:
        """Open a project by its id, or by its root or a folder in it.

        Raises:
            ProjectNotFoundError: There is none.
        """
        if is_project_id(project):
            return self.catalog.open_id(project)
        if not project.startswith(("/", "~")):
            raise ProjectNotFoundError(
                f"no project has the id {project[:_ID_CHARS]!r}",
                hint="give a whole id, or an absolute path; list the projects to see them",
            )
        return self.catalog.open(project)

    def index_meant(self, project: str) -> Index:
        """Open a project as ``index_of`` does, or the only one that is called so.

        Raises:
            ProjectNotFoundError: There is none, or several are called so; ``projects`` lists them.
        """
        if is_project_id(project) or not can_be_name(project):
            return self.index_of(project)
        return open_called(self.catalog, project)

    def roots(self) -> list[str]:
        """Give the roots that a question is put to that names no project; ids of broken ones."""
        served = self.served()
        return self.catalog.everywhere() if served is None else served

    def served(self) -> list[str] | None:
        """Give the roots that are served alone, without those forgotten; None: all projects are."""
        served = self.serving.served()
        return None if served is None else [root for root in served if self.catalog.holds(root)]

    def search(self, roots: list[str], request: SearchRequest, offset: int = 0) -> SearchAnswer:
        """Search the roots that a question is put to; an answer says when none is left to ask."""
        answer = self.catalog.search_page(roots, request, offset)
        if roots or self.served() is None:
            return answer
        return replace(answer, notes=(*answer.notes, NOTHING_SERVED))

    async def _look(self) -> Pulses:
        return await asyncio.shield(self.lanes.work.run(self.catalog.feed.look))
