"""All files of a branch, read once in a state of the index for all that its pages show of them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from itertools import count
from operator import itemgetter

from engine.cache import ByteCache
from engine.store import listing, project
from engine.store.connection import Handle
from engine.store.listing import EntryRow, FolderRow, ListedFile, ListedSkip, SizedFile

_SLASH = b"/"
_ROW_BYTES = 350  # of memory, with its path
_FOLDER_BYTES = 400
_NUMBERS = count()


@dataclass(slots=True)
class _Sums:
    files: int = 0
    size_bytes: int = 0
    skipped: int = 0
    changed_at_ms: int | None = None

    def add(self, files: int, size_bytes: int, skipped: int, changed_at_ms: int | None) -> None:
        self.files += files
        self.size_bytes += size_bytes
        self.skipped += skipped
        known = self.changed_at_ms
        if known is None or (changed_at_ms is not None and changed_at_ms > known):
            self.changed_at_ms = changed_at_ms

    @property
    def all(self) -> tuple[int, int, int, int | None]:
        return self.files, self.size_bytes, self.skipped, self.changed_at_ms


@dataclass(slots=True)
class _Entry:
    """An entry of the root while it is added up."""

    sums: _Sums = field(default_factory=_Sums)
    reasons: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)


class BranchFiles:
    """The files and skips of a branch in one state of the index.

    Args:
        files: Those that are indexed, by path.
        skips: The others.
    """

    def __init__(self, files: Sequence[ListedFile], skips: Sequence[ListedSkip]) -> None:
        self.number = next(_NUMBERS)  # which others do not have
        self.files = files
        self.skips = skips
        self._sums: dict[bytes, _Sums] = {}  # by folder, of what is directly in it
        self._in_root: list[ListedFile] = []
        self._recent: dict[int, list[tuple[bytes, int]]] = {}  # by how many
        sums = _Sums()
        last: bytes | None = None
        for file in files:
            path, size_bytes, changed_at_ms, _ = file
            folder = path.rpartition(_SLASH)[0]
            if folder != last:
                sums, last = self._sums_of(folder), folder
            if not folder:
                self._in_root.append(file)
            sums.files += 1
            sums.size_bytes += size_bytes
            if sums.changed_at_ms is None or changed_at_ms > sums.changed_at_ms:
                sums.changed_at_ms = changed_at_ms
        for path, is_folder, *_ in skips:
            if not is_folder:
                self._sums_of(path.rpartition(_SLASH)[0]).add(0, 0, 1, None)

    def _sums_of(self, folder: bytes) -> _Sums:
        sums = self._sums.get(folder)
        if sums is None:
            sums = self._sums[folder] = _Sums()
        return sums

    @property
    def size_bytes(self) -> int:
        """The approximate memory."""
        return _ROW_BYTES * (len(self.files) + len(self.skips)) + _FOLDER_BYTES * len(self._sums)

    def _skipped_folders(self) -> Iterator[bytes]:
        return (path for path, is_folder, *_ in self.skips if is_folder)

    def sum_folders(self, folder: str, levels: int) -> list[FolderRow]:
        """Add up the files and skips below a folder, by folder.

        Args:
            folder: From the root; empty for all.
            levels: Of folders that are told apart; what is deeper counts for the last one.
        """
        above = os.fsencode(folder)
        prefix = above + _SLASH if above else b""
        rows: dict[bytes, _Sums] = {}

        def at(path: bytes) -> _Sums:
            if path.count(_SLASH) - prefix.count(_SLASH) >= levels:
                below = path[len(prefix) :].split(_SLASH, levels)[:levels]
                path = prefix + _SLASH.join(below)
            sums = rows.get(path)
            if sums is None:
                sums = rows[path] = _Sums()
            return sums

        for path, sums in self._sums.items():
            if path == above:
                rows.setdefault(above, _Sums()).add(*sums.all)
            elif path.startswith(prefix):
                at(path).add(*sums.all)
        for path in self._skipped_folders():
            if path.startswith(prefix):
                at(path).add(0, 0, 1, None)
        return [
            FolderRow(os.fsdecode(path), sums.files, sums.size_bytes, sums.skipped)
            for path, sums in sorted(rows.items())
        ]

    def recent(self, most: int) -> list[tuple[bytes, int]]:
        """Return path and time of the files changed last, the latest first."""
        if most not in self._recent:
            self._recent[most] = self._changed_last(most)
        return self._recent[most]

    def _changed_last(self, most: int) -> list[tuple[bytes, int]]:
        latest = nlargest(most, (changed_at_ms for _, _, changed_at_ms, _ in self.files))
        least = latest[-1] if latest else 0
        found = [(row[0], row[2]) for row in self.files if row[2] >= least]
        return sorted(found, key=lambda row: (-row[1], row[0]))[:most]

    def largest_in_root(self, most: int) -> list[SizedFile]:
        """Return the files directly in the root, as ``listing.largest_files`` does."""
        found = sorted(self._in_root, key=lambda row: (-row[1], row[0]))[:most]
        return [SizedFile(os.fsdecode(path), size_bytes) for path, size_bytes, *_ in found]

    def entries(self, limit: int, offset: int) -> list[EntryRow]:
        """Return the entries of the root as ``listing.list_entries`` does."""
        found = self._entries
        return [
            EntryRow(
                os.fsdecode(name),
                not is_file,
                entry.sums.files,
                entry.sums.skipped,
                entry.sums.size_bytes,
                entry.sums.changed_at_ms,
                max(entry.reasons, default=None),
                max(entry.details, default=None),
                len(found),
            )
            for (is_file, name), entry in found[offset : offset + limit]
        ]

    @cached_property
    def _entries(self) -> list[tuple[tuple[bool, bytes], _Entry]]:
        """The entries of the root, folders first."""
        entries: dict[tuple[bool, bytes], _Entry] = {}

        def at(path: bytes, *, is_file: bool) -> _Entry:
            key = (is_file, path.partition(_SLASH)[0])
            entry = entries.get(key)
            if entry is None:
                entry = entries[key] = _Entry()
            return entry

        for path, sums in self._sums.items():
            if path:
                at(path, is_file=False).sums.add(*sums.all)
        for path, size_bytes, changed_at_ms, _ in self._in_root:
            at(path, is_file=True).sums.add(1, size_bytes, 0, changed_at_ms)
        for path, is_folder, reason, detail, skipped_bytes in self.skips:
            is_inside = _SLASH in path
            if is_inside and not is_folder:
                continue  # it is in the sums of its folder
            entry = at(path, is_file=not is_folder)
            entry.sums.add(0, 0 if is_folder else skipped_bytes or 0, 1, None)
            if not is_inside:
                entry.reasons.append(reason)
                entry.details.append(detail)
        return sorted(entries.items(), key=itemgetter(0))


class KeptFiles:
    """The files of the branch that was looked at last. For any number of threads."""

    def __init__(self) -> None:
        #: A limit of 0 keeps the last one.
        self._kept: ByteCache[BranchFiles] = ByteCache(0, lambda files: files.size_bytes)
        self._last: tuple[int, BranchFiles] | None = None  # with the branch

    @property
    def size_bytes(self) -> int:
        """The approximate memory."""
        return self._kept.size_bytes

    @property
    def used_s(self) -> float:
        """When they were last asked for, on the monotonic clock; 0 if they never were."""
        return self._kept.used_s

    def evict(self) -> None:
        """Drop them."""
        self._kept.clear()
        self._last = None

    def of(self, handle: Handle, branch_id: int) -> BranchFiles:
        """Return the files and skips of a branch (reading 10,000 takes some 10 ms)."""
        return self._kept.get(
            (branch_id,), lambda: self._read(handle, branch_id), state=project.count_changes(handle)
        )

    def _read(self, handle: Handle, branch_id: int) -> BranchFiles:
        """Return those of before if a change of the index was of something else."""
        files = listing.read_files(handle, branch_id)
        skips = listing.read_skipped(handle, branch_id)
        last = self._last
        if last is None or last[0] != branch_id or last[1].files != files or last[1].skips != skips:
            self._last = last = (branch_id, BranchFiles(files, skips))
        return last[1]
