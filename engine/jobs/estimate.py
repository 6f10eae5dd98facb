"""How long a job will take and what it needs, said before it exists."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from engine.errors import DiskFullError, InvalidPathError, UnavailableError
from engine.jobs.rates import FILE_BYTES, REBUILD_SHARE, WORKERS_S, Rates, is_embedded_later
from engine.records import display_path

MIB = 1 << 20

_INDEX_OF_SOURCE = 1.7  # with the vectors of the built-in model; 1.4 to 1.66 were measured
_VECTORS_OF_SOURCE = 1.3  # more for those of a model with 1,000 numbers a vector
_WAL_BYTES = 64 * MIB  # twice the size at which it is emptied
_LEAST_BYTES = MIB  # for the rows of the job itself


class Survey(NamedTuple):
    """What a run would find, counted or guessed; see ``engine.dispatch.survey``."""

    files: int  # that the walk looks at, skipped ones included
    changed_files: int  # to be read and parsed
    changed_bytes: int
    known_files: int = 0  # to be read, while what they hold is stored already
    known_bytes: int = 0
    chunks_lacking: int = 0  # stored chunks without a vector of the wanted model
    is_exact: bool = True  # the whole tree was looked at
    walk_s: float | None = None  # what the walk of all would take, by the part that was walked
    is_rebuild: bool = False  # what is stored is made again and goes


class Estimate(NamedTuple):
    """What a job is expected to take."""

    seconds: float
    embedding_seconds: float  # of seconds: vectors that are made when all files are done
    files: int
    changed_files: int
    bytes: int  # of source to be read
    needed_bytes: int  # of room on the disk
    is_exact: bool  # the whole tree was looked at


def estimate(survey: Survey, rates: Rates, model: str) -> Estimate:
    """Say what a job will take.

    Args:
        survey: What it will find.
        rates: What this machine does.
        model: The setting.
    """
    walk_s = survey.walk_s
    if walk_s is None:
        walk_s = survey.files / rates.walk.a_second
    seconds = rates.start.a_second + walk_s
    changed = survey.changed_bytes + FILE_BYTES * survey.changed_files
    known = survey.known_bytes + FILE_BYTES * survey.known_files
    if changed:
        seconds += WORKERS_S + changed / rates.parse.a_second
        if survey.is_rebuild:
            seconds += REBUILD_SHARE * changed / rates.parse.a_second
    seconds += known / rates.read.a_second
    chunks: float = survey.chunks_lacking
    is_later = is_embedded_later(model)
    if is_later:
        chunks += survey.changed_bytes / rates.chunk.a_second
    embedding_s = chunks / (rates.chunks_a_second(model) or 1.0) if chunks else 0.0
    return Estimate(
        seconds=seconds + embedding_s,
        embedding_seconds=embedding_s,
        files=survey.files,
        changed_files=survey.changed_files,
        bytes=survey.changed_bytes + survey.known_bytes,
        needed_bytes=_needed_bytes(survey, is_later=is_later),
        is_exact=survey.is_exact,
    )


def check_room(data_dir: Path, root: str, needed_bytes: int) -> None:
    """Make sure that a job can begin: the root can be read, and the index has room to grow.

    Args:
        data_dir: Where the index lives; made later when it is not there.
        root: The folder to index.
        needed_bytes: What the index is expected to need.

    Raises:
        InvalidPathError: The root cannot be read.
        UnavailableError: The data directory cannot be written.
        DiskFullError: Less than ``needed_bytes`` are free; ``details`` has both numbers.
    """
    if not os.access(root, os.R_OK | os.X_OK):
        raise InvalidPathError(
            f"permission denied: {display_path(root)}",
            hint="make the folder readable",
            field="path",
            path=display_path(root),
        )
    folder = data_dir
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UnavailableError(
            f"cannot write the data directory {data_dir}",
            hint="make it writable, or set CAIRN_HOME to a folder that you can write",
        )
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise DiskFullError(
            f"the index needs about {_mb(needed_bytes)}, {_mb(free_bytes)} are free in {folder}",
            hint="free some disk space, or exclude a part of the tree",
            needed_bytes=needed_bytes,
            free_bytes=free_bytes,
        )


def _needed_bytes(survey: Survey, *, is_later: bool) -> int:
    factor = _INDEX_OF_SOURCE + (_VECTORS_OF_SOURCE if is_later else 0.0)
    rows = int(survey.changed_bytes * factor)
    return rows + min(rows, _WAL_BYTES) + _LEAST_BYTES


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.0f} MB"
