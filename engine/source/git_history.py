"""Read the history of a repository: commits, the files that they changed, and the changed lines.

On top of ``git_objects``, so git is never run and a repository is untrusted: each commit may cost
so much work and no more, and what cannot be read is told, not raised, as far as the rest of the
commit makes sense without it.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import heappop, heappush
from itertools import chain
from typing import Final, NamedTuple

from engine.cancellation import CancelToken
from engine.errors import Cancelled
from engine.source.encodings import HEAD_BYTES
from engine.source.git import Repository
from engine.source.git_comparison import PathChange, TreeComparison
from engine.source.git_files import git_settings, read_regular
from engine.source.git_objects import GitObjects, ObjectTooLargeError, UnreadableObjectError
from engine.source.git_renames import renames, with_renames
from engine.source.secrets import redact

_CACHED_BYTES: Final = 64 << 20
_WORK_BYTES: Final = 256 << 20  # unpacked for one commit at most
_MAX_SHALLOW_BYTES: Final = 4 << 20
_MAX_FILE_BYTES: Final = 512 << 10  # of a file whose lines are compared
_MAX_TREE_BYTES: Final = 4 << 20  # of a folder: some 100,000 files
_MOST_KEPT_ENTRIES: Final = 200_000  # of all folders that were read last
_MOST_KEPT_COMMITS: Final = 4000  # that were read last
_MOST_FOUND: Final = 20_000  # entries of folders that were looked for last
_MAX_KEPT_CHARS: Final = 4000  # of the message of one that is kept
_LATEST_S: Final = 253_402_300_799  # the end of the year 9999

_ENTRY = {size: re.compile(rb"(\d{5,6}) ([^\0/]+)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)}
# Git's own history has merges of less than a hundred.
_HEADER = {
    size: re.compile(
        rb"tree ([0-9a-f]{%d})\n((?:parent [0-9a-f]{%d}\n){0,500})(?!parent )"
        % (2 * size, 2 * size)
    )
    for size in (20, 32)
}
_AUTHOR = re.compile(rb"^author (.*?) ?<([^<>\n]*)> ?(-?\d{1,18})?", re.MULTILINE)
_COMMITTER = re.compile(rb"^committer .*> (-?\d{1,18})", re.MULTILINE)
_ENCODING = re.compile(rb"^encoding ([\w.:-]{1,40})$", re.MULTILINE)
_FOLDER, _FILE = re.compile(rb"0?40000"), re.compile(rb"10[0-7]{4}")
# Whole entries, however many. Without them, a mode and a name within a name or an object's name
# could not be told from an entry. Not "(…)*+": Python 3.11.2 counts half an entry at the end.
_ENTRIES = {
    size: re.compile(rb"(?>(?:\d{5,6} [^\0]+\0.{%d})*)" % size, re.DOTALL) for size in (20, 32)
}


class Commit(NamedTuple):
    """A commit as git stores it."""

    name: bytes
    tree: bytes
    parents: tuple[bytes, ...]
    author: str
    email: str
    committed_at_s: int  # seconds since 1970, from 1970 to 9999
    message: str


class Changes(NamedTuple):
    """The files that a commit changed, by path."""

    files: list[PathChange]
    is_cut: bool = False  # there are more than a commit may have
    is_unreadable: bool = False  # there may be more, which could not be read now


class Lines(NamedTuple):
    """The lines that a change added and removed; moved ones are neither."""

    added: list[bytes]
    removed: list[bytes]


class Place(NamedTuple):
    """A commit in the graph of all."""

    parents: tuple[bytes, ...]
    committed_at_s: int


def newest_first(
    start: bytes, place_of: Callable[[bytes], Place | None], *, least: int, span_s: int
) -> Iterator[bytes]:
    """Yield a commit and those before it, the newest first, until there are enough.

    What comes depends on the graph alone, and on nothing that was read before.

    Args:
        start: The first one.
        place_of: Returns where a commit is; None: it cannot be read, so those before it are
            unknown.
        least: So many come, if there are,
        span_s: and all that are younger, from the first one back.
    """
    first = place_of(start)
    if first is None:
        return
    oldest_s = first.committed_at_s - span_s
    pending = [(-first.committed_at_s, start, first.parents)]
    seen = {start}
    number = 0
    while pending:
        age, name, parents = heappop(pending)
        if number >= least and -age < oldest_s:
            return
        number += 1
        yield name
        for parent in parents:
            if parent not in seen:
                seen.add(parent)
                place = place_of(parent)
                if place is not None:
                    heappush(pending, (-place.committed_at_s, parent, place.parents))


class HistoryReader:
    """Reads the commits of a repository, for one thread; to be closed.

    Args:
        repository: The repository.
        cancelled: Polled for each folder and file.

    Raises:
        UnreadableObjectError: Its objects cannot be opened.
    """

    def __init__(self, repository: Repository, cancelled: CancelToken) -> None:
        self._cancelled = cancelled
        common_dir = repository.common_dir
        self._hash_bytes = git_settings(repository.top, common_dir).hash_bytes
        self._entry, self._entries = _ENTRY[self._hash_bytes], _ENTRIES[self._hash_bytes]
        self._objects = GitObjects(
            common_dir, hash_bytes=self._hash_bytes, cached_bytes=_CACHED_BYTES
        )
        self._commits: dict[bytes, Commit] = {}
        self._trees: OrderedDict[bytes, frozenset[tuple[bytes, ...]]] = OrderedDict()
        self._kept_entries = 0
        # objects of entries of folders
        self._found: dict[tuple[bytes, bytes, re.Pattern[bytes]], bytes] = {}
        #: The commits without those before them, in a clone that was not made whole.
        self.shallow = _shallow_commits(common_dir)

    def close(self) -> None:
        """Close its files."""
        self._objects.close()

    def commit(self, name: bytes) -> Commit:
        """Return a commit; those that were read last are kept, unless their messages are long.

        Raises:
            UnreadableObjectError: It is missing or damaged.
        """
        found = self._commits.get(name)
        if found is None:
            found = self._read_commit(name)
            if len(found.message) <= _MAX_KEPT_CHARS:
                self._commits[name] = found
            if len(self._commits) > _MOST_KEPT_COMMITS:
                del self._commits[next(iter(self._commits))]
        return found

    def changes(self, commit: Commit, *, below: bytes = b"") -> Changes:
        """Return the files in which a commit differs from the one before it.

        A merge changes nothing by itself, and of a commit without those before it, in a clone that
        was not made whole, it is not known.

        Args:
            commit: The commit.
            below: Only files in this folder, whose name ends with a slash; empty for all.
        """
        if len(commit.parents) > 1 or commit.name in self.shallow:
            return Changes([], is_unreadable=commit.name in self.shallow)
        self._objects.allow(_WORK_BYTES)
        before = b""
        try:
            if commit.parents:
                before = self.commit(commit.parents[0]).tree
            comparison = TreeComparison(self._tree, self._cancelled, below)
            comparison.compare(b"", before, commit.tree)
        except ObjectTooLargeError:
            return Changes([], is_cut=True)
        except UnreadableObjectError:
            return Changes([], is_unreadable=True)
        return Changes(with_renames(comparison.files(), self.text), comparison.is_cut)

    def blob_of(self, commit: bytes, path: bytes) -> bytes:
        """Return the name of the blob of a file in a commit; empty if there is no such file.

        Args:
            commit: The name of the commit.
            path: The file, from the top.

        Raises:
            UnreadableObjectError: The commit or a folder is missing, damaged or too large.
        """
        self._objects.allow(_WORK_BYTES)
        name = self._tree_of(commit)
        *folders, file = path.split(b"/")
        for folder in folders:
            name = self._entry_of(name, folder, _FOLDER)
        return self._entry_of(name, file, _FILE)

    def renamed_from(
        self, commit: bytes, parent: bytes, path: bytes, *, below: bytes = b""
    ) -> bytes:
        """Return the name that a file of a commit has in a parent, which lacks it under this one.

        Args:
            commit: The name of the commit; a merge too.
            parent: The name of the parent.
            path: The file, from the top.
            below: See ``changes``.

        Returns:
            The path from the top of the file that is gone and has most of its lines; empty: none.

        Raises:
            UnreadableObjectError: A commit or a folder is missing or damaged.
        """
        self._objects.allow(_WORK_BYTES)
        comparison = TreeComparison(self._tree, self._cancelled, below, is_new_left_out=True)
        comparison.compare(b"", self._tree_of(parent), self._tree_of(commit))
        come = PathChange("A", path, path, self.blob_of(commit, path), b"")
        found = renames(comparison.gone(), [come], self.text).get(come)
        return b"" if found is None else found.path

    def _tree_of(self, commit: bytes) -> bytes:
        """Return the name of the folder of a commit."""
        known = self._commits.get(commit)
        if known is not None:
            return known.tree
        found = _HEADER[self._hash_bytes].match(self._objects.read(commit, b"commit"))
        if found is None:
            raise UnreadableObjectError(f"the commit {commit.hex()[:12]} is damaged")
        return bytes.fromhex(found[1].decode())

    def _entry_of(self, tree: bytes, file: bytes, modes: re.Pattern[bytes]) -> bytes:
        """Return the object of an entry of a folder; empty if there is no such folder or entry."""
        if self._cancelled():
            raise Cancelled("reading the history was stopped")
        key = (tree, file, modes)
        if not tree or key in self._found:
            return self._found.get(key, b"")
        data = self._objects.read(tree, b"tree")
        ended = b" " + file + b"\0"
        begin, at = 0, data.find(ended)
        while at >= 0:
            before = self._entries.match(data, begin, at)
            begin = before.end() if before else begin
            if modes.fullmatch(data, begin, at):
                break
            at = data.find(ended, at + 1)
        start = at + len(ended)
        found = self._found[key] = data[start : start + self._hash_bytes] if at >= 0 else b""
        if len(self._found) > _MOST_FOUND:
            del self._found[next(iter(self._found))]
        return found

    def lines(self, change: PathChange) -> Lines | None:
        """Return the lines that a change of a file added and removed.

        None if that cannot be told: the file is no text, too large, or cannot be read.
        """
        new, old = self.text(change.new), self.text(change.old)
        if new is None or old is None:
            return None
        new_lines, old_lines = (_without_keys(each).splitlines() for each in (new, old))
        known, kept = set(old_lines), set(new_lines)
        return Lines(
            [line for line in new_lines if line not in known],
            [line for line in old_lines if line not in kept],
        )

    def text(self, name: bytes, limit_bytes: int = _MAX_FILE_BYTES) -> bytes | None:
        """Return a version of a file; None if it is no text, too large, or cannot be read."""
        with suppress(UnreadableObjectError):
            return self.known_text(name, limit_bytes)
        return None

    def known_text(self, name: bytes, limit_bytes: int) -> bytes | None:
        """Return a version of a file; None if it is no text, or too large.

        Raises:
            UnreadableObjectError: It is missing or damaged.
        """
        if self._cancelled():
            raise Cancelled("reading the history was stopped")
        if not name:
            return b""
        with suppress(ObjectTooLargeError):
            data = self._objects.read(name, b"blob", limit_bytes=limit_bytes)
            if b"\0" not in data[:HEAD_BYTES]:
                return data
        return None

    def content(self, name: bytes, limit_bytes: int) -> bytes:
        """Return a version of a file as it is, text or not.

        Raises:
            UnreadableObjectError: It is missing, damaged or too large.
        """
        if self._cancelled():
            raise Cancelled("reading the history was stopped")
        self._objects.allow(_WORK_BYTES)
        return self._objects.read(name, b"blob", limit_bytes=limit_bytes)

    def _read_commit(self, name: bytes) -> Commit:
        self._objects.allow(_WORK_BYTES)
        data = self._objects.read(name, b"commit")
        head, _, message = data.partition(b"\n\n")
        found = _HEADER[self._hash_bytes].match(head + b"\n")
        if found is None:
            raise UnreadableObjectError(f"the commit {name.hex()[:12]} is damaged")
        parents = () if name in self.shallow else tuple(found[2].split()[1::2])
        encoding = _ENCODING.search(head)
        decode = _decoder(encoding[1].decode() if encoding else "utf-8")
        author, committer = _AUTHOR.search(head), _COMMITTER.search(head)
        at_s = int(committer[1]) if committer else int(author[3] or 0) if author else 0
        return Commit(
            name=name,
            tree=bytes.fromhex(found[1].decode()),
            parents=tuple(bytes.fromhex(each.decode()) for each in parents),
            author=decode(author[1]) if author else "",
            email=decode(author[2]) if author else "",
            committed_at_s=min(max(at_s, 0), _LATEST_S),
            message=decode(message).strip("\n"),
        )

    def _tree(self, name: bytes) -> frozenset[tuple[bytes, ...]]:
        """Return the entries of a folder: mode, file name, object name; empty without a name."""
        if self._cancelled():
            raise Cancelled("reading the history was stopped")
        if not name:
            return frozenset()
        found = self._trees.get(name)
        if found is not None:
            self._trees.move_to_end(name)
            return found
        data = self._objects.read(name, b"tree")
        if len(data) > _MAX_TREE_BYTES:
            raise ObjectTooLargeError("a folder of the commit is too large to be read")
        entries = self._entry.findall(data)
        if sum(map(len, chain.from_iterable(entries))) + 2 * len(entries) != len(data):
            raise UnreadableObjectError("a folder of the commit is damaged")
        found = self._trees[name] = frozenset(entries)
        self._kept_entries += len(found)
        while self._kept_entries > _MOST_KEPT_ENTRIES:
            _, oldest = self._trees.popitem(last=False)
            self._kept_entries -= len(oldest)
        return found


def _without_keys(text: bytes) -> bytes:
    """Redact a text with private keys, whose lines are recognised only beside the first one."""
    return redact(text)[0] if b"PRIVATE KEY" in text else text


def _shallow_commits(common_dir: str) -> frozenset[bytes]:
    data = read_regular(os.path.join(common_dir, "shallow"), _MAX_SHALLOW_BYTES) or b""
    names = set()
    for line in data.split():
        with suppress(ValueError):
            names.add(bytes.fromhex(line.decode("ascii", "replace")))
    return frozenset(names)


def _decoder(encoding: str) -> Callable[[bytes], str]:
    """Return a function that decodes what git says to be in an encoding, and never raises.

    What it returns can be stored: without NUL, and without half of a character.
    """

    def decode(data: bytes) -> str:
        text = data.decode("utf-8", "replace")
        for name in ("utf-8", encoding):
            with suppress(LookupError, ValueError):
                text = data.decode(name)
                break
        return text.encode("utf-8", "replace").decode().replace("\0", "")

    return decode
