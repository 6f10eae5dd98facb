"""The two sides that a run compares: the disk and the index, whole or of some paths.

A run over some paths reads nothing of the rest, neither here nor there. Where only a whole walk
can tell what becomes of them, it gets the whole.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from engine.indexing.scan import Known
from engine.records import FileEntry, Skip, SkipReason
from engine.source.partial_walk import PartialWalk, PathSet
from engine.source.walker import WalkRules, walk
from engine.store import files, skips
from engine.store.connection import Store


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
        shut = skips.read_skipped_among(handle, ground.branch_id, only.folders_above())
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
        if is_less and skips.count_reasons(handle, ground.branch_id, repeated):
            return None
    return Sides(items, known, is_whole=False)


def _known(store: Store, ground: Ground, within: Iterable[str] | None) -> Known:
    with store.read() as handle:
        return Known(
            files=files.read_known_files(handle, ground.branch_id, within),
            skips=skips.read_known_skips(handle, ground.branch_id, within),
            fingerprint_id=ground.fingerprint_id,
        )
