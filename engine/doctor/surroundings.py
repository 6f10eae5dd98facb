"""What is around an index: jobs that nobody runs, and files that dead processes left."""

import glob
from contextlib import suppress
from pathlib import Path

from engine.config import Config
from engine.errors import UnavailableError
from engine.lock import held_lock, is_alive
from engine.store import jobs
from engine.store.connection import Store

#: Between the project's id and the number of the process that made a file for a while.
_OF_PROCESSES = ("seed-", "part-", "rebuilt-")


def waiting_job(store: Store, config: Config) -> str | None:
    """Give the id of the job that is active while no process runs jobs."""
    with store.read() as handle:
        row = jobs.read_active_job(handle)
    if row is None:
        return None
    try:
        with held_lock(config.data_dir / "runner.lock") as holder:
            return row.uuid if holder is None else None
    except UnavailableError:  # a data directory that cannot be written
        return None


def leftover_files(file: Path) -> list[Path]:
    """Give the files beside a database that belong to processes which have died."""
    found = []
    for path in sorted(file.parent.glob(f"{file.stem}.*")):
        for kind in _OF_PROCESSES:
            _, mark, rest = path.name.partition(f".{kind}")
            number = rest.partition("-")[0].partition(".")[0]
            if mark and number.isdigit() and not is_alive(int(number)):
                found.append(path)
    return found


def delete_leftovers(file: Path) -> int:
    """Delete the files beside a database that dead processes left; gives how many."""
    found = leftover_files(file)
    for path in found:
        with suppress(OSError):
            path.unlink()
    return len(found)


def delete_parts(target: Path) -> None:
    """Delete the beginnings of a copy whose processes have died."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.part-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and not is_alive(int(number)):
            with suppress(OSError):
                path.unlink()
