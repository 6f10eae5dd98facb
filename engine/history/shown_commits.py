"""Stored commits as answers show them."""

import os
from collections.abc import Collection, Sequence
from typing import Final

from engine.clock import iso_time
from engine.history.versions import StoredHistory
from engine.history_records import MAX_SHOWN_FILES, ChangedPath, CommitHit
from engine.search.query import FilterTerm
from engine.search.selection import path_predicate
from engine.store.history import CommitFile, CommitRow

_CHANGES: Final = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed"}


def hit_of(row: CommitRow, files: Sequence[CommitFile], score: float) -> CommitHit:
    """Return a stored commit as it is shown."""
    return CommitHit(
        commit=row.name.hex(),
        date=iso_time(row.committed_at_s * 1000),
        author=row.author,
        email=row.email,
        subject=row.subject,
        body=row.body,
        files=tuple(map(_changed_path, files)),
        file_count=row.file_count,
        score=round(score, 4),
        why=(),
    )


def why_no_files(stored: StoredHistory, commit: CommitHit) -> str:
    """Say why a commit lists no files; empty: it lists some."""
    if commit.file_count:
        return ""
    place = stored.known.get(bytes.fromhex(commit.commit))
    if place is not None and len(place.parents) > 1:
        return (
            f"a merge of {len(place.parents)} commits: what changed is told by the commits that it"
            " joins"
        )
    if place is not None and place.id in stored.partial:
        return "its files cannot be read from the repository"
    return "it changed no file of this project"


def _changed_path(file: CommitFile) -> ChangedPath:
    return ChangedPath(
        path=file.path.decode("utf-8", "replace"),
        change=_CHANGES[file.change],
        old_path=None if file.old_path is None else file.old_path.decode("utf-8", "replace"),
        added=file.added,
        removed=file.removed,
    )


def shown_files(
    files: Sequence[CommitFile], terms: Sequence[FilterTerm], named: Collection[bytes]
) -> Sequence[CommitFile]:
    """Return the files of a commit to show, first those that were asked about.

    Args:
        files: All of them.
        terms: The filters by path.
        named: Other paths that were asked about.
    """
    passes = [path_predicate(term.value, position=None) for term in terms if not term.negated]

    def is_other(file: CommitFile) -> bool:
        return file.path not in named and not any(
            accepts(os.fsdecode(file.path), "") for accepts in passes
        )

    return sorted(files, key=is_other)[:MAX_SHOWN_FILES]
