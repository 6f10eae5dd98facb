"""Checks of the history: its commits, their files, words and vectors, from which blame is read.

Commits that do not hold together are removed with all that is stored of them. The next reading of
the history, which is due from then on, reads them again from the repository.
"""

from collections.abc import Callable, Iterator, Sequence

from engine.doctor.check import Check, Context, DeleteRows, Fix, Problem, delete_rows
from engine.doctor_records import FindingCode
from engine.errors import IndexCorruptError
from engine.history.commits import MOST_FILES
from engine.humanize import count
from engine.store import checks, history, history_checks, repair
from engine.store.compression import unpack_text
from engine.store.connection import Handle

_AT_ONCE = 1000  # commits in one snapshot


def _find_commits(context: Context) -> Iterator[Problem]:
    """Find commits whose parts are missing or unreadable, and parts of commits that are gone."""
    with context.reading() as handle:
        broken = set(history_checks.read_broken_commits(handle, MOST_FILES))
        stray = history_checks.read_rows_without_commit(handle)
        orphaned = checks.read_orphaned_words(handle, checks.COMMIT_WORDS)
    number, unreadable, vectors = _read_all(context)
    broken |= set(unreadable)
    if number:
        context.checked["commits"] = number
    if broken:
        message = f"Found {count(len(broken), 'commit')} of the history damaged"
        yield Problem(FindingCode.HISTORY, message, len(broken), sorted(broken))
    if vectors:
        message = f"Found {count(len(vectors), 'vector')} of commits damaged"
        yield Problem(FindingCode.HISTORY_VECTORS, message, len(vectors), vectors)
    lost = sorted({*stray, *orphaned})
    if lost:
        message = f"Found files or words of {count(len(lost), 'commit')} that are gone"
        yield Problem(FindingCode.HISTORY_LOST, message, len(lost), lost)


def _read_all(context: Context) -> tuple[int, list[int], list[int]]:
    """Return how many commits there are, whose messages and whose vectors cannot be read."""
    from engine.store.vector_format import has_valid_checksum

    number = after = 0
    unreadable: list[int] = []
    vectors: list[int] = []
    while True:
        with context.reading() as handle:
            rows = history_checks.read_bodies_and_vectors(handle, after, _AT_ONCE)
        if not rows:
            return number, unreadable, vectors
        for commit_id, body, vector, texts in rows:
            try:
                unpack_text(body)
                texts.decode()
            except (IndexCorruptError, UnicodeDecodeError):
                unreadable.append(commit_id)
            if vector is not None and not has_valid_checksum(vector):
                vectors.append(commit_id)
        number += len(rows)
        after = rows[-1][0]


def _fix_by(told: Callable[[int], str], *deletes: DeleteRows) -> Fix:
    """Return a fix that deletes what belongs to commits, so that they are due to be read again.

    Args:
        told: Says what was done, given the number of commits.
        deletes: Delete rows by the ids of commits.
    """

    def forget_head(handle: Handle, _ids: Sequence[int]) -> None:
        history.forget_head(handle)  # with each batch: a run may read the history in between

    def fix(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
        for problem in problems:
            delete_rows(context, problem.ids, *deletes, forget_head)
            yield told(problem.number)

    return fix


def _commits_removed(number: int) -> str:
    commits = count(number, "damaged commit")
    return f"Removed {commits}; the next reading of the history reads them again"


def _vectors_removed(number: int) -> str:
    vectors = count(number, "damaged vector")
    return f"Removed {vectors} of commits; the next reading of the history makes them again"


def _lost_deleted(number: int) -> str:
    return f"Deleted the files and words of {count(number, 'commit')} that are gone"


def _delete_lost_words(handle: Handle, ids: Sequence[int]) -> None:
    repair.delete_orphaned_words(handle, checks.COMMIT_WORDS, ids)


def _clear(context: Context, _problems: Sequence[Problem]) -> Iterator[str]:
    """Delete all commits: their words, which are stored nowhere else, cannot be written again."""
    with context.store.write(durable=True) as handle:
        history.clear_history(handle)
    yield "Emptied the history, to be read again"


HISTORY = Check(
    name="history",
    find=_find_commits,
    fixes={
        FindingCode.HISTORY_WORDS: _clear,
        FindingCode.HISTORY: _fix_by(_commits_removed, history.delete_commits),
        FindingCode.HISTORY_VECTORS: _fix_by(_vectors_removed, history.delete_vectors),
        FindingCode.HISTORY_LOST: _fix_by(
            _lost_deleted, history_checks.delete_rows_without_commit, _delete_lost_words
        ),
    },
)
