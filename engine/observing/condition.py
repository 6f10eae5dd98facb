"""How a server and its data directory are: nothing is opened for it, and no secret is told."""

import os
import platform
import resource
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from engine.clock import iso_time
from engine.config import Config
from engine.embedding.choice import Backend, choice_of, shown_setting
from engine.errors import InvalidConfigError
from engine.lock import holder_of
from engine.observing.instruments import peak_memory_bytes
from engine.records import display_path
from engine.settings import SETTINGS, Origin
from engine.status_records import (
    DiskUse,
    LoggedProblem,
    MemoryUse,
    ModelInForce,
    RunnerState,
    SettingInForce,
)
from engine.store.models import ModelRow
from engine.store.versions import versions
from engine.telemetry.logs import server_log

_MOST_ERRORS: Final = 15
_MOST_WARNINGS: Final = 5
_MOST_EVENTS: Final = 500  # that are looked through for them
_CGROUP: Final = "/sys/fs/cgroup/memory.max"
_STATM: Final = "/proc/self/statm"


def versions_of(program: str) -> dict[str, str]:
    """Give the versions of the program and of what it stands on."""
    return {"CodeCairn": program, "Python": platform.python_version(), **versions()}


def disk_use_of(data_dir: Path) -> DiskUse:
    """Add up what lies in a data directory; some microseconds a file."""
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
    """Give what this process takes, and what limits it."""
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


def model_in_force(config: Config, used: Mapping[str, tuple[ModelRow, int]]) -> ModelInForce:
    """Give the model that the settings choose.

    Args:
        config: The settings in force.
        used: The models that answer, with the number of indexes that each answers for.
    """
    try:
        choice = choice_of(config.model)
    except InvalidConfigError as error:
        return ModelInForce(name=shown_setting(config.model), source="", problem=error.message)
    source = choice.url or ("built in" if choice.backend is Backend.STATIC else "this machine")
    if choice.backend is Backend.NONE:
        source = ""
    row, indexes = used.get(choice.name, (None, 0))
    return ModelInForce(
        name=choice.name,
        source=source,
        identity=row.identity if row else None,
        dimension=row.dimension if row else None,
        indexes=indexes,
    )


def runner_of(data_dir: Path) -> RunnerState:
    """Say which process runs the jobs of a data directory."""
    file = data_dir / "runner.lock"
    holder = holder_of(file)
    if holder is None or not holder.isdecimal():
        return RunnerState(pid=None, since=None)
    since = None
    with suppress(OSError):
        since = iso_time(int(file.stat().st_mtime * 1000))
    return RunnerState(pid=int(holder), since=since)


def settings_in_force(config: Config) -> tuple[SettingInForce, ...]:
    """Give all settings, in the order of their table."""
    return tuple(
        SettingInForce(
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
    """Give a value for people, without what may be a password in it."""
    if isinstance(value, int) and unit != "port":
        return f"{value:,}"
    return shown_setting(str(value))


def problems_of(data_dir: Path) -> tuple[LoggedProblem, ...]:
    """Give what a server noted as wrong of late, the newest first.

    What was noted several times is one; warnings take no error's place. That a client asked for
    what cannot be is no problem of the server.
    """
    log = server_log(data_dir)
    errors = _together(log.recent("error", _MOST_EVENTS))
    warnings = _together(log.recent("warning", _MOST_EVENTS, but="request"))
    problems = [*errors[:_MOST_ERRORS], *warnings[:_MOST_WARNINGS]]
    return tuple(sorted(problems, key=lambda problem: problem.at, reverse=True))


def _together(events: Sequence[Mapping[str, object]]) -> list[LoggedProblem]:
    """Give each problem once, as it was noted first here: the newest event comes first."""
    told: dict[LoggedProblem, list[LoggedProblem]] = {}
    for problem in map(_problem_in, events):
        told.setdefault(replace(problem, at=""), []).append(problem)
    return [replace(each[0], times=len(each)) for each in told.values()]


def _problem_in(event: Mapping[str, object]) -> LoggedProblem:
    return LoggedProblem(
        at=_time_in(str(event.get("timestamp"))),
        event=str(event.get("event", "")),
        level=str(event["level"]),
        message=str(event.get("reason") or _request_in(event)),
        project=display_path(str(event["project"])) if event.get("project") else None,
    )


def _time_in(text: str) -> str:
    """Give a time that can be compared with others; empty when it is none."""
    with suppress(ValueError):
        return text if datetime.fromisoformat(text).tzinfo else ""
    return ""


def _request_in(event: Mapping[str, object]) -> str:
    """Say which request failed."""
    if event.get("event") != "request":
        return ""
    return f"{event.get('method')} {event.get('route')} was answered with {event.get('status')}"
