"""What a server does besides answering: it has jobs run, and keeps indexes equal to their folders.

Jobs run in a process of their own: what a run does in Python would hold up those who search.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from engine.catalog import Catalog
from engine.errors import ConflictError, EngineError, ProjectNotFoundError
from engine.watch_records import WatchState
from web.security.serving import Serving

#: How many projects are read before anybody asks; each takes 0.1 to 1 s and its memory.
_MOST_WARM = 3
#: How soon after the first pattern of a project its texts are learned.
_LEARN_S = 0.25
#: How soon after a runner has ended another one is started.
_TURN_S = 0.5
#: How long a process may take to become the runner.
_START_S = 10.0
#: How often it is looked whether each project has its watcher.
_LOOK_S = 2.0
#: How long a project is left alone that cannot be watched, such as one whose folder is away.
_PATIENCE_S = 15.0
#: How soon it is noted again that a project cannot be watched: what was noted counts for an hour.
_NOTE_AGAIN_S = 1800.0

#: Is told what went wrong: a type of event, and its context.
Note = Callable[..., None]


class Upkeep:
    """Has jobs run and watches projects in threads, from ``start`` to ``stop``.

    Another process may do either already; then it is seen to here when that one ends.

    Args:
        catalog: The projects.
        serving: Which of them are served, and whether they are watched.
        note: Hears what goes wrong.
    """

    def __init__(self, catalog: Catalog, serving: Serving, note: Note) -> None:
        self._catalog = catalog
        self._serving = serving
        self._note = note
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._is_watched: dict[str, Callable[[], bool]] = {}
        self._not_before_s: dict[str, float] = {}
        self._note_again_s: dict[str, float] = {}

    def start(self) -> None:
        """Begin; the roots that are served are indexed by jobs."""
        acts = [self._run_jobs] + ([self._watch] if self._serving.watches else [])
        for act in (self._index_roots, self._look, self._warm, self._learn, *acts):
            thread = threading.Thread(target=act, name=act.__name__.strip("_"), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Begin nothing more; watchers end with the catalog, and the runner when it is idle."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _index_roots(self) -> None:
        for root in self._serving.roots:
            try:
                self._catalog.jobs.submit(root)
            except ConflictError:
                continue  # something is being done about it already
            except EngineError as error:
                self._note("not_indexed", level="error", project=root, reason=error.message)

    def _warm(self) -> None:
        """Have the projects that are probably asked first answer at once when they are."""
        for root in (self._serving.roots or self._catalog.roots())[:_MOST_WARM]:
            if self._stop.is_set():
                return
            with suppress(EngineError):
                self._catalog.open(root).warm()

    def _learn(self) -> None:
        """Have patterns that follow a first one look into few texts."""
        while not self._stop.wait(_LEARN_S):
            self._catalog.learn(self._stop.is_set)

    def _look(self) -> None:
        """Count what projects hold before the first page asks; 50 of them take a second."""
        with suppress(EngineError, OSError):
            self._catalog.views.look()

    def _run_jobs(self) -> None:
        is_failing = False
        wait_s = 0.0
        while not self._stop.wait(wait_s):
            wait_s = _TURN_S
            try:
                if self._catalog.jobs.ensure_runner():
                    wait_s = _START_S
                is_failing = False
            except EngineError as error:
                if not is_failing:
                    self._note("no_runner", level="error", reason=error.message)
                is_failing = True

    def _watch(self) -> None:
        while True:
            served = self._serving.served()
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
        except ProjectNotFoundError:  # forgotten; who indexes it again has it followed again
            return
        except EngineError as error:
            is_elsewhere = isinstance(error, ConflictError)
            if time.monotonic() >= self._note_again_s.get(root, 0.0) and not is_elsewhere:
                self._note_again_s[root] = time.monotonic() + _NOTE_AGAIN_S
                self._note("not_watched", level="warning", project=root, reason=error.message)
            wait_s = _LOOK_S if is_elsewhere else _PATIENCE_S
            self._not_before_s[root] = time.monotonic() + wait_s
