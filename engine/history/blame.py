"""Who changed each line of a file last, and in which commit: the whole file is followed once."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from engine.browse_records import FileContent
from engine.history.last_changes import commit_of
from engine.history.line_diff import Match, matching_runs
from engine.history.versions import (
    NOT_THERE,
    Before,
    FileAt,
    FileVersions,
    StoredHistory,
    lines_of,
    opened_versions,
    walk,
)
from engine.history_records import Blame, BlameRun, LineOrigin
from engine.records import SkipReason
from engine.source.content import NOTEBOOK_LANGUAGE
from engine.source.encodings import decode
from engine.source.git_objects import UnreadableObjectError
from engine.source.secrets import redact
from engine.store import history
from engine.store.connection import Store

_NO_COMMIT: Final = {0: LineOrigin.UNCOMMITTED, -1: LineOrigin.OLDER}
_UNCOMMITTED, _OLDER = _NO_COMMIT  # in place of ids of commits, which begin at 1


# Lines of a version that stand together in the file as it is now: where they begin, from 0, where
# they end, and the shift to their numbers in the file. A plain tuple: millions of them are made.
_Segment = tuple[int, int, int]


def blame_of(
    store: Store, root: str, stored: StoredHistory, path: str, content: FileContent
) -> Blame:
    """Return the commit that changed each line of an indexed file last.

    Args:
        store: The project's database.
        root: Its resolved folder.
        stored: Its commits.
        path: The file, as it is spelled on disk, from the root.
        content: Its text as it was indexed.
    """
    lines = lines_of(content.text.encode("utf-8", "replace"))
    owners = [_OLDER] * len(lines)
    notes: Sequence[str] = ("the history of the file was not read",)
    try:
        with opened_versions(store, root, stored) as versions:
            if versions is not None:
                notes = _follow(versions, path, lines, owners, content)
    except UnreadableObjectError as error:
        notes = (f"the lines cannot be followed: {error}",)
    return Blame(
        project=content.project,
        path=content.path,
        lines=len(lines),
        runs=_runs_of(store, owners),
        notes=tuple(notes),
    )


def _follow(
    versions: FileVersions,
    path: str,
    lines: list[bytes],
    owners: list[int],
    content: FileContent,
) -> Sequence[str]:
    """Set the owners of lines, and return what to know about them."""
    stored = versions.stored
    at, committed = versions.committed(os.fsencode(path))
    if isinstance(committed, str):
        if committed == NOT_THERE:
            owners[:] = [_UNCOMMITTED] * len(owners)
        return (f"{path} {committed}",)
    if content.language == NOTEBOOK_LANGUAGE:
        return (f"{path} is indexed as the text of its cells: its commits have other lines",)
    committed = as_indexed(committed, is_redacted=content.redactions > 0)
    kept, new = _split([(0, len(lines), 0)], matching_runs(committed, lines))
    for start, end, _ in new:
        owners[start:end] = [_UNCOMMITTED] * (end - start)

    def pass_on(
        at: FileAt, segments: list[_Segment], before: Before
    ) -> Iterator[tuple[FileAt | None, list[_Segment]]]:
        left = _joined(segments)
        for old in before.olders:
            found, left = _split(left, old.matches)
            yield old.at, found
        if not before.is_known:
            yield None, left
            return
        for start, end, shift in left:
            owners[start + shift : end + shift] = [stored.known[at.commit].id] * (end - start)

    return walk(versions, at, kept, pass_on).notes(stored)


def as_indexed(lines: list[bytes], *, is_redacted: bool) -> list[bytes]:
    """Return lines of a commit in the encoding of the index, with stars for values of secrets."""
    text = b"\n".join((*lines, b""))
    decoded = decode(text) if text else SkipReason.BINARY
    if not isinstance(decoded, SkipReason):
        text, _ = decoded
    return lines_of(redact(text)[0] if is_redacted else text)


def _split(
    segments: Sequence[_Segment], matches: Sequence[Match]
) -> tuple[list[_Segment], list[_Segment]]:
    """Return the lines of segments that the old version has, as there, and the others.

    Both are in order, and so is what is returned of the new version; one pass over both is enough.
    """
    kept, left = [], []
    runs = iter((*matches, None))
    run = next(runs)
    for segment in segments:
        at, end, shift = segment
        while at < end:
            while run is not None and run.new + run.length <= at:
                run = next(runs)
            if run is None or end <= run.new:
                left.append((at, end, shift))
                break
            if at < run.new:
                left.append((at, run.new, shift))
                at = run.new
            until = min(end, run.new + run.length)
            moved = run.old - run.new
            kept.append((at + moved, until + moved, shift - moved))
            at = until
    return kept, left


def _joined(segments: Sequence[_Segment]) -> list[_Segment]:
    """Return segments in order, those that go on with one another as one."""
    found: list[_Segment] = []
    last = (0, -1, 0)
    for start, end, shift in sorted(segments):
        if last[1] == start and last[2] == shift:
            last = found[-1] = (last[0], end, shift)
        else:
            last = (start, end, shift)
            found.append(last)
    return found


def _runs_of(store: Store, owners: Sequence[int]) -> tuple[BlameRun, ...]:
    with store.read() as handle:
        rows = history.read_commits(handle, sorted(set(owners) - _NO_COMMIT.keys()))
    commits = {id_: commit_of(row) for id_, row in rows.items()}
    runs = []
    line = 1
    for owner, group in groupby(owners):
        number = sum(1 for _ in group)
        commit = commits.get(owner)
        runs.append(
            BlameRun(
                line_start=line,
                line_end=line + number - 1,
                origin=LineOrigin.COMMIT if commit else _NO_COMMIT.get(owner, LineOrigin.OLDER),
                commit=commit,
            )
        )
        line += number
    return tuple(runs)
