"""Why lines are so: the commits that touched them, followed back through changes and renames.

The stored commits say which of them changed the file, so that only versions of these, and of
merges, are read from the repository and compared. All work is limited; what was not looked at is
said.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from heapq import heappop, heappush
from typing import Final, NamedTuple

from engine.clock import iso_time
from engine.errors import InvalidInputError
from engine.history.commits import MOST_FILES
from engine.history.line_matching import (
    Match,
    Range,
    kept_lines,
    lost_lines,
    matching_runs,
    merged,
    replaced_lines,
)
from engine.humanize import count
from engine.records import FileEntry, Skip
from engine.source.git import Repository, find_repository
from engine.source.git_history import Commit, HistoryReader
from engine.source.git_objects import UnreadableObjectError
from engine.source.reader import TreeReader
from engine.store import history
from engine.store.connection import Store
from engine.store.history import FileChange, KnownCommit

_MAX_FILE_BYTES: Final = 512 << 10  # as of the versions that are compared
_MOST_LOOKUPS: Final = 20_000  # of a file in a commit
_MOST_COMPARED_LINES: Final = 4_000_000
_MOST_STEPS: Final = 500_000
_MOST_RANGES: Final = 200
_MOST_NAMED: Final = 3  # ranges of lines in notes
_NOT_THERE: Final = "is not in the last commit that was read: it is new, or git ignores it"
_PLACE = re.compile(r"(?P<path>.+):(?P<start>[1-9]\d{0,8})(?:-(?P<end>[1-9]\d{0,8}))?", re.DOTALL)


class LinePlace(NamedTuple):
    """Lines of a file, from 1, both included."""

    path: str  # from the root of the project
    start: int
    end: int

    @classmethod
    def parse(cls, text: str, root: str) -> "LinePlace":
        """Read ``PATH:LINE`` or ``PATH:START-END``.

        Args:
            text: The place; its path is absolute, or begins at the root.
            root: The folder of the project.

        Raises:
            InvalidInputError: It has another form.
        """
        found = _PLACE.fullmatch(text.strip())
        start = int(found["start"]) if found else 0
        end = int(found["end"] or start) if found else 0
        if found is None or end < start:
            raise InvalidInputError(
                f"{text!r} names no lines", hint="PATH:LINE, or PATH:START-END", field="lines"
            )
        path = os.path.normpath(found["path"])
        if os.path.isabs(path):
            path = os.path.relpath(path, root)
        return cls(path, start, end)


class LineHistory(NamedTuple):
    """The commits that touched some lines."""

    ids: frozenset[int]
    notes: tuple[str, ...]


def commits_of_lines(store: Store, root: str, place: LinePlace) -> LineHistory:
    """Return the stored commits that touched some lines of a file as it is on disk now.

    Raises:
        InvalidInputError: There is no such file or line, or the file is no text.
    """
    lines = _lines_on_disk(root, place)
    with store.read() as handle:
        state = history.read_state(handle)
        known = history.read_known(handle)
        partial = history.read_not_all_listed(handle, MOST_FILES)
    repository = find_repository(root)
    head = None if state is None else state.head
    if repository is None or head is None or head not in known:
        return LineHistory(frozenset(), ())

    def changes_of(path: bytes) -> dict[int, FileChange]:
        with store.read() as handle:
            return history.read_changes_of(handle, path)

    try:
        with closing(HistoryReader(repository, lambda: False)) as reader:
            walk = _Walk(reader, known, partial, changes_of, _prefix_of(repository, root))
            return walk.run(head, place, lines)
    except UnreadableObjectError as error:
        return LineHistory(frozenset(), (f"the lines cannot be followed: {error}",))


def _prefix_of(repository: Repository, root: str) -> bytes:
    if root == repository.top:
        return b""
    return os.fsencode(os.path.relpath(root, repository.top)) + b"/"


def _lines_on_disk(root: str, place: LinePlace) -> list[bytes]:
    with TreeReader(root) as reader:
        stat = None if place.path.startswith("..") else reader.stat_of(place.path)
        if stat is None:
            raise InvalidInputError(f"there is no file {place.path} in the project", field="lines")
        found = reader.read(FileEntry(place.path, stat, place.path), _MAX_FILE_BYTES)
    if isinstance(found, Skip):
        raise InvalidInputError(f"{place.path} is too large, or no text", field="lines")
    lines = found.data.splitlines()
    if place.end > len(lines):
        raise InvalidInputError(
            f"{place.path} has {count(len(lines), 'line')}, not {place.end}", field="lines"
        )
    return lines


class _Version(NamedTuple):
    """Lines of a file in a commit whose origin is looked for."""

    path: bytes  # from the root of the project
    ranges: tuple[Range, ...]


class _LimitError(Exception):
    """The work has reached its limit."""


class _Walk:
    """Follows lines back from a commit, the newest commits first."""

    def __init__(
        self,
        reader: HistoryReader,
        known: dict[bytes, KnownCommit],
        partial: set[int],
        changes_of: Callable[[bytes], dict[int, FileChange]],
        prefix: bytes,
    ) -> None:
        self._reader = reader
        self._known = known
        self._partial = partial
        self._changes_of = changes_of
        self._prefix = prefix
        self._changes: dict[bytes, dict[int, FileChange]] = {}
        self._unvisited: dict[bytes, set[int]] = {}
        self._pending: dict[bytes, dict[bytes, list[Range]]] = defaultdict(dict)
        self._heap: list[tuple[int, bytes]] = []
        self._seen: set[tuple[bytes, _Version]] = set()
        self._touched: set[int] = set()
        self._lookups = self._compared = self._steps = 0
        self._is_older = False  # some lines are older than what is stored
        self._unreadable = ""

    def run(self, head: bytes, place: LinePlace, lines: list[bytes]) -> LineHistory:
        """Return the commits that touched lines of a file that is like this now."""
        path = os.fsencode(place.path)
        wanted = [Range(place.start - 1, place.end)]
        blob = self._blob(self._reader.commit(head), path)
        committed = self._text(blob) if blob else None
        if committed is None:
            reason = "cannot be compared with the last commit" if blob else _NOT_THERE
            return LineHistory(frozenset(), (f"{place.path} {reason}",))
        matches = matching_runs(committed, lines)
        self._add(head, path, kept_lines(matches, wanted))
        notes = [
            f"{_named(each)} not in the last commit that was read"
            for each in lost_lines(matches, wanted)[:_MOST_NAMED]
        ]
        try:
            while self._heap:
                self._visit(heappop(self._heap)[1])
        except _LimitError:
            notes.append("the lines have changed so often that older commits were not looked at")
        if self._unreadable:
            notes.append(f"older changes are unknown: {self._unreadable}")
        elif self._is_older and (oldest := min(self._known.values(), key=_age, default=None)):
            day = iso_time(oldest.committed_at_s * 1000)[:10]
            notes.append(f"some of the lines are older than the commits that were read, from {day}")
        return LineHistory(frozenset(self._touched), tuple(notes))

    def _visit(self, name: bytes) -> None:
        for path, ranges in self._pending.pop(name, {}).items():
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise _LimitError
            with suppress(KeyError):
                self._unvisited[path].remove(self._known[name].id)
            version = _Version(path, tuple(merged(ranges)[:_MOST_RANGES]))
            if (name, version) in self._seen:  # dates that do not rise lead here again
                continue
            self._seen.add((name, version))
            try:
                self._follow(name, version)
            except UnreadableObjectError as error:
                self._unreadable = self._unreadable or str(error)

    def _follow(self, name: bytes, version: _Version) -> None:
        """Pass lines of a commit on to those before it, and note whether it touched them."""
        known = self._known[name]
        change = self._changes_in(version.path).get(known.id)
        is_listed = known.id not in self._partial
        if name in self._reader.shallow:
            self._is_older = True
        elif len(known.parents) > 1:
            self._follow_merge(known, name, version)
        elif not known.parents or (change is not None and change.change == "A"):
            self._touched.add(known.id)
        elif change is None and is_listed:
            self._add(known.parents[0], version.path, version.ranges)
        else:
            old_path = (change.old_path if change else None) or version.path
            self._follow_change(known, name, version, old_path)

    def _follow_change(
        self, known: KnownCommit, name: bytes, version: _Version, old_path: bytes
    ) -> None:
        [parent] = known.parents
        new = self._blob(self._reader.commit(name), version.path)
        old = self._blob(self._reader.commit(parent), old_path)
        if new == old:
            self._add(parent, old_path, version.ranges)
            return
        old_text, new_text = self._text(old) if old else None, self._text(new)
        if old_text is None or new_text is None:
            self._touched.add(known.id)
            return
        matches = self._matches(old_text, new_text)
        replaced = replaced_lines(matches, version.ranges, len(old_text), len(new_text))
        if replaced is not None:
            self._touched.add(known.id)
        kept = kept_lines(matches, version.ranges)
        self._add(parent, old_path, [*kept, *(replaced or ())])

    def _follow_merge(self, known: KnownCommit, name: bytes, version: _Version) -> None:
        """Pass lines on to the parents that have them; a merge made those that none of them has."""
        if not self._unvisited.get(version.path) and not self._partial:
            self._is_older = True
            return
        new = self._blob(self._reader.commit(name), version.path)
        olds = [
            (each, self._blob(self._reader.commit(each), version.path))
            for each in known.parents
            if each in self._known
        ]
        for parent, old in olds:
            if old == new:
                self._add(parent, version.path, version.ranges)
                return
        text = self._text(new)
        left: Sequence[Range] = version.ranges
        for parent, old in olds:
            old_text = self._text(old) if old else None
            if text is None or old_text is None:
                continue
            matches = self._matches(old_text, text)
            self._add(parent, version.path, kept_lines(matches, version.ranges))
            left = lost_lines(matches, left)
        if left and len(olds) == len(known.parents):
            self._touched.add(known.id)
        elif left:
            self._is_older = True

    def _add(self, name: bytes, path: bytes, ranges: Sequence[Range]) -> None:
        if not ranges:
            return
        known = self._known.get(name)
        if known is None:
            self._is_older = True
            return
        if name not in self._pending:
            heappush(self._heap, (-known.committed_at_s, name))
        self._changes_in(path)
        self._pending[name].setdefault(path, []).extend(ranges)

    def _changes_in(self, path: bytes) -> dict[int, FileChange]:
        found = self._changes.get(path)
        if found is None:
            found = self._changes[path] = self._changes_of(path)
            self._unvisited[path] = set(found)
        return found

    def _blob(self, commit: Commit, path: bytes) -> bytes:
        self._lookups += 1
        if self._lookups > _MOST_LOOKUPS:
            raise _LimitError
        return self._reader.blob_of(commit, self._prefix + path)

    def _text(self, blob: bytes) -> list[bytes] | None:
        data = self._reader.text(blob)
        return None if data is None else data.splitlines()

    def _matches(self, old: list[bytes], new: list[bytes]) -> list[Match]:
        self._compared += len(old) + len(new)
        if self._compared > _MOST_COMPARED_LINES:
            raise _LimitError
        return matching_runs(old, new)


def _age(known: KnownCommit) -> int:
    return known.committed_at_s


def _named(lines: Range) -> str:
    if lines.end - lines.start == 1:
        return f"line {lines.end} is"
    return f"lines {lines.start + 1}-{lines.end} are"
