"""Making a damaged database anew, and finding the root folder of one.

It is set aside, and a new one takes its place with the jobs, memories and scope that can still be
read.

A damaged file may not name its root any more. Its file name is the hash of the root's path, so
every candidate can be verified: from an open index, the file, the caller or the logs.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from engine.clock import now_ms
from engine.config import Config
from engine.doctor.jobs import make_jobs_readable
from engine.doctor.memories import make_readable, words_of_memories
from engine.errors import EngineError
from engine.faults import fault_point
from engine.jobs.operation_log import operation_logs
from engine.project_files import delete_temp_files
from engine.roots import project_id_of
from engine.store import checks, kept_rows, memories, project, repair
from engine.store.connection import Store
from engine.store.deleting import delete_database
from engine.store.project import read_root

_MOST_LOGS = 20
_SAYS_ROOT = "Repository: "


def root_of(file: Path, guesses: Iterable[str], busy_timeout_ms: int) -> str | None:
    """Return the root folder of a database file, or None when nothing reveals it."""
    for root in chain(guesses, _recorded_roots(file, busy_timeout_ms)):
        if project_id_of(root) == file.stem:
            return root
    return None


def _recorded_roots(file: Path, busy_timeout_ms: int) -> Iterator[str]:
    with suppress(EngineError):
        yield read_root(file, busy_timeout_ms)
    for log in operation_logs(file.parent / "logs" / file.stem)[:_MOST_LOGS]:
        with suppress(OSError):
            lines = log.read().splitlines()
            yield from (
                line.removeprefix(_SAYS_ROOT) for line in lines[:3] if line.startswith(_SAYS_ROOT)
            )


class Rebuilt(NamedTuple):
    """The outcome of making a database anew."""

    aside: Path | None  # the damaged file; None when it was not there
    kept: Mapping[str, kept_rows.Kept]  # by table

    @property
    def loses(self) -> str:
        """How many memories of how many were kept, in words; empty when all were."""
        number, of = self.kept["memories"]
        return f"{number:,} of {of:,} memories" if number < of else ""


def rebuild_file(file: Path, root: str, config: Config) -> Rebuilt:
    """Set a database aside and replace it by a new one with the rows that can be saved.

    The caller holds the right to index. Others who write rows of jobs or memories wait meanwhile,
    and then are told that the index was replaced.

    Raises:
        IndexBusyError: Others have been writing for longer than the busy timeout.
        UnavailableError: There is no room, or the data directory cannot be written.
    """
    delete_temp_files(file)
    made = file.with_suffix(f".rebuilt-{os.getpid()}")
    delete_database(made)
    try:
        # What is written in between would be acknowledged, and then be in the old file alone.
        with repair.without_writers(file, config.busy_timeout):
            salvaged = kept_rows.salvage(file, config.busy_timeout)
            kept = _make(made, file.stem, root, salvaged, config)
            fault_point("database made anew")
            aside = repair.replace_database(made, file, keeps=True)
    finally:
        delete_database(made)
    return Rebuilt(aside, kept)


def _make(
    made: Path, project_id: str, root: str, salvaged: kept_rows.SalvagedRows, config: Config
) -> dict[str, kept_rows.Kept]:
    store = Store(made, busy_timeout_ms=config.busy_timeout, create=True)
    try:
        with store.write(durable=True) as handle:
            project.insert_project(
                handle,
                project_id=project_id,
                root=os.fsencode(root),
                max_file_size=config.max_file_size,
                now_ms=now_ms(),
            )
            kept = kept_rows.restore_rows(handle, salvaged)
            make_jobs_readable(handle)
            ids = checks.read_owners_without_words(handle, checks.MEMORY_WORDS)
            make_readable(handle, ids)
            for row, terms in words_of_memories(handle, ids):
                memories.insert_words(handle, row.id, terms)
        store.checkpoint()
    finally:
        store.close()
    return kept
