"""What an indexing run would find: a walk within a budget of time, against what the index knows.

When the budget runs out before the walk ends, what was seen stands for the rest; how much that is,
the index knows from the last run, or git's index, or the folders that were not yet entered. Nothing
is read but names, sizes and times, and nothing is changed.

What a job will take, said before it exists, and what those that completed have taught.

How long a job will take and what it needs, said before it exists.
"""

import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from engine.config import Config
from engine.embedding.choice import Backend, choice_of
from engine.errors import (
    Cancelled,
    DiskFullError,
    InvalidConfigError,
    InvalidPathError,
    UnavailableError,
)
from engine.indexing.scan import Known, scan
from engine.indexing.scope import fingerprint, scope_of
from engine.jobs.context import JobContext
from engine.jobs.pace import (
    FILE_BYTES,
    REBUILD_SHARE,
    WORKERS_S,
    Outlook,
    Rates,
    is_embedded_later,
    load_rates,
    save_rates,
)
from engine.records import FileEntry, IndexOptions, Skip, display_path
from engine.source.git import find_repository, read_branch
from engine.source.git_files import count_entries
from engine.source.walker import WalkRules, walk
from engine.state_records import JobState
from engine.store import blobs, files, models, project
from engine.store.connection import Handle, Store
from engine.store.files import KnownFile
from engine.store.jobs import JobRow
from engine.store.project import BranchRow, ProjectRow
from engine.wording import size

MIB = 1 << 20

_INDEX_OF_SOURCE = 1.7  # with the vectors of the built-in model; 1.4 to 1.66 were measured
_VECTORS_OF_SOURCE = 1.3  # more for those of a model with 1,000 numbers a vector
_WAL_BYTES = 64 * MIB  # twice the size at which it is emptied
_LEAST_BYTES = MIB  # for the rows of the job itself


class Survey(NamedTuple):
    """What a run would find, counted or guessed; see ``engine.scheduler.estimate``."""

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
            f"the index needs about {size(needed_bytes)}, {size(free_bytes)} are free in {folder}",
            hint="free some disk space, or exclude a part of the tree",
            needed_bytes=needed_bytes,
            free_bytes=free_bytes,
        )


def _needed_bytes(survey: Survey, *, is_later: bool) -> int:
    factor = _INDEX_OF_SOURCE + (_VECTORS_OF_SOURCE if is_later else 0.0)
    rows = int(survey.changed_bytes * factor)
    return rows + min(rows, _WAL_BYTES) + _LEAST_BYTES


BUDGET_S = 0.4

_AT_ONCE = 500  # entries that are compared by one statement
_MEAN_BYTES = 8000  # of a file, when not one was seen
_LEAST_SHARE = 0.01  # of a tree that is taken for seen
_MOST_LEVELS = 6  # of folders that tell how far a walk came
_FILES_OF_A_CUT_WALK = 50_000  # when not one was seen and nobody knows


class _Counts:
    """What the walk has met so far."""

    def __init__(self) -> None:
        self.items = 0
        self.changed_files = 0
        self.changed_bytes = 0
        self.known_files = 0
        self.known_bytes = 0
        self.last_path = ""


class _Side(NamedTuple):
    """The index's side of the comparison."""

    branch_id: int | None  # whose rows are compared; None: no branch was indexed
    fingerprint_id: int | None  # None: all is to be made again
    is_other: bool  # of another branch: what is equal has to be read, but not parsed
    is_rebuild: bool  # contents are there, and stale
    is_seeded: bool  # contents are there, but no branch: those of another worktree
    total: int  # entries of the last scan, 0 when unknown
    unfinished: int  # files that the last scan found and that are not indexed


def survey(
    store: Store,
    root: str,
    options: IndexOptions,
    model: str,
    *,
    budget_s: float = BUDGET_S,
    clock: Callable[[], float] = time.monotonic,
) -> Survey:
    """Look at a tree as a run with these options would.

    Args:
        store: The project's database.
        root: The resolved folder.
        options: What the run would be told.
        model: The setting, for chunks that have no vector of it yet.
        budget_s: How long the walk may take; listing one huge folder may take longer.
        clock: Gives seconds.

    Raises:
        InvalidInputError: The scope cannot be read.
        InvalidPathError: The root cannot be read.
        ProjectNotFoundError: The project was forgotten meanwhile.
    """
    began = clock()
    deadline = began + budget_s
    with store.read() as handle:
        row = project.known_project(handle, root)
        lacking = _chunks_lacking(handle, model)
        rules = scope_of(options, row).rules
        side = _side_of(handle, root, row, is_forced=options.force)
        counts = _Counts()
        is_exact = True
        batch: list[FileEntry | Skip] = []
        try:
            for item in walk(root, rules, cancelled=lambda: clock() > deadline):
                batch.append(item)
                if len(batch) == _AT_ONCE:
                    _compare(handle, side, rules, batch, counts)
                    batch = []
        except Cancelled:
            is_exact = False
        _compare(handle, side, rules, batch, counts)
    elapsed_s = clock() - began
    found = Survey(
        files=counts.items,
        changed_files=counts.changed_files,
        changed_bytes=counts.changed_bytes,
        known_files=counts.known_files,
        known_bytes=counts.known_bytes,
        chunks_lacking=lacking,
        is_exact=is_exact,
        walk_s=elapsed_s if is_exact or counts.items >= _AT_ONCE else None,
        is_rebuild=side.is_rebuild,
    )
    return found if is_exact else _extrapolated(found, side, root, counts.last_path)


def survey_of_paths(root: str, only: Sequence[str]) -> Survey:
    """Look at some paths of a tree, each of which is taken for changed.

    Args:
        root: The resolved folder.
        only: Paths relative to it; a folder among them counts as one small file.
    """
    found = []
    for path in only:
        try:
            found.append(os.stat(os.path.join(root, path)))
        except (OSError, ValueError):  # ValueError: a NUL in the path
            continue
    return Survey(
        files=len(only),
        changed_files=len(found),
        changed_bytes=sum(facts.st_size for facts in found),
        is_exact=not any(stat.S_ISDIR(facts.st_mode) for facts in found),
    )


def _side_of(handle: Handle, root: str, row: ProjectRow, *, is_forced: bool) -> _Side:
    branches = project.read_branches(handle)
    is_current = not is_forced and row.fingerprint == fingerprint()
    name = read_branch(root)
    here = next((branch for branch in branches if branch.name == name), None)
    shown = here or (branches[0] if branches else None)
    total, unfinished = _extent_of(handle, shown) if shown else (0, 0)
    has_contents = blobs.has_any(handle)
    return _Side(
        branch_id=shown.id if shown else None,
        fingerprint_id=row.fingerprint_id if is_current else None,
        is_other=here is None,
        is_rebuild=has_contents and not is_current,
        is_seeded=has_contents and shown is None,
        total=total,
        unfinished=unfinished if here and is_current else 0,
    )


def _extent_of(handle: Handle, branch: BranchRow) -> tuple[int, int]:
    skipped = sum(files.count_skips(handle, branch.id).values())
    missing = branch.found_files - files.count_files(handle, branch.id)
    return branch.found_files + skipped, max(0, missing)


def _compare(
    handle: Handle,
    side: _Side,
    rules: WalkRules,
    batch: list[FileEntry | Skip],
    counts: _Counts,
) -> None:
    """Count what of a piece of the walk has to be read; ``scan`` decides, as in a run."""
    counts.items += len(batch)
    counts.last_path = batch[-1].path if batch else counts.last_path
    entries = [item for item in batch if isinstance(item, FileEntry)]
    known = _known_of(handle, side, entries)
    found = scan(entries, known, any_text=bool(rules.include), tell=_ignore)
    changed = {entry.path for entry in found.changed}
    for entry in entries:
        before = known.files.get(entry.path)
        if entry.path in changed and not _is_known(entry, before, side):
            counts.changed_files += 1
            counts.changed_bytes += entry.stat.size_bytes
        elif entry.path in changed or (side.is_other and before):
            counts.known_files += 1
            counts.known_bytes += entry.stat.size_bytes


def _known_of(handle: Handle, side: _Side, entries: Sequence[FileEntry]) -> Known:
    """Read what the index knows of some files."""
    if side.branch_id is None or side.fingerprint_id is None:
        return Known(files={}, skips={}, fingerprint_id=0)
    known = files.read_known_files_at(handle, side.branch_id, [each.path for each in entries])
    others = [each.path for each in entries if each.path not in known]
    refused = files.read_known_skips_at(handle, side.branch_id, others) if others else {}
    return Known(files=known, skips=refused, fingerprint_id=side.fingerprint_id)


def _is_known(entry: FileEntry, before: KnownFile | None, side: _Side) -> bool:
    """Say whether a file has to be read, but surely holds what is stored already."""
    if side.fingerprint_id is None:
        return False
    if before is None:
        return side.is_seeded
    is_current = before.fingerprint_id == side.fingerprint_id
    # Such a time stands for one that was too close to the reading to be trusted.
    is_racy = before.stat.mtime_ns == 0 and before.stat.size_bytes == entry.stat.size_bytes
    return is_current and is_racy


def _extrapolated(found: Survey, side: _Side, root: str, last_path: str) -> Survey:
    """Let what was seen stand for the rest."""
    total = max(found.files, side.total or _tracked_files(root) or 0)
    if found.files == 0:
        total = total or _FILES_OF_A_CUT_WALK
        is_known = side.total > 0 and side.fingerprint_id is not None
        changed = side.unfinished if is_known else total
        return found._replace(
            files=total, changed_files=changed, changed_bytes=changed * _MEAN_BYTES
        )
    if total == found.files:
        total = round(found.files / max(_share_before(root, last_path), _LEAST_SHARE))
    factor = total / found.files
    changed_files = max(round(found.changed_files * factor), side.unfinished)
    mean_bytes = _MEAN_BYTES
    if found.changed_files:
        mean_bytes = round(found.changed_bytes / found.changed_files)
    return found._replace(
        files=total,
        changed_files=changed_files,
        changed_bytes=changed_files * mean_bytes,
        known_files=round(found.known_files * factor),
        known_bytes=round(found.known_bytes * factor),
        walk_s=None if found.walk_s is None else found.walk_s * factor,
    )


def _tracked_files(root: str) -> int:
    """Give the number of files that git tracks, when the root is the top of its work tree."""
    repository = find_repository(root)
    if repository is None or repository.top != root:
        return 0
    return count_entries(repository.git_dir)


def _share_before(root: str, path: str) -> float:
    """Guess how much of a tree comes before a path in walk order, as if folders were equal."""
    share, weight = 0.0, 1.0
    folder = root
    for name in path.split("/")[:-1][:_MOST_LEVELS]:
        siblings = sorted(_folders_in(folder))
        if name not in siblings:
            break
        weight /= len(siblings)
        share += weight * siblings.index(name)
        folder = os.path.join(folder, name)
    return share


def _folders_in(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as listing:
            for entry in listing:
                if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                    yield entry.name
    except OSError:
        return


def _chunks_lacking(handle: Handle, model: str) -> int:
    try:
        choice = choice_of(model)
    except InvalidConfigError:  # for whoever opens the model to tell
        return 0
    if choice.backend is Backend.NONE:
        return 0
    return models.count_lacking(handle, choice.name)


def _ignore(_number: int, _path: str) -> None:
    pass


_ROOM_BYTES = 64 << 20  # asked for where the tree was not looked at


class Foresight:
    """Knows how fast this machine is.

    Args:
        config: The settings in force.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()

    def before(
        self, store: Store, root: str, options: IndexOptions, *, is_surveyed: bool
    ) -> Estimate | None:
        """Estimate a job, and make sure that it can begin.

        Args:
            store: The project's database.
            root: The resolved folder.
            options: What the job will be told.
            is_surveyed: Whether to look at the tree for it, at most half a second; else None.

        Raises:
            InvalidInputError: The folder cannot be read.
            UnavailableError: The data directory cannot be written, or has no room.
        """
        config = self._config
        if options.only:
            found = survey_of_paths(root, options.only)
        elif is_surveyed:
            found = survey(store, root, options, config.model)
        else:
            check_room(config.data_dir, root, _ROOM_BYTES)
            return None
        rates = load_rates(config.data_dir, config.worker_count)
        foreseen = estimate(found, rates, config.model)
        check_room(config.data_dir, root, foreseen.needed_bytes)
        return foreseen

    def outlook(self, row: JobRow) -> Outlook:
        """Give what to expect of a job that begins."""
        seconds = None if row.estimated_ms is None else row.estimated_ms / 1000
        rates = load_rates(self._config.data_dir, self._config.worker_count)
        parameters = json.loads(row.parameters)
        is_rebuild = bool(parameters.get("force") or parameters.get("force_clean"))
        return rates.outlook(self._config.model, seconds=seconds, is_rebuild=is_rebuild)

    def learn(self, row: JobRow, context: JobContext) -> None:
        """Take in what a job measured, if it has completed in one try."""
        if row.state != JobState.COMPLETED or row.attempt > 1:
            return
        with self._lock:
            rates = load_rates(self._config.data_dir, self._config.worker_count)
            save_rates(self._config.data_dir, rates.learn(context.measured(self._config.model)))
