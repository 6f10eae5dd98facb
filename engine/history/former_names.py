"""The history of one file: the commits that changed it, under its former names too.

A former name counts until another file takes it. All work is limited; what is left out is said.
"""

import os
from collections import deque
from typing import Final, NamedTuple

from engine.humanize import count
from engine.records import display_path
from engine.store import history
from engine.store.connection import Handle
from engine.store.history import NamedChange

MOST_NAMES: Final = 100  # of a file
_MOST_SHOWN: Final = 5
_ALWAYS: Final = 1 << 62  # a time that no commit has


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


def followed(handle: Handle, path: bytes) -> FollowedFile:
    """Return the commits that changed a file, and the names that it had.

    Args:
        handle: A read transaction.
        path: The file, from the root of the project.
    """
    first = history.read_path_id(handle, path)
    if first is None:
        return FollowedFile(path, (), frozenset(), is_cut=False)
    changes: dict[int, list[NamedChange]] = {}
    last_s = {first: _ALWAYS}  # when each name was given up last
    pending = deque([first])
    is_cut = False
    while pending:
        path_id = pending.popleft()
        if path_id not in changes:
            changes[path_id] = history.read_named_changes(handle, path_id)
        for each in changes[path_id]:
            old = each.old_path_id
            if old is None or each.path_id != path_id or each.committed_at_s > last_s[path_id]:
                continue
            if last_s.get(old, -1) >= each.committed_at_s:
                continue
            if old not in last_s and len(last_s) > MOST_NAMES:
                is_cut = True
                continue
            last_s[old] = each.committed_at_s
            pending.append(old)
    ids = {each.commit_id for each in changes[first]}
    for path_id, given_up_s in last_s.items():
        ids |= _of_name(changes[path_id], path_id, given_up_s)
    former = sorted(last_s.keys() - {first}, key=lambda each: -last_s[each])
    names = history.read_names_of(handle, former)
    return FollowedFile(path, tuple(names[each] for each in former), frozenset(ids), is_cut)


def _of_name(changes: list[NamedChange], path_id: int, given_up_s: int) -> set[int]:
    """Return the commits that changed a file under a name, until another file took it."""
    own = [each for each in changes if each.path_id == path_id]
    taken_s = min(
        (each.committed_at_s for each in own if each.is_new and each.committed_at_s > given_up_s),
        default=_ALWAYS,
    )
    return {each.commit_id for each in own if each.committed_at_s < taken_s}
