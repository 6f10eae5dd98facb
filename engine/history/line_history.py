"""Why lines are so: the commits that touched them, followed back through changes and renames.

All work is limited; what was not looked at is said.
"""

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from engine.errors import InvalidInputError
from engine.history.line_diff import matching_runs
from engine.history.line_matching import (
    Range,
    kept_lines,
    lost_lines,
    merged,
    replaced_lines,
)
from engine.history.versions import (
    MAX_FILE_BYTES,
    Before,
    FileAt,
    StoredHistory,
    lines_of,
    opened_versions,
    walk,
)
from engine.humanize import count
from engine.records import FileEntry, LinePlace, Skip
from engine.source.git_objects import UnreadableObjectError
from engine.source.reader import TreeReader
from engine.store.connection import Store

_MOST_RANGES: Final = 200
_MOST_NAMED: Final = 3  # ranges of lines in notes


class LineHistory(NamedTuple):
    """The commits that touched some lines."""

    ids: frozenset[int]
    notes: tuple[str, ...]


def lines_named(text: str, root: str) -> LinePlace:
    """Read ``PATH:LINE`` or ``PATH:START-END``, and return it with its path from the root.

    Args:
        text: The place; its path is absolute, or begins at the root.
        root: The folder of the project.

    Raises:
        InvalidInputError: It has another form.
    """
    place = LinePlace.parse(text.strip())
    if place is None or not place.is_in_order:
        raise InvalidInputError(
            f"{text!r} names no lines", hint="PATH:LINE, or PATH:START-END", field="lines"
        )
    path = os.path.normpath(place.path)
    return place._replace(path=os.path.relpath(path, root) if os.path.isabs(path) else path)


def commits_of_lines(
    store: Store, root: str, stored: StoredHistory, place: LinePlace
) -> LineHistory:
    """Return the stored commits that touched some lines of a file as it is on disk now.

    Args:
        store: The project's database.
        root: Its resolved folder.
        stored: Its commits.
        place: The lines.

    Raises:
        InvalidInputError: There is no such file or line, or the file is no text.
    """
    lines = _lines_on_disk(root, place)
    try:
        with opened_versions(store, root, stored) as versions:
            if versions is None:
                return LineHistory(frozenset(), ())
            at, committed = versions.committed(os.fsencode(place.path))
            if isinstance(committed, str):
                return LineHistory(frozenset(), (f"{place.path} {committed}",))
            matches = matching_runs(committed, lines)
            wanted = [Range(place.start - 1, place.last)]
            touched = _Touched(versions.stored)
            end = walk(versions, at, kept_lines(matches, wanted), touched.follow)
    except UnreadableObjectError as error:
        return LineHistory(frozenset(), (f"the lines cannot be followed: {error}",))
    new = [
        f"{_named(each)} not in the last commit that was read"
        for each in lost_lines(matches, wanted)[:_MOST_NAMED]
    ]
    return LineHistory(frozenset(touched.ids), (*new, *end.notes(versions.stored)))


def _lines_on_disk(root: str, place: LinePlace) -> list[bytes]:
    with TreeReader(root) as reader:
        stat = None if place.path.startswith("..") else reader.stat_of(place.path)
        if stat is None:
            raise InvalidInputError(f"there is no file {place.path} in the project", field="lines")
        found = reader.read(FileEntry(place.path, stat, place.path), MAX_FILE_BYTES)
    if isinstance(found, Skip):
        raise InvalidInputError(f"{place.path} is too large, or not text", field="lines")
    lines = lines_of(found.data)
    if place.last > len(lines):
        raise InvalidInputError(
            f"{place.path} has {count(len(lines), 'line')}, not {place.last}", field="lines"
        )
    return lines


class _Touched:
    """Collects the commits that touched lines, as they are followed back."""

    def __init__(self, stored: StoredHistory) -> None:
        self._stored = stored
        self.ids: set[int] = set()

    def follow(
        self, at: FileAt, lines: list[Range], before: Before
    ) -> Iterator[tuple[FileAt | None, list[Range]]]:
        """Yield the lines in the versions before, and note whether the commit touched them."""
        known = self._stored.known[at.commit]
        ranges = merged(lines)[:_MOST_RANGES]
        if len(known.parents) == 1 and before.olders:
            [old] = before.olders
            replaced = replaced_lines(old.matches, ranges, old.lines, before.lines)
            if replaced is not None:
                self.ids.add(known.id)
            yield old.at, [*kept_lines(old.matches, ranges), *(replaced or ())]
            return
        left = ranges
        for old in before.olders:
            yield old.at, kept_lines(old.matches, ranges)
            left = lost_lines(old.matches, left)
        if left and before.is_known:
            self.ids.add(known.id)
        elif left:
            yield None, left


def _named(lines: Range) -> str:
    if lines.end - lines.start == 1:
        return f"line {lines.end} is"
    return f"lines {lines.start + 1}-{lines.end} are"
