"""Structured logs: one JSON object a line, in ``logs`` of the data directory.

``runner.log`` has the events of jobs, ``server.log`` the requests to a server, ``agents.log`` the
calls of agents, and ``spans.log`` the spans, if the environment asks for them.

Written with the standard library alone: the logging packages take 20 ms (logging.handlers) to 60 ms
(structlog) to import, and do not rotate a file that several processes write.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final

from engine.clock import iso_time, now_ms
from engine.files import open_at_once

_RUNNER_FILE: Final = "runner.log"
_SERVER_FILE: Final = "server.log"
_AGENTS_FILE: Final = "agents.log"
_SPANS_FILE: Final = "spans.log"
_LIMIT_BYTES: Final = 1 << 20  # then the file is rotated
_KEPT: Final = 3  # files in all, such as runner.log, runner.log.1, runner.log.2
_LONGEST_BYTES: Final = 1 << 16  # of a line
#: Bytes of a file that are read, from its end; it is not larger unless others write to it.
_MOST_BYTES: Final = _LIMIT_BYTES + _LONGEST_BYTES
_LATEST_BYTES: Final = 1 << 16  # of all lines that are shown together
_LATEST_LINES: Final = 200
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW


class JobLog:
    """An event log for any thread and process, whose writes never fail.

    Events that cannot be written, as on a full disk, are lost.

    Args:
        folder: Where the file lives; made when it is not there.
        clock: Milliseconds since 1970.
        name: Of the file.
    """

    def __init__(
        self, folder: Path, clock: Callable[[], int] = now_ms, name: str = _RUNNER_FILE
    ) -> None:
        self._path = folder / name
        self._clock = clock

    def event(
        self,
        type_: str,
        *,
        level: str = "info",
        job_id: str | None = None,
        project: str | None = None,
        **context: object,
    ) -> None:
        """Write an event (about 50 µs).

        Args:
            type_: What happened, such as the type of a job's event.
            level: debug, info, warning or error.
            job_id: To which job.
            project: To which project, its folder.
            context: What else to tell: numbers, texts, and lists and tables of them.
        """
        fields: dict[str, object] = {
            "timestamp": iso_time(self._clock()),
            "level": level,
            "event": type_,
            "job_id": job_id,
            "project": project,
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        try:
            line = json.dumps(context | fields, ensure_ascii=False, default=str)
            data = line.encode("utf-8", "replace")
            if len(data) > _LONGEST_BYTES:
                line = json.dumps(fields | {"context": "too long to be kept"}, ensure_ascii=False)
                data = line.encode("utf-8", "replace")
            self._append(data + b"\n")
        except (OSError, ValueError, TypeError, RecursionError):
            return

    def recent(self, level: str, limit: int, *, but: str = "") -> list[dict[str, object]]:
        """Return the last events of a level, the newest first.

        Args:
            level: Of the events.
            limit: How many at most.
            but: A type of events to leave out, for example one that others would drown in.
        """
        left_out = f'"event": "{but}"'.encode()
        found: list[dict[str, object]] = []
        for line in self._lines_with(f'"level": "{level}"'.encode()):
            if len(found) == limit:
                break
            if left_out not in line:
                with suppress(ValueError):
                    event = json.loads(line)
                    if isinstance(event, dict) and event.get("level") == level:
                        found.append(event)
        return found

    def of_type(self, type_: str, limit: int) -> list[dict[str, object]]:
        """Return the last events of a type, the newest first, limited in number."""
        found: list[dict[str, object]] = []
        for line in self._lines_with(f'"event": "{type_}"'.encode()):
            if len(found) == limit:
                break
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and event.get("event") == type_:
                    found.append(event)
        return found

    def latest(self, limit: int) -> list[str]:
        """Return the last lines, the newest last, limited in number."""
        found = [
            line.decode("utf-8", "replace")
            for line in islice(self._lines_with(b'"timestamp": "'), limit)
        ]
        return found[::-1]

    def _lines_with(self, mark: bytes) -> Iterator[bytes]:
        """Yield the lines with these bytes, the newest first; 3 MB take some milliseconds."""
        for number in range(_KEPT):
            path = self._path.with_name(f"{self._path.name}.{number}") if number else self._path
            data = b""
            with suppress(OSError), open(path, "rb", opener=open_at_once) as file:
                file.seek(-min(_MOST_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
                data = file.read(_MOST_BYTES)
            start = len(data)
            while (at := data.rfind(mark, 0, start)) >= 0:
                start = data.rfind(b"\n", 0, at) + 1
                end = data.find(b"\n", at)
                yield data[start:end] if end >= 0 else data[start:]

    def forget(self, retention_ms: int) -> None:
        """Delete old lines, a file at a time.

        The file is rotated when its oldest line is half as old, and a rotated file is deleted when
        its youngest line is as old: called daily, each line is kept for the whole time, and for at
        most half of it and a day longer.
        """
        now_ms = self._clock()
        try:
            if self._first_ms() < now_ms - retention_ms // 2:
                descriptor = self._open()
                try:
                    self._rotate(descriptor)
                finally:
                    os.close(descriptor)
            for number in range(1, _KEPT):
                older = self._path.with_name(f"{self._path.name}.{number}")
                if older.exists() and older.stat().st_mtime * 1000 < now_ms - retention_ms:
                    older.unlink()
        except (OSError, ValueError):
            return

    def _first_ms(self) -> float:
        """Return the time of the oldest line of the file; now when there is none."""
        try:
            with open(self._path, encoding="utf-8", errors="replace", opener=open_at_once) as lines:
                line = lines.readline(_LONGEST_BYTES)
            return datetime.fromisoformat(json.loads(line)["timestamp"]).timestamp() * 1000
        except (OSError, ValueError, KeyError, TypeError):
            return self._clock()

    def _append(self, data: bytes) -> None:
        descriptor = self._open()
        try:
            if os.fstat(descriptor).st_size + len(data) > _LIMIT_BYTES:
                self._rotate(descriptor)
                os.close(descriptor)
                descriptor = -1
                descriptor = self._open()
            os.write(descriptor, data)  # one call: lines of several writers do not mix
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self) -> int:
        try:
            return open_at_once(self._path, _FLAGS)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return open_at_once(self._path, _FLAGS)

    def _rotate(self, descriptor: int) -> None:
        """Move the files on by one, unless another writer has just done so."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        opened = os.fstat(descriptor)
        try:
            named = os.stat(self._path)
        except FileNotFoundError:  # as long as no line was written since
            return
        if opened.st_ino != named.st_ino:
            return
        name = self._path.name
        for number in reversed(range(1, _KEPT)):
            older = self._path.with_name(f"{name}.{number}")
            newer = self._path.with_name(f"{name}.{number - 1}") if number > 1 else self._path
            if newer.exists():
                os.replace(newer, older)


def job_log(data_dir: Path) -> JobLog:
    """Return the log of a data directory; nothing is made before the first event."""
    return JobLog(data_dir / "logs")


def server_log(data_dir: Path) -> JobLog:
    """Return the log of a server's requests; nothing is made before the first event."""
    return JobLog(data_dir / "logs", name=_SERVER_FILE)


def agents_log(data_dir: Path) -> JobLog:
    """Return the log of agents' calls; nothing is made before the first event."""
    return JobLog(data_dir / "logs", name=_AGENTS_FILE)


def spans_log(data_dir: Path) -> JobLog:
    """Return the log of spans; nothing is made before the first event."""
    return JobLog(data_dir / "logs", name=_SPANS_FILE)


def latest_lines(data_dir: Path) -> list[str]:
    """Return what servers and runners logged last, the newest last; at most 200 lines or 64 KiB."""
    lines = [
        line
        for log in (job_log(data_dir), server_log(data_dir), agents_log(data_dir))
        for line in log.latest(_LATEST_LINES)
    ]
    found: list[str] = []
    left = _LATEST_BYTES
    for line in sorted(lines, key=_time_of, reverse=True)[:_LATEST_LINES]:
        left -= len(line.encode()) + 1
        if left < 0:
            break
        found.append(line)
    return found[::-1]


def _time_of(line: str) -> str:
    return line.partition('"timestamp": "')[2].partition('"')[0]


def all_logs(data_dir: Path) -> tuple[JobLog, ...]:
    """Return all of them."""
    return job_log(data_dir), server_log(data_dir), agents_log(data_dir), spans_log(data_dir)
