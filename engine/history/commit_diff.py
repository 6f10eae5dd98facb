"""What a commit changed in each of its files: the lines that came and went, with context.

Both versions are read from the repository and compared; what is shown of them is redacted as the
index is. All work is limited, and what is not shown is told with its reason, for each file.
"""

import os
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from engine.cancellation import CancelToken
from engine.history.diff import cut, hunks_of
from engine.history.line_diff import compared_lines
from engine.history.shown_scope import ShownScope
from engine.history.versions import (
    MAX_FILE_BYTES,
    FileAt,
    FileVersions,
    LimitError,
    StoredHistory,
    lines_of,
    opened_versions,
)
from engine.history_records import CommitHit, FileDiff, Hunk
from engine.records import SkipReason, display_path
from engine.source.encodings import decode
from engine.source.file_formats import is_binary_name, is_lock_file
from engine.source.git_objects import ObjectTooLargeError, UnreadableObjectError
from engine.source.ignore import Globs
from engine.source.reader import TreeReader
from engine.source.secret_files import is_secret_file
from engine.source.secrets import redact
from engine.store import history, project
from engine.store.connection import Store
from engine.store.history import CommitFile

#: Of the files of a commit together.
MAX_READ_BYTES: Final = 8 << 20
_MOST_SECONDS: Final = 1.0  # of the processor, after which no other file is begun
_MOST_COMPARED: Final = 30_000  # lines between what is equal at both ends of a file
_MOST_SHOWN: Final = 2000  # lines
_MOST_OF_FILE: Final = 400  # lines

_TOO_LARGE_COMMIT: Final = "the commit is too large"
_TOO_LARGE: Final = f"larger than {MAX_FILE_BYTES >> 20} MB"
_UNREADABLE: Final = "cannot be read"
_BINARY: Final = "binary"
_NO_FILE: Final = "a link or submodule"


class _NotShownError(Exception):
    """A file is not shown; the text says why."""


class _Text(NamedTuple):
    """A version of a file."""

    data: bytes  # UTF-8
    encoding: str

    @property
    def line_ends(self) -> str:
        """What its lines end with; empty without any."""
        all_, long = self.data.count(b"\n"), self.data.count(b"\r\n")
        if not all_:
            return ""
        return "CRLF" if long == all_ else "LF" if not long else "LF and CRLF"


def diff_of(
    store: Store, root: str, stored: StoredHistory, commit: CommitHit, cancelled: CancelToken
) -> tuple[FileDiff, ...]:
    """Return what a commit changed in each file that is listed.

    Args:
        store: The project's database.
        root: Its resolved folder.
        stored: Its commits.
        commit: The commit, with all its files.
        cancelled: Polled for each file.

    Raises:
        Cancelled: It was cancelled.
    """
    name = bytes.fromhex(commit.commit)
    place = stored.known.get(name)
    if place is not None:
        with store.read() as handle:
            files = history.read_files(handle, [place.id])[place.id]
            row = project.known_project(handle, root)
        globs = (
            Globs.compile(row.include_patterns, field="include_patterns"),
            Globs.compile(row.exclude_patterns, field="exclude_patterns"),
        )
        try:
            with opened_versions(store, root, stored, cancelled) as versions:
                if versions is not None and len(files) == len(commit.files):
                    with TreeReader(root) as on_disk:
                        scope = ShownScope(root, globs, on_disk, versions, name)
                        parent = place.parents[0] if place.parents else b""
                        differ = CommitDiffer(versions, scope, name, parent)
                        return tuple(map(differ.diff, files))
        except UnreadableObjectError:
            pass
    return tuple(_not_shown(each.path, _UNREADABLE) for each in commit.files)


class CommitDiffer:
    """Compares the files of a commit with those of its parent, within limits.

    Args:
        versions: Reads them.
        scope: Which files may be shown.
        commit: The name of the commit.
        parent: That of the one before it; empty: there is none.
        clock_s: Measures the time that is spent.
    """

    def __init__(
        self,
        versions: FileVersions,
        scope: ShownScope,
        commit: bytes,
        parent: bytes,
        clock_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._versions = versions
        self._scope = scope
        self._commit = commit
        self._parent = parent
        self._clock_s = clock_s
        self._until_s = clock_s() + _MOST_SECONDS
        self._left_bytes = MAX_READ_BYTES
        self._left_compared = _MOST_COMPARED
        self._left_shown = _MOST_SHOWN

    def diff(self, file: CommitFile) -> FileDiff:
        """Return the changes of a file, or why they are not shown."""
        path = os.fsdecode(file.path)
        try:
            return self._diff(file, path)
        except _NotShownError as error:
            return _not_shown(path, str(error))
        except LimitError:
            return _not_shown(path, _TOO_LARGE_COMMIT)
        except UnreadableObjectError:
            return _not_shown(path, _UNREADABLE)

    def _diff(self, file: CommitFile, path: str) -> FileDiff:
        if self._left_shown <= 0 or self._clock_s() >= self._until_s:
            raise _NotShownError(_TOO_LARGE_COMMIT)
        for each in {file.path, file.old_path or file.path}:
            self._check_name(os.fsdecode(each))
        old_path = file.old_path or file.path
        old_blob = b"" if file.change == "A" else self._blob(self._parent, old_path)
        new_blob = b"" if file.change == "D" else self._blob(self._commit, file.path)
        if old_blob == new_blob:
            note = "" if file.change == "R" else "only the mode was changed"
            return FileDiff(path=display_path(path), added=0, removed=0, note=note)
        return self._compared(path, self._text(old_blob), self._text(new_blob))

    def _check_name(self, path: str) -> None:
        if is_secret_file(path):
            raise _NotShownError("a secret file")
        if is_lock_file(path):
            raise _NotShownError("a lock file")
        if is_binary_name(path):
            raise _NotShownError(_BINARY)
        if why := self._scope.why_not(path):
            raise _NotShownError(why)

    def _blob(self, commit: bytes, path: bytes) -> bytes:
        if not commit:
            raise _NotShownError(_UNREADABLE)
        found = self._versions.blob(FileAt(commit, path))
        if not found:
            raise _NotShownError(_NO_FILE)
        return found

    def _text(self, blob: bytes) -> _Text | None:
        """Return a version as the index would have it; None: there is none."""
        if not blob:
            return None
        limit_bytes = min(MAX_FILE_BYTES, self._left_bytes)
        try:
            data = self._versions.content(blob, limit_bytes)
        except ObjectTooLargeError as error:
            is_small = 0 < error.size_bytes <= MAX_FILE_BYTES
            raise _NotShownError(_TOO_LARGE_COMMIT if is_small else _TOO_LARGE) from error
        self._left_bytes -= len(data)
        found = decode(data) if data else (b"", "")
        if isinstance(found, SkipReason):
            raise _NotShownError(_BINARY if found is SkipReason.BINARY else "not text")
        return _Text(*found)

    def _compared(self, path: str, old: _Text | None, new: _Text | None) -> FileDiff:
        both = [lines_of(each.data) if each else [] for each in (old, new)]
        most = min(_MOST_OF_FILE, self._left_shown)
        number = [len(each) for each in both]
        is_whole = not all(both)
        if is_whole:  # it came or went: more than is shown need not be looked at
            both = [each[: most + 1] for each in both]
        elif (compared := compared_lines(*both)) <= self._left_compared:
            self._left_compared -= compared
        else:
            raise _NotShownError("too many lines were changed")
        shown = [lines_of(redact(each.data)[0]) if each else [] for each in (old, new)]
        every = hunks_of(*both, shown=(shown[0], shown[1]))
        hunks, is_cut = cut(every, most)
        self._left_shown -= sum(len(each.lines) for each in hunks)
        notes = ["only the first changes are shown"] if is_cut else []
        if _has_redacted(hunks, both, shown):
            notes.append("values of secrets are redacted")
        notes += _other_changes(old, new)
        lines = [line for hunk in every for line in hunk.lines]
        if is_whole:
            removed, added = number
        else:
            added = sum(line.old is None for line in lines)
            removed = sum(line.new is None for line in lines)
        return FileDiff(
            path=display_path(path),
            hunks=hunks,
            added=added,
            removed=removed,
            note="; ".join(notes),
        )


def _has_redacted(
    hunks: Sequence[Hunk], both: Sequence[list[bytes]], shown: Sequence[list[bytes]]
) -> bool:
    """Return whether one of the lines that are shown is shown otherwise than it is."""
    for hunk in hunks:
        for line in hunk.lines:
            for side, number in enumerate((line.old, line.new)):
                if number is not None and both[side][number - 1] != shown[side][number - 1]:
                    return True
    return False


def _other_changes(old: _Text | None, new: _Text | None) -> list[str]:
    """Return what was changed beside the lines themselves."""
    if old is None or new is None:
        return [] if (old or new or _Text(b"", "")).data else ["an empty file"]
    if not old.data or not new.data:
        return []
    found = []
    if old.encoding != new.encoding:
        found.append(f"encoding: {old.encoding} → {new.encoding}")
    if old.line_ends and new.line_ends and old.line_ends != new.line_ends:
        found.append(f"line endings: {old.line_ends} → {new.line_ends}")
    elif old.line_ends == "LF and CRLF" and old.data != new.data:
        before, after = (each.data.count(b"\r\n") for each in (old, new))
        if before != after:
            found.append(f"line endings: {before:,} CRLF → {after:,} CRLF")
    if old.data.endswith(b"\n") != new.data.endswith(b"\n"):
        done = "removed" if old.data.endswith(b"\n") else "added"
        found.append(f"line break at the end: {done}")
    return found


def _not_shown(path: str, why: str) -> FileDiff:
    return FileDiff(path=display_path(path), note=f"not shown: {why}")
