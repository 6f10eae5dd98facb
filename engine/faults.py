"""Hooks for tests alone: places where this process dies or hangs, and a file system that fails.

``CAIRN_FAULT=die:parse:poison.py`` ends the process when it reaches the point ``parse`` with that
detail, ``die:parse`` with any, ``die:parse@3`` when it reaches it for the third time; ``hang:…``
lets it sleep, ``eat:…`` lets it ask for 16 GiB, ``note:…`` appends the detail to the file that
``CAIRN_NOTES`` names and goes on. Unset, which is always outside of tests, a point costs one
comparison. Read here and not in ``config``: it is no setting.
"""

import os
import time

#: All points, in the order in which a run may meet them. A name tells what was done just before.
FAULT_POINTS = (
    "seed copied",  # a sibling's database, before it is made the worktree's own
    "seed adopted",  # before it gets its name
    "seed linked",  # before the copy's own name goes
    "migration backed up",  # before the first step
    "migration stepped",  # before the number of the step is written
    "migrated",  # before anything else is done with the file
    "transaction filled",  # before COMMIT
    "transaction committed",
    "scan stored",
    "read",  # before its bytes are
    "inspect",
    "parse",
    "batch chunks",  # with their words, before the files that show them
    "batch files",  # before the vectors of both
    "orphans deleted",  # before COMMIT
    "branch finished",  # before COMMIT
    "vectors made",  # by a request, before they are written
    "vectors copied",  # to chunks of equal texts, before COMMIT
    "model switched",  # before COMMIT
    "model shrunk",  # a piece of one that is not wanted, before COMMIT
    "block emptied",  # before COMMIT
    "compaction begun",
    "compaction done",  # before it is noted
    "checkpoint begun",
    "checkpoint done",
    "contents deleted",  # before the file is made small
    "wal deleted",  # before the database file itself
)

#: Those of the doctor, in the order of a repair, of one that begins anew, and of a copy.
DOCTOR_FAULT_POINTS = (
    "trouble mended",
    "words mended",  # a piece of them, before COMMIT
    "repair begun",  # before anything is saved of a damaged database
    "database made anew",  # before it takes the other's place
    "damaged linked",  # to the name under which it is kept
    "damaged aside",  # with its WAL, before the new one has the name
    "backup copied",  # before it is checked
)

#: Those of the files that are replaced as a whole.
ATOMIC_FILE_FAULT_POINTS = ("file written",)  # before it takes the place of the one before

#: Those of a rebuilding, in order.
REBUILD_FAULT_POINTS = (
    "rebuild begun",  # the new index is there, and empty
    "rebuild filled",  # before it takes the place of the old one
    "kept rows copied",  # before COMMIT, in the new index; nobody else can write to the old one
    "contents copied",  # except the last pages
    "contents replaced",
)

#: Those of jobs, in the same order.
JOB_FAULT_POINTS = (
    "job enqueued",  # before anybody hears of it
    "job claimed",  # before anything else is done about it
    "job list stored",
    "job batch filled",  # before COMMIT
    "job checkpoint filled",  # before COMMIT
    "job batch committed",
    "job blocked",  # before its slot is given back
    "job unblocked",
    "job cancel requested",
    "job stopped",  # before the cancellation is recorded
    "job worked",  # before its outcome is recorded
    "job ending",  # before COMMIT
    "job ended",  # before its operation log
)

_FAULT = os.environ.get("CAIRN_FAULT")
_HANG_S = 3600
_EATEN_BYTES = 16 << 30

_reached: dict[str, int] = {}
_vfs = ""


def fault_point(name: str, detail: str = "") -> None:
    """Die or hang here if a test has requested it."""
    if _FAULT is None:
        return
    action, _, place = _FAULT.partition(":")
    if not _is_requested(place, name, detail):
        return
    if action == "note":
        with open(os.environ["CAIRN_NOTES"], "a") as notes:
            notes.write(f"{detail}\n")
        return
    if action == "die":
        os._exit(86)
    if action == "eat":
        bytearray(_EATEN_BYTES)
    time.sleep(_HANG_S)


def _is_requested(place: str, name: str, detail: str) -> bool:
    if place in (name, f"{name}:{detail}"):
        return True
    requested, _, number = place.rpartition("@")
    if requested != name:
        return False
    _reached[name] = _reached.get(name, 0) + 1
    return _reached[name] == int(number)


def use_vfs(name: str) -> None:
    """Let all databases that are opened from now on use a registered SQLite VFS; "" ends it."""
    global _vfs  # noqa: PLW0603 - the one switch
    _vfs = name


def vfs_name() -> str:
    """Return the VFS that databases are opened with; "" for SQLite's own."""
    return _vfs
