"""The frozen records that cross borders between packages.

Conventions:

* A *path* is POSIX, relative to the project's root, a ``str`` with ``surrogateescape`` for bytes
  that are not UTF-8 (``os.fsdecode``); ``display_path`` makes it printable.
* Spans are half-open byte offsets into the stored UTF-8 text (``byte_start``, ``byte_end``) and
  1-based inclusive lines (``line_start``, ``line_end``).
* Times are UTC integers, ``..._at_ms`` since 1970 or ``..._ns`` as the file system gives them.
* ``Annotated[type, text]`` says what a field means; the description of the HTTP API repeats it.

Hot per-file and per-symbol records are named tuples (a frozen dataclass costs three times as
much to make, and a large tree makes millions); all others whose fields are given by name are
made by ``@record`` (``engine.record_class``), which costs a command less time at its start.
"""

import os
import re
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from engine.humanize import count
from engine.record_class import record

MIN_TOKENS = 100  # the smallest budget of an answer

_LINES = r"(\d{1,9})(?:-(\d{1,9}))?"
_PLACE = re.compile(rf"(.+):{_LINES}", re.DOTALL)

#: Annotation of a field that JSON leaves out while it is None or an empty tuple.
WHEN_ANY: Final = object()
#: Annotation of a field that pages read and JSON never has.
NOT_IN_JSON: Final = object()


class HistoryExtent(StrEnum):
    """How much of the history of a project is stored."""

    ALL = "all"
    NEWEST = "newest"  # commits; there are older ones
    SO_FAR = "so_far"  # it is still read, the newest first


def stored_commits(number: int, extent: HistoryExtent, *, is_figure: bool = False) -> str:
    """Return a number of stored commits, and that they are not all if so: ``newest 50 commits``.

    Args:
        number: How many.
        extent: How much of the history they are.
        is_figure: Whether the noun is left out.
    """
    text = f"{number:,}" if is_figure else count(number, "commit")
    if not number or extent is HistoryExtent.ALL:
        return text
    return f"newest {text}" if extent is HistoryExtent.NEWEST else f"{text} so far"


class SkipReason(StrEnum):
    """Why a file or a whole folder is not indexed."""

    IGNORED = "ignored"  # by .gitignore, .cairnignore, .git/info/exclude or git's global excludes
    EXCLUDED = "excluded"  # by an exclude glob of the caller
    NOT_INCLUDED = "not_included"  # include globs are given and none matches
    DEFAULT_EXCLUDED = "default_excluded"  # a build, cache or dependency folder, or a worktree
    SECRET_FILE = "secret_file"  # noqa: S105 - a name that says keys or credentials
    UNKNOWN_TYPE = "unknown_type"  # large text of no known type that is data: numbers, dumps
    LOCK_FILE = "lock_file"  # a dependency lock file
    TOO_LARGE = "too_large"  # above max_file_size
    BINARY = "binary"
    MISSING_EXTRA = "missing_extra"  # a document whose text needs a package that is not there
    NO_TEXT = "no_text"  # a document that is damaged, encrypted, hostile, or made of pictures
    MINIFIED = "minified"
    LFS_POINTER = "lfs_pointer"
    UNDECODABLE = "undecodable"  # no encoding fits
    NOT_REGULAR = "not_regular"  # FIFO, socket, device
    SYMLINK_OUTSIDE = "symlink_outside"  # leads out of the root
    SYMLINK_BROKEN = "symlink_broken"
    SYMLINK_CYCLE = "symlink_cycle"  # leads to a folder that contains the link
    SYMLINK_REPEATED = "symlink_repeated"  # the folder was entered through another link already
    TOO_DEEP = "too_deep"  # below the depth limit
    UNREADABLE = "unreadable"  # permission or I/O error
    VANISHED = "vanished"  # gone between listing and reading
    CHANGING = "changing"  # changed while it was read, twice
    PARSER_FAILED = "parser_failed"  # it killed or outlasted its worker, also without a parser


#: Skips that are failures: reported in ``errors[]`` and counted in ``files_failed``.
FAILURES = frozenset(
    {
        SkipReason.UNREADABLE,
        SkipReason.CHANGING,
        SkipReason.PARSER_FAILED,
        SkipReason.UNDECODABLE,
    }
)


class FileStat(NamedTuple):
    """The stat by which a changed file is recognised cheaply."""

    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class FileEntry(NamedTuple):
    """A file that the walker found and no path rule refused."""

    path: str
    stat: FileStat
    real_path: str  # where a followed link leads, relative to the root; equal to path without links

    @property
    def is_linked(self) -> bool:
        """Whether a link is on the way to it: the file has another path, which git knows."""
        return self.real_path != self.path


class Skip(NamedTuple):
    """A file or folder that is not indexed, and why."""

    path: str
    reason: SkipReason
    detail: str  # the rule, size or error in words; may be empty
    is_folder: bool = False  # a folder stands for everything below it
    stat: FileStat | None = None  # None: look again next time


class Symbol(NamedTuple):
    """A named definition in a blob."""

    name: str
    qualified_name: str  # with its containers, joined by "."
    kind: str  # one of syntax.languages.KINDS
    signature: str  # one line, at most 300 characters
    doc: str  # comment before it or docstring in it, markers removed, at most 1,000 characters
    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    parent: int  # index of the containing symbol in the same list, -1 at top level
    exported: bool


class ChunkSpan(NamedTuple):
    """A contiguous piece of a blob; the pieces of a blob tile it."""

    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    symbol: int  # index of the symbol that the piece belongs to, -1 when to none


@record
class Coverage:
    """How much of the project an answer covers: the files indexed of those that can be."""

    files: Annotated[int, "indexed files on the branch"]
    found: Annotated[int | None, "files that can be indexed; null while they are being counted"]
    indexed: Annotated[float | None, "files / found; null while found is"]
    embedded: Annotated[float, "share of the chunks that have vectors"]
    complete: Annotated[bool, "false during a run, or after an unfinished one"]

    @classmethod
    def of(cls, *, files: int, found: int | None, embedded: float, complete: bool) -> "Coverage":
        """Return the coverage of some files of those found."""
        return cls(
            files=files,
            found=None if found is None else max(files, found),
            indexed=None if found is None else min(1.0, files / found) if found else 1.0,
            embedded=embedded,
            complete=complete,
        )


def is_path(text: str) -> bool:
    """Return whether a text can be a path: it has no NUL, and stands for bytes."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def display_path(path: str) -> str:
    """Make a path printable: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


class LinePlace(NamedTuple):
    """Lines of a file, as they are typed."""

    path: str
    start: int
    end: int | None  # None: one number was given

    @classmethod
    def parse(cls, text: str) -> "LinePlace | None":
        """Read ``PATH:LINE`` or ``PATH:START-END``; return None if it has another form."""
        found = _PLACE.fullmatch(text)
        return cls._of(*found.groups()) if found else None

    @classmethod
    def parse_lines(cls, path: str, text: str) -> "LinePlace | None":
        """Read ``LINE`` or ``START-END`` of a file; return None if it has another form."""
        found = re.fullmatch(_LINES, text)
        return cls._of(path, *found.groups()) if found else None

    @classmethod
    def _of(cls, path: str, start: str, end: str | None) -> "LinePlace":
        return cls(path, int(start), int(end) if end else None)

    @property
    def last(self) -> int:
        """The last line, which may be the only one."""
        return self.start if self.end is None else self.end

    @property
    def is_in_order(self) -> bool:
        """Whether it names lines: they begin at 1, and the last is not before the first."""
        return 1 <= self.start <= self.last


def folded(text: str) -> str:
    """Return a text in lower case with its length unchanged: ``İ`` alone would become two.

    ``Σ`` becomes ``ς`` at the end of a word, and a word that is typed may end elsewhere.
    """
    return text.replace("İ", "i").lower().replace("ς", "\N{GREEK SMALL LETTER SIGMA}")


def tokens_of(size_bytes: int) -> int:
    """Return the tokens of a text by its UTF-8 size: one per 3.5 bytes, rounded up.

    Source code takes 3.2 to 3.8 bytes a token with the tokenizers of today's large models.
    """
    return -(-2 * size_bytes // 7)


def bytes_within(tokens: int) -> int:
    """Return the UTF-8 size of the longest text of so many tokens."""
    return 7 * tokens // 2


@record
class LanguageShare:
    """The share of a language in a branch."""

    language: str
    files: int
    size_bytes: int  # of these files
