"""The uncommitted changes of a work tree, by file: what differs from the last commit.

Contents are compared, as git's own index can be stale; a file whose size and time are those in the
index is not read. Line ends do not count, nor do files that git keeps elsewhere (LFS). Without a
readable commit, files are compared with what git's index says of them.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final, NamedTuple

from engine.humanize import count
from engine.records import FileEntry, FileStat, Skip
from engine.reference_records import Change
from engine.source.git import Repository, find_repository, read_head
from engine.source.git_files import IndexEntry, git_settings, read_entries
from engine.source.git_objects import GitObjects, UnreadableObjectError
from engine.source.reader import TreeReader

_MOST_FILES: Final = 400  # changed ones
_MAX_BYTES: Final = 64 << 20  # of their contents
_LFS: Final = b"version https://git-lfs"
_32_BITS: Final = (1 << 32) - 1


class ChangedFile(NamedTuple):
    """A file that differs from the last commit."""

    path: str  # relative to the folder
    change: Change
    old: bytes | None  # None: there was none, or it cannot be read
    new: bytes | None  # None: it was deleted


class WorkTreeChanges(NamedTuple):
    """The files that differ from the last commit, by path."""

    files: list[ChangedFile]
    notes: list[str]
    is_cut: bool


class _Compared(NamedTuple):
    path: str
    name: bytes  # of the blob; empty for an added file
    data: bytes | None


def work_tree_changes(
    root: str, known: Iterable[str], *, max_file_bytes: int
) -> WorkTreeChanges | None:
    """Return what differs from the last commit below a folder, or None outside of git.

    Args:
        root: The folder, resolved.
        known: Files there, relative to it, that count as added if the commit lacks them; so do
            those that are staged.
        max_file_bytes: Larger files are not compared.

    Raises:
        InvalidPathError: The folder cannot be opened.
    """
    repository = find_repository(root)
    if repository is None:
        return None
    with TreeReader(root) as reader:
        return _Comparison(repository, root, reader, max_file_bytes).run(known)


class _Comparison:
    def __init__(
        self, repository: Repository, root: str, reader: TreeReader, max_file_bytes: int
    ) -> None:
        self._repository = repository
        self._root = root
        self._reader = reader
        self._max_file_bytes = max_file_bytes
        self._left_bytes = _MAX_BYTES
        self._hash_bytes = git_settings(repository.top, repository.common_dir).hash_bytes
        below = os.path.relpath(root, repository.top)
        self._prefix = b"" if below == "." else os.fsencode(below) + b"/"
        entries = read_entries(repository.git_dir, hash_bytes=self._hash_bytes)
        self._has_index = entries is not None
        self._entries = entries or {}
        self._sparse = tuple(path for path in self._entries if path.endswith(b"/"))
        self._foreign: dict[str, bool] = {}
        self._notes: list[str] = []

    def run(self, known: Iterable[str]) -> WorkTreeChanges:
        """Compare the work tree with the last commit."""
        head = read_head(self._root)
        reason = "the branch that is checked out cannot be read"
        try:
            objects = GitObjects(self._repository.common_dir, hash_bytes=self._hash_bytes)
            with closing(objects):
                if head.commit is not None:
                    found = objects.files_of(head.commit, below=self._prefix)
                    return self._compared({each.path: each.name for each in found}, known, objects)
        except UnreadableObjectError as error:
            reason = str(error)
        if head.branch and head.commit is None:
            self._notes.append("there is no commit yet: every file counts as added")
            return self._compared({}, known, None)
        if not self._has_index:
            self._notes.append(f"what changed is not known: {reason}, nor can git's index")
            return WorkTreeChanges([], self._notes, is_cut=True)
        self._notes.append(
            f"the last commit cannot be read ({reason}): whole files that differ from git's index"
            " are told, and staged changes are not seen"
        )
        staged = {
            path: entry.name
            for path, entry in self._entries.items()
            if path.startswith(self._prefix) and not path.endswith(b"/")
        }
        return self._compared(staged, known, None)

    def _compared(
        self, committed: dict[bytes, bytes], known: Iterable[str], objects: GitObjects | None
    ) -> WorkTreeChanges:
        """Return the changes against the files of a commit; their old texts with its objects."""
        files: list[ChangedFile] = []
        is_cut = False
        unread = 0
        for path, name, data in self._differing(committed, known):
            if len(files) >= _MOST_FILES or self._left_bytes < 0:
                is_cut = True
                self._notes.append(f"only the first {count(len(files), 'changed file')} were read")
                break
            old = None
            if name and objects is not None:
                try:
                    old = objects.read(name, b"blob")
                except UnreadableObjectError:
                    unread += 1
            if old is not None and old.startswith(_LFS):
                continue
            self._left_bytes -= len(data or b"") + len(old or b"")
            change = Change.ADDED if not name else Change.MODIFIED if data is not None else None
            files.append(ChangedFile(path, change or Change.DELETED, old, data))
        if unread:
            self._notes.append(
                f"{count(unread, 'file')} of the last commit cannot be read: all definitions"
                " there count as modified"
            )
        return WorkTreeChanges(files, self._notes, is_cut=is_cut)

    def _differing(
        self, committed: dict[bytes, bytes], known: Iterable[str]
    ) -> Iterator[_Compared]:
        """Yield the files that differ, by path."""
        size = len(self._prefix)
        new = {self._prefix + os.fsencode(path) for path in known}
        new.update(path for path in self._entries if path.startswith(self._prefix))
        for whole in sorted(committed.keys() | new):
            path = os.fsdecode(whole[size:])
            stat = self._reader.stat_of(path)
            name = committed.get(whole, b"")
            entry = self._entries.get(whole)
            if stat is None:
                if name and not self._is_sparse(whole, entry):
                    yield _Compared(path, name, None)
                continue
            if (name and _is_as_indexed(stat, entry, name)) or (
                not name and self._is_foreign(path)
            ):
                continue
            data = self._read(path, stat)
            if data is not None and not (name and self._is_blob(data, name)):
                yield _Compared(path, name, data)

    def _is_sparse(self, path: bytes, entry: IndexEntry | None) -> bool:
        """Return whether a file need not be in the work tree."""
        return (entry is not None and entry.is_sparse) or (
            bool(self._sparse) and path.startswith(self._sparse)
        )

    def _is_foreign(self, path: str) -> bool:
        """Return whether a file lies in another repository, such as a submodule."""
        folder = os.path.dirname(path)
        if not folder:
            return False
        if folder not in self._foreign:
            own = os.path.lexists(os.path.join(self._root, folder, ".git"))
            self._foreign[folder] = own or self._is_foreign(folder)
        return self._foreign[folder]

    def _read(self, path: str, stat: FileStat) -> bytes | None:
        """Return the content of a file that is not too large."""
        found = self._reader.read(FileEntry(path, stat, path), self._max_file_bytes)
        return None if isinstance(found, Skip) else found.data

    def _is_blob(self, data: bytes, name: bytes) -> bool:
        """Return whether a content is that of a blob, whatever its line ends are."""
        if self._blob_name(data) == name:
            return True
        return b"\r\n" in data and self._blob_name(data.replace(b"\r\n", b"\n")) == name

    def _blob_name(self, data: bytes) -> bytes:
        make = hashlib.sha1 if self._hash_bytes == 20 else hashlib.sha256
        return make(b"blob %d\0" % len(data) + data).digest()


def _is_as_indexed(stat: FileStat, entry: IndexEntry | None, name: bytes) -> bool:
    """Return whether a file is unchanged by its size and time, in git's index and since then."""
    return (
        entry is not None
        and entry.name == name
        and entry.mtime_ns == stat.mtime_ns
        and entry.size_bytes == stat.size_bytes & _32_BITS
    )
