"""Metrics and status of a server and its data directory, while the server runs.

The status opens nothing, and shows no secret.
"""

import os
import platform
import resource
import shutil
import threading
import time
from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from engine.clock import iso_time
from engine.config import SETTINGS, Config, Origin
from engine.embedding.model_setting import Backend, parse_model_setting, redacted_setting
from engine.errors import DamagedIndexError, IndexTooNewError, InvalidConfigError
from engine.locks import holder_of, runner_lock_file
from engine.observing.collector import Collector
from engine.observing.instruments import Instruments, Values, peak_memory_bytes
from engine.observing.tracing import traced
from engine.records import display_path
from engine.state_records import (
    DiskUse,
    EffectiveModel,
    EffectiveSetting,
    LoggedProblem,
    MemoryUse,
    RunnerState,
    ServerStatus,
)
from engine.store.migrate import versions
from engine.store.models import ModelRow
from engine.telemetry.logs import server_log
from engine.telemetry.metrics import Measure, record_metrics_to

_MOST_ERRORS: Final = 15
_MOST_WARNINGS: Final = 5
_MOST_EVENTS: Final = 500  # that are looked through for them
_SERVER_ERROR: Final = 500
_CGROUP: Final = "/sys/fs/cgroup/memory.max"
_STATM: Final = "/proc/self/statm"

# A watcher's jobs are forgotten after the next 30; so many do not end within this time.
_LOOK_S = 5.0


def versions_of(program: str) -> dict[str, str]:
    """Return the versions of the program and of its main dependencies."""
    return {"CodeCairn": program, "Python": platform.python_version(), **versions()}


def disk_use_of(data_dir: Path) -> DiskUse:
    """Add up the files of a data directory; some microseconds a file."""
    sizes = {"indexes": 0, "logs": 0, "models": 0, "others": 0}
    for folder, _, names in os.walk(data_dir):
        inside = os.path.relpath(folder, data_dir).split("/", 1)[0]
        for name in names:
            kind = inside if inside in ("logs", "models") else "others"
            if inside == "." and ".db" in name:
                kind = "indexes"
            with suppress(OSError):  # gone meanwhile
                sizes[kind] += os.lstat(os.path.join(folder, name)).st_size
    disk = shutil.disk_usage(data_dir)
    return DiskUse(**sizes, free=disk.free, total=disk.total)


def memory_use() -> MemoryUse:
    """Return the memory that this process uses, and its limit."""
    held = None
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path(_STATM).read_text("ascii").split()[1])
        held = pages * resource.getpagesize()
    limits = []
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    with suppress(OSError, ValueError):  # "max" is no number
        limits.append(int(Path(_CGROUP).read_text("ascii")))
    return MemoryUse(
        held=held, peak=max(held or 0, peak_memory_bytes()), limit=min(limits, default=None)
    )


def effective_model(config: Config, used: Mapping[str, tuple[ModelRow, int]]) -> EffectiveModel:
    """Return the model that the settings choose.

    Args:
        config: The settings in force.
        used: The models that answer, with the number of indexes that each answers for.
    """
    try:
        choice = parse_model_setting(config.model)
    except InvalidConfigError as error:
        return EffectiveModel(name=redacted_setting(config.model), source="", problem=error.message)
    source = choice.url or ("built in" if choice.backend is Backend.STATIC else "this machine")
    if choice.backend is Backend.NONE:
        source = ""
    row, indexes = used.get(choice.name, (None, 0))
    return EffectiveModel(
        name=choice.name,
        source=source,
        identity=row.identity if row else None,
        dimension=row.dimension if row else None,
        indexes=indexes,
    )


def runner_of(data_dir: Path) -> RunnerState:
    """Return which process runs the jobs of a data directory."""
    file = runner_lock_file(data_dir)
    holder = holder_of(file)
    if holder is None or not holder.isdecimal():
        return RunnerState(pid=None, since=None)
    since = None
    with suppress(OSError):
        since = iso_time(int(file.stat().st_mtime * 1000))
    return RunnerState(pid=int(holder), since=since)


def effective_settings(config: Config) -> tuple[EffectiveSetting, ...]:
    """Return all settings, in the order of their table."""
    return tuple(
        EffectiveSetting(
            name=setting.name,
            value=_shown(getattr(config, setting.name), setting.unit),
            unit=setting.unit,
            default=_shown(setting.default, setting.unit),
            number=_number(getattr(config, setting.name)),
            default_number=_number(setting.default),
            origin=config.origins.get(setting.name, Origin.DEFAULT),
            help=setting.help,
        )
        for setting in SETTINGS
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _shown(value: object, unit: str) -> str:
    """Format a value, without possible passwords in it."""
    if isinstance(value, int) and unit != "port":
        return f"{value:,}"
    return redacted_setting(str(value))


def problems_of(data_dir: Path, damaged: Container[str] = ()) -> tuple[LoggedProblem, ...]:
    """Return the latest problems in the server's log, the newest first.

    Repeated problems are shown once, and warnings never displace errors. Invalid requests by
    clients are no problems of the server.

    Args:
        data_dir: The data directory.
        damaged: Ids of projects whose index cannot or could not be opened: that requests for them
            were answered so is no problem of its own.
    """
    log = server_log(data_dir)
    errors = _together(
        [each for each in log.recent("error", _MOST_EVENTS) if not _is_of_damage(each, damaged)]
    )
    warnings = _together(log.recent("warning", _MOST_EVENTS, but="request"))
    problems = [*errors[:_MOST_ERRORS], *warnings[:_MOST_WARNINGS]]
    return tuple(sorted(problems, key=lambda problem: problem.at, reverse=True))


def _is_of_damage(event: Mapping[str, object], damaged: Container[str]) -> bool:
    """Return whether an event is a request that was told that an index is damaged."""
    is_answer = event.get("event") == "request" and event.get("status") == _SERVER_ERROR
    return is_answer and event.get("project_id") in damaged


def _together(events: Sequence[Mapping[str, object]]) -> list[LoggedProblem]:
    """Return each problem once; the newest event comes first."""
    same: dict[LoggedProblem, list[LoggedProblem]] = {}
    for problem in map(_problem_in, events):
        same.setdefault(replace(problem, at=""), []).append(problem)
    return [replace(each[0], times=len(each)) for each in same.values()]


def _problem_in(event: Mapping[str, object]) -> LoggedProblem:
    return LoggedProblem(
        at=_time_in(str(event.get("timestamp"))),
        event=str(event.get("event", "")),
        level=str(event["level"]),
        message=str(event.get("reason") or _request_in(event)),
        project=display_path(str(event["project"])) if event.get("project") else None,
    )


def _time_in(text: str) -> str:
    """Return a time in comparable form; empty if it is not one."""
    with suppress(ValueError):
        return text if datetime.fromisoformat(text).tzinfo else ""
    return ""


def _request_in(event: Mapping[str, object]) -> str:
    """Return which request failed."""
    if event.get("event") != "request":
        return ""
    return f"{event.get('method')} {event.get('route')} was answered with {event.get('status')}"


class Observer:
    """Records from ``start`` to ``stop``; ``exposition`` is for any thread.

    Args:
        config: The settings in force.
        version: Of the program.
    """

    #: The media type of ``exposition``, without the charset, which is UTF-8.
    content_type = "text/plain; version=0.0.4"

    def __init__(self, config: Config, version: str) -> None:
        self._config = config
        self._version = version
        self._started_s = time.monotonic()
        self._instruments = Instruments(self._gauges)
        self._collector = Collector(config, self._instruments)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._listening = ExitStack()

    def start(self) -> None:
        """Start recording, and surveying the projects now and then."""
        self._listening.enter_context(record_metrics_to(self._instruments))
        self._listening.enter_context(traced(self._config.data_dir, process="serve"))
        self._thread = threading.Thread(target=self._look_on, name="observer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop recording."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        self._listening.close()

    def exposition(self) -> bytes:
        """Return all numbers in Prometheus' text format, within some milliseconds.

        Databases that were written since the last look are read first.
        """
        with self._lock:
            self._collector.collect()
            return self._instruments.text()

    def status(self) -> ServerStatus:
        """Return the status of the server and its data directory; as fast as ``exposition``."""
        with self._lock:
            self._collector.collect()
            values, models = self._collector.values(), self._collector.models()
            damaged = self._collector.damaged(DamagedIndexError.code)
            newer = self._collector.damaged(IndexTooNewError.code)
            ever_damaged = frozenset(self._collector.ever_damaged)
        data_dir = self._config.data_dir
        return ServerStatus(
            versions=versions_of(self._version),
            data_dir=display_path(str(data_dir)),
            data_dir_origin=self._config.origins.get("data_dir", Origin.DEFAULT),
            disk=disk_use_of(data_dir),
            memory=memory_use(),
            model=effective_model(self._config, models),
            runner=runner_of(data_dir),
            jobs={state: int(number) for (state,), number in values[Measure.JOBS].items()},
            damaged=damaged,
            newer=newer,
            settings=effective_settings(self._config),
            problems=problems_of(data_dir, ever_damaged),
        )

    def _look_on(self) -> None:
        while True:
            try:
                with self._lock:
                    self._collector.collect()
            except Exception:  # noqa: BLE001, S110 - the next look, or who asks, meets it again
                pass
            if self._stop.wait(_LOOK_S):
                return

    def _gauges(self) -> dict[Measure, Values]:
        return {
            **self._collector.values(),
            Measure.PEAK_MEMORY: {(): peak_memory_bytes()},
            Measure.UPTIME: {(): time.monotonic() - self._started_s},
            Measure.BUILD: {(self._version,): 1},
        }
