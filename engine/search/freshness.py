"""Whether indexed files are still as they were when they were read.

A file with the stat of then is; only one with another stat is read, and compared by its hash.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from typing import TypeVar

from engine.config import LARGEST_FILE_BYTES
from engine.errors import InvalidPathError
from engine.humanize import count
from engine.records import FileStat, display_path
from engine.source.open_folders import stat_beneath
from engine.source.reader import TreeReader
from engine.store import files
from engine.store.connection import Handle

Key = TypeVar("Key")

#: The stat of a file when it was read, and the SHA-256 of its content.
Identity = tuple[FileStat, bytes]

_MOST_COMPARED = 200  # files of one note
_ADVICE = "lines may differ (run cairn index)"


def freshness_of(root: str, indexed: Mapping[Key, tuple[str, Identity]]) -> dict[Key, bool]:
    """Return, for each file, whether it is still as indexed.

    Args:
        root: The resolved root.
        indexed: Paths below it, with what was known of each when it was read.
    """
    fresh = {key: stat_beneath(root, path) == known[0] for key, (path, known) in indexed.items()}
    doubtful = [key for key, is_same in fresh.items() if not is_same]
    if doubtful:
        with ExitStack() as stack:
            reader = _reader_of(root, stack)
            for key in doubtful:
                fresh[key] = reader is not None and _is_fresh(reader, *indexed[key])
    return fresh


def stale_notes(handle: Handle, branch_id: int, root: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Say which of the files that an answer shows have changed or are gone, in one sentence.

    Args:
        handle: A read transaction.
        branch_id: The branch that is checked out.
        root: The resolved root.
        paths: Of the files, as stored; each once or more, and those that are not indexed are
            left out.
    """
    indexed: dict[str, tuple[str, Identity]] = {}
    for path in list(dict.fromkeys(paths))[:_MOST_COMPARED]:
        facts = files.read_file(handle, branch_id, path)
        if facts is not None:
            indexed[path] = path, (facts.stat, facts.content_hash)
    stale = [path for path, is_fresh in freshness_of(root, indexed).items() if not is_fresh]
    return (_sentence_on(stale, root),) if stale else ()


def _sentence_on(stale: Collection[str], root: str) -> str:
    first, *more = stale
    if more:
        others = count(len(more), "other file")
        what = "have changed or are gone since they were indexed"
        return f"{display_path(first)} and {others} {what}: {_ADVICE}"
    what = "is gone" if stat_beneath(root, first) is None else "has changed"
    return f"{display_path(first)} {what} since it was indexed: {_ADVICE}"


def _reader_of(root: str, stack: ExitStack) -> TreeReader | None:
    """Open the root to compare with, or return None when it is gone or closed: nothing is fresh."""
    try:
        return stack.enter_context(TreeReader(root))
    except InvalidPathError:
        return None


def _is_fresh(reader: TreeReader, path: str, known: Identity) -> bool:
    """Compare a file with what was indexed: by its stat, and if that differs by its hash."""
    stat, content_hash = known
    now = reader.stat_of(path)
    if now is None:
        return False
    return now == stat or reader.hash_of(path, LARGEST_FILE_BYTES) == content_hash
