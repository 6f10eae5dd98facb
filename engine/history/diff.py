"""What a commit changed in each of its files: the lines that came and went, with those around.

Both versions are read from the repository, decoded and redacted as the index is, and only then
compared, so no secret is shown that the index does not have. All work is limited.
"""

import os
from collections.abc import Sequence
from typing import Final

from engine.history.blame import as_indexed
from engine.history.line_diff import Match, matching_runs
from engine.history.versions import FileAt, FileVersions, StoredHistory, opened_versions
from engine.history_records import ChangedPath, CommitHit, DiffLine, FileDiff, Hunk
from engine.source.git_objects import UnreadableObjectError
from engine.source.secret_files import is_secret_file
from engine.store.connection import Store

_CONTEXT_LINES: Final = 3
_MOST_LINES: Final = 400  # shown of a file
_MOST_OF_ALL: Final = 2000
_MOST_COMPARED: Final = 100_000  # of all files together
_MAX_CHARS: Final = 1000  # of a line

_TOO_LARGE: Final = "not shown: the commit is too large"
_UNREADABLE: Final = "not shown: no text, too large, or not in the repository"


def diff_of(
    store: Store, root: str, stored: StoredHistory, commit: CommitHit
) -> tuple[FileDiff, ...]:
    """Return what a commit changed in each file that is listed.

    Args:
        store: The project's database.
        root: Its resolved folder.
        stored: Its commits.
        commit: The commit.
    """
    name = bytes.fromhex(commit.commit)
    place = stored.known.get(name)
    parent = place.parents[0] if place and place.parents else b""
    try:
        with opened_versions(store, root, stored) as versions:
            if versions is not None:
                return tuple(_Differ(versions, name, parent).diffs(commit.files))
    except UnreadableObjectError:
        pass
    return tuple(FileDiff(path=each.path, note=_UNREADABLE) for each in commit.files)


class _Differ:
    """Compares the files of a commit with those of its parent, within limits."""

    def __init__(self, versions: FileVersions, commit: bytes, parent: bytes) -> None:
        self._versions = versions
        self._commit = commit
        self._parent = parent
        self._compared = 0
        self._shown = 0

    def diffs(self, files: Sequence[ChangedPath]) -> list[FileDiff]:
        """Return the changes of files."""
        return [self._diff(each) for each in files]

    def _diff(self, file: ChangedPath) -> FileDiff:
        old_path = file.old_path or file.path
        if is_secret_file(file.path) or is_secret_file(old_path):
            return FileDiff(path=file.path, note="not shown: a secret file")
        if self._compared >= _MOST_COMPARED or self._shown >= _MOST_OF_ALL:
            return FileDiff(path=file.path, note=_TOO_LARGE)
        old = [] if file.change == "added" else self._lines(self._parent, old_path)
        new = [] if file.change == "deleted" else self._lines(self._commit, file.path)
        if old is None or new is None:
            return FileDiff(path=file.path, note=_UNREADABLE)
        self._compared += len(old) + len(new)
        if self._compared > _MOST_COMPARED:
            return FileDiff(path=file.path, note=_TOO_LARGE)
        every = hunks_of(old, new)
        lines = [line for hunk in every for line in hunk.lines]
        hunks, is_cut = _cut(every, min(_MOST_LINES, _MOST_OF_ALL - self._shown))
        self._shown += sum(len(each.lines) for each in hunks)
        return FileDiff(
            path=file.path,
            hunks=hunks,
            added=sum(line.old is None for line in lines),
            removed=sum(line.new is None for line in lines),
            note="only the first changes are shown" if is_cut else "",
        )

    def _lines(self, commit: bytes, path: str) -> list[bytes] | None:
        """Return the lines of a version as the index would have them; None: there are none."""
        if not commit:
            return None
        blob = self._versions.blob(FileAt(commit, os.fsencode(path)))
        lines = self._versions.lines(blob) if blob else None
        return None if lines is None else as_indexed(lines, is_redacted=True)


def hunks_of(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[Hunk, ...]:
    """Return the changes between two versions, near ones together, with the lines around them."""
    hunks: list[Hunk] = []
    lines: list[DiffLine] = []  # of the hunk that is being made
    has_change = False
    at = new_at = 0
    for run in (*matching_runs(old, new), Match(len(old), len(new), 0)):
        lines += [DiffLine(text=_text(old[each]), old=each + 1) for each in range(at, run.old)]
        lines += [DiffLine(text=_text(new[each]), new=each + 1) for each in range(new_at, run.new)]
        has_change = has_change or at < run.old or new_at < run.new
        at, new_at = run.old + run.length, run.new + run.length
        is_last = at == len(old) and new_at == len(new)
        around = [
            DiffLine(
                text=_text(old[run.old + each]), old=run.old + each + 1, new=run.new + each + 1
            )
            for each in _near(run.length, is_first=not has_change, is_last=is_last)
        ]
        if has_change and (is_last or run.length > 2 * _CONTEXT_LINES):
            hunks.append(Hunk(lines=(*lines, *around[:_CONTEXT_LINES])))
            lines, has_change = around[_CONTEXT_LINES:], False
        else:
            lines += around
        if is_last:
            break
    return tuple(hunks)


def _near(length: int, *, is_first: bool, is_last: bool) -> Sequence[int]:
    """Return which of the lines of an unchanged run stand near a change."""
    after = 0 if is_first else min(length, _CONTEXT_LINES)
    before = 0 if is_last else min(length - after, _CONTEXT_LINES)
    return (*range(after), *range(length - before, length))


def _cut(hunks: tuple[Hunk, ...], most: int) -> tuple[tuple[Hunk, ...], bool]:
    """Return as much of hunks as may be shown, and whether that is not all."""
    shown: list[Hunk] = []
    for each in hunks:
        if len(each.lines) > most:
            return (*shown, *([Hunk(lines=each.lines[:most])] if most else [])), True
        shown.append(each)
        most -= len(each.lines)
    return hunks, False


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
