"""A SQLite VFS that fails when a test says so, and that records what reaches the disk.

``with faulty() as vfs:`` lets the whole engine open its databases over it, by the switch in
``engine.faults``. The shared memory of a WAL does not pass through it: a power cut loses it anyway.
"""

import itertools
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from engine import faults

#: What is counted and can fail.
KINDS = ("write", "sync", "read", "truncate", "open", "delete", "lock")

_POWERSAFE_OVERWRITE = 0x1000
_numbers = itertools.count(1)


class Fault(NamedTuple):
    """A call that fails."""

    kind: str
    code: int  # of SQLite, extended or not
    at: int  # 1 is the first call of its kind after ``arm``
    is_sticky: bool = False  # whether all later calls of the kind fail too
    is_partial: bool = False  # whether half of a write that fails reaches the file


@dataclass(slots=True)
class Disk:
    """What the disk is like.

    Args:
        sector_bytes: The least that is written at once; 0 is what the real file system says.
        is_powersafe: Whether a write leaves its neighbours alone when the power goes.
        has_room: Whether files can grow.
        is_lying: Whether a sync returns at once and has done nothing.
        sync_s: How long a sync sleeps.
        may_sync: Holds up each sync until it is set; None: nothing does.
    """

    sector_bytes: int = 0
    is_powersafe: bool = True
    has_room: bool = True
    is_lying: bool = False
    sync_s: float = 0.0
    may_sync: threading.Event | None = None


class Event(NamedTuple):
    """Something that happened to a file, or a mark that the test has set."""

    kind: str  # found, create, write, truncate, sync, delete or mark
    path: str
    offset: int = 0  # of a write; the size of a truncate; 1 for a delete that syncs the folder
    data: bytes = b""  # of a write; all of a file that was found
    mark: Any = None


class FaultVFS(apsw.VFS):
    """The VFS; it must outlive all connections over it.

    Args:
        disk: What the disk is like; may be changed at any time.
        records: Whether to keep all events.
    """

    def __init__(self, disk: Disk, *, records: bool) -> None:
        self.name = f"faulty-{next(_numbers)}"
        self.disk = disk
        #: Calls of each kind since ``arm``.
        self.counts: Counter[str] = Counter()
        #: Calls that failed since ``arm``.
        self.hits = 0
        #: Events in their order, if they are recorded.
        self.events: list[Event] = []
        #: Exceptions that no caller could be given, such as those of closing a file.
        self.lost: list[BaseException] = []
        self._records = records
        self._met: set[str] = set()
        self._injected: list[apsw.Error] = []
        self._fault: Fault | None = None
        self._lock = threading.Lock()
        super().__init__(self.name, "")

    def arm(self, fault: Fault | None) -> None:
        """Count from 0 again, and fail as told; None: not at all."""
        with self._lock:
            self._fault = fault
            self.counts.clear()
            self.hits = 0

    def mark(self, mark: object) -> None:
        """Record something that the test knows, such as a transaction that was acknowledged."""
        self.record(Event("mark", "", mark=mark))

    def record(self, event: Event) -> None:
        """Keep an event."""
        if self._records:
            with self._lock:
                self.events.append(event)

    def meet(self, path: str) -> None:
        """Keep what a file holds that something else has made, when it is opened first."""
        if self._records and path not in self._met and os.path.exists(path):
            self._met.add(path)
            self.record(Event("found", path, data=Path(path).read_bytes()))

    def tick(self, kind: str) -> Fault | None:
        """Count a call; give the fault that it meets."""
        with self._lock:
            self.counts[kind] += 1
            fault = self._fault
            if fault is None or fault.kind != kind:
                return None
            count = self.counts[kind]
            if count == fault.at or (fault.is_sticky and count > fault.at):
                self.hits += 1
                return fault
            return None

    def failure(self, code: int) -> apsw.Error:
        """Make the exception of a fault."""
        error = apsw.exception_for(code)
        assert isinstance(error, apsw.Error)
        self._injected.append(error)
        return error

    def note_lost(self, error: BaseException | None) -> None:
        """Keep an exception that no caller can be given, unless it is one of the faults."""
        if error and not any(error is injected for injected in self._injected):
            self.lost.append(error)

    def check(self, kind: str) -> None:
        """Count a call.

        Raises:
            apsw.Error: It is the one that fails.
        """
        fault = self.tick(kind)
        if fault:
            raise self.failure(fault.code)

    def xOpen(self, name: Any, flags: list[int]) -> "_FaultFile":  # noqa: N802 - SQLite's name
        self.check("open")
        return _FaultFile(self, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        self.check("delete")
        super().xDelete(name, syncdir)
        self.record(Event("delete", name, int(syncdir)))

    def excepthook(self, *error: Any) -> bool:
        self.note_lost(error[1])
        return True


class _FaultFile(apsw.VFSFile):
    """An open file. A temporary one, which has no name, is not recorded."""

    def __init__(self, vfs: FaultVFS, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._vfs = vfs
        self._path: str = path or ""
        is_new = bool(path) and not os.path.exists(path)
        vfs.meet(self._path)
        super().__init__("", name, flags)
        if is_new:
            vfs.record(Event("create", self._path))
            vfs._met.add(self._path)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._vfs.check("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        fault = self._vfs.tick("write")
        if fault:
            if fault.is_partial:
                self._write(bytes(data[: len(data) // 2]), offset)
            raise self._vfs.failure(fault.code)
        if not self._vfs.disk.has_room and offset + len(data) > self.xFileSize():
            raise self._vfs.failure(apsw.SQLITE_FULL)
        self._write(data, offset)

    def _write(self, data: Any, offset: int) -> None:
        super().xWrite(data, offset)
        if self._path:
            self._vfs.record(Event("write", self._path, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._vfs.check("truncate")
        super().xTruncate(newsize)
        if self._path:
            self._vfs.record(Event("truncate", self._path, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.check("sync")
        disk = self._vfs.disk
        if disk.sync_s:
            time.sleep(disk.sync_s)
        if disk.may_sync:
            disk.may_sync.wait()
        if disk.is_lying:
            return
        # The real one is left out: no test pulls the plug, and it is most of the time.
        if self._path:
            self._vfs.record(Event("sync", self._path))

    def xLock(self, level: int) -> None:  # noqa: N802
        self._vfs.check("lock")
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # A file opened for reading cannot be locked for writing. SQLite tries when the last
            # connection closes, and minds it no more than a busy file.
            raise self._vfs.failure(apsw.SQLITE_BUSY) from error

    def xSectorSize(self) -> int:  # noqa: N802
        return self._vfs.disk.sector_bytes or super().xSectorSize()

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        known = super().xDeviceCharacteristics()
        return known if self._vfs.disk.is_powersafe else known & ~_POWERSAFE_OVERWRITE

    def excepthook(self, *error: Any) -> bool:
        self._vfs.note_lost(error[1])
        return True


@contextmanager
def faulty(disk: Disk | None = None, *, records: bool = False) -> Iterator[FaultVFS]:
    """Let all databases that are opened meanwhile use a VFS that can fail.

    Fails at the end if an exception reached no caller.
    """
    vfs = FaultVFS(disk or Disk(), records=records)
    faults.use_vfs(vfs.name)
    usual = sys.unraisablehook
    sys.unraisablehook = lambda lost: vfs.note_lost(lost.exc_value)
    try:
        yield vfs
    finally:
        sys.unraisablehook = usual
        faults.use_vfs("")
        vfs.arm(None)
        vfs.unregister()
    assert vfs.lost == []
