"""Compare the disk with the index: what changed, what did not, what is gone.

Reads no file: names, sizes and times decide here; contents are compared by hash later.

The two sides that a run compares: the disk and the index, whole or of some paths.

A run over some paths reads nothing of the rest, neither here nor there. Where only a whole walk
can tell what becomes of them, it gets the whole.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.records import FAILURES, FileEntry, FileStat, Skip, SkipReason
from engine.source.content import is_lock_file
from engine.source.partial_walk import PartialWalk, PathSet
from engine.source.walker import WalkRules, walk
from engine.store import files
from engine.store.connection import Store
from engine.store.files import KnownFile, KnownSkip
from engine.syntax.languages import language_of

_TELL_EVERY = 500
_HEAD_BYTES = 1024
# What the content of a file decides holds until it changes; all else is decided anew, as options
# do. A file that killed its parser does so again: it waits for a change, its own or the program's.
_BY_CONTENT = frozenset(
    {
        SkipReason.BINARY,
        SkipReason.LFS_POINTER,
        SkipReason.MINIFIED,
        SkipReason.PARSER_FAILED,
        SkipReason.UNKNOWN_TYPE,
    }
)

# A file changed this close before its reading may change again within the same time stamp.
_RACY_NS = 50_000_000
_RACY_COARSE_NS = 2_000_000_000  # on file systems that keep no finer time than a millisecond


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the index knows of a branch, by path."""

    files: Mapping[str, KnownFile]
    skips: Mapping[str, KnownSkip]
    fingerprint_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The disk against the index."""

    changed: list[FileEntry]  # to be read, in walk order
    unchanged: int
    gone: list[int]  # ids of files whose path has no file any more
    new_skips: list[Skip]  # new, or with another reason than before
    gone_skips: list[str]  # paths that are no longer skipped, or gone
    skipped: int  # all skips found, failures left out
    failures: list[Skip]


def scan(
    items: Iterable[FileEntry | Skip],
    known: Known,
    *,
    any_text: bool,
    tell: Callable[[int, str], None],
) -> Scan:
    """Sort what the walker yields by what has to be done.

    Args:
        items: The walk.
        known: The index's side.
        any_text: Whether files of unknown type count as text: so when the caller names what to
            include.
        tell: Called now and then with the number of items and the path reached.
    """
    changed: list[FileEntry] = []
    seen: set[str] = set()
    skips: dict[str, Skip] = {}
    known_files, known_skips, fingerprint_id = known.files, known.skips, known.fingerprint_id
    for number, item in enumerate(items):
        if number % _TELL_EVERY == 0:
            tell(number, item.path)
        path = item.path
        if isinstance(item, Skip):
            if item.reason is not SkipReason.VANISHED:  # it is as if it had not been listed
                skips[path] = item
            continue
        before = known_files.get(path)
        skip = skip_by_name(item, any_text=any_text)
        if skip:
            skips[path] = skip
        elif before and before.stat == item.stat and before.fingerprint_id == fingerprint_id:
            seen.add(path)
        elif skip := _same_skip(item, known, any_text=any_text):
            skips[path] = skip
        else:
            changed.append(item)
    open_questions = {entry.path for entry in changed}
    return Scan(
        changed=changed,
        unchanged=len(seen),
        gone=_gone_files(known_files, seen | open_questions, skips),
        new_skips=[
            skip
            for path, skip in skips.items()
            if path not in known_skips or known_skips[path] != KnownSkip(skip, fingerprint_id)
        ],
        gone_skips=[
            path for path in known_skips if path not in skips and path not in open_questions
        ],
        skipped=sum(skip.reason not in FAILURES for skip in skips.values()),
        failures=[skip for skip in skips.values() if skip.reason in FAILURES],
    )


def skip_by_name(entry: FileEntry, *, any_text: bool) -> Skip | None:
    """Refuse what its name alone refuses; names without a dot may be told by their content."""
    path = entry.path
    if is_lock_file(path):
        return Skip(path, SkipReason.LOCK_FILE, "a dependency lock file", stat=entry.stat)
    if any_text or language_of(path):
        return None
    name = path.rpartition("/")[2]
    extension = os.path.splitext(name)[1]
    if not extension:
        return None
    return Skip(
        path, SkipReason.UNKNOWN_TYPE, f"no language known for *{extension}", stat=entry.stat
    )


def language_or_skip(path: str, data: bytes, stat: FileStat, *, any_text: bool) -> str | Skip:
    """Give the language of a file that was read, or the skip when it has none that is indexed."""
    head = data[:_HEAD_BYTES]
    language = language_of(path, head)
    if language is not None:
        return language
    if any_text or b"\0" in head:  # what is no text is for ``content`` to name
        return "text"
    return Skip(path, SkipReason.UNKNOWN_TYPE, "no language or document type", stat=stat)


def is_racy(stat: FileStat, now_ns: int) -> bool:
    """Say whether a file may change again and keep its time stamps.

    Such a file is stored without its time, so that the next run compares its hash (git's "racy
    clean" entries, in its documentation under the name racy-git).
    """
    coarse = stat.mtime_ns % 1_000_000 == 0
    latest = max(stat.mtime_ns, stat.ctime_ns)
    return now_ns - latest < (_RACY_COARSE_NS if coarse else _RACY_NS)


def _same_skip(entry: FileEntry, known: Known, *, any_text: bool) -> Skip | None:
    """Give the skip that the content caused earlier, when the file did not change since."""
    stored = known.skips.get(entry.path)
    if stored is None or stored.fingerprint_id != known.fingerprint_id:
        return None
    skip = stored.skip
    is_of_any_type = any_text and skip.reason is SkipReason.UNKNOWN_TYPE
    if skip.stat != entry.stat or skip.reason not in _BY_CONTENT or is_of_any_type:
        return None
    return skip


def _gone_files(
    known_files: Mapping[str, KnownFile], present: set[str], skips: Mapping[str, Skip]
) -> list[int]:
    """Give the files to delete; those that cannot be read now, or their folder, are kept."""
    unread = [skip for skip in skips.values() if skip.reason is SkipReason.UNREADABLE]
    closed = tuple(f"{skip.path}/" for skip in unread if skip.is_folder)
    kept = {skip.path for skip in unread}
    return [
        file.file_id
        for path, file in known_files.items()
        if path not in present and not (unread and (path in kept or path.startswith(closed)))
    ]


class Ground(NamedTuple):
    """Where a run looks."""

    root: str
    rules: WalkRules
    branch_id: int
    fingerprint_id: int
    only: PathSet | None  # None: everywhere


class Sides(NamedTuple):
    """What is there, and what the index knows of the same paths."""

    items: Iterable[FileEntry | Skip]
    known: Known
    is_whole: bool  # of the whole project


def sides_of(store: Store, ground: Ground, cancelled: Callable[[], bool]) -> Sides:
    """Give both sides.

    Raises:
        InvalidPathError: The root cannot be read.
        Cancelled: ``cancelled`` said so; from the items, too.
    """
    partial = _partial_sides(store, ground, ground.only, cancelled) if ground.only else None
    if partial:
        return partial
    items = walk(ground.root, ground.rules, cancelled=cancelled)
    return Sides(items, _known(store, ground, None), is_whole=True)


def _partial_sides(
    store: Store, ground: Ground, only: PathSet, cancelled: Callable[[], bool]
) -> Sides | None:
    """Give both sides of some paths; None when they cannot be told without the rest."""
    with store.read() as handle:
        # A folder that was out stands for all below it, and may be in now.
        shut = files.read_skipped_among(handle, ground.branch_id, only.folders_above())
    walked = PartialWalk(ground.root, ground.rules, only.with_paths(shut), cancelled)
    items = list(walked.run())
    known = _known(store, ground, walked.reached.paths)
    with store.read() as handle:
        # Of several links to a folder the first is entered: a new one can come before one that is
        # known, and when one goes another takes its place.
        if not all(files.has_below(handle, ground.branch_id, link) for link in walked.links):
            return None
        is_less = not known.files.keys() <= {item.path for item in items}
        repeated = (SkipReason.SYMLINK_REPEATED,)
        if is_less and files.count_reasons(handle, ground.branch_id, repeated):
            return None
    return Sides(items, known, is_whole=False)


def _known(store: Store, ground: Ground, within: Iterable[str] | None) -> Known:
    with store.read() as handle:
        return Known(
            files=files.read_known_files(handle, ground.branch_id, within),
            skips=files.read_known_skips(handle, ground.branch_id, within),
            fingerprint_id=ground.fingerprint_id,
        )
