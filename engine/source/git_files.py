"""Read git's own files: small regular files, settings and the index.

A repository is untrusted: any of its files may be a pipe, a link or endless. Reading never hangs,
never raises and never exceeds a limit.

Settings: ``core.excludesFile``, ``core.ignoreCase`` and ``extensions.objectFormat`` come from the
user's files and the repository's ``config``; ``include`` sections and the system's file are not
read.

Index: versions 2, 3 and 4. A huge or inconsistent index counts as unknown. The shared part and the
changes of a split index are merged without its lists of deletions; a sparse folder stands for
everything below it.
"""

import os
import re
import stat
from bisect import bisect_left
from typing import Final, NamedTuple

from engine.config import git_user_files
from engine.record_class import record

_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def read_regular(
    path: str, limit_bytes: int, *, folder: int | None = None, follow: bool = False
) -> bytes | None:
    """Read a regular file.

    Args:
        path: The file; relative to ``folder`` when that is given.
        limit_bytes: A larger file is not read.
        folder: Descriptor of the folder that ``path`` starts from.
        follow: Whether the file may be a link.

    Returns:
        Its bytes, or None if it is missing, unreadable, too large or not a regular file.
    """
    flags = _OPEN_FLAGS if follow else _OPEN_FLAGS | os.O_NOFOLLOW
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags, dir_fd=folder)) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > limit_bytes:
                return None  # a limit below zero stops every file
            data = file.read(limit_bytes + 1)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    return data if len(data) <= limit_bytes else None  # it may have grown


_MAX_CONFIG_BYTES: Final = 1 << 20
_SECTION: Final = re.compile(r'\s*\[([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(=|$|[#;])")
_VALUE_PIECE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"?|\\(.)|([#;].*)|([^"\\#;]+)')
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b"}
_TRUE: Final = frozenset({"true", "yes", "on", "1"})


@record
class GitSettings:
    """Git's settings for a repository."""

    excludes_path: str  # absolute; the file may be missing
    excludes_label: str  # how to name it to the user
    excludes_is_users: bool  # the user's own settings name it, not the repository's
    ignores_case: bool
    hash_bytes: int  # 20 for SHA-1, 32 for SHA-256


def git_settings(top: str, common_dir: str | None) -> GitSettings:
    """Read the settings that hold in a repository; never raises.

    Args:
        top: The folder that relative paths in the settings start from.
        common_dir: The folder with the repository's ``config``; None outside of repositories.
    """
    user = git_user_files()
    values: dict[str, str] = {}
    for path in user.config_paths:
        values |= _values_in(path)
    excludes_path, label = user.ignore_path, "git's global ignore file"
    if "core.excludesfile" in values:
        excludes_path, label = values["core.excludesfile"], "core.excludesFile"
    own = _values_in(os.path.join(common_dir, "config")) if common_dir else {}
    if "core.excludesfile" in own:
        excludes_path, label = own["core.excludesfile"], "core.excludesFile"
    values |= own
    return GitSettings(
        excludes_path=os.path.join(top, os.path.expanduser(excludes_path)),
        excludes_label=label,
        excludes_is_users="core.excludesfile" not in own,
        ignores_case=values.get("core.ignorecase", "").lower() in _TRUE,
        hash_bytes=32 if values.get("extensions.objectformat", "").lower() == "sha256" else 20,
    )


def _values_in(path: str) -> dict[str, str]:
    data = read_regular(path, _MAX_CONFIG_BYTES, follow=True)
    return config_values(os.fsdecode(data)) if data is not None else {}


def config_values(text: str) -> dict[str, str]:
    """Parse a configuration file into ``section.key`` or ``section.subsection.key`` → last value.

    Sections and keys are in lower case. Malformed lines are ignored.
    """
    values: dict[str, str] = {}
    section = ""
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        rest = line
        if header:
            section = header[1].lower() + (f".{header[2]}" if header[2] is not None else "")
            rest = line[header.end() :]
        key = _KEY.match(rest)
        if key and section:
            value = _value_of(rest[key.end() :]) if key[2] == "=" else "true"
            values[f"{section}.{key[1].lower()}"] = value
    return values


def _value_of(text: str) -> str:
    pieces: list[tuple[str, bool]] = []  # with whether it stood in quotes
    for quoted, escaped, comment, plain in _VALUE_PIECE.findall(text):
        if comment:
            break
        if plain:
            pieces.append((plain, False))
        elif escaped:
            pieces.append((_ESCAPES.get(escaped, escaped), True))
        else:
            pieces.append((re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), quoted), True))
    if pieces and not pieces[0][1]:
        pieces[0] = (pieces[0][0].lstrip(), False)
    if pieces and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0].rstrip(), False)
    return "".join(piece for piece, _ in pieces)


_MAX_INDEX_BYTES: Final = 128 << 20  # over a million files
_MAX_PATH_BYTES: Final = 1 << 16
_MAX_PATHS_BYTES: Final = 128 << 20  # of all; version 4 repeats long paths for a few bytes each
_HEADER_BYTES: Final = 12
_STAT_BYTES: Final = 40  # of an entry, before its object name
_SHORT_HASH_BYTES: Final = 20
_EXTENDED: Final = 0x40  # in the first byte of an entry's flags: two more bytes of flags follow
_SKIP_WORKTREE: Final = 0x40  # in the first of these


class TrackedPaths:
    """The paths that git tracks below a folder.

    Args:
        paths: Tracked paths, relative to the top of the work tree; any order.
        prefix: The folder's own path from there, with a slash; empty for the top itself.

    Attributes:
        is_known: Whether an index was read that names any file.
    """

    __slots__ = ("_paths", "_prefix", "_sparse", "is_known")

    def __init__(self, paths: list[bytes], prefix: bytes = b"") -> None:
        self._paths = sorted(paths)
        self._prefix = prefix
        self._sparse = tuple(path for path in self._paths if path.endswith(b"/"))
        self.is_known = bool(paths)

    def has(self, path: str) -> bool:
        """Return whether git tracks that file, link or submodule."""
        wanted = self._prefix + os.fsencode(path)
        at = bisect_left(self._paths, wanted)
        if at < len(self._paths) and self._paths[at] == wanted:
            return True
        return bool(self._sparse) and wanted.startswith(self._sparse)

    def has_below(self, folder: str) -> bool:
        """Return whether git tracks anything below that folder."""
        wanted = self._prefix + os.fsencode(folder) + b"/"
        at = bisect_left(self._paths, wanted)
        if at < len(self._paths) and self._paths[at].startswith(wanted):
            return True
        return bool(self._sparse) and wanted.startswith(self._sparse)


#: Of a folder without git.
NO_TRACKED_PATHS: Final = TrackedPaths([])


def read_index(git_dir: str, *, hash_bytes: int, prefix: bytes) -> TrackedPaths:
    """Read the index in a git directory; never raises.

    Args:
        git_dir: The folder that holds ``index``.
        hash_bytes: Length of an object name, 20 or 32.
        prefix: See ``TrackedPaths``.
    """
    try:
        data = _read(git_dir, "index")
        paths, _, end = _parse(data, hash_bytes)
        if base := _shared_name(data, end, hash_bytes):
            paths += _parse(_read(git_dir, f"sharedindex.{base}"), hash_bytes)[0]
        paths = [path for path in paths if path]
    except (ValueError, IndexError):  # slicing and searching in malformed bytes
        return NO_TRACKED_PATHS
    return TrackedPaths(paths, prefix)


class IndexEntry(NamedTuple):
    """What git's index says of a file."""

    name: bytes  # of its blob
    size_bytes: int  # modulo 2**32
    mtime_ns: int  # 0: not known, as when the entry may be younger than the file
    is_sparse: bool  # it need not be in the work tree


def read_entries(git_dir: str, *, hash_bytes: int) -> dict[bytes, IndexEntry] | None:
    """Read the entries of the index by path; None if it is missing, damaged or split; never raises.

    Args:
        git_dir: The folder that holds ``index``.
        hash_bytes: Length of an object name, 20 or 32.
    """
    try:
        written_ns = os.stat(os.path.join(git_dir, "index"), follow_symlinks=False).st_mtime_ns
        data = _read(git_dir, "index")
        paths, starts, end = _parse(data, hash_bytes)
        if _shared_name(data, end, hash_bytes):
            return None
        return {
            path: _entry_at(data, start, hash_bytes, written_ns)
            for path, start in zip(paths, starts, strict=True)
        }
    except (OSError, ValueError, IndexError):
        return None


def _entry_at(data: bytes, start: int, hash_bytes: int, written_ns: int) -> IndexEntry:
    seconds, nanoseconds = (
        int.from_bytes(data[at : at + 4], "big") for at in (start + 8, start + 12)
    )
    mtime_ns = seconds * 1_000_000_000 + nanoseconds
    flags_at = start + _STAT_BYTES + hash_bytes
    is_extended = bool(data[flags_at] & _EXTENDED)
    return IndexEntry(
        name=data[start + _STAT_BYTES : flags_at],
        size_bytes=int.from_bytes(data[start + _STAT_BYTES - 4 : start + _STAT_BYTES], "big"),
        mtime_ns=mtime_ns if mtime_ns < written_ns else 0,
        is_sparse=is_extended and bool(data[flags_at + 2] & _SKIP_WORKTREE),
    )


def count_entries(git_dir: str) -> int:
    """Return the number of entries in the index's header, 0 if unreadable; never raises.

    A split index counts its changes alone; in a sparse one, folders count as entries.
    """
    data = read_regular(os.path.join(git_dir, "index"), _MAX_INDEX_BYTES) or b""
    if data[:4] != b"DIRC":
        return 0
    count = int.from_bytes(data[8:_HEADER_BYTES], "big")
    return count if count * (_STAT_BYTES + _SHORT_HASH_BYTES) <= len(data) else 0


def _read(git_dir: str, name: str) -> bytes:
    data = read_regular(os.path.join(git_dir, name), _MAX_INDEX_BYTES)
    if data is None:
        raise ValueError("no index that can be read")
    return data


def _parse(data: bytes, hash_bytes: int) -> tuple[list[bytes], list[int], int]:
    """Return the paths, where their entries start, and where the last one ends."""
    version = int.from_bytes(data[4:8], "big")
    count = int.from_bytes(data[8:_HEADER_BYTES], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index of a known version")
    if count * (_STAT_BYTES + hash_bytes) > len(data):
        raise ValueError("more entries than bytes")
    parse = _compressed_paths if version == 4 else _padded_paths
    return parse(data, count, _STAT_BYTES + hash_bytes)


def _padded_paths(data: bytes, count: int, flags_at: int) -> tuple[list[bytes], list[int], int]:
    paths, starts = [], []
    find_end = data.index
    at = _HEADER_BYTES
    for _ in range(count):
        start = at + flags_at + (4 if data[at + flags_at] & _EXTENDED else 2)
        end = find_end(0, start)
        paths.append(data[start:end])
        starts.append(at)
        at += (end - at + 8) & ~7
    if at > len(data):
        raise ValueError("the last entry is cut off")
    return paths, starts, at


def _compressed_paths(data: bytes, count: int, flags_at: int) -> tuple[list[bytes], list[int], int]:
    paths, starts = [], []
    total_bytes = 0
    path = b""
    at = _HEADER_BYTES
    for _ in range(count):
        start = at + flags_at + (4 if data[at + flags_at] & _EXTENDED else 2)
        byte = data[start]
        dropped = byte & 127
        while byte & 128:
            start += 1
            byte = data[start]
            dropped = ((dropped + 1) << 7) + (byte & 127)
            if dropped > _MAX_PATH_BYTES:
                raise ValueError("a path is too long")
        end = data.index(0, start + 1)
        if dropped > len(path):
            raise ValueError("a path is shorter than nothing")
        path = path[: len(path) - dropped] + data[start + 1 : end]
        total_bytes += len(path)
        if len(path) > _MAX_PATH_BYTES or total_bytes > _MAX_PATHS_BYTES:
            raise ValueError("a path is too long")
        paths.append(path)
        starts.append(at)
        at = end + 1
    return paths, starts, at


def _shared_name(data: bytes, at: int, hash_bytes: int) -> str:
    """Return the name of a split index's shared part from its extension, or empty."""
    while at + 8 <= len(data) - hash_bytes:
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        if data[at : at + 4] == b"link":
            name = data[at + 8 : at + 8 + hash_bytes]
            return name.hex() if any(name) else ""
        at += 8 + size
    return ""
