"""Who changed the lines of a file last, as it stands beside the blocks of its page."""

from typing import NamedTuple

from engine.browse_records import FileContent
from engine.history_records import Blame, BlameRun, LineOrigin
from engine.project import Project
from engine.search_records import LastCommit
from web.pages.code_blocks import BLOCK

_WITHOUT_COMMIT = {LineOrigin.UNCOMMITTED: "not committed", LineOrigin.OLDER: "older"}


class ShownRun(NamedTuple):
    """Lines of a block that were changed last by the same commit."""

    lines: int  # their number
    commit: LastCommit | None
    text: str  # what is said without a commit


class ShownBlame(NamedTuple):
    """The runs of each block, and what to know about them."""

    blocks: tuple[tuple[ShownRun, ...], ...]
    notes: tuple[str, ...]


def shown_blame(index: Project, path: str, content: FileContent) -> ShownBlame:
    """Return who changed the lines of a file last.

    Args:
        index: The project.
        path: The file, as it is spelled on disk.
        content: Its text as it was indexed.
    """
    return _by_blocks(index.history.blame(path, content))


def kept_blame(index: Project, path: str, content: FileContent) -> ShownBlame | None:
    """Return what ``shown_blame`` does if nothing has to be read for it, else None at once."""
    found = index.history.kept_blame(path, content)
    return None if found is None else _by_blocks(found)


def _by_blocks(found: Blame) -> ShownBlame:
    blocks: list[list[ShownRun]] = [[] for _ in range(0, found.lines, BLOCK)]
    for run in found.runs:
        for number, lines in _by_block(run):
            text = _WITHOUT_COMMIT.get(run.origin, "")
            blocks[number].append(ShownRun(lines, run.commit, text))
    return ShownBlame(tuple(map(tuple, blocks)), found.notes)


def _by_block(run: BlameRun) -> list[tuple[int, int]]:
    """Return in which blocks a run stands, with the number of its lines there."""
    first, end = run.line_start - 1, run.line_end
    return [
        (number, min(end, (number + 1) * BLOCK) - max(first, number * BLOCK))
        for number in range(first // BLOCK, (end - 1) // BLOCK + 1)
    ]
