"""In which files two folders of git differ."""

from collections.abc import Callable
from typing import Final, NamedTuple

from engine.cancellation import CancelToken
from engine.source.git_objects import ObjectTooLargeError

_MAX_DEPTH: Final = 100  # of folders
_MOST_ENTRIES: Final = 20_000  # of folders that differ, looked at in one comparison
_MOST_CHANGES: Final = 2000  # files of a commit; it has more when the list is cut
_MAX_PATH_BYTES: Final = 4096
_SUBMODULE: Final = b"160000"
_FOLDER_MODES: Final = (b"40000", b"040000")


class PathChange(NamedTuple):
    """A file that a commit changed."""

    kind: str  # A, M, D or R, as git names them: added, modified, deleted, renamed
    path: bytes  # from the top; of a deleted file, where it was
    old_path: bytes  # of a renamed file; else the same
    new: bytes  # the name of its blob; empty: there is none, or it is a submodule's
    old: bytes


class TreeComparison:
    """The difference of two trees.

    Args:
        tree: Returns the entries of a folder by its name.
        cancelled: Polled often.
        below: See ``HistoryReader.changes``.
        is_new_left_out: Whether folders that the old tree lacks are not looked into.
    """

    def __init__(
        self,
        tree: Callable[[bytes], frozenset[tuple[bytes, ...]]],
        cancelled: CancelToken,
        below: bytes,
        *,
        is_new_left_out: bool = False,
    ) -> None:
        self._tree = tree
        self._cancelled = cancelled
        self._below = below
        self._is_new_left_out = is_new_left_out
        self._left = _MOST_ENTRIES
        self._old: dict[bytes, bytes] = {}
        self._new: dict[bytes, bytes] = {}
        self.is_cut = False

    def compare(self, folder: bytes, old: bytes, new: bytes) -> None:
        """Compare two versions of a folder, whose names are empty where there is none.

        One that is too large is left out.
        """
        if old == new:
            return
        try:
            before, after = self._entries(folder, old), self._entries(folder, new)
        except ObjectTooLargeError:
            self.is_cut = True
            return
        folders: dict[bytes, list[bytes]] = {}
        for side, entries in enumerate((before - after, after - before)):
            for mode, file, name in entries:
                self._left -= 1
                if self._left < 0:
                    self.is_cut = True
                    return
                path = folder + file
                if mode in _FOLDER_MODES:
                    nested = path + b"/"
                    if self._is_in_scope(nested) and not (
                        side and self._is_new_left_out and nested not in folders
                    ):
                        folders.setdefault(nested, [b"", b""])[side] = name
                elif path.startswith(self._below):
                    files = self._new if side else self._old
                    files[path] = b"" if mode == _SUBMODULE else name
        for nested, (was, now) in sorted(folders.items()):
            self.compare(nested, was, now)

    def _entries(self, folder: bytes, name: bytes) -> frozenset[tuple[bytes, ...]]:
        if len(folder) > _MAX_PATH_BYTES or folder.count(b"/") > _MAX_DEPTH:
            raise ObjectTooLargeError("a folder of the commit is too deep to be read")
        return self._tree(name)

    def _is_in_scope(self, folder: bytes) -> bool:
        return folder.startswith(self._below) or self._below.startswith(folder)

    def files(self) -> list[PathChange]:
        """Return the files that differ, by path, as many as a commit may have."""
        differing = self._old.keys() | self._new.keys()
        paths = sorted(path for path in differing if len(path) <= _MAX_PATH_BYTES)
        self.is_cut |= len(paths) < len(differing) or len(paths) > _MOST_CHANGES
        return [self._change_of(path) for path in paths[:_MOST_CHANGES]]

    def gone(self) -> list[PathChange]:
        """Return all files that the new tree lacks, by path."""
        paths = sorted(self._old.keys() - self._new.keys())
        return [change for path in paths if (change := self._change_of(path)).old]

    def _change_of(self, path: bytes) -> PathChange:
        new, old = self._new.get(path), self._old.get(path)
        kind = "A" if old is None else "D" if new is None else "M"
        return PathChange(kind, path, path, new or b"", old or b"")
