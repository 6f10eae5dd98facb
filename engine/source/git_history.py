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
from engine.source.git_files import git_settings, read_regular
from engine.source.git_objects import GitObjects, ObjectTooLargeError, UnreadableObjectError

_CACHED_BYTES: Final = 64 << 20
_WORK_BYTES: Final = 256 << 20  # unpacked for one commit at most
_MAX_SHALLOW_BYTES: Final = 4 << 20
_MAX_DEPTH: Final = 100  # of folders
_MOST_ENTRIES: Final = 20_000  # of folders that differ, looked at in one commit
_MOST_CHANGES: Final = 2000  # files of a commit; it has more when the list is cut
_MOST_PAIRED: Final = 50  # deleted and added files that are compared to find renamed ones
_SIMILAR: Final = 0.5  # share of common lines of a renamed file, as git's own default
_MAX_FILE_BYTES: Final = 512 << 10  # of a file whose lines are compared
_MAX_PAIRED_BYTES: Final = 8 << 20  # of all files that are compared to find renamed ones
_MAX_TREE_BYTES: Final = 4 << 20  # of a folder: some 100,000 files
_MAX_PATH_BYTES: Final = 4096
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
_SUBMODULE: Final = b"160000"
_FOLDER_MODES: Final = (b"40000", b"040000")
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


class PathChange(NamedTuple):
    """A file that a commit changed."""

    kind: str  # A, M, D or R, as git names them: added, modified, deleted, renamed
    path: bytes  # from the top; of a deleted file, where it was
    old_path: bytes  # of a renamed file; else the same
    new: bytes  # the name of its blob; empty: there is none, or it is a submodule's
    old: bytes


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
            comparison = _Comparison(self._tree, self._cancelled, below)
            comparison.compare(b"", before, commit.tree)
        except ObjectTooLargeError:
            return Changes([], is_cut=True)
        except UnreadableObjectError:
            return Changes([], is_unreadable=True)
        return Changes(self._with_renames(comparison.files()), comparison.is_cut)

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
        new_lines, old_lines = new.splitlines(), old.splitlines()
        known, kept = set(old_lines), set(new_lines)
        return Lines(
            [line for line in new_lines if line not in known],
            [line for line in old_lines if line not in kept],
        )

    def text(self, name: bytes, limit_bytes: int = _MAX_FILE_BYTES) -> bytes | None:
        """Return a version of a file; None if it is no text, too large, or cannot be read."""
        if self._cancelled():
            raise Cancelled("reading the history was stopped")
        if not name:
            return b""
        with suppress(UnreadableObjectError):
            data = self._objects.read(name, b"blob", limit_bytes=limit_bytes)
            if b"\0" not in data[:HEAD_BYTES]:
                return data
        return None

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

    def _with_renames(self, files: list[PathChange]) -> list[PathChange]:
        """Return changes in which a deleted and an added file with the same text are one."""
        gone = [each for each in files if each.kind == "D" and each.old]
        come = [each for each in files if each.kind == "A" and each.new]
        if not gone or not come:
            return files
        renamed = dict(_same(gone, come))
        rest = [each for each in gone if each not in renamed.values()]
        others = [each for each in come if each not in renamed]
        if len(rest) <= _MOST_PAIRED and len(others) <= _MOST_PAIRED:
            renamed |= self._similar(rest, others)
        left = set(renamed.values())
        return [
            each._replace(kind="R", old_path=renamed[each].path, old=renamed[each].old)
            if each in renamed
            else each
            for each in files
            if each not in left
        ]

    def _similar(
        self, gone: list[PathChange], come: list[PathChange]
    ) -> dict[PathChange, PathChange]:
        """Pair added files with the deleted ones that have most of their lines, best first."""
        left_bytes = _MAX_PAIRED_BYTES

        def lines_of(name: bytes) -> frozenset[bytes]:
            nonlocal left_bytes
            text = (self.text(name) if left_bytes > 0 else None) or b""
            left_bytes -= len(text)
            return frozenset(filter(None, map(bytes.strip, text.splitlines())))

        olds = [(each, lines_of(each.old)) for each in gone]
        found = []
        for new in come:
            lines = lines_of(new.new)
            for old, old_lines in olds:
                fewer, more = sorted((len(lines), len(old_lines)))
                if fewer and fewer >= _SIMILAR * more:
                    share = len(lines & old_lines) / more
                    if share >= _SIMILAR:
                        found.append((-share, new, old))
        paired: dict[PathChange, PathChange] = {}
        taken: set[PathChange] = set()
        for _, new, old in sorted(found):
            if new not in paired and old not in taken:
                paired[new] = old
                taken.add(old)
        return paired


class _Comparison:
    """The difference of two trees.

    Args:
        tree: Returns the entries of a folder by its name.
        cancelled: Polled often.
        below: See ``HistoryReader.changes``.
    """

    def __init__(
        self,
        tree: Callable[[bytes], frozenset[tuple[bytes, ...]]],
        cancelled: CancelToken,
        below: bytes,
    ) -> None:
        self._tree = tree
        self._cancelled = cancelled
        self._below = below
        self._left = _MOST_ENTRIES
        self._old: dict[bytes, bytes] = {}
        self._new: dict[bytes, bytes] = {}
        self.is_cut = False

    def compare(self, folder: bytes, old: bytes, new: bytes) -> None:
        """Compare two versions of a folder, whose names are empty where there is none."""
        if old == new:
            return
        if len(folder) > _MAX_PATH_BYTES or folder.count(b"/") > _MAX_DEPTH:
            self.is_cut = True
            return
        before, after = self._tree(old), self._tree(new)
        folders: dict[bytes, list[bytes]] = {}
        for side, entries in enumerate((before - after, after - before)):
            for mode, file, name in entries:
                self._left -= 1
                if self._left < 0:
                    self.is_cut = True
                    return
                path = folder + file
                if mode in _FOLDER_MODES:
                    nested = path + b"/"
                    if nested.startswith(self._below) or self._below.startswith(nested):
                        folders.setdefault(nested, [b"", b""])[side] = name
                elif path.startswith(self._below):
                    files = self._new if side else self._old
                    files[path] = b"" if mode == _SUBMODULE else name
        for nested, (was, now) in sorted(folders.items()):
            self.compare(nested, was, now)

    def files(self) -> list[PathChange]:
        """Return the files that differ, by path."""
        differing = self._old.keys() | self._new.keys()
        paths = sorted(path for path in differing if len(path) <= _MAX_PATH_BYTES)
        self.is_cut |= len(paths) < len(differing) or len(paths) > _MOST_CHANGES
        return [
            PathChange(
                "M" if path in self._old and path in self._new else "DA"[path in self._new],
                path,
                path,
                self._new.get(path, b""),
                self._old.get(path, b""),
            )
            for path in paths[:_MOST_CHANGES]
        ]


def _same(
    gone: list[PathChange], come: list[PathChange]
) -> Iterator[tuple[PathChange, PathChange]]:
    """Yield added files with the deleted ones of the same content, each once."""
    by_content: dict[bytes, list[PathChange]] = {}
    for each in gone:
        by_content.setdefault(each.old, []).append(each)
    for each in come:
        if candidates := by_content.get(each.new):
            yield each, candidates.pop(0)


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
