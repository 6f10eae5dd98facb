"""Estimates, before a job exists, of how long it will take and how much disk its index needs.

A walk within a time budget counts the files that a run would read and parse, as the run itself
decides; the rest of the tree is extrapolated from them. The speed of parsing and embedding on this
machine is learned from completed jobs and stored in ``logs/rates.json``.
"""

import json
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from engine.clock import now_ms
from engine.config import Config
from engine.embedding.model_setting import Backend, parse_model_setting
from engine.errors import Cancelled, InvalidConfigError, UnavailableError
from engine.files import open_at_once
from engine.index_records import IndexOptions
from engine.indexing.scan import IndexedState, scan
from engine.indexing.scope import Scope, fingerprint, may_stay_partial, scope_of
from engine.jobs.progress import Expected, Measured
from engine.records import FileEntry, Skip
from engine.roots import database_of
from engine.source.git import find_repository, read_branch
from engine.source.git_files import count_entries
from engine.source.partial_walk import PartialWalk, PathSet
from engine.store import blobs, files, jobs, models, project
from engine.store.connection import Handle, Store
from engine.store.jobs import JobRow
from engine.store.project import ProjectRow

# Measured on two cores with the built-in model; tests/benchmark/estimates.py compares.
_PARSE_BYTES_A_SECOND_AND_CORE = 2.2e6
_MOST_CORES = 4  # then the process that writes is the slowest part
_READ_BYTES_A_SECOND = 40e6  # of contents that are stored already
_FILE_BYTES = 2000  # handling a file costs as much as parsing so many bytes
_FINISH_SHARE = 0.33  # of the time for parsing: deleting what it replaces (0.27 to 0.41)
_START_S = 0.15
_WORKERS_S = 0.35  # a run that parses starts processes, which load grammars and the built-in model
_BYTES_A_CHUNK = 1150.0
_CHUNKS_A_SECOND: Mapping[str, float] = {
    Backend.STATIC: 10_000.0,
    Backend.ONNX: 30.0,
    Backend.OLLAMA: 30.0,
}
_CHUNKS_A_SECOND_OF_A_SERVER = 200.0

_INDEX_OF_SOURCE = 1.7  # with the vectors of the built-in model; 1.4 to 1.66 were measured
_VECTORS_OF_SOURCE = 1.3  # more for those of a model with 1,000 numbers a vector
_WAL_BYTES = 64 << 20  # twice the size at which it is emptied; a rebuilding copies all rows to it
_COPIED_BYTES_A_SECOND = 100e6
_LEAST_BYTES = 1 << 20  # for the rows of the job itself

_BUDGET_S = 0.4  # of the walk; twice that until it has seen a few files
_FEW_FILES = 256
_MEAN_BYTES = 8000  # of a file that was not seen
_UNSEEN_FILES = 1000  # of a tree of which nothing could be seen
_LEAST_PART = 0.002  # of a tree that is taken for seen

_RATES_FILE = "logs/rates.json"
_MOST_RATES_BYTES = 1 << 16
_MOST_MODELS = 50
_LEARNS_S = 10.0  # a job of so many seconds moves a rate halfway
_MOST_MOVED = 8.0  # times, by one job
_LEAST_S = 1.0  # shorter work is not learned from
_MOST_REUSED = 0.8  # of the files: equal files are common, but a copied index is not a measure


class Work(NamedTuple):
    """The work of a run, counted or extrapolated."""

    files: int = 0  # that the walk looks at, skipped ones included
    parse_files: int = 0
    parse_bytes: int = 0
    fresh_bytes: int = 0  # of parse_bytes: texts that may be new, and so need vectors
    read_weight: int = 0  # of files that hold what is stored already, see _FILE_BYTES
    chunks_lacking: int = 0  # stored chunks without a vector of the wanted model
    walk_s: float = 0.0  # what the whole walk takes, by the part that was walked
    is_exact: bool = True  # the whole tree was looked at
    is_rebuild: bool = False  # built beside what is there, and then copied in its place
    old_bytes: int = 0  # the size of what is there


class Estimate(NamedTuple):
    """The expected duration and disk space of a job."""

    seconds: float
    needed_bytes: int  # of room on the disk


class Rates(NamedTuple):
    """The throughput of this machine, a second."""

    parse_bytes: float  # of new source, _FILE_BYTES more for each file
    chunks: Mapping[str, float]  # embedded, by the setting that names the model

    def chunks_a_second(self, model: str) -> float | None:
        """Return the embedding speed of a model; None for no model."""
        kind = _kind_of(model)
        if kind == Backend.NONE:
            return None
        usual = _CHUNKS_A_SECOND.get(kind, _CHUNKS_A_SECOND_OF_A_SERVER)
        return self.chunks.get(model.strip(), usual)

    def learn(self, seen: Measured, model: str) -> "Rates":
        """Return the rates moved towards a job's measurements; the longer it took, the further."""
        parse, chunks = self.parse_bytes, dict(self.chunks)
        is_parsed = seen.parse_files > 0 and seen.reused_files <= _MOST_REUSED * seen.parse_files
        if seen.parse_s >= _LEAST_S and is_parsed:
            seconds = max(seen.parse_s - _WORKERS_S, seen.parse_s / 2)
            parse = _moved(parse, seen.parse_bytes + _FILE_BYTES * seen.parse_files, seconds)
        before = self.chunks_a_second(model)
        if seen.embed_s >= _LEAST_S and seen.embedded and before:
            chunks.pop(model.strip(), None)  # the one that was used last stands last
            chunks[model.strip()] = _moved(before, seen.embedded, seen.embed_s)
        return Rates(parse, dict(list(chunks.items())[-_MOST_MODELS:]))


class Estimator:
    """Estimates jobs on this machine, and learns from completed ones."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()

    def before(self, store: Store, root: str, options: IndexOptions) -> Estimate:
        """Estimate a job; walks the tree for at most a second.

        Args:
            store: The project's database.
            root: The resolved folder.
            options: What the job will be told.

        Raises:
            InvalidInputError: The folder or the scope cannot be read.
            ProjectNotFoundError: The project was forgotten meanwhile.
        """
        work = count_work(store, root, options, self._config)
        return estimate(work, self._rates(), self._config.model)

    def of_new(self, root: str, options: IndexOptions) -> Estimate | None:
        """Estimate the first run over a folder; nothing of it is kept.

        Returns:
            None if it is a project, or if there is no room for a temporary file.

        Raises:
            InvalidInputError: The folder or the scope cannot be read.
        """
        if database_of(self._config.data_dir, root).exists():
            return None
        try:
            return self._of_folder(root, options)
        except (OSError, UnavailableError):
            return None

    def _of_folder(self, root: str, options: IndexOptions) -> Estimate:
        config = self._config
        from tempfile import TemporaryDirectory  # only for an estimate alone

        with TemporaryDirectory(prefix="codecairn-") as folder:
            file = database_of(Path(folder), root)
            with closing(Store(file, busy_timeout_ms=config.busy_timeout, create=True)) as store:
                largest = config.max_file_size
                project.make_project(store, os.fsencode(root), largest, now_ms=now_ms())
                return self.before(store, root, options)

    def expected(self, row: JobRow) -> Expected:
        """Return the expectation for a job that begins, or resumes after an earlier attempt."""
        seconds = None if row.estimated_ms is None else row.estimated_ms / 1000
        if seconds is not None and row.files_total:
            seconds *= 1 - min(1.0, row.files_done / row.files_total)
        parameters, model, rates = jobs.object_in(row.parameters), self._config.model, self._rates()
        # What is parsed again keeps its vectors, unless the index is built anew.
        is_again = bool(parameters.get("force")) and not parameters.get("force_clean")
        is_later = _is_embedded_later(model) and not is_again
        return Expected(
            seconds=seconds,
            bytes_a_second=rates.parse_bytes,
            chunks_a_second=rates.chunks_a_second(model) if is_later else None,
            bytes_a_chunk=_BYTES_A_CHUNK,
            finish_share=_FINISH_SHARE if is_again else 0.0,
        )

    def learn(self, seen: Measured) -> None:
        """Learn from the measurements of a job that completed in one attempt."""
        data_dir = self._config.data_dir
        with self._lock:
            save_rates(data_dir, self._rates().learn(seen, self._config.model))

    def _rates(self) -> Rates:
        return load_rates(self._config.data_dir, self._config.worker_count)


def estimate(work: Work, rates: Rates, model: str) -> Estimate:
    """Estimate the duration and disk space of some work.

    Args:
        work: What is to be done.
        rates: The throughput of this machine.
        model: The setting.
    """
    is_later = _is_embedded_later(model)
    seconds = _START_S + work.walk_s + work.read_weight / _READ_BYTES_A_SECOND
    if work.parse_files:
        weight = work.parse_bytes + _FILE_BYTES * work.parse_files
        seconds += _WORKERS_S + weight / rates.parse_bytes
    chunks = work.chunks_lacking + (work.fresh_bytes / _BYTES_A_CHUNK if is_later else 0)
    seconds += chunks / (rates.chunks_a_second(model) or math.inf)
    rows = int(work.parse_bytes * (_INDEX_OF_SOURCE + _VECTORS_OF_SOURCE * is_later))
    seconds += rows / _COPIED_BYTES_A_SECOND if work.is_rebuild else 0
    log_bytes = min(rows, _WAL_BYTES)
    if work.is_rebuild:  # the WAL has all of it, and the old file grows to its size
        log_bytes = rows + max(0, rows - work.old_bytes)
    return Estimate(seconds, rows + log_bytes + _LEAST_BYTES)


def count_work(
    store: Store,
    root: str,
    options: IndexOptions,
    config: Config,
    *,
    budget_s: float = _BUDGET_S,
    clock: Callable[[], float] = time.monotonic,
) -> Work:
    """Count the work of a run with these options, from names, sizes and times alone.

    Args:
        store: The project's database.
        root: The resolved folder.
        options: What the run would be told.
        config: The settings: which secret files are indexed, and the model, for chunks that have no
            vector of it yet.
        budget_s: How long the walk may take; listing one huge folder may take longer.
        clock: Returns seconds.

    Raises:
        InvalidInputError: The scope cannot be read.
        InvalidPathError: The root cannot be read.
        ProjectNotFoundError: The project was forgotten meanwhile.
    """
    with store.read() as handle:
        row = project.known_project(handle, root)
        scope = scope_of(options, row, allowed=config.allowed_secret_files)
        index = _index_of(handle, root, row, scope, options)
        lacking = 0 if options.force_clean else _chunks_lacking(handle, config.model)
        seen: list[FileEntry | Skip] = []
        cut: tuple[float, int] | None = None
        began_s = clock()

        def is_over() -> bool:
            nonlocal cut
            number = len(seen) + len(walker.outcomes)
            if clock() - began_s > budget_s * (1 if number >= _FEW_FILES else 2):
                seen.extend(walker.outcomes)
                cut = walker.part_done(), walker.entries - len(walker.outcomes)
            return cut is not None

        walker = PartialWalk(root, scope.rules, index.only or PathSet(()), is_over)
        with suppress(Cancelled):
            for item in walker.run():
                seen.append(item)  # noqa: PERF402 - what comes before the end is kept
        walk_s = clock() - began_s
        work = _compared(handle, index, seen)
    work = work._replace(walk_s=walk_s, chunks_lacking=lacking)
    if options.force_clean:
        work = work._replace(is_rebuild=True, old_bytes=store.size_bytes())
    return _extrapolated(work, index, *cut) if cut else work


class _Index(NamedTuple):
    """The index's side of the comparison."""

    branch_id: int  # whose rows are compared; 0: there are none
    is_here: bool  # it is the branch that is checked out: what is equal need not be read
    is_seeded: bool  # there are contents without a branch: those of another worktree
    fingerprint_id: int  # 0: all is parsed again
    total: int  # entries of the whole tree, by the last scan or by git; 0 when unknown
    unfinished: int  # files that the last scan found and that are not indexed
    only: PathSet | None  # what the run keeps to; None: the whole project


def _index_of(
    handle: Handle, root: str, row: ProjectRow, scope: Scope, options: IndexOptions
) -> _Index:
    is_current = row.fingerprint == fingerprint() and not (options.force or options.force_clean)
    branches, here = project.read_branches(handle), read_branch(root)
    name = options.branch or here
    only = scope.only if is_current and may_stay_partial(scope, row, branches, name) else None
    last = branches[0] if branches else None
    shown = next((each for each in branches if each.name == name), last)
    total = unfinished = 0
    if shown and not only:
        total = shown.found_files + sum(files.count_skips(handle, shown.id).values())
        unfinished = max(0, shown.found_files - files.count_files(handle, shown.id))
    elif not only and (repository := find_repository(root)) and repository.top == root:
        total = count_entries(repository.git_dir)
    return _Index(
        branch_id=shown.id if shown and not options.force_clean else 0,
        is_here=shown is not None and shown.name == name == here,
        is_seeded=shown is None and not options.force_clean and blobs.has_any(handle),
        fingerprint_id=(row.fingerprint_id or 0) if is_current else 0,
        total=total,
        unfinished=unfinished,
        only=only,
    )


def _compared(handle: Handle, index: _Index, seen: Sequence[FileEntry | Skip]) -> Work:
    """Count the walked files that have to be read; ``scan`` decides, as in a run."""
    entries = [item for item in seen if isinstance(item, FileEntry)]
    paths = [entry.path for entry in entries]
    known = files.read_known_files_at(handle, index.branch_id, paths)
    others = [path for path in paths if path not in known]
    side = IndexedState(
        files=known if index.is_here else {},
        skips=files.read_known_skips_at(handle, index.branch_id, others),
        fingerprint_id=index.fingerprint_id,
    )
    found: dict[str, Any] = Counter(files=len(seen))
    for entry in scan(entries, side, on_progress=lambda *_: None).changed:
        before, size_bytes = known.get(entry.path), entry.stat.size_bytes
        is_stored, is_current = index.is_seeded, index.fingerprint_id != 0
        if before:
            # Such a time stands for one that was too close to the reading to be trusted.
            is_same_time = before.stat.mtime_ns in (0, entry.stat.mtime_ns)
            is_stored = is_same_time and before.stat.size_bytes == size_bytes
            is_current = before.fingerprint_id == index.fingerprint_id
        if is_stored and is_current:
            found["read_weight"] += size_bytes + _FILE_BYTES
        else:
            found["parse_files"] += 1
            found["parse_bytes"] += size_bytes
            found["fresh_bytes"] += 0 if is_stored else size_bytes
    return Work(**found)


def _extrapolated(work: Work, index: _Index, part: float, more: int) -> Work:
    """Extrapolate from the part that was seen.

    Args:
        work: What was seen.
        index: The index's side.
        part: Of the tree that was seen.
        more: Entries that were left of the folder that it was in.
    """
    total = index.total or round((work.files + more) / max(part, _LEAST_PART)) or _UNSEEN_FILES
    total = max(work.files, total)
    factor = total / work.files if work.files else 1.0
    parse_files = round(work.parse_files * factor)
    least = 0 if work.files else total
    if index.branch_id and index.fingerprint_id:  # the index knows what it lacks
        least = index.unfinished
    missing = max(0, least - parse_files)
    return work._replace(
        files=total,
        parse_files=parse_files + missing,
        parse_bytes=round(work.parse_bytes * factor) + missing * _MEAN_BYTES,
        fresh_bytes=round(work.fresh_bytes * factor) + missing * _MEAN_BYTES,
        read_weight=round(work.read_weight * factor),
        walk_s=work.walk_s * factor,
        is_exact=False,
    )


def _chunks_lacking(handle: Handle, model: str) -> int:
    try:
        choice = parse_model_setting(model)
    except InvalidConfigError:  # reported by whatever opens the model
        return 0
    return 0 if choice.backend is Backend.NONE else models.count_lacking(handle, choice.name)


def load_rates(data_dir: Path, worker_count: int) -> Rates:
    """Read the rates of this machine, with defaults for missing or damaged ones. Never raises."""
    usual = _PARSE_BYTES_A_SECOND_AND_CORE * min(worker_count, _MOST_CORES)
    try:
        with open(data_dir / _RATES_FILE, "rb", opener=open_at_once) as file:
            stored = json.loads(file.read(_MOST_RATES_BYTES))
    except (OSError, ValueError, RecursionError):
        stored = None
    stored = stored if isinstance(stored, dict) else {}
    chunks = stored.get("chunks")
    found = chunks.items() if isinstance(chunks, dict) else ()
    return Rates(
        _sane(stored.get("parse_bytes"), usual) or usual,
        {name: rate for name, value in found if (rate := _sane(value, 100.0))},
    )


def save_rates(data_dir: Path, rates: Rates) -> None:
    """Replace the stored rates atomically; write errors are ignored."""
    beside = data_dir / f"{_RATES_FILE}.{os.getpid()}"
    try:
        beside.parent.mkdir(mode=0o700, exist_ok=True)
        beside.write_text(json.dumps(rates._asdict(), indent=1), "utf-8")
        os.replace(beside, data_dir / _RATES_FILE)
    except OSError:
        with suppress(OSError):
            beside.unlink()


def _sane(value: object, usual: float) -> float | None:
    if isinstance(value, int | float) and usual / 1e5 < value < usual * 1e5:
        return float(value)
    return None


def _moved(rate: float, work: float, seconds: float) -> float:
    """Move a rate towards a measured one, by their ratio; a single outlier changes little."""
    ratio = min(max(work / seconds / rate, 1 / _MOST_MOVED), _MOST_MOVED)
    return float(rate * ratio ** (seconds / (seconds + _LEARNS_S)))


def _kind_of(model: str) -> str:
    return model.strip().partition(":")[0]


def _is_embedded_later(model: str) -> bool:
    """Return whether new chunks are embedded after all files."""
    return _kind_of(model) not in (Backend.STATIC, Backend.NONE)
