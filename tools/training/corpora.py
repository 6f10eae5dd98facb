"""Read the source files and commits for training from bare git mirrors.

Everything is streamed from read-only ``git`` processes. Hashes of names decide which files and
commits of a large repository are sampled, so that equal mirrors give equal corpora.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.records import Skip
from engine.source.content import inspect, licence_of
from engine.source.file_formats import is_lock_file
from engine.syntax.languages import DOCUMENT_LANGUAGES, language_of

MAX_SOURCE_BYTES: Final = 4_500_000  # of one repository
MAX_DOCUMENT_BYTES: Final = 700_000  # of its prose
MAX_COMMITS: Final = 1500
_MAX_DIFF_BYTES: Final = 30_000_000
_FILE_BYTES: Final = range(150, 200_000)
_TEST_SHARE: Final = 0.3  # of the test files that are taken
_DISTINCTIVE_CHARS: Final = 30
_EXCLUDED_SHARE: Final = 0.3  # of the distinctive lines: from here on a piece is a copy
_EXCLUDED_LINES: Final = 3

_VENDORED: Final = re.compile(
    r"(^|/)(vendor|vendored|_vendor|third[_-]?party|3rd[_-]?party|external|externals|extern|deps"
    r"|node_modules|bower_components|dist|build|generated|__generated__|snapshots?|__snapshots__"
    r"|testdata|fixtures|locales?|i18n|translations|Pods|Carthage|contrib/libs|\.yarn)(/|$)",
    re.IGNORECASE,
)
_TEST: Final = re.compile(r"(^|/)(tests?|specs?|__tests__|testing|e2e)(/|$)|[._-](test|spec)s?\.")
_LICENCE_FILE: Final = re.compile(r"(LICEN[CS]E|COPYING|UNLICENSE)[^/]*\Z", re.IGNORECASE)
_DIFF_PATH: Final = re.compile(rb"\+\+\+ b/(.+)")
_HUNK: Final = re.compile(rb"@@ -[0-9,]+ \+[0-9,]+ @@ ?(.*)")
_COMMIT_MARK: Final = b"\x01"
_NO_LICENCE: Final = "unknown"

Lines = NDArray[np.int64]


class SourceFile(NamedTuple):
    """A text of the newest tree."""

    path: str
    language: str
    text: bytes  # valid UTF-8


class Hunk(NamedTuple):
    """The result of a commit in one place."""

    path: str
    context: bytes  # what git names as the definition around it
    text: bytes  # the lines added and those around them
    changed: int  # lines


class Commit(NamedTuple):
    """A commit with its subject line."""

    subject: str
    hunks: list[Hunk]


class Mirror:
    """One bare repository below the folder of mirrors.

    Args:
        mirrors: Holds ``OWNER+NAME/repo``.
        name: ``OWNER/NAME``.
    """

    def __init__(self, mirrors: Path, name: str) -> None:
        self.name = name
        self.directory = mirrors / name.replace("/", "+", 1) / "repo"

    def exists(self) -> bool:
        """Return whether the mirror has a commit that can be read."""
        return self.directory.is_dir() and bool(self.head())

    def head(self) -> str:
        """Return the newest commit, or an empty string."""
        return _output(self.directory, "rev-parse", "--verify", "-q", "HEAD").decode().strip()

    def licence(self) -> str:
        """Return the licence of the licence file at the root, as an SPDX expression."""
        names = _output(self.directory, "ls-tree", "--name-only", "-z", "HEAD").split(b"\0")
        for name in sorted(names):
            if _LICENCE_FILE.match(name.decode("utf-8", "replace")):
                text = _output(self.directory, "show", f"HEAD:{os.fsdecode(name)}")
                found = licence_of(text.decode("utf-8", "replace").encode(), "text")
                if found:
                    return found
        return _NO_LICENCE

    def files(self) -> Iterator[SourceFile]:
        """Yield the hand-written texts of the newest tree, up to the limits."""
        left = MAX_SOURCE_BYTES
        left_prose = MAX_DOCUMENT_BYTES
        for path, data in self._blobs(self._chosen()):
            language = language_of(path, data[:1024])
            if language is None:
                continue
            is_prose = language in DOCUMENT_LANGUAGES
            if (left_prose if is_prose else left) < len(data):
                continue
            inspected = inspect(path, data, language)
            if isinstance(inspected, Skip) or inspected.generated:
                continue
            if is_prose:
                left_prose -= len(data)
            else:
                left -= len(data)
            yield SourceFile(path, language, inspected.text)

    def every_text(self) -> Iterator[bytes]:
        """Yield every file of the newest tree up to a size, including vendored ones."""
        for _, data in self._blobs(self._listed()):
            if b"\0" not in data[:1024]:
                yield data

    def commits(self) -> Iterator[Commit]:
        """Yield commits without merges, spread over the history, newest first."""
        listed = _output(self.directory, "rev-list", "--no-merges", "HEAD").split()
        step = max(1, min(len(listed) // MAX_COMMITS, 6))
        chosen = listed[::step][:MAX_COMMITS]
        arguments = (
            "log", "--no-walk=unsorted", "--stdin", "-p", "-U5", "--no-color", "--no-ext-diff",
            "--no-textconv", "--diff-filter=AM", "--no-renames", "--format=%x01%s",
        )  # fmt: skip
        with _process(self.directory, *arguments) as git:
            assert git.stdin is not None
            assert git.stdout is not None
            git.stdin.write(b"\n".join(chosen) + b"\n")
            git.stdin.close()
            yield from _commits_in(git.stdout)
            git.kill()

    def _listed(self) -> list[tuple[str, str]]:
        """List ``(path, blob)`` of the files of the newest tree with a suitable size."""
        found = []
        for line in _output(self.directory, "ls-tree", "-r", "-l", "-z", "HEAD").split(b"\0"):
            meta, _, raw = line.partition(b"\t")
            fields = meta.split()
            if len(fields) != 4 or fields[0] == b"120000" or not fields[3].isdigit():
                continue
            if int(fields[3]) in _FILE_BYTES:
                found.append((os.fsdecode(raw), fields[2].decode()))
        return found

    def _chosen(self) -> list[tuple[str, str]]:
        """List the files worth reading in pseudo-random order."""
        order = []
        for path, blob in self._listed():
            if _VENDORED.search(path) or is_lock_file(path):
                continue
            number = _number_of(path)
            if _TEST.search(path) and number > _TEST_SHARE:
                continue
            order.append((number, path, blob))
        return [(path, blob) for _, path, blob in sorted(order)]

    def _blobs(self, wanted: list[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
        """Yield blobs one after the other; blobs missing in the mirror are skipped."""
        with _process(self.directory, "cat-file", "--batch") as git:
            assert git.stdin is not None
            assert git.stdout is not None
            for path, blob in wanted:
                git.stdin.write(f"{blob}\n".encode())
                git.stdin.flush()
                header = git.stdout.readline().split()
                if len(header) != 3:
                    continue
                data = git.stdout.read(int(header[2]) + 1)
                yield path, data[:-1]
            git.kill()


def distinctive_lines(text: bytes) -> Lines:
    """Return a 63-bit hash of each line of a text; 0 for lines too short to be distinctive."""
    return np.fromiter(
        (_line_hash(line.strip()) for line in text.split(b"\n")), np.int64, text.count(b"\n") + 1
    )


def excluded_lines(mirrors: Iterable[Mirror]) -> Lines:
    """Return the sorted hashes of the distinctive lines of held-out repositories."""
    parts = [np.zeros(0, np.int64)]
    for mirror in mirrors:
        lines = [distinctive_lines(text) for text in mirror.every_text()]
        if lines:
            parts.append(np.unique(np.concatenate(lines)))
    found: Lines = np.unique(np.concatenate(parts))
    return found[found > 0]


def is_copy(lines: Lines, excluded: Lines) -> bool:
    """Return whether enough distinctive lines are excluded for the text to be a copy."""
    told = lines[lines > 0]
    if not len(told) or not len(excluded):
        return False
    at = np.minimum(np.searchsorted(excluded, told), len(excluded) - 1)
    same = int((excluded[at] == told).sum())
    return same >= _EXCLUDED_LINES and same >= _EXCLUDED_SHARE * len(told)


def _line_hash(line: bytes) -> int:
    if len(line) < _DISTINCTIVE_CHARS:
        return 0
    return int.from_bytes(blake2b(line, digest_size=8).digest(), "little") >> 1


def _number_of(name: str) -> float:
    """Return a number from 0 to 1 derived from a name alone."""
    digest = blake2b(os.fsencode(name), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32


class _DiffReader:
    """Collector of the hunks of successive commits."""

    def __init__(self) -> None:
        self._subject = ""
        self._hunks: list[Hunk] = []
        self._path: str | None = None
        self._context = b""
        self._body: list[bytes] = []
        self._changed = 0

    def text(self, line: bytes) -> None:
        """Add a line of a hunk."""
        self._changed += line[:1] != b" "
        if line[:1] != b"-":
            self._body.append(line[1:])

    def other(self, line: bytes) -> None:
        """Process a line that ends a hunk."""
        self.end_hunk()
        if found := _DIFF_PATH.match(line):
            self._path = _wanted_path(os.fsdecode(found[1]))
        elif found := _HUNK.match(line):
            self._context = found[1]

    def end_hunk(self) -> None:
        """Store the current hunk, if any."""
        if self._body and self._path is not None:
            text = b"".join(self._body)
            self._hunks.append(Hunk(self._path, self._context, text, self._changed))
        self._body, self._changed = [], 0

    def next_commit(self, subject: str) -> Commit:
        """Return the finished commit and begin the next one."""
        self.end_hunk()
        done = Commit(self._subject, self._hunks)
        self._subject, self._hunks, self._path = subject, [], None
        return done


def _commits_in(stream: IO[bytes]) -> Iterator[Commit]:
    """Parse the output of ``git log -p``; commits without hunks are left out."""
    reader = _DiffReader()
    read = 0
    for line in stream:
        read += len(line)
        if line[:1] == _COMMIT_MARK:
            done = reader.next_commit(line[1:].decode("utf-8", "replace").strip())
            if done.hunks:
                yield done
            if read > _MAX_DIFF_BYTES:
                return
        elif line[:1] in (b"+", b"-", b" ") and not line.startswith((b"+++ ", b"--- ")):
            reader.text(line)
        else:
            reader.other(line)
    done = reader.next_commit("")
    if done.hunks:
        yield done


def _wanted_path(path: str) -> str | None:
    language = language_of(path)
    if language is None or language in DOCUMENT_LANGUAGES:
        return None
    return None if _VENDORED.search(path) or is_lock_file(path) else path


def _process(directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        ["git", f"--git-dir={directory}", *arguments],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _output(directory: Path, *arguments: str) -> bytes:
    done = subprocess.run(  # noqa: S603
        ["git", f"--git-dir={directory}", *arguments],  # noqa: S607
        capture_output=True,
        check=False,
    )
    return done.stdout
