"""Measures this process and all projects, for as long as a server lives."""

import threading
import time
from contextlib import ExitStack

from engine.config import Config
from engine.errors import EngineError
from engine.observing.condition import (
    disk_use_of,
    memory_use,
    model_in_force,
    problems_of,
    runner_of,
    settings_in_force,
    versions_of,
)
from engine.observing.instruments import CONTENT_TYPE, Instruments, Values
from engine.observing.survey import Survey
from engine.observing.tracing import traced
from engine.records import display_path
from engine.settings import Origin
from engine.status_records import ServerCondition
from engine.telemetry import measures
from engine.telemetry.measures import Measure
from engine.telemetry.recording import heard_by

# A watcher's jobs are forgotten after the next 30; so many do not end within this time.
_LOOK_S = 5.0


class Observer:
    """Listens from ``start`` to ``stop``; ``exposition`` is for any thread.

    Args:
        config: The settings in force.
        version: Of the program.
    """

    #: What ``exposition`` gives, as a header says it before the charset, which is UTF-8.
    content_type = CONTENT_TYPE

    def __init__(self, config: Config, version: str) -> None:
        self._config = config
        self._version = version
        self._started_s = time.monotonic()
        self._values: dict[Measure, Values] = {}
        self._instruments = Instruments(self._value_of)
        self._survey = Survey(config, self._instruments)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._listening = ExitStack()

    def start(self) -> None:
        """Begin to listen, and to look at the projects now and then."""
        self._listening.enter_context(heard_by(self._instruments))
        self._listening.enter_context(traced(self._config.data_dir, process="serve"))
        self._thread = threading.Thread(target=self._look_on, name="observer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Listen no more."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        self._listening.close()
        self._instruments.close()

    def exposition(self) -> bytes:
        """Give all numbers in Prometheus' text format, some milliseconds after the last look.

        Databases that were written since are looked at first.
        """
        with self._lock:
            self._survey.look()
            self._values = self._survey.values()
            return self._instruments.text()

    def condition(self) -> ServerCondition:
        """Say how the server and its data directory are; some milliseconds, as ``exposition``."""
        with self._lock:
            self._survey.look()
            values, models = self._survey.values(), self._survey.models()
        data_dir = self._config.data_dir
        return ServerCondition(
            versions=versions_of(self._version),
            data_dir=display_path(str(data_dir)),
            data_dir_origin=self._config.origins.get("data_dir", Origin.DEFAULT),
            disk=disk_use_of(data_dir),
            memory=memory_use(),
            model=model_in_force(self._config, models),
            runner=runner_of(data_dir),
            jobs={state: int(number) for (state,), number in values[measures.JOBS].items()},
            unreadable=int(values[measures.PROJECTS][("false",)]),
            settings=settings_in_force(self._config),
            problems=problems_of(data_dir),
        )

    def _look_on(self) -> None:
        while True:
            try:
                with self._lock:
                    self._survey.look()
            except (EngineError, OSError):  # such as a data directory that is away
                pass
            if self._stop.wait(_LOOK_S):
                return

    def _value_of(self, measure: Measure) -> Values:
        if measure is measures.UPTIME:
            return {(): time.monotonic() - self._started_s}
        if measure is measures.BUILD:
            return {(self._version,): 1}
        return self._values.get(measure, {})
