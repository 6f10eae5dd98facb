"""One run over the history of a project: new commits are stored, those that are gone are deleted.

Which commits are stored depends on the commit that is checked out and on the settings alone: a run
over a rewritten history ends where a run from nothing would. Work is kept batch by batch, so a run
that is stopped goes on where it was; what is new comes first.
"""

import functools
import os
from collections.abc import Sequence, Set
from contextlib import closing, suppress
from hashlib import sha256
from itertools import islice
from typing import Final, NamedTuple, Protocol

from engine.cancellation import CancelToken
from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import Cancelled, InvalidPathError
from engine.history.commits import PathScope, new_commit, passage_of
from engine.history.shown_scope import DiskRules, read_on_disk
from engine.humanize import count
from engine.index_records import Phase, ProgressCallback
from engine.indexing.progress import ProgressReporter, Tally
from engine.indexing.scope import BUILT_IN_MODEL, code_fingerprint
from engine.record_class import record
from engine.source.folder_rules import CAIRN_IGNORE, MAX_RULES_BYTES
from engine.source.git import (
    NO_COMMIT_YET,
    Repository,
    find_repository,
    is_shallow,
    objects_changed_ms,
    read_branch,
    read_head,
    why_no_commit,
)
from engine.source.git_history import HistoryReader, Place, newest_first
from engine.source.git_objects import UnreadableObjectError
from engine.source.reader import TreeReader
from engine.store import files, fulltext, history, models, project
from engine.store.connection import Store
from engine.store.history import CommitVector, HistoryState, KnownCommit, NewCommit

_VERSION: Final = 4  # of what is stored of a commit; raised when that changes
#: The modules that make the words of a commit, and the vector that the built-in model has of it.
CODE: Final = (
    "history/commits.py",
    "source/file_formats.py",
    "source/git_comparison.py",
    "source/git_history.py",
    "source/git_renames.py",
    "source/secret_files.py",
    "source/secret_patterns.py",
    "source/secrets.py",
    "syntax/terms.py",
    *(f"embedding/{each}" for each in BUILT_IN_MODEL),
)
_DAY_S: Final = 24 * 3600
_COMMITS_AT_ONCE: Final = 100  # in one transaction
_VECTORS_AT_ONCE: Final = 256
_MOST_COMMITS: Final = 200_000  # whatever the settings say


@record
class HistoryReport:
    """The result of a run over the history of a project."""

    commits: int  # that are stored now
    commits_added: int
    commits_removed: int
    duration_ms: int
    notes: tuple[str, ...] = ()  # what is missing and why, in sentences


class HistoryJournal(Protocol):
    """Records what a run does; a job, or ``engine.indexing.progress.NoJournal``."""

    tally: Tally

    def record_files(self, paths: Sequence[str], size_bytes: int) -> None:
        """Note the commits that are still to be read, once their number is known."""


class HistoryRun:
    """A run over the history of a project.

    Args:
        store: The project's database.
        root: Its resolved folder.
        config: The settings in force.
        open_embedder: Opens the model that they name.
    """

    def __init__(
        self, store: Store, root: str, config: Config, open_embedder: OpenEmbedder
    ) -> None:
        self._store = store
        self._root = root
        self._config = config
        self._open_embedder = open_embedder

    def bring_up_to_date(
        self, *, journal: HistoryJournal, on_progress: ProgressCallback, cancelled: CancelToken
    ) -> HistoryReport:
        """Store what is new, and delete what is gone.

        Raises:
            Cancelled: ``cancelled`` returned true; finished batches stay.
            UnavailableError: Disk full, the database stayed locked, or the model is unavailable.
        """
        began_ms = now_ms()
        progress = ProgressReporter(on_progress, journal.tally)
        progress.report(Phase.HISTORY, force=True)
        source = source_of(self._store, self._root, self._config)
        with self._store.read() as handle:
            before = history.read_state(handle)
        if before is not None and before.made_by != source.made_by:
            with self._store.write(keeps_caches=True) as handle:
                history.clear_history(handle)
        added, removed, note = 0, 0, source.note
        if source.repository is not None and source.head is not None:
            try:
                with (
                    closing(HistoryReader(source.repository, cancelled)) as reader,
                    TreeReader(self._root) as on_disk,
                ):
                    scope = source.scope
                    rules = DiskRules(self._root, (scope.include, scope.exclude), on_disk)
                    run = _Reading(self._store, reader, scope, rules, progress, cancelled)
                    added, removed = run.read(source.head, self._config, journal)
                    note = run.note()
            except UnreadableObjectError as error:
                note = str(error)
        elif source.is_empty:
            removed = _delete_all_but(self._store, frozenset(), cancelled)
        model = self._embed(progress, cancelled)
        state = HistoryState(source.head, source.made_by, model, not note, note, began_ms)
        with self._store.write(keeps_caches=True) as handle:
            history.write_state(handle, state)
            number = history.count_commits(handle)
        return HistoryReport(
            commits=number,
            commits_added=added,
            commits_removed=removed,
            duration_ms=now_ms() - began_ms,
            notes=(note,) if note else (),
        )

    def _embed(self, progress: ProgressReporter, cancelled: CancelToken) -> str | None:
        """Make the vectors that lack, and return the identity of their model.

        Raises:
            UnavailableError: The model is unavailable.
            Cancelled: ``cancelled`` returned true.
        """
        embedder = self._open_embedder(self._config)
        if embedder is None:
            return None
        import numpy as np

        from engine.store.quantization import quantized, rows_of

        with closing(embedder):
            embedder.prepare(cancelled)
            while True:
                if cancelled():
                    raise Cancelled("reading the history was stopped")
                with self._store.read() as handle:
                    ids = history.read_unembedded(handle, embedder.identity, _VECTORS_AT_ONCE)
                    rows = history.read_commits(handle, ids)
                    listed = history.read_files(handle, ids)
                if not ids:
                    return embedder.identity
                passages = [passage_of(rows[each], listed[each]) for each in ids]
                made = np.asarray(embedder.embed_passages(passages, cancelled))
                packed = map(CommitVector, ids, rows_of(quantized(made)))
                with self._store.write(keeps_caches=True) as handle:
                    history.write_vectors(handle, embedder.identity, packed)
                progress.report(Phase.HISTORY)


class Source(NamedTuple):
    """What the history of a project is read from."""

    repository: Repository | None
    head: bytes | None  # None: there is no commit, or it cannot be read
    scope: PathScope
    made_by: str  # hash of all that shapes what is stored, but for the model
    is_empty: bool  # there is no history: what is stored goes
    note: str  # why there is no commit to begin with, as a sentence


def source_of(store: Store, root: str, config: Config) -> Source:
    """Return what the history of a project is to be read from now.

    Raises:
        ProjectNotFoundError: It is not indexed.
    """
    with store.read() as handle:
        row = project.known_project(handle, root)
        rule_files = files.read_paths_named(handle, read_branch(root), CAIRN_IGNORE)
    repository = find_repository(root)
    prefix = b""
    if repository is not None and root != repository.top:
        prefix = os.fsencode(os.path.relpath(root, repository.top)) + b"/"
    scope = PathScope.of(prefix, row.include_patterns, row.exclude_patterns)
    shaping = (
        _VERSION,
        _code(),
        prefix,
        row.include_patterns,
        row.exclude_patterns,
        _contents_of(root, rule_files),
        config.history_commits,
        config.history_days,
    )
    made_by = sha256(repr(shaping).encode()).hexdigest()[:16]
    head, is_empty, note = None, True, ""
    if config.history_commits == 0:
        repository, note = None, "the setting history_commits is 0"
    else:
        found = read_head(root).commit
        head = bytes.fromhex(found) if found else None
        note = why_no_commit(root) if head is None else ""
        is_empty = repository is None or note in ("", NO_COMMIT_YET)
    return Source(repository, head, scope, made_by, is_empty, note)


@functools.cache
def _code() -> str:
    return code_fingerprint(CODE)


def _contents_of(root: str, paths: Sequence[str]) -> list[tuple[str, bytes | None]]:
    """Return path and content of those files of a folder that are there."""
    with suppress(InvalidPathError), TreeReader(root) as reader:
        return [(path, read_on_disk(reader, path, MAX_RULES_BYTES)) for path in paths]
    return []


def is_due(store: Store, root: str, config: Config) -> bool:
    """Return whether a run over the history of a project would find something to do."""
    source = source_of(store, root, config)
    with store.read() as handle:
        state = history.read_state(handle)
        model = models.read_current_model(handle)
    if state is None:
        return source.head is not None
    if (state.head, state.made_by) != (source.head, source.made_by):
        return source.head is not None or source.is_empty
    if source.repository is not None and not state.is_complete:
        is_more = objects_changed_ms(source.repository) > state.read_at_ms
        is_deeper = history.SHALLOW in state.note and not is_shallow(source.repository)
        if is_more or is_deeper:
            return True
    return model is not None and state.model != model.identity and config.model != "none"


class _Reading:
    """The reading of commits into the store."""

    def __init__(
        self,
        store: Store,
        reader: HistoryReader,
        scope: PathScope,
        rules: DiskRules,
        progress: ProgressReporter,
        cancelled: CancelToken,
    ) -> None:
        self._store = store
        self._reader = reader
        self._scope = scope
        self._rules = rules
        self._progress = progress
        self._cancelled = cancelled
        self._known: dict[bytes, KnownCommit] = {}
        self._unreadable = ""  # why what is before a commit is unknown
        self._partial = 0
        self._oldest_shallow_s: int | None = None
        self._is_any = False

    def read(self, head: bytes, config: Config, journal: HistoryJournal) -> tuple[int, int]:
        """Store the commits from this one back; return how many were added and deleted.

        They are stored while the graph is walked, so that a walk that is stopped is not lost; how
        many there are is known at its end.
        """
        with self._store.read() as handle:
            self._known = history.read_known(handle)
        span_s = config.history_days * _DAY_S
        walked = newest_first(head, self._place_of, least=config.history_commits, span_s=span_s)
        names: set[bytes] = set()
        new: list[bytes] = []
        added = 0
        for name in islice(walked, _MOST_COMMITS):
            names.add(name)
            if not self._is_stored(name):
                new.append(name)
            if len(new) == _COMMITS_AT_ONCE:
                self._store_some(new, journal)
                added += len(new)
                new = []
        journal.record_files([name.hex() for name in new], 0)
        added += len(new)
        self._progress.total = added
        if new:
            self._store_some(new, journal)
        self._is_any = bool(names)
        # What was read before is better than nothing; what was rewritten goes when all is readable.
        if not names or self._unreadable:
            return added, 0
        removed = 0
        if not self._known.keys() <= names:
            removed = _delete_all_but(self._store, names, self._cancelled)
        return added, removed

    def note(self) -> str:
        """Say what is missing, and why, in a sentence; empty if nothing is."""
        notes = []
        if self._unreadable:
            lacks = "what is before it is unknown" if self._is_any else "no commit can be read"
            notes.append(f"{lacks}: {self._unreadable}")
        if self._partial:
            notes.append(f"the files of {count(self._partial, 'commit')} cannot all be read")
        if self._oldest_shallow_s is not None:
            day = iso_time(self._oldest_shallow_s * 1000)[:10]
            notes.append(f"{history.SHALLOW}: nothing before {day} is in it")
        return "; ".join(notes)

    def _is_stored(self, name: bytes) -> bool:
        """Return whether a commit is stored as it would be read now."""
        known = self._known.get(name)
        if known is None:
            return False
        if name in self._reader.shallow:
            self._note_shallow(known.committed_at_s)
            return known.is_partial
        return not known.is_partial

    def _place_of(self, name: bytes) -> Place | None:
        if self._cancelled():
            raise Cancelled("reading the history was stopped")
        known = self._known.get(name)
        if known is not None and not known.is_partial:
            return Place(known.parents, known.committed_at_s)
        try:
            commit = self._reader.commit(name)
        except UnreadableObjectError as error:
            self._unreadable = self._unreadable or str(error)
            return None
        return Place(commit.parents, commit.committed_at_s)

    def _store_some(self, names: Sequence[bytes], journal: HistoryJournal) -> None:
        rows: list[NewCommit] = []
        for name in names:
            if self._cancelled():
                raise Cancelled("reading the history was stopped")
            try:
                row = new_commit(
                    self._reader, self._reader.commit(name), self._scope, self._is_left_out
                )
            except UnreadableObjectError:  # it was there a moment ago
                continue
            if name in self._reader.shallow:
                self._note_shallow(row.committed_at_s)
            else:
                self._partial += row.is_partial
            rows.append(row)
        journal.tally.done += len(names)
        with self._store.write(keeps_caches=True) as handle:
            history.insert_commits(handle, rows)
        self._progress.report(Phase.HISTORY)

    def _is_left_out(self, path: str) -> bool:
        return self._rules.refusal_of(path) is not None

    def _note_shallow(self, at_s: int) -> None:
        self._oldest_shallow_s = min(at_s, self._oldest_shallow_s or at_s)


def _delete_all_but(store: Store, kept: Set[bytes], cancelled: CancelToken) -> int:
    """Delete all commits but these, with their words, and return how many."""
    with store.read() as handle:
        gone = [known.id for name, known in history.read_known(handle).items() if name not in kept]
    for start in range(0, len(gone), _COMMITS_AT_ONCE):
        if cancelled():
            raise Cancelled("reading the history was stopped")
        with store.write(keeps_caches=True) as handle:
            history.delete_commits(handle, gone[start : start + _COMMITS_AT_ONCE])
            if start + _COMMITS_AT_ONCE >= len(gone):
                history.delete_unused_paths(handle)
    is_more = is_first = bool(gone)
    while is_more:
        if cancelled():
            raise Cancelled("reading the history was stopped")
        with store.write(keeps_caches=True) as handle:
            is_more = fulltext.merge_words(handle, is_first=is_first, table="commit_terms")
        is_first = False
    return len(gone)
