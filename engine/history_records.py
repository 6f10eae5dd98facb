"""The frozen records of a project's history: requests, commits and answers.

Times are ISO 8601, UTC.
"""

from enum import StrEnum
from typing import Annotated

from engine.parameters import Parameter
from engine.record_class import record
from engine.records import WHEN_ANY, HistoryExtent
from engine.search_records import MAX_HITS, MAX_QUERY_CHARS, LastCommit

MAX_SHOWN_FILES = 10  # of a commit that was found


@record
class HistoryRequest:
    """A question about the commits of a project. Filters are ANDed with those in the question."""

    query: Annotated[
        str,
        Parameter(
            'words, "phrases" and filters (author: after: before: path: lines:); empty: the newest',
            max_length=MAX_QUERY_CHARS,
            example="when did retries become exponential",
        ),
    ] = ""
    author: Annotated[
        str | None, Parameter("only commits by this author: a part of the name or the address")
    ] = None
    after: Annotated[
        str | None,
        Parameter(
            "only commits from then on: 2024-05-31, 2024-05, 2024, yesterday, or an age: 30d, 6m"
        ),
    ] = None
    before: Annotated[str | None, Parameter("only commits before then, written likewise")] = None
    path: Annotated[
        str | None,
        Parameter("only commits that changed a path with this prefix, or matching this glob"),
    ] = None
    lines: Annotated[
        str | None,
        Parameter(
            "only commits that touched these lines of a file as it is now, under any name it had:"
            " PATH:LINE or PATH:START-END",
            max_length=MAX_QUERY_CHARS,
            example="src/retry.py:6-7",
        ),
    ] = None
    limit: Annotated[int, Parameter("maximum number of commits", minimum=1, maximum=MAX_HITS)] = 10


@record
class ChangedPath:
    """A file that a commit changed."""

    path: Annotated[str, "from the root; of a deleted file, where it was"]
    change: Annotated[str, "added, modified, deleted or renamed"]
    old_path: Annotated[str | None, "of a renamed file"] = None
    added: Annotated[int | None, "lines; null: not counted, as of binary files"] = None
    removed: Annotated[int | None, "lines; null: not counted"] = None

    def as_line(self) -> str:
        """Return the change in a line: ``M src/retry.py +12 -3``."""
        path = f"{self.old_path} → {self.path}" if self.old_path else self.path
        lines = "" if self.added is None else f" +{self.added} -{self.removed}"
        return f"{self.change[0].upper()} {path}{lines}"


@record
class CommitHit:
    """A commit that answers."""

    commit: Annotated[str, "its name, in hexadecimal"]
    date: Annotated[str, "when it was committed"]
    author: str
    email: str
    subject: Annotated[str, "first paragraph of its message"]
    body: Annotated[str, "the rest of its message"]
    files: Annotated[tuple[ChangedPath, ...], "by path; the first ones"]
    file_count: Annotated[int, "of all files that it changed in the project"]
    score: Annotated[float, "higher is better, within one answer; 0 in a list"]
    why: Annotated[tuple[str, ...], "where it matches: subject, body, paths, lines, meaning"]


@record
class DiffLine:
    """A line of a difference: of both versions, or only of the old or the new one."""

    text: str
    old: int | None = None  # its number in the old version; None: it was added
    new: int | None = None  # its number in the new version; None: it was removed


@record
class Hunk:
    """Lines that came and went near one another, with context."""

    lines: tuple[DiffLine, ...]


@record
class FileDiff:
    """What a commit changed in a file."""

    path: str
    hunks: tuple[Hunk, ...] = ()
    added: int | None = None  # lines; None: not compared
    removed: int | None = None
    note: str = ""  # why lines are not shown


@record
class HistoryCoverage:
    """How much of the history an answer covers."""

    commits: Annotated[int, "that can be found"]
    extent: Annotated[HistoryExtent, "all commits, only the newest ones, or those read so far"]
    complete: Annotated[bool, "false while commits are read, or when some cannot be"]
    since: Annotated[str | None, "date of the oldest one that can be found"]


@record
class HistoryAnswer:
    """A ranked answer; ``cairn log --json`` prints exactly these keys."""

    project: Annotated[str, "the root"]
    query: str
    took_ms: float
    total: Annotated[int, "commits that match"]
    truncated: Annotated[bool, "whether there are more"]
    coverage: HistoryCoverage
    commits: tuple[CommitHit, ...]
    notes: Annotated[tuple[str, ...], WHEN_ANY, "what to know about the answer, in sentences"] = ()


class LineOrigin(StrEnum):
    """Where lines of a file come from."""

    COMMIT = "commit"
    UNCOMMITTED = "uncommitted"  # they are not in the last commit that was read
    OLDER = "older"  # than the commits that were read, or looked at


@record
class BlameRun:
    """Lines that stand together and were changed last by the same commit."""

    line_start: int
    line_end: Annotated[int, "included"]
    origin: Annotated[LineOrigin, "commit, uncommitted, or older than the commits that were read"]
    commit: Annotated[LastCommit | None, "null: none that was read"] = None


@record
class Blame:
    """The commit that changed each line of a file last."""

    project: Annotated[str, "the root"]
    path: str
    lines: int
    runs: Annotated[tuple[BlameRun, ...], "in order, of all lines"]
    notes: Annotated[tuple[str, ...], WHEN_ANY, "what to know about the answer, in sentences"] = ()
