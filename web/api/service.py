"""The state that handlers share: catalog, executors, event stream, background maintenance."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from engine.catalog import Catalog
from engine.errors import EngineError, ProjectNotFoundError
from engine.project import Project
from engine.records import display_path
from engine.research_records import ResearchAnswer, ResearchRequest
from engine.roots import is_project_id
from engine.search_records import ProjectError, SearchAnswer, SearchRequest
from engine.state_records import ServerStatus
from web.api.event_stream import Activities, EventStream
from web.api.executors import Executors
from web.api.maintenance import Exports, Maintenance
from web.project_selection import can_be_name, open_named
from web.security.server_settings import ServerSettings

_REMEMBERED_S = 300.0
_MOST_REMEMBERED = 100
_ID_CHARS = 64  # of an unknown id, as quoted in an error

Result = TypeVar("Result")
#: Note of an answer if all projects that the server was started for have been forgotten.
NOTHING_SERVED = (
    "nothing is searched: the projects that this server serves were removed; "
    "name another one, or index a folder again"
)


class RecentlyDeleted:
    """Projects deleted through this server in the last five minutes; thread-safe.

    A page learns the deleted project by its id in the URL and reads the path here, so that no
    crafted URL can make it report a deletion that did not happen.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deleted: dict[str, tuple[str, Sequence[str], float]] = {}
        self._lock = threading.Lock()

    def note(self, project_id: str, path: str, contexts: Sequence[str] = ()) -> None:
        """Remember a deleted project.

        Args:
            project_id: Its id.
            path: Its root; empty if it is unknown.
            contexts: The names of those that it has left.
        """
        with self._lock:
            self._deleted.pop(project_id, None)
            self._deleted[project_id] = (path, contexts, self._clock())  # newest last
            if len(self._deleted) > _MOST_REMEMBERED:
                del self._deleted[next(iter(self._deleted))]

    def of(self, project_id: str) -> tuple[str | None, Sequence[str]]:
        """Return the root of a recently deleted project, or None, and the contexts it has left."""
        with self._lock:
            found = self._deleted.get(project_id)
        if found is None or self._clock() - found[2] >= _REMEMBERED_S:
            return None, ()
        return found[:2]


class Chosen(NamedTuple):
    """The projects that a request is about."""

    roots: list[str]  # for damaged indexes, their ids
    errors: tuple[ProjectError, ...] = ()  # of those that are named and cannot be opened


class Observer(Protocol):
    """The metrics and traces of a server."""

    #: The content type of ``exposition``.
    content_type: str

    def start(self) -> None:
        """Start to measure."""

    def stop(self) -> None:
        """Stop measuring."""

    def exposition(self) -> bytes:
        """Return all metrics in the Prometheus text format."""

    def status(self) -> ServerStatus:
        """Return the condition of the server and its data directory."""


@dataclass(slots=True, kw_only=True)
class Service:
    """One running server."""

    catalog: Catalog
    settings: ServerSettings
    observer: Observer
    executors: Executors = field(default_factory=Executors)
    maintenance: Maintenance = field(default_factory=Maintenance)
    exports: Exports = field(default_factory=Exports)
    recently_deleted: RecentlyDeleted = field(default_factory=RecentlyDeleted)
    closing: threading.Event = field(default_factory=threading.Event)  # set: shutting down
    started_s: float = field(default_factory=time.monotonic)
    event_stream: EventStream = field(init=False)

    def __post_init__(self) -> None:
        self.event_stream = EventStream(self._look)

    @property
    def is_shutting_down(self) -> bool:
        """Whether the server is shutting down."""
        return self.closing.is_set()

    async def work(self, act: Callable[[], Result]) -> Result:
        """Run a short function in another thread."""
        return await self.executors.work.run(act)

    async def begin_shutdown(self) -> None:
        """Begin to shut down: end streams, waits for jobs, and long polls."""
        self.closing.set()
        self.catalog.views.end()
        await self.event_stream.close()

    def index_of(self, project: str) -> Project:
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

    def resolve_project(self, project: str, *, by_part: bool = True) -> Project:
        """Open a project as ``index_of`` does, or by a unique name, or a part of it.

        Raises:
            ProjectNotFoundError: None or several have this name; ``projects`` lists them.
        """
        if is_project_id(project) or not can_be_name(project):
            return self.index_of(project)
        return open_named(self.catalog, project, by_part=by_part)

    def roots(self) -> list[str]:
        """Return the roots to search when none are named; for damaged indexes, their ids."""
        served = self.served_roots()
        return self.catalog.roots_or_ids() if served is None else served

    def served_roots(self) -> list[str] | None:
        """Return the served roots without forgotten ones, or None if all projects are served."""
        served = self.settings.served_roots()
        return (
            None if served is None else [root for root in served if self.catalog.has_project(root)]
        )

    def chosen(self, projects: Sequence[str]) -> Chosen:
        """Return what to search when some projects are named, by id, name or path, or none.

        Raises:
            EngineError: None of those that are named can be opened; the first error.
        """
        if not projects:
            return Chosen(self.roots())
        roots, failures = [], {}
        for project in projects:
            try:
                roots.append(self.resolve_project(project).root)
            except EngineError as error:
                failures[project] = error
        if not roots:
            raise next(iter(failures.values()))
        return Chosen(
            roots,
            tuple(
                ProjectError(project=project, error=error.code, message=error.message)
                for project, error in failures.items()
            ),
        )

    def forgotten(self) -> tuple[ProjectError, ...]:
        """Return the served projects as failures, for when all of them were forgotten."""
        return tuple(
            ProjectError(
                project=display_path(root), error=ProjectNotFoundError.code, message=NOTHING_SERVED
            )
            for root in self.settings.served_roots() or ()
        )

    def search(self, chosen: Chosen, request: SearchRequest, offset: int = 0) -> SearchAnswer:
        """Search what is chosen; the answer notes if no served project is left."""
        answer = self.catalog.search_page(chosen.roots, request, offset)
        return replace(answer, **self._more(answer, chosen))

    def research(self, chosen: Chosen, request: ResearchRequest) -> ResearchAnswer:
        """Return the best passages of what is chosen for a question, with notes as ``search``."""
        answer = self.catalog.research(chosen.roots, request)
        return replace(answer, **self._more(answer, chosen))

    def _more(self, answer: SearchAnswer | ResearchAnswer, chosen: Chosen) -> dict[str, Any]:
        is_left = chosen.roots or self.served_roots() is None
        notes = answer.notes if is_left else (*answer.notes, NOTHING_SERVED)
        return {"notes": notes, "errors": (*answer.errors, *chosen.errors)}

    async def _look(self) -> Activities:
        return await asyncio.shield(self.executors.work.run(self.catalog.activity.poll))
