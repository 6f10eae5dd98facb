"""What a run starts from: its branch, its fingerprint, and which paths it is about."""

from typing import NamedTuple

from engine.clock import now_ms
from engine.indexing.fingerprint import fingerprint
from engine.indexing.model_switch import ModelSwitch
from engine.indexing.scope import Scope, may_stay_partial
from engine.records import IndexOptions
from engine.source.git import GitHead
from engine.source.partial_walk import PathSet
from engine.store import project
from engine.store.connection import Handle, Store


class Start(NamedTuple):
    """The beginning of a run."""

    branch_id: int
    branch_names: dict[int, str]  # of all branches, by id; empty in a run over some paths
    fingerprint_id: int
    only: PathSet | None  # None: the run is about the whole project


def start_run(
    store: Store, root: str, scope: Scope, options: IndexOptions, head: GitHead, switch: ModelSwitch
) -> Start:
    """Store scope, branch and model, and a new fingerprint when contents are stale.

    A run over some paths becomes one over the whole project when the rest is out of date. When it
    does not, there is nothing to store, and nothing is written.
    """
    if scope.only and not options.force:
        with store.read() as handle:
            partial = standing(handle, root, scope, head)
            if partial and switch.resume(handle):
                return partial
    value = fingerprint()
    now = now_ms()
    with store.write() as handle:
        row = project.known_project(handle, root)
        project.update_scope(
            handle,
            include_patterns=scope.include_patterns,
            exclude_patterns=scope.exclude_patterns,
            max_file_size=scope.max_file_size,
        )
        fingerprint_id = row.fingerprint_id
        if fingerprint_id is None or row.fingerprint != value or options.force:
            fingerprint_id = project.start_fingerprint(handle, value, now_ms=now)
        branch_id = project.upsert_branch(handle, head.branch, head.commit)
        names = {branch.id: branch.name for branch in project.read_branches(handle)}
        switch.begin(handle, now_ms=now)
    return Start(branch_id, names, fingerprint_id, None)


def standing(handle: Handle, root: str, scope: Scope, head: GitHead) -> Start | None:
    """Give what a run finds that has nothing to store first; None when the rest is out of date."""
    row = project.known_project(handle, root)
    branches = project.read_branches(handle)
    if row.fingerprint_id is None or row.fingerprint != fingerprint():
        return None
    if not may_stay_partial(scope, row, branches, head.branch):
        return None
    return Start(branches[0].id, {}, row.fingerprint_id, scope.only)
