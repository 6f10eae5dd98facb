"""The last commit that changed each of some files, and hits that say it."""

import os
from collections.abc import Iterable, Sequence

from engine.clock import iso_time
from engine.record_class import replaced
from engine.search_records import LastCommit, SearchAnswer
from engine.store import history
from engine.store.connection import Store
from engine.store.history import CommitRow, LastChange


def last_changes(store: Store, paths: Iterable[str]) -> dict[str, LastCommit]:
    """Return the last commit that changed each file, as far as commits were read.

    Args:
        store: The project's database.
        paths: The files, from the root.
    """
    with store.read() as handle:
        found = history.read_last_changes(handle, {os.fsencode(path) for path in paths})
    return {os.fsdecode(path): commit_of(change) for path, change in found.items()}


def commit_of(row: LastChange | CommitRow) -> LastCommit:
    """Return a stored commit as it is shown beside what it changed."""
    return LastCommit(
        commit=row.name.hex(),
        date=iso_time(row.committed_at_s * 1000),
        author=row.author,
        subject=row.subject,
    )


def with_last_changes(store: Store, answer: SearchAnswer, numbers: Sequence[int]) -> SearchAnswer:
    """Return an answer some of whose hits say when their files were changed last, and by whom.

    Args:
        store: The project's database.
        answer: The answer.
        numbers: Of these hits.
    """
    hits = list(answer.hits)
    found = last_changes(store, {hits[number].path for number in numbers})
    if not found:
        return answer
    for number in numbers:
        hits[number] = replaced(hits[number], last_change=found.get(hits[number].path))
    return replaced(answer, hits=tuple(hits))
