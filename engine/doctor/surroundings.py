"""What is around an index: jobs that nobody runs, and beginnings of copies of it."""

import glob
from contextlib import suppress
from pathlib import Path

from engine.config import Config
from engine.errors import UnavailableError
from engine.lock import held_lock, is_alive
from engine.store import jobs
from engine.store.connection import Store


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


def delete_parts(target: Path) -> None:
    """Delete the beginnings of a copy whose processes have died."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.part-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and not is_alive(int(number)):
            with suppress(OSError):
                path.unlink()
