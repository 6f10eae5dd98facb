"""The files of a project: delete its contents or its database, and temp files of dead processes.

A job that rebuilds an index fills a database of its own, named with its id, and goes on with it
after a restart. When that job has ended the file is a left-over, like those of dead processes.
"""

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.errors import EngineError, IndexCorruptError
from engine.faults import fault_point
from engine.files import backups_in, entries_of
from engine.jobs.operation_log import operation_logs
from engine.jobs.watchlist import database_files, read_active_job, without_job
from engine.locks import (
    CANCEL,
    delete_stale_locks,
    holder_of,
    is_being_indexed,
)
from engine.processes import is_alive
from engine.roots import is_project_id
from engine.store import project
from engine.store.connection import Store
from engine.store.deleting import delete_database, delete_unused
from engine.store.migrate import delete_copies

# What a file is for, and the number of the process, behind the project's id.
_OF_PROCESS = re.compile(r"\.(?:seed|part|rebuilt|beside)-([0-9]{1,9})(?=[-.]|$)")
# The id of the job, behind that of the project.
_OF_JOB = re.compile(r"\.rebuild-([0-9a-f-]{36})(?=-|$)")
#: Names of files that lie in ``locks`` and ``logs`` now.
_OLD_NAMES = re.compile(
    r"[0-9a-f]{64}\.(hand|lock|wait|watch)|(runner|server)\.lock|server\.json(\.new)?|rates\.json"
)
_OLD_RUNNER: Final = "runner.lock"
_BEGUN_S: Final = 60.0  # a younger database may just be begun


def beside(file: Path, job_id: str | None) -> Path:
    """Return where the index is built that replaces the one of a database file.

    Args:
        file: The database file.
        job_id: The job that builds it; None for this process.
    """
    return file.with_suffix(f".beside-{os.getpid()}" if job_id is None else f".rebuild-{job_id}")


def temp_files(file: Path) -> list[Path]:
    """Return the temp files beside a database of processes that died, and of jobs that ended."""
    entries = sorted(file.parent.glob(f"{file.stem}.*"))
    return [*_dead(entries), *_of_ended_jobs(file, entries)]


def _of_ended_jobs(file: Path, entries: list[Path]) -> list[Path]:
    found = {path: job[1] for path in entries if (job := _OF_JOB.search(path.name))}
    if not found:
        return []
    try:
        active = read_active_job(file) if file.exists() else None
    except IndexCorruptError:  # it does not say which job does it
        active = None
    except EngineError:
        return []
    if is_being_indexed(file):
        return []
    return [path for path, job_id in found.items() if active is None or active.uuid != job_id]


def delete_temp_files(file: Path) -> None:
    """Delete the temp files beside a database that dead processes left; what cannot be, stays."""
    _delete(temp_files(file))


def clean_up(data_dir: Path) -> None:
    """Delete the temp files and lock files of dead processes, and those of older versions.

    So are databases that hold no project, which nobody fills any more, and partial backups.
    """
    try:
        entries = sorted(data_dir.iterdir())
    except OSError:
        return
    delete_dead(each for each in entries if is_project_id(each.name.partition(".")[0]))
    delete_dead(each for each in entries_of(backups_in(data_dir)) if each.name.startswith("."))
    for each in entries:
        if _OF_JOB.search(each.name):
            _delete(_of_ended_jobs(data_dir / f"{each.name.partition('.')[0]}.db", [each]))
    if holder_of(data_dir / _OLD_RUNNER) is None:  # of an older version, which may still run
        old = [each for each in entries if _OLD_NAMES.fullmatch(each.name)]
        _delete([each for each in old if holder_of(each) is None])
    for file in database_files(data_dir):
        if _is_old(file) and not (data_dir / "logs" / file.stem).exists():
            delete_unused(file)
    delete_stale_locks(data_dir)
    for file in (data_dir / "locks").glob(f"*{CANCEL}"):
        project_id, _, job_id = file.name.removesuffix(CANCEL).partition(".")
        with suppress(EngineError):  # a job that cannot be read now may be read after a repair
            active = read_active_job(data_dir / f"{project_id}.db")
            if active is None or active.uuid != job_id:
                _delete([file])


def _is_old(file: Path) -> bool:
    with suppress(OSError):
        return time.time() - file.stat().st_mtime > _BEGUN_S
    return False


def delete_dead(files: Iterable[Path]) -> None:
    """Delete those of some files whose names say that a dead process wrote them."""
    _delete(_dead(files))


def _dead(entries: Iterable[Path]) -> list[Path]:
    found = []
    for path in entries:
        process = _OF_PROCESS.search(path.name)
        if process and not is_alive(int(process[1])):
            found.append(path)
    return found


def _delete(files: list[Path]) -> None:
    for path in files:
        with suppress(OSError):
            path.unlink()


def delete_contents(store: Store) -> None:
    """Drop what is indexed, also in copies of it; the project and its scope stay.

    So do damaged files that a repair has put aside: they may hold memories that nothing else holds.
    What checks have found is dropped with what they have checked.

    Raises:
        ProjectBusyError: It is being indexed.
        UnavailableError: The folder cannot be written.
    """
    with without_job(store.path):
        delete_copies(store.path, keeps_damaged=True)
        with store.write(durable=True) as handle:
            project.delete_contents(handle)
        fault_point("contents deleted")
        store.compact()
        delete_checks(store.path)


def delete_checks(file: Path) -> None:
    """Delete the logs of checks of a database: what they found holds no more."""
    _delete([log.path for log in operation_logs(file.parent / "logs" / file.stem, "verify")])


def delete_project(file: Path, *, keeps_damaged: bool = False) -> None:
    """Delete a database file and what belongs to it, such as the copies that were kept of it.

    Args:
        file: The database file.
        keeps_damaged: Whether the damaged files stay that a repair has put aside.

    Raises:
        ProjectBusyError: It is being indexed.
    """
    import shutil  # only to forget a project

    with without_job(file):
        delete_copies(file, keeps_damaged=keeps_damaged)
        delete_temp_files(file)
        _delete([each for each in file.parent.glob(f"{file.stem}.*") if _OF_JOB.search(each.name)])
        # Before the database: one without contents that has logs counts as damaged.
        shutil.rmtree(file.parent / "logs" / file.stem, ignore_errors=True)
        delete_database(file)
    delete_stale_locks(file.parent)
