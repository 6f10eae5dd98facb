"""The versions of a file before one: in which commits they stand, and what of it they have.

The stored commits say which of them changed the file, so that only versions of these, and of
merges, are read from the repository and compared. All work is limited.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from engine.cancellation import CancelToken, never
from engine.clock import iso_time
from engine.history.commits import MOST_FILES
from engine.history.former_names import ranks_of
from engine.history.line_diff import Match, matching_runs
from engine.source.git import Repository, find_repository
from engine.source.git_history import HistoryReader
from engine.source.git_objects import UnreadableObjectError
from engine.store import history
from engine.store.connection import Store
from engine.store.history import FileChange, KnownCommit

_MOST_LOOKUPS: Final = 20_000  # of a file in a commit
_SEARCH_LOOKUPS: Final = 1000  # that the search for a renamed file counts as
_MOST_COMPARED_LINES: Final = 4_000_000
_MOST_STEPS: Final = 500_000
_COMMIT_BYTES: Final = 700  # of memory
_PARENT_BYTES: Final = 64
_KEPT_TEXTS: Final = 8  # most versions are compared twice

#: Bytes of a version that is compared; a larger one is not followed.
MAX_FILE_BYTES: Final = 2 << 20
#: What is said of a file, after its path.
NOT_THERE: Final = "is not in the last commit that was read: it is new, or git ignores it"

Lines = TypeVar("Lines")


class LimitError(Exception):
    """The work has reached its limit."""


class FileAt(NamedTuple):
    """A version of a file."""

    commit: bytes
    path: bytes  # from the root of the project


class Older(NamedTuple):
    """A version before another one, and the lines that both have."""

    at: FileAt
    lines: int
    matches: list[Match]


class Before(NamedTuple):
    """What came before a version; what none of the older versions has was made by its commit."""

    same: FileAt | None = None  # an older version that does not differ
    olders: tuple[Older, ...] = ()
    lines: int = 0  # of the version itself; counted if there are older ones
    is_known: bool = True  # false: there are older ones that were not read


@dataclass(frozen=True)
class StoredHistory:
    """The places of the stored commits."""

    head: bytes | None  # the last commit that was read
    known: dict[bytes, KnownCommit]
    partial: set[int]  # ids of those of which not all files are listed

    @classmethod
    def read(cls, store: Store) -> "StoredHistory":
        """Read it."""
        with store.read() as handle:
            state = history.read_state(handle)
            known = history.read_known(handle)
            partial = history.read_not_all_listed(handle, MOST_FILES)
        head = None if state is None else state.head
        return cls(head if head in known else None, known, partial)

    @cached_property
    def size_bytes(self) -> int:
        """The approximate memory of it."""
        parents = sum(len(each.parents) for each in self.known.values())
        return _COMMIT_BYTES * len(self.known) + _PARENT_BYTES * parents

    @property
    def oldest_day(self) -> str:
        """The day of the oldest commit; empty without any."""
        times = (each.committed_at_s for each in self.known.values())
        oldest_s = min(times, default=None)
        return "" if oldest_s is None else iso_time(oldest_s * 1000)[:10]

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Numbers of all commits, by id, that are higher for each one than for those before it."""
        return ranks_of(self.known)

    @cached_property
    def order(self) -> dict[bytes, int]:
        """Numbers that are higher for each commit than for all those after it."""
        found: dict[bytes, int] = {}
        entered: set[bytes] = set()
        pending = [] if self.head is None else [self.head]
        while pending:
            name = pending[-1]
            if name in entered:
                pending.pop()
                found.setdefault(name, -len(found))
                continue
            entered.add(name)
            parents = self.known[name].parents
            pending += [each for each in parents if each not in entered and each in self.known]
        return found


class FileVersions:
    """Finds the versions of files before others, within limits.

    Args:
        reader: Reads the repository.
        stored: The stored commits.
        store: The project's database.
        prefix: Of the project's folder in the repository, with a slash; empty for the top.
    """

    def __init__(
        self, reader: HistoryReader, stored: StoredHistory, store: Store, prefix: bytes
    ) -> None:
        self._reader = reader
        self.stored = stored
        self._store = store
        self._prefix = prefix
        self._changes: dict[bytes, dict[int, FileChange]] = {}
        self._unvisited: dict[bytes, set[int]] = {}
        self._blobs: dict[FileAt, bytes] = {}  # that are still to be asked for
        self._texts: dict[bytes, list[bytes] | None] = {}
        self._oldest: dict[bytes, bytes] = {}  # see _oldest_before
        self._lookups = self._compared = self._steps = 0

    def before(self, at: FileAt) -> Before:
        """Return what came before a version; each is asked for after all that came after it.

        Raises:
            LimitError: That would be too much work.
            UnreadableObjectError: An object is missing, damaged or too large.
        """
        changes = self._changes_of(at.path)
        commit = self._without_unchanged(at.commit, changes)
        if commit != at.commit:
            return self._same(at, FileAt(commit, at.path))
        known = self.stored.known[commit]
        change = changes.get(known.id)
        self._unvisited[at.path].discard(known.id)
        if at.commit in self._reader.shallow:
            return Before(is_known=False)
        if len(known.parents) > 1:
            return self._before_merge(known, at)
        if not known.parents or (change is not None and change.change == "A"):
            return Before()
        [parent] = known.parents
        old_path = (change.old_path if change else None) or at.path
        return self._compared_with(at, [FileAt(parent, old_path)], is_known=True)

    def _without_unchanged(self, commit: bytes, changes: Container[int]) -> bytes:
        """Return the first one of a commit and those before it that may have changed a file.

        A merge may have, and so may one that was not read.
        """
        known, partial, shallow = self.stored.known, self.stored.partial, self._reader.shallow
        while True:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise LimitError
            place = known.get(commit)
            if (
                place is None
                or len(place.parents) != 1
                or place.id in changes
                or place.id in partial
                or commit in shallow
            ):
                return commit
            commit = place.parents[0]

    def committed(self, path: bytes) -> tuple[FileAt, list[bytes] | str]:
        """Return a file in the last commit that was read, and its lines or why it has none.

        Raises:
            UnreadableObjectError: The commit, a folder or the file is missing or damaged.
        """
        assert self.stored.head is not None
        at = FileAt(self.stored.head, path)
        blob = self.blob(at)
        if not blob:
            return at, NOT_THERE
        lines = self.lines(blob)
        return at, "cannot be compared with the last commit" if lines is None else lines

    def blob(self, at: FileAt) -> bytes:
        """Return the name of the blob of a version; empty: there is no such file."""
        found = self._blobs.get(at)
        if found is not None:
            return found
        self._count_lookups(1)
        found = self._blobs[at] = self._reader.blob_of(at.commit, self._prefix + at.path)
        return found

    def _count_lookups(self, number: int) -> None:
        self._lookups += number
        if self._lookups > _MOST_LOOKUPS:
            raise LimitError

    def lines(self, blob: bytes) -> list[bytes] | None:
        """Return the lines of a version; None: it is not text, or too large.

        Raises:
            UnreadableObjectError: It is missing or damaged.
        """
        if blob not in self._texts:
            data = self._reader.known_text(blob, MAX_FILE_BYTES)
            if len(self._texts) == _KEPT_TEXTS:
                del self._texts[next(iter(self._texts))]
            self._texts[blob] = None if data is None else lines_of(data)
        return self._texts[blob]

    def content(self, blob: bytes, limit_bytes: int) -> bytes:
        """Return a version as it is, text or not.

        Raises:
            UnreadableObjectError: It is missing, damaged or too large.
        """
        return self._reader.content(blob, limit_bytes)

    def _before_merge(self, known: KnownCommit, at: FileAt) -> Before:
        """Return the versions in the parents, the first one that does not differ alone.

        The parents that have the file under this name are asked first, as ``git`` does.
        """
        if self._is_unchanged_since_the_oldest(at):
            return Before(is_known=False)
        parents = [each for each in known.parents if each in self.stored.known]
        olders = (found for each in parents if self.blob(found := FileAt(each, at.path)))
        return self._compared_with(
            at,
            chain(olders, self._renamed(at, parents)),
            is_known=len(parents) == len(known.parents),
        )

    def _renamed(self, at: FileAt, parents: Iterable[bytes]) -> Iterator[FileAt]:
        """Yield the file in the parents of a merge that have it under another name."""
        for parent in parents:
            if not self.blob(FileAt(parent, at.path)):
                self._count_lookups(_SEARCH_LOOKUPS)
                path = self._reader.renamed_from(
                    at.commit, parent, self._prefix + at.path, below=self._prefix
                )
                if path:
                    yield FileAt(parent, path[len(self._prefix) :])

    def _is_unchanged_since_the_oldest(self, at: FileAt) -> bool:
        """Return whether nothing that was read has changed a file before a commit.

        Merges may have, so the oldest one of the commits before it is asked too.
        """
        if self._unvisited[at.path] or self.stored.partial:
            return False
        return self.blob(FileAt(self._oldest_before(at.commit), at.path)) == self.blob(at)

    def _oldest_before(self, commit: bytes) -> bytes:
        """Return the last one of a commit, its first parent, that one's, … that was read."""
        passed = []
        while commit not in self._oldest:
            passed.append(commit)
            parents = self.stored.known[commit].parents
            if not parents or parents[0] not in self.stored.known:
                self._oldest[commit] = commit
            else:
                commit = parents[0]
        oldest = self._oldest[commit]
        self._oldest.update(dict.fromkeys(passed, oldest))
        return oldest

    def _same(self, at: FileAt, older: FileAt) -> Before:
        """Return that an older version does not differ, so that its blob is not looked for."""
        if at in self._blobs:
            self._blobs[older] = self._blobs.pop(at)
        return Before(same=older)

    def _compared_with(self, at: FileAt, olders: Iterable[FileAt], *, is_known: bool) -> Before:
        new = self.blob(at)
        blobs = []
        for each in olders:
            old = self.blob(each)
            if old == new:
                return self._same(at, each)
            blobs.append((each, old))
        del self._blobs[at]
        text = self.lines(new)
        if text is None:
            return Before(is_known=is_known)
        parents = self.stored.known[at.commit].parents
        blobs.sort(key=lambda each: parents.index(each[0].commit))
        found = []
        seen = {b""}
        for each, old in blobs:
            old_text = None if old in seen else self.lines(old)
            seen.add(old)
            if old_text is None:
                continue
            self._compared += len(old_text) + len(text)
            if self._compared > _MOST_COMPARED_LINES:
                raise LimitError
            found.append(Older(each, len(old_text), matching_runs(old_text, text)))
        return Before(olders=tuple(found), lines=len(text), is_known=is_known)

    def _changes_of(self, path: bytes) -> dict[int, FileChange]:
        found = self._changes.get(path)
        if found is None:
            with self._store.read() as handle:
                found = self._changes[path] = history.read_changes_of(handle, path)
            self._unvisited[path] = set(found)
        return found


@contextmanager
def opened_versions(
    store: Store, root: str, stored: StoredHistory, cancelled: CancelToken = never
) -> Iterator[FileVersions | None]:
    """Open the versions of a project's files; None if no history of them was read.

    Args:
        store: The project's database.
        root: Its resolved folder.
        stored: Its commits.
        cancelled: Polled for each folder and file.
    """
    repository = find_repository(root)
    if repository is None or stored.head is None:
        yield None
        return
    with closing(HistoryReader(repository, cancelled)) as reader:
        yield FileVersions(reader, stored, store, _prefix_of(repository, root))


class WalkEnd(NamedTuple):
    """Why a walk ended."""

    is_cut: bool = False  # it was too much work
    is_older: bool = False  # there are older versions that were not read
    unreadable: str = ""  # why a version could not be read; empty: all could

    def notes(self, stored: StoredHistory) -> list[str]:
        """Return what to know about lines that were followed."""
        notes = []
        if self.is_cut:
            notes.append("the lines have changed so often that older commits were not looked at")
        if self.unreadable:
            notes.append(f"older changes are unknown: {self.unreadable}")
        elif self.is_older and (day := stored.oldest_day):
            notes.append(f"some of the lines are older than the commits that were read, from {day}")
        return notes


def walk(
    versions: FileVersions,
    start: FileAt,
    lines: list[Lines],
    follow: Callable[[FileAt, list[Lines], Before], Iterable[tuple[FileAt | None, list[Lines]]]],
) -> WalkEnd:
    """Follow lines of a file back from a commit, each commit after all those that came after it.

    Args:
        versions: Finds the older versions.
        start: Where to begin.
        lines: The lines of it.
        follow: Is given the lines of a version that differs from those before it; returns which
            lines of which of these to follow. None: of older ones that were not read.
    """
    order = versions.stored.order
    pending: dict[bytes, dict[bytes, list[Lines]]] = {}
    heap: list[tuple[int, bytes]] = []
    is_older = False
    unreadable = ""
    passed: Iterable[tuple[FileAt | None, list[Lines]]] = [(start, lines)]
    while True:
        for at, some in passed:
            if not some:
                continue
            if at is None or at.commit not in order:
                is_older = True
                continue
            if at.commit not in pending:
                pending[at.commit] = {}
                heappush(heap, (order[at.commit], at.commit))
            pending[at.commit].setdefault(at.path, []).extend(some)
        if not heap:
            return WalkEnd(False, is_older, unreadable)
        commit = heap[0][1]
        path, lines = pending[commit].popitem()
        if not pending[commit]:
            heappop(heap)
            del pending[commit]
        at = FileAt(commit, path)
        try:
            before = versions.before(at)
        except LimitError:
            return WalkEnd(True, is_older, unreadable)
        except UnreadableObjectError as error:
            passed, unreadable = (), unreadable or str(error)
            continue
        passed = [(before.same, lines)] if before.same else follow(at, lines, before)


def lines_of(data: bytes) -> list[bytes]:
    """Split a text into lines as they are numbered on pages, without their ends."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _prefix_of(repository: Repository, root: str) -> bytes:
    """Return the path of a project's folder in its repository, with a slash; empty for the top."""
    if root == repository.top:
        return b""
    return os.fsencode(os.path.relpath(root, repository.top)) + b"/"
