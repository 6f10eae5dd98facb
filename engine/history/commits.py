"""Turn a commit into what is stored of it: message, files, and the words of all that it changed.

Secrets are redacted first, as in files. The changed lines themselves are not stored: they stand in
the repository, and their words in the keyword index.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.source.default_excludes import ALWAYS
from engine.source.file_formats import is_binary_name, is_lock_file
from engine.source.git_comparison import PathChange
from engine.source.git_history import Commit, HistoryReader, Lines
from engine.source.ignore import Globs
from engine.source.secret_files import is_secret_file
from engine.source.secrets import redact
from engine.store.history import CommitFile, CommitRow, NewCommit
from engine.syntax.terms import terms_of

if TYPE_CHECKING:
    from engine.embedding.embedder import Passage  # numpy

MOST_FILES: Final = 300  # listed of a commit
_MOST_COMPARED: Final = 60  # files whose lines are compared
_MAX_MESSAGE_BYTES: Final = 16 << 10
_MAX_NAME_CHARS: Final = 200  # of an author
_MAX_FILE_BYTES: Final = 2 << 10  # of the changed lines of a file
_MAX_LINES_BYTES: Final = 12 << 10  # of those of a commit
_MAX_LINE_BYTES: Final = 300
_MAX_REDACTED_BYTES: Final = 10_000  # of a longer line
_MOST_PATHS: Final = 30  # that the words and the vector of a commit count
_MAX_BODY_CHARS: Final = 2000  # that the vector counts
# What tools and reviewers add below a message: it says nothing about the change.
_TRAILER = re.compile(
    r"^(?:[A-Z][\w-]*-by|Change-Id|git-svn-id|Differential Revision|PiperOrigin-RevId|Cc): .*$",
    re.MULTILINE,
)


class PathScope(NamedTuple):
    """Which files of a repository belong to a project."""

    prefix: bytes  # of the project's folder in the repository, with a slash; empty for the top
    include: Globs | None
    exclude: Globs | None

    @classmethod
    def of(cls, prefix: bytes, include: Sequence[str], exclude: Sequence[str]) -> "PathScope":
        """Compile the globs of a project."""
        return cls(
            prefix,
            Globs.compile(include, field="include_patterns") if include else None,
            Globs.compile(exclude, field="exclude_patterns") if exclude else None,
        )

    def has(self, path: str) -> bool:
        """Return whether a file, named from the project's folder, belongs to it."""
        if self.exclude is not None and self.exclude.match(path, False) is not None:
            return False
        if not ALWAYS.keys().isdisjoint(path.split("/")[:-1]):
            return False
        return self.include is None or self.include.match(path, False) is not None


def new_commit(
    reader: HistoryReader, commit: Commit, scope: PathScope, is_left_out: Callable[[str], bool]
) -> NewCommit:
    """Return what is stored of a commit.

    Args:
        reader: Reads the repository.
        commit: What is to be stored.
        scope: Which of its files belong to the project.
        is_left_out: Tells of which of these no words may be stored; they are listed all the same.
    """
    changes = reader.changes(commit, below=scope.prefix)
    message, _ = redact(commit.message.encode()[:_MAX_MESSAGE_BYTES])
    subject, body = split_message(message.decode("utf-8", "replace"))
    files: list[CommitFile] = []
    texts: list[bytes] = []
    left = _MAX_LINES_BYTES
    number = 0
    for change in changes.files:
        path = os.fsdecode(change.path[len(scope.prefix) :])
        if not scope.has(path):
            continue
        number += 1
        lines = None
        paths = _paths(change, scope)
        if number <= _MOST_COMPARED and all(map(_has_lines, paths)):
            lines = reader.lines(change)
        if lines is not None and left > 0 and not any(map(is_left_out, paths)):
            text = _some_of(lines, min(left, _MAX_FILE_BYTES))
            left -= len(text)
            texts.append(text)
        if number <= MOST_FILES:
            files.append(_file_of(change, lines, len(scope.prefix)))
    changed, _ = redact(b"\n".join(texts))
    return NewCommit(
        name=commit.name,
        parents=commit.parents,
        author=_name(commit.author),
        email=_name(commit.email),
        committed_at_s=commit.committed_at_s,
        subject=subject,
        body=body.encode(),
        file_count=number,
        files=tuple(files),
        is_here=bool(number) or not scope.prefix,
        is_partial=changes.is_unreadable,
        is_cut=changes.is_cut,
        terms=(
            terms_of(subject),
            terms_of(without_trailers(body)),
            path_terms(files),
            terms_of(changed.decode("utf-8", "replace")),
        ),
    )


def split_message(message: str) -> tuple[str, str]:
    """Split a message into its subject, in one line, and the rest."""
    subject, _, body = message.strip().partition("\n\n")
    return " ".join(subject.split()), body.strip()


def without_trailers(body: str) -> str:
    """Return the rest of a message without the lines that tools and reviewers added."""
    return _TRAILER.sub("", body)


def path_terms(files: Iterable[CommitFile]) -> str:
    """Return the words of the paths of the first files of a commit."""
    paths = [os.fsdecode(each.path) for each in files][:_MOST_PATHS]
    return terms_of(" ".join(paths))


def passage_of(row: CommitRow, files: Sequence[CommitFile]) -> "Passage":
    """Return what the vector of a commit is made of."""
    from engine.embedding.embedder import Passage  # numpy

    body = without_trailers(row.body)[:_MAX_BODY_CHARS]
    named = "\n".join(os.fsdecode(each.path) for each in files[:_MOST_PATHS])
    text = f"{row.subject}\n\n{body}\n\n{named}".encode("utf-8", "replace").decode()
    return Passage(text, terms_of(row.subject), path_terms(files), terms_of(body))


def _paths(change: PathChange, scope: PathScope) -> set[str]:
    """Return the paths of a file in the project: where it is, and where it came from."""
    at, below = change.path, len(scope.prefix)
    old = change.old_path if change.kind == "R" else at
    return {os.fsdecode(each[below:]) for each in (at, old) if each.startswith(scope.prefix)}


def _has_lines(path: str) -> bool:
    """Return whether the lines of a file may be read, and say something."""
    return not (is_binary_name(path) or is_lock_file(path) or is_secret_file(path))


def _some_of(lines: Lines, limit_bytes: int) -> bytes:
    """Return different changed lines, the added ones first, as far as they fit."""
    found: dict[bytes, None] = {}
    for line in (*lines.added, *lines.removed):
        text = line.strip()
        if len(text) > _MAX_LINE_BYTES:  # a secret that is cut is not recognised
            text = redact(text[:_MAX_REDACTED_BYTES])[0][:_MAX_LINE_BYTES]
        if text and text not in found:
            limit_bytes -= len(text) + 1
            if limit_bytes < 0:
                break
            found[text] = None
    return b"\n".join(found)


def _file_of(change: PathChange, lines: Lines | None, prefix_bytes: int) -> CommitFile:
    return CommitFile(
        change=change.kind,
        path=change.path[prefix_bytes:],
        old_path=change.old_path[prefix_bytes:] if change.kind == "R" else None,
        added=None if lines is None else len(lines.added),
        removed=None if lines is None else len(lines.removed),
    )


def _name(text: str) -> str:
    return " ".join(text.split())[:_MAX_NAME_CHARS]
