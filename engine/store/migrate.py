"""Schema migrations: forward-only steps, each in one transaction with its number.

``PRAGMA user_version`` counts the steps. The *contents* have a version of their own, the
fingerprint: they are never migrated but made again.
"""

import functools
import math
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

from engine.errors import IndexCorruptError, IndexTooNewError
from engine.faults import fault_point
from engine.processes import is_alive
from engine.store.opening import Place, close_held, not_writable, open_reader

#: "Cair": marks a database file as ours.
APPLICATION_ID = 0x43616972
_MIGRATIONS = Path(__file__).with_name("migrations")


@functools.cache
def steps() -> tuple[str, ...]:
    """Return the SQL of each migration, in order; step n leads to ``user_version`` n."""
    return tuple((_MIGRATIONS / name).read_text("utf-8") for name in _step_names())


@functools.cache
def newest() -> int:
    """Return the version of the present shape."""
    return len(_step_names())


def _step_names() -> list[str]:
    return sorted(name for name in os.listdir(_MIGRATIONS) if name.endswith(".sql"))


def check(handle: apsw.Connection) -> int:
    """Return the number of migrations applied to a database; 0 for an empty file.

    Raises:
        IndexCorruptError: The file belongs to another program.
        IndexTooNewError: The file was written by a newer version.
    """
    version, application, tables = handle.execute(  # at once: another process may just migrate it
        """SELECT u.user_version, a.application_id, (SELECT count(*) FROM sqlite_schema)
           FROM pragma_user_version u, pragma_application_id a"""
    ).get
    is_blank = application == version == tables
    if application != APPLICATION_ID and not (is_blank and version == 0):
        file = handle.db_filename("main")
        raise IndexCorruptError(
            f"{file} is not an index (application id {application:#x})",
            hint="cairn doctor PATH --repair puts it aside and begins a new one",
            project_id=Path(file).stem,
        )
    if version > newest():
        raise IndexTooNewError(
            "the index was made by a newer version of CodeCairn"
            f" (schema version {version}; this one knows {newest()})",
            hint="update codecairn, or remove the project (cairn forget) and index it again",
            project_id=Path(handle.db_filename("main")).stem,
        )
    return int(version)


def version_of(handle: apsw.Connection) -> int:
    """Return the number of migrations applied to an index."""
    return int(handle.execute("PRAGMA user_version").get)


def migrate(handle: apsw.Connection, place: Place, confirm: Callable[[], None]) -> None:
    """Bring a database to the newest shape.

    Before a step on a database that has contents, a copy is kept beside it, named with the old
    version. The lock of the database is held over both, so that one thread of one process does
    them, and nobody writes in between; the others wait for it, and find that it is done.

    Args:
        handle: A connection that may write, without a transaction.
        place: The file that it has open.
        confirm: Called when nobody else can write any more; raises if the name is another file's.

    Raises:
        IndexCorruptError: The file belongs to another program.
        IndexTooNewError: The file was written by a newer version.
        OSError: The copy cannot be written; the database is as it was.
    """
    if check(handle) == newest():
        return
    handle.execute("BEGIN IMMEDIATE")
    try:
        confirm()
        version = check(handle)  # again: another may have been first
        if version == newest():
            handle.execute("ROLLBACK")
            return
        if version:
            _keep_copy(place, version)
            fault_point("migration backed up")
        for number in range(version, newest()):
            handle.execute(steps()[number])
            fault_point("migration stepped", str(number + 1))
            handle.pragma("user_version", number + 1)
        handle.pragma("application_id", APPLICATION_ID)
        handle.execute("COMMIT")
    except BaseException:
        if handle.in_transaction:
            handle.execute("ROLLBACK")
        raise


def delete_copies(path: Path, *, keeps_damaged: bool = False, before_s: float = math.inf) -> None:
    """Delete the kept copies of a database.

    Args:
        path: The database file.
        keeps_damaged: Whether the damaged files stay that a repair has put aside.
        before_s: Only those made before, a time as of ``time.time``.

    Raises:
        UnavailableError: The folder cannot be written.
    """
    patterns = [f"{path.stem}.v*.db", f"{path.stem}.v*.part-*"]
    if not keeps_damaged:
        patterns.append(f"{path.stem}.damaged-*")  # with their logs of changes
    try:
        for pattern in patterns:
            for copy in path.parent.glob(pattern):
                with suppress(FileNotFoundError):
                    if copy.stat(follow_symlinks=False).st_mtime < before_s:
                        copy.unlink()
    except OSError as error:
        raise not_writable(path) from error


def _keep_copy(place: Place, version: int) -> None:
    """Write a copy that only the user can read; it has its name when it is whole.

    A connection of its own reads it, as no transaction can hold such a copying. The caller's one
    keeps everybody from writing.
    """
    copy = place.path.with_suffix(f".v{version}.db")
    if copy.exists():
        return
    part = copy.with_suffix(f".part-{os.getpid()}-{threading.get_native_id()}")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            _copy(place, part)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, copy)
    finally:
        for left in copy.parent.glob(f"{copy.stem}.part-*"):  # of runs that were killed, too
            process = left.name.rpartition("part-")[2].partition("-")[0]
            if process.isdecimal() and not _may_write(int(process)):
                left.unlink(missing_ok=True)


def _may_write(process: int) -> bool:
    """Return whether it may be writing a copy: not this one, whose other threads are locked out."""
    return process != os.getpid() and is_alive(process)


def _copy(place: Place, part: Path) -> None:
    reader = open_reader(place).handle
    try:
        reader.execute("PRAGMA query_only = OFF")  # of the copy, too
        reader.execute("VACUUM INTO ?", (str(part),))
    finally:
        close_held(place, reader)


def versions() -> dict[str, str]:
    """Return the versions of SQLite, sqlite-vec and the schema."""
    from importlib import metadata  # slow to import, and only servers ask

    try:
        vectors = metadata.version("sqlite-vec")
    except metadata.PackageNotFoundError:
        vectors = "unknown"
    return {"SQLite": apsw.sqlite_lib_version(), "sqlite-vec": vectors, "schema": str(newest())}
