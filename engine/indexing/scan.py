"""Compares the disk with the index: what changed, what did not, what is gone.

No file is read: names, sizes and times decide here; contents are compared by hash later.

A run over some paths reads nothing else, neither on the disk nor in the index. Where only a walk
over everything can tell what becomes of those paths, the scan is over the whole project.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from engine.cancellation import CancelToken
from engine.record_class import record
from engine.records import FAILURES, FileEntry, FileStat, Skip, SkipReason
from engine.source.file_formats import is_binary_name, is_data, is_lock_file, is_minified_name
from engine.source.partial_walk import PartialWalk, PathSet
from engine.source.walker import WalkRules, walk
from engine.store import files
from engine.store.connection import Store
from engine.store.files import KnownFile, KnownSkip
from engine.syntax.languages import language_of

if TYPE_CHECKING:
    from engine.source.commit_tree import CommitTree, KnownStat

_TELL_EVERY = 500
_HEAD_BYTES = 1024
# Skips for the content of a file hold until the file changes; all others are decided anew, as
# options may have changed. A file that killed its parser would do so again: it is retried only
# when it, or the program, has changed.
_BY_CONTENT = frozenset(
    {
        SkipReason.BINARY,
        SkipReason.LFS_POINTER,
        SkipReason.MINIFIED,
        SkipReason.NO_TEXT,
        SkipReason.PARSER_FAILED,
        SkipReason.UNDECODABLE,
        SkipReason.UNKNOWN_TYPE,
    }
)

# A file that changed so shortly before it was read may change again within the same time stamp.
_RACY_NS = 50_000_000
_RACY_COARSE_NS = 2_000_000_000  # on file systems with a resolution of a millisecond or worse


@record
class IndexedState:
    """The indexed state of a branch, by path."""

    files: Mapping[str, KnownFile]
    skips: Mapping[str, KnownSkip]
    fingerprint_id: int


@record
class Scan:
    """The differences between the disk and the index."""

    changed: list[FileEntry]  # to read, in walk order
    unchanged: int
    gone: list[int]  # ids of files that no longer exist
    new_skips: list[Skip]  # new, or with a new reason
    gone_skips: list[str]  # paths that are no longer skipped, or no longer exist
    skipped: int  # all skips found, except failures
    failures: list[Skip]


def scan(
    items: Iterable[FileEntry | Skip],
    known: IndexedState,
    *,
    on_progress: Callable[[int, str], None],
) -> Scan:
    """Compare a walk with the index.

    Args:
        items: The walk.
        known: What the index has of the same paths.
        on_progress: Called every 500 items with their number and the current path.
    """
    changed: list[FileEntry] = []
    seen: set[str] = set()
    skips: dict[str, Skip] = {}
    missing = cache(_missing_package)
    known_files, known_skips, fingerprint_id = known.files, known.skips, known.fingerprint_id
    for number, item in enumerate(items):
        if number % _TELL_EVERY == 0:
            on_progress(number, item.path)
        path = item.path
        if isinstance(item, Skip):
            if item.reason is not SkipReason.VANISHED:  # as if it had never been listed
                skips[path] = item
            continue
        before = known_files.get(path)
        if (
            before
            and before.stat == item.stat
            and before.fingerprint_id == fingerprint_id
            and before.is_linked == (item.real_path != path)
        ):
            seen.add(path)
        elif skip := skip_by_name(item, missing) or _same_skip(item, known):
            skips[path] = skip
        else:
            changed.append(item)
    open_questions = {entry.path for entry in changed}
    return Scan(
        changed=changed,
        unchanged=len(seen),
        gone=_deleted_files(known_files, seen | open_questions, skips),
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


def _missing_package(language: str) -> str:
    from engine.source.documents import missing_package  # most trees have no documents

    return missing_package(language)


def skip_by_name(entry: FileEntry, missing: Callable[[str], str] = _missing_package) -> Skip | None:
    """Return the skip that the name alone decides.

    Args:
        entry: The file.
        missing: Returns why documents of a language cannot be read, or an empty string.
    """
    path = entry.path
    if is_lock_file(path):
        return Skip(path, SkipReason.LOCK_FILE, "a dependency lock file", stat=entry.stat)
    if is_binary_name(path):
        from engine.source.documents import document_language

        language = document_language(path)
        if language:
            why = missing(language)
            return Skip(path, SkipReason.MISSING_EXTRA, why, stat=entry.stat) if why else None
        return Skip(path, SkipReason.BINARY, "not text, according to its name", stat=entry.stat)
    if is_minified_name(path):
        return Skip(path, SkipReason.MINIFIED, "minified, according to its name", stat=entry.stat)
    return None


def language_or_skip(path: str, data: bytes, stat: FileStat) -> str | Skip:
    """Return the language of a file that was read: of unknown type, plain text unless it is data.

    Whether it is text at all is decided by ``content.inspect``.
    """
    language = language_of(path, data[:_HEAD_BYTES])
    if language is not None:
        return language
    if is_data(data):
        return Skip(path, SkipReason.UNKNOWN_TYPE, "large, with hardly any words", stat=stat)
    return "text"


def is_racy(stat: FileStat, now_ns: int) -> bool:
    """Return whether a file may change again without changing its time stamps.

    Such a file is stored without its time, so that the next run compares its hash (git calls such
    entries "racily clean"; see racy-git in its documentation).
    """
    coarse = stat.mtime_ns % 1_000_000 == 0
    # A time that was set to one to come says nothing; that of the change cannot be set.
    latest = stat.ctime_ns if stat.mtime_ns > now_ns else max(stat.mtime_ns, stat.ctime_ns)
    return now_ns - latest < (_RACY_COARSE_NS if coarse else _RACY_NS)


def _same_skip(entry: FileEntry, known: IndexedState) -> Skip | None:
    """Return the stored skip for the content of a file that did not change since."""
    stored = known.skips.get(entry.path)
    if stored is None or stored.fingerprint_id != known.fingerprint_id:
        return None
    skip = stored.skip
    if skip.stat != entry.stat or skip.reason not in _BY_CONTENT:
        return None
    return skip


def _deleted_files(
    known_files: Mapping[str, KnownFile], present: set[str], skips: Mapping[str, Skip]
) -> list[int]:
    """Return the files to delete; files that cannot be read now, or whose folder cannot, stay."""
    if len(present) >= len(known_files) and present >= known_files.keys():
        return []
    kept = {skip.path for skip in skips.values() if skip.reason is SkipReason.UNREADABLE}
    closed = tuple(f"{path}/" for path in kept)  # of folders, and of links to them
    return [
        file.file_id
        for path, file in known_files.items()
        if path not in present and not (kept and (path in kept or path.startswith(closed)))
    ]


class ScanTarget(NamedTuple):
    """The part of a tree and of a branch to compare."""

    root: str
    rules: WalkRules
    branch_id: int
    fingerprint_id: int
    only: PathSet | None  # None: the whole project
    tree: "CommitTree | None" = None  # what is compared in place of the disk


class ScanInputs(NamedTuple):
    """The files on the disk, and the indexed state of the same paths."""

    items: Iterable[FileEntry | Skip]
    known: IndexedState
    is_whole: bool  # of the whole project


def scan_inputs(store: Store, target: ScanTarget, cancelled: CancelToken) -> ScanInputs:
    """Return what a scan compares.

    Raises:
        InvalidPathError: The root cannot be read.
        Cancelled: ``cancelled`` returned true; raised also while the items are read.
    """
    if target.tree is not None:
        known = _read_indexed(store, target, None)
        return ScanInputs(target.tree.walk(_stats_in(known)), known, is_whole=True)
    partial = _partial_inputs(store, target, target.only, cancelled) if target.only else None
    if partial:
        return partial
    items = walk(target.root, target.rules, cancelled=cancelled)
    return ScanInputs(items, _read_indexed(store, target, None), is_whole=True)


def _partial_inputs(
    store: Store, target: ScanTarget, only: PathSet, cancelled: CancelToken
) -> ScanInputs | None:
    """Return the inputs for some paths, or None if they need a walk over the whole project."""
    with store.read() as handle:
        # A skipped folder stands for all below it, and may no longer be skipped.
        shut = files.read_skipped_among(handle, target.branch_id, only.folders_above())
    walked = PartialWalk(target.root, target.rules, only.with_paths(shut), cancelled)
    items = list(walked.run())
    known = _read_indexed(store, target, walked.reached.paths)
    with store.read() as handle:
        # Of several links to a folder the walk enters the first: a new link can come before the
        # known one, and when one is removed another takes its place.
        if not all(files.has_below(handle, target.branch_id, link) for link in walked.links):
            return None
        is_less = not known.files.keys() <= {item.path for item in items}
        repeated = (SkipReason.SYMLINK_REPEATED,)
        if is_less and files.count_reasons(handle, target.branch_id, repeated):
            return None
    return ScanInputs(items, known, is_whole=False)


def _stats_in(known: IndexedState) -> "KnownStat":
    """Return the function that tells the stored stat of a path."""

    def stat_of(path: str) -> FileStat | None:
        if path in known.files:
            return known.files[path].stat
        return known.skips[path].skip.stat if path in known.skips else None

    return stat_of


def _read_indexed(store: Store, target: ScanTarget, within: Iterable[str] | None) -> IndexedState:
    with store.read() as handle:
        return IndexedState(
            files=files.read_known_files(handle, target.branch_id, within),
            skips=files.read_known_skips(handle, target.branch_id, within),
            fingerprint_id=target.fingerprint_id,
        )
