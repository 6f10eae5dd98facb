"""A project as its watcher sees it: which files belong to it, and what a run would change."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from engine.cancellation import CancelToken
from engine.config import LARGEST_FILE_BYTES
from engine.errors import Cancelled, ProjectNotFoundError
from engine.index_records import IndexOptions
from engine.indexing.run import check_has_something, reusable_start
from engine.indexing.scan import IndexedState, Scan, ScanTarget, scan, scan_inputs
from engine.indexing.scope import Scope, scope_of
from engine.records import FileEntry, Skip, display_path
from engine.source.git import read_branch, read_head
from engine.source.reader import TreeReader
from engine.source.walker import WalkRules
from engine.store import files, project
from engine.store.connection import Store


class _Compared(NamedTuple):
    paths: set[str]  # that a run would look at
    doubtful: dict[str, int]  # file ids of those whose size is as before


class WatchedProject:
    """Compares the disk of a project with its index; changes neither.

    Args:
        store: The project's database.
        root: The resolved folder.
        allowed: Globs of secret files that are indexed all the same.
    """

    def __init__(self, store: Store, root: str, allowed: tuple[str, ...]) -> None:
        self._store = store
        self._allowed = allowed
        self.root = root

    @property
    def file(self) -> Path:
        """The database file."""
        return self._store.path

    def rules(self) -> WalkRules:
        """Return which files belong to the project, as set by the last call that set it.

        Raises:
            ProjectNotFoundError: It was forgotten.
        """
        return self._scope(()).rules

    def check_not_emptied(self) -> None:
        """Check that the root still has something in it, if files of it are indexed.

        A root that cannot be read passes.

        Raises:
            InvalidPathError: It is empty; ``details`` has the reason ``EMPTIED``.
        """
        with suppress(OSError):
            check_has_something(self._store, self.root)

    def paths(self) -> list[str]:
        """Return the sorted indexed paths of the checked-out branch, or else of the latest."""
        with self._store.read() as handle:
            branches = project.read_branches(handle)
            name = read_branch(self.root)
            chosen = [branch for branch in branches if branch.name == name] or branches[:1]
            return [path for branch in chosen for path in files.read_paths(handle, branch.id)]

    def stale(self, only: Iterable[str] = (), *, cancelled: CancelToken) -> tuple[str, ...] | None:
        """Return the paths that a run would look at, or None if it must be over the whole project.

        Files that were younger than the clock can tell when they were read are among them: the next
        run compares their text. Takes as long as a run that finds nothing to do. Writes nothing, so
        that the caches of searches stay valid.

        Args:
            only: Paths relative to the root, with all below them; empty: the whole project.
            cancelled: Polled; true ends the call.

        Raises:
            ProjectNotFoundError: It was forgotten.
            InvalidPathError: The root cannot be read.
            Cancelled: ``cancelled`` returned true.
        """
        compared = self._compared(only, cancelled)
        return None if compared is None else tuple(sorted(compared.paths))

    def changed(self, only: Iterable[str] = (), *, cancelled: CancelToken) -> list[str] | None:
        """Return the sorted stale paths, without files of which only the time stamps differ.

        Args:
            only: As for ``stale``.
            cancelled: As for ``stale``.

        Raises:
            EngineError: As for ``stale``.
        """
        compared = self._compared(only, cancelled)
        if compared is None:
            return None
        with self._store.read() as handle:
            read = files.read_identities(handle, list(compared.doubtful.values()))
        same = set()
        with TreeReader(self.root) as reader:
            for path, file_id in compared.doubtful.items():
                if cancelled():
                    raise Cancelled("the comparison was stopped")
                _, content_hash = read.get(file_id, (None, None))
                if content_hash and reader.hash_of(path, LARGEST_FILE_BYTES) == content_hash:
                    same.add(path)
        return sorted(compared.paths - same)

    def _compared(self, only: Iterable[str], cancelled: CancelToken) -> "_Compared | None":
        """Compare the disk with the index, or return None if a run must be over the whole."""
        scope = self._scope(tuple(only))
        with self._store.read() as handle:
            start = reusable_start(handle, self.root, scope, read_head(self.root))
            if start is None:
                return None
            if start.only is None and not project.read_branch(handle, start.branch_id).complete:
                return None
        target = ScanTarget(
            self.root, scope.rules, start.branch_id, start.fingerprint_id, start.only
        )
        items, known, is_whole = scan_inputs(self._store, target, cancelled)
        if start.only is not None and is_whole:
            return None
        found = scan(items, known, on_progress=lambda _number, _path: None)
        paths = _paths_in(found, known)
        if start.only is not None:
            paths |= self._other_names(start.branch_id, found.changed)
        return _Compared(paths, _doubtful_in(found, known))

    def other_names(self, paths: Iterable[str]) -> set[str]:
        """Return the indexed paths that are hard links to the files at some paths."""
        inodes = self._shared_inodes(paths)
        if not inodes:
            return set()
        name = read_branch(self.root)
        with self._store.read() as handle:
            branches = [each for each in project.read_branches(handle) if each.name == name]
            return {
                path
                for branch in branches
                for path in files.read_paths_of_inodes(handle, branch.id, inodes)
            }

    def _other_names(self, branch_id: int, changed: Iterable[FileEntry]) -> set[str]:
        """Return the indexed paths that may be hard links to files that changed."""
        inodes = self._shared_inodes(entry.real_path for entry in changed)
        if not inodes:
            return set()
        with self._store.read() as handle:
            return files.read_paths_of_inodes(handle, branch_id, inodes)

    def _shared_inodes(self, paths: Iterable[str]) -> set[int]:
        """Return the inodes of those files that have hard links."""
        found = (_status_of(os.path.join(self.root, path)) for path in paths)
        return {
            each.st_ino for each in found if each and S_ISREG(each.st_mode) and each.st_nlink > 1
        }

    def _scope(self, only: tuple[str, ...]) -> Scope:
        if not self._store.is_current():
            raise ProjectNotFoundError(f"{display_path(self.root)} was removed")
        with self._store.read() as handle:
            row = project.known_project(handle, self.root)
        return scope_of(IndexOptions(only=only), row, allowed=self._allowed)


def _status_of(file: str) -> os.stat_result | None:
    try:
        return os.stat(file, follow_symlinks=False)
    except (OSError, ValueError):
        return None


def _doubtful_in(found: Scan, known: IndexedState) -> dict[str, int]:
    """Return the ids of files that a run would read, but not parse again if their text is equal."""
    return {
        entry.path: before.file_id
        for entry in found.changed
        if (before := known.files.get(entry.path))
        and before.fingerprint_id == known.fingerprint_id
        and before.stat.size_bytes == entry.stat.size_bytes
    }


def _is_known(skip: Skip, known: IndexedState) -> bool:
    stored = known.skips.get(skip.path)
    return (
        stored is not None
        and stored.skip.reason is skip.reason
        and stored.fingerprint_id == known.fingerprint_id
        and skip.path not in known.files
    )


def _paths_in(found: Scan, known: IndexedState) -> set[str]:
    """Return the changed paths of a scan.

    Not those of failures that did not change since, and of files that are skipped as before: a
    database that is written all the time would make a job each time.
    """
    gone = set(found.gone)
    paths = {path for path, file in known.files.items() if file.file_id in gone}
    paths.update(skip.path for skip in found.new_skips if not _is_known(skip, known))
    paths.update(found.gone_skips)
    for entry in found.changed:
        failed = known.skips.get(entry.path)
        if failed is None or failed.skip.stat != entry.stat:
            paths.add(entry.path)
    return paths
