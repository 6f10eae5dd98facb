"""The server's application: routes, security checks, lifespan and background threads.

Besides answering requests, a server runs jobs and watches projects. Jobs run in a process of their
own, as their Python code would slow down concurrent searches.
"""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from litestar import Litestar
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from engine.catalog import Catalog
from engine.errors import ConflictError, EngineError, IndexBusyError, ProjectNotFoundError
from engine.project import Project
from engine.state_records import WatchState
from web.api import openapi
from web.api.health import health, metrics, version
from web.api.maintenance import Maintenance
from web.api.openapi import openapi_config
from web.api.requests import ApiRequest, handlers_of
from web.api.routes import api_router, with_errors
from web.api.service import Service
from web.errors import log_traceback
from web.pages.doctor import delete_leftovers
from web.pages.highlighting import load_language
from web.pages.rendering import Pages, as_pages, assets, refusal_page
from web.pages.routes import pages_router
from web.security.middleware import Logs, SecurityMiddleware
from web.security.server_settings import ServerSettings

#: Projects that are loaded before the first query; each takes 0.1 to 1 s, and memory.
_MOST_WARM = 3
#: Languages of a project, those with most bytes, whose lexers are made ahead.
_MOST_LANGUAGES = 8
#: Seconds between templates and lexers that are made ahead, in which requests come first.
_GIVE_WAY_S = 0.002
#: Seconds between looks for projects whose n-gram filter should be built.
_NGRAM_UPDATE_S = 0.25
#: Seconds until another runner is started after one has ended.
_TURN_S = 0.5
#: Seconds that a process may take to become the runner.
_START_S = 10.0
#: Seconds between checks that each project has its watcher.
_LOOK_S = 2.0
#: Seconds until a task that failed, or a project that cannot be watched, is tried again.
_PATIENCE_S = 15.0
#: Seconds without a failure after which jobs are run well again.
_LIVED_S = 60.0
#: Seconds until a lasting failure is logged again; a log entry counts for an hour.
_NOTE_AGAIN_S = 1800.0

#: Logs a failure: an event type and its context.
Note = Callable[..., None]


class BackgroundTasks:
    """Threads that run jobs and watch projects, from ``start`` to ``stop``.

    If another process does either already, this one takes over when that one ends.

    Args:
        catalog: The projects.
        settings: Which of them are served, and whether they are watched.
        note: Logs failures.
        pages: Whose templates are compiled before they are asked for.
    """

    def __init__(
        self, catalog: Catalog, settings: ServerSettings, note: Note, pages: Pages | None = None
    ) -> None:
        self._catalog = catalog
        self._settings = settings
        self._note = note
        self._pages = pages
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._is_watched: dict[str, Callable[[], bool]] = {}
        self._not_before_s: dict[str, float] = {}
        self._note_again_s: dict[str, float] = {}

    def start(self) -> None:
        """Start the threads, and submit jobs for the served roots."""
        lasting = [self._update_ngram_filters, self._run_jobs]
        if self._settings.watches:
            lasting.append(self._watch)
        for act in (self._index_roots, self._load_views, self._warm, *lasting):
            name = act.__name__.strip("_")
            thread = threading.Thread(
                target=self._keep_up,
                args=(name, act),
                kwargs={"is_lasting": act in lasting},
                name=name,
                daemon=True,
            )
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Stop the threads; watchers end with the catalog, and the runner when it is idle."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _keep_up(self, name: str, act: Callable[[], None], *, is_lasting: bool) -> None:
        """Do a task; a lasting one that fails unforeseen is begun again, as others wait for it."""
        while not self._stop.is_set():
            try:
                act()
            except Exception as failure:  # noqa: BLE001 - noted
                told = _described(failure, name)
                self._note_rarely(name, "task_failed", level="error", **told)
                if is_lasting:
                    self._stop.wait(_PATIENCE_S)
                    continue
            return

    def _note_rarely(self, key: str, event: str, **context: str) -> None:
        """Log a failure, unless one with the same key was logged not long ago."""
        if time.monotonic() >= self._note_again_s.get(key, 0.0):
            self._note_again_s[key] = time.monotonic() + _NOTE_AGAIN_S
            self._note(event, **context)

    def _index_roots(self) -> None:
        """Submit a job for each served root; a locked one, as during an upgrade, gets it later."""
        left = list(self._settings.roots)
        while left:
            left = [root for root in left if self._is_busy(root)]
            if left and self._stop.wait(_LOOK_S):
                return

    def _is_busy(self, root: str) -> bool:
        """Submit a job for a root, unless its database is locked; return whether it is."""
        try:
            self._catalog.jobs.submit(root)
        except IndexBusyError:
            return True
        except ConflictError:  # a job is active already
            pass
        except Exception as failure:  # noqa: BLE001 - it costs this root, not the others
            self._note("not_indexed", level="error", project=root, **_described(failure))
        return False

    def _warm(self) -> None:
        """Load what is probably asked for first: searches, then pages, then patterns."""
        roots = (self._settings.roots or self._catalog.roots())[:_MOST_WARM]
        self._warm_each(roots, Project.warm)
        self._warm_each(roots, self._load_languages)
        self._warm_each(roots, Project.warm_pages)
        if self._pages:
            self._load_templates(self._pages)
        self._warm_each(roots[:1], Project.warm)  # so that it stays if not all fit
        room_bytes = self._catalog.cache_room_bytes()

        def expect_patterns(index: Project) -> None:
            nonlocal room_bytes
            room_bytes -= index.expect_patterns(room_bytes)

        self._warm_each(roots, expect_patterns)
        self._warm_each(roots[:1], Project.warm)  # again the one used last
        # Full collections would visit all of this again and again, 80 ms each with 10,000 files.
        gc.collect()
        gc.freeze()

    def _load_templates(self, pages: Pages) -> None:
        assets()
        for name in pages.template_names():
            if self._stop.wait(_GIVE_WAY_S):
                return
            pages.load(name)

    def _load_languages(self, index: Project) -> None:
        for share in index.browse.languages()[:_MOST_LANGUAGES]:
            if self._stop.wait(_GIVE_WAY_S):
                return
            load_language(share.language)

    def _warm_each(self, roots: Sequence[str], act: Callable[[Project], None]) -> None:
        for root in roots:
            if self._stop.is_set():
                return
            try:
                act(self._catalog.open(root))
            except EngineError:
                continue  # whoever asks is told
            except Exception as failure:  # noqa: BLE001 - it costs this root, not the others
                stage = act.__name__.strip("_")
                told = _described(failure, stage)
                self._note_rarely(
                    f"{stage} {root}", "task_failed", level="error", project=root, **told
                )

    def _update_ngram_filters(self) -> None:
        """Build the n-gram filters that pattern searches use."""
        while not self._stop.wait(_NGRAM_UPDATE_S):
            self._catalog.update_ngram_filters(self._stop.is_set)

    def _load_views(self) -> None:
        """Fill the cache of project summaries before the first page; 50 projects take a second."""
        with suppress(EngineError, OSError):
            self._catalog.views.poll()

    def _run_jobs(self) -> None:
        """Make sure that there is a runner; one that keeps failing is started ever more rarely."""
        rest_s, failed_s, wait_s = _TURN_S, 0.0, 0.0
        while not self._stop.wait(wait_s):
            try:
                wait_s = _START_S if self._catalog.jobs.ensure_runner() else _TURN_S
            except EngineError as error:
                told = _described(error)
                self._note_rarely("run_jobs", "no_runner", level="error", **told)
                wait_s = rest_s = min(2 * rest_s, _PATIENCE_S)
                failed_s = time.monotonic()
            else:
                if time.monotonic() - failed_s > _LIVED_S:
                    rest_s = _TURN_S
                    self._note_again_s.pop("run_jobs", None)

    def _watch(self) -> None:
        while True:
            served = self._settings.served_roots()
            for root in self._catalog.roots() if served is None else served:
                if self._stop.is_set():
                    return
                self._watch_one(root)
            if self._stop.wait(_LOOK_S):
                return

    def _watch_one(self, root: str) -> None:
        is_watched = self._is_watched.get(root)
        if is_watched and is_watched():
            return
        if time.monotonic() < self._not_before_s.get(root, 0.0):
            return
        try:
            watcher = self._catalog.watch(root, create=False)
            self._is_watched[root] = lambda: watcher.status.state is not WatchState.STOPPED
            self._note_again_s.pop(root, None)
        except ProjectNotFoundError:  # forgotten; indexing it again resumes watching
            return
        except ConflictError:  # another process watches it
            self._not_before_s[root] = time.monotonic() + _LOOK_S
        except Exception as failure:  # noqa: BLE001 - it costs this root, not the others
            level = "warning" if isinstance(failure, EngineError) else "error"
            told = _described(failure)
            self._note_rarely(root, "not_watched", level=level, project=root, **told)
            self._not_before_s[root] = time.monotonic() + _PATIENCE_S


def _described(failure: Exception, stage: str = "") -> dict[str, str]:
    """Return a failure for the log, whoever foresaw it: in words, and the file that it is about."""
    foreseen = failure if isinstance(failure, EngineError) else None
    words = foreseen.message if foreseen else f"{type(failure).__name__}: {failure}"
    told = {"reason": f"{stage}: {words}" if stage else words}
    if foreseen and "file" in foreseen.details:
        told["file"] = str(foreseen.details["file"])
    return told


#: A context that lives as long as the server; entered in order, left in reverse.
Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]


def create_app(
    catalog: Catalog,
    settings: ServerSettings,
    *,
    handlers: Sequence[ControllerRouterHandler] = (),
    lifespans: Sequence[Lifespan] = (),
) -> Litestar:
    """Create the application of a server.

    Args:
        catalog: The projects; stays open as long as the server lives, and is closed by the caller.
        settings: Where the server listens, what it serves, and to whom.
        handlers: Additional routes and mounted applications, behind the same checks.
        lifespans: Their contexts.
    """
    pages = Pages()
    log = catalog.server_log()

    def note(error: BaseException) -> None:
        log.event("failure", level="error", reason=type(error).__name__)
        log_traceback(error, str(catalog.data_dir / "logs"))

    service = Service(
        catalog=catalog,
        settings=settings,
        observer=catalog.observer(version()),
        maintenance=Maintenance(note),
    )
    app = Litestar(
        route_handlers=[
            pages_router(pages),
            with_errors(health),
            with_errors(metrics),
            *openapi.HANDLERS,
            api_router(),
            *handlers,
        ],
        request_class=ApiRequest,
        dependencies={"service": Provide(lambda: service, sync_to_thread=False, use_cache=True)},
        exception_handlers=as_pages(handlers_of(note), pages, service),
        lifespan=[
            _noting_failures(note),
            _lifespan_of(service, BackgroundTasks(catalog, settings, log.event, pages)),
            *lifespans,
        ],
        openapi_config=openapi_config(),
        plugins=[openapi.RecordSchemas()],
        logging_config=None,
        signature_types=[Service],
    )
    app.state.service = service
    app.asgi_handler = SecurityMiddleware(
        app.asgi_handler,
        settings,
        Logs(request=log.event, failure=note),
        page_of=refusal_page(pages, service),
    )
    return app


def service_of(app: Litestar) -> Service:
    """Return the service of an application."""
    service = app.state.service
    assert isinstance(service, Service)
    return service


def _noting_failures(note: Callable[[Exception], None]) -> Lifespan:
    """Return a context that notes why those inside it cannot begin or end."""

    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        except Exception as error:
            note(error)
            raise

    return lifespan


def _lifespan_of(service: Service, upkeep: BackgroundTasks) -> Lifespan:
    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        service.observer.start()
        await asyncio.to_thread(delete_leftovers, service.catalog.data_dir)
        upkeep.start()
        try:
            yield
        finally:
            await service.begin_shutdown()
            await asyncio.to_thread(upkeep.stop)
            await asyncio.to_thread(service.executors.close)
            await asyncio.to_thread(service.observer.stop)

    return lifespan
