"""The history of one file: the commits that changed it, under its former names too.

A former name counts until another file takes it. Which commit came first is known from the graph:
dates can be equal or wrong. All work is limited; what is left out is said.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from engine.humanize import count
from engine.records import display_path
from engine.store import history
from engine.store.connection import Handle
from engine.store.history import KnownCommit, NamedChange

MOST_NAMES: Final = 100  # of a file
_MOST_SHOWN: Final = 5
_ALWAYS: Final = 1  # a rank after that of all commits


class FollowedFile(NamedTuple):
    """What is known of a file by the stored commits."""

    path: bytes
    former: tuple[bytes, ...]  # its former names, the latest first
    ids: frozenset[int]  # of the commits that changed it
    is_cut: bool  # it has more former names

    def notes(self) -> list[str]:
        """Say which former names were followed."""
        if not self.former:
            return []
        shown = [display_path(os.fsdecode(each)) for each in self.former[:_MOST_SHOWN]]
        if len(self.former) > len(shown):
            shown.append(f"and {len(self.former) - len(shown)} more")
        name = display_path(os.fsdecode(self.path))
        found = [f"with the commits of former names of {name}: {', '.join(shown)}"]
        if self.is_cut:
            found.append(f"{name} has more than {count(MOST_NAMES, 'former name')}")
        return found


def ranks_of(known: Mapping[bytes, KnownCommit]) -> dict[int, int]:
    """Return numbers of commits, by id, that are higher for each one than for all those before it.

    Commits of which none comes before the other are ranked by date.
    """
    children = Counter(parent for each in known.values() for parent in each.parents)
    newest = [(-each.committed_at_s, name) for name, each in known.items() if not children[name]]
    heapify(newest)
    found: dict[int, int] = {}
    while newest:
        commit = known[heappop(newest)[1]]
        found[commit.id] = -len(found)
        for parent in commit.parents:
            children[parent] -= 1
            if parent in known and not children[parent]:
                heappush(newest, (-known[parent].committed_at_s, parent))
    return found


def followed(
    handle: Handle, path: bytes, ranks: Callable[[], Mapping[int, int]] = dict
) -> FollowedFile:
    """Return the commits that changed a file, and the names that it had.

    Args:
        handle: A read transaction.
        path: The file, from the root of the project.
        ranks: Returns what ``ranks_of`` gives, if that is kept; the commits of a file that was
            renamed are ranked anew if it lacks some.
    """
    first = history.read_path_id(handle, path)
    if first is None:
        return FollowedFile(path, (), frozenset(), is_cut=False)
    changes = history.read_named_changes(handle, first)
    ids = {each.commit_id for each in changes}
    if not any(_is_renamed(each, first) for each in changes):
        return FollowedFile(path, (), frozenset(ids), is_cut=False)
    ranked = _Ranked(handle, ranks())
    given_up = {first: _ALWAYS}  # the rank of the commit that gave up each name last
    latest = ranked.renames(changes, first, _ALWAYS)
    heapify(latest)
    is_cut = False
    while latest:
        age, path_id = heappop(latest)
        if path_id in given_up:
            continue
        if len(given_up) > MOST_NAMES:
            is_cut = True
            break
        given_up[path_id] = -age
        changes = history.read_named_changes(handle, path_id)
        ids |= ranked.of_name(changes, path_id, -age)
        for each in ranked.renames(changes, path_id, -age):
            heappush(latest, each)
    former = [each for each in given_up if each != first]
    names = history.read_names_of(handle, former)
    return FollowedFile(path, tuple(names[each] for each in former), frozenset(ids), is_cut)


class _Ranked:
    """The commits of a project, ranked."""

    def __init__(self, handle: Handle, ranks: Mapping[int, int]) -> None:
        self._handle = handle
        self._ranks = ranks

    def renames(
        self, changes: Iterable[NamedChange], path_id: int, given_up: int
    ) -> list[tuple[int, int]]:
        """Return the names that files had before they were given one, each with its age.

        Args:
            changes: What commits did to the name.
            path_id: The name.
            given_up: The rank of the commit that gave it up; only renames before it count.
        """
        return [
            (-rank, each.old_path_id)
            for each in changes
            if each.old_path_id is not None
            and _is_renamed(each, path_id)
            and (rank := self._rank_of(each)) < given_up
        ]

    def of_name(self, changes: Iterable[NamedChange], path_id: int, given_up: int) -> set[int]:
        """Return the commits that changed a file under a name, until another file took it."""
        own = [(self._rank_of(each), each) for each in changes if each.path_id == path_id]
        taken = min(
            (rank for rank, each in own if each.is_new and rank >= given_up), default=_ALWAYS
        )
        return {each.commit_id for rank, each in own if rank < taken}

    def _rank_of(self, change: NamedChange) -> int:
        if change.commit_id not in self._ranks:  # it was stored since
            self._ranks = ranks_of(history.read_known(self._handle))
        return self._ranks[change.commit_id]


def _is_renamed(change: NamedChange, path_id: int) -> bool:
    """Return whether a commit gave a name to a file that had another one."""
    return change.path_id == path_id and change.old_path_id is not None
