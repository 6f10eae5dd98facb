"""The project's own row, its branches and fingerprints, also of a file not opened as a project."""

import json
import os
from pathlib import Path
from typing import NamedTuple

from engine.errors import ProjectNotFoundError
from engine.records import display_path
from engine.store import files, fulltext, history, memories, models
from engine.store.connection import Handle, Store
from engine.store.opening import damaged

#: Files of a removed branch deleted in one transaction of some 30 ms.
_DELETED_AT_ONCE = 1000


class ProjectRow(NamedTuple):
    """The one row of ``project``."""

    project_id: str
    root: bytes
    fingerprint_id: int | None
    fingerprint: str | None
    include_patterns: tuple[str, ...]
    exclude_patterns: tuple[str, ...]
    max_file_size: int
    indexed_at_ms: int | None
    allow_secret_files: tuple[str, ...] = ()


class BranchRow(NamedTuple):
    """A branch as it was last seen."""

    id: int
    name: str
    commit_id: str | None
    found_files: int
    complete: bool
    indexed_at_ms: int | None

    @property
    def was_cut_off(self) -> bool:
        """Whether it was indexed once, and the last run over it did not come to its end."""
        return not self.complete and self.indexed_at_ms is not None


def insert_project(
    handle: Handle, *, project_id: str, root: bytes, max_file_size: int, now_ms: int
) -> None:
    """Write the project's row unless it is there."""
    # Changes are counted from the time on, so that a file never has a number of its predecessor.
    handle.execute(
        """INSERT INTO project (id, project_id, root, max_file_size, created_at_ms, changes)
           VALUES (1, :project_id, :root, :max_file_size, :now_ms, :now_ms)
           ON CONFLICT DO NOTHING""",
        {
            "project_id": project_id,
            "root": root,
            "max_file_size": max_file_size,
            "now_ms": now_ms,
        },
    )


def make_project(store: Store, root: bytes, max_file_size: int, *, now_ms: int) -> None:
    """Write the row of a project whose id is the name of its file, unless it is there."""
    with store.read() as handle:
        if read_project(handle):
            return
    with store.write() as handle:
        insert_project(
            handle,
            project_id=store.path.stem,
            root=root,
            max_file_size=max_file_size,
            now_ms=now_ms,
        )


def read_project(handle: Handle) -> ProjectRow | None:
    """Return the project's row, or None in a file that was never filled.

    Raises:
        IndexCorruptError: Its patterns cannot be read.
    """
    row = handle.execute(
        """SELECT p.project_id, p.root, p.fingerprint_id, f.value, p.include_patterns,
                  p.exclude_patterns, p.max_file_size, p.indexed_at_ms, p.allow_secret_files
           FROM project p LEFT JOIN fingerprints f ON f.id = p.fingerprint_id"""
    ).fetchone()
    if row is None:
        return None
    project_id, root, fingerprint_id, fingerprint, include, exclude, size, at_ms, allowed = row
    return ProjectRow(
        project_id,
        root,
        fingerprint_id,
        fingerprint,
        _patterns_of(handle, include),
        _patterns_of(handle, exclude),
        size,
        at_ms,
        _patterns_of(handle, allowed),
    )


def _patterns_of(handle: Handle, text: str) -> tuple[str, ...]:
    if not are_patterns(text):
        raise damaged(Path(handle.db_filename("main")), "the patterns of the project are lost")
    return tuple(json.loads(text))


def are_patterns(text: str) -> bool:
    """Return whether a text is what is stored for patterns: a JSON array of texts."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def known_project(handle: Handle, root: str) -> ProjectRow:
    """Return the project's row.

    Args:
        handle: A read transaction.
        root: The resolved folder, for the error.

    Raises:
        ProjectNotFoundError: There is none.
    """
    row = read_project(handle)
    if row is None:
        raise ProjectNotFoundError(f"{display_path(root)} is not indexed")
    return row


def count_changes(handle: Handle) -> int | None:
    """Return a number that each write transaction raises, or None when there is no project.

    Two reads that give the same number see the same contents, in whatever process, also when the
    file was replaced by a new one between them.
    """
    row = handle.execute("SELECT changes FROM project").fetchone()
    return row[0] if row else None


def update_scope(
    handle: Handle,
    *,
    include_patterns: tuple[str, ...],
    exclude_patterns: tuple[str, ...],
    max_file_size: int,
    allow_secret_files: tuple[str, ...],
) -> None:
    """Set which files belong to the project."""
    handle.execute(
        """UPDATE project SET include_patterns = :include, exclude_patterns = :exclude,
                  max_file_size = :max_file_size, allow_secret_files = :allowed""",
        {
            "include": json.dumps(include_patterns),
            "exclude": json.dumps(exclude_patterns),
            "max_file_size": max_file_size,
            "allowed": json.dumps(allow_secret_files),
        },
    )


def read_fingerprints(handle: Handle) -> list[tuple[int, str]]:
    """Return the ids and values of the fingerprints that contents may carry."""
    return list(handle.execute("SELECT id, value FROM fingerprints ORDER BY id"))


def start_fingerprint(handle: Handle, value: str, *, now_ms: int) -> int:
    """Make a new fingerprint the current one and give its id; older contents become stale."""
    fingerprint_id = handle.execute(
        "INSERT INTO fingerprints (value, created_at_ms) VALUES (:value, :now_ms) RETURNING id",
        {"value": value, "now_ms": now_ms},
    ).get
    handle.execute("UPDATE project SET fingerprint_id = :id", {"id": fingerprint_id})
    return int(fingerprint_id)


def delete_stale_fingerprints(handle: Handle) -> None:
    """Forget fingerprints that nothing carries any more."""
    handle.execute(
        """DELETE FROM fingerprints WHERE id <> (SELECT fingerprint_id FROM project)
             AND id NOT IN (SELECT fingerprint_id FROM blobs)
             AND id NOT IN (SELECT fingerprint_id FROM skips)"""
    )


def finish_project(handle: Handle, *, now_ms: int) -> None:
    """Record the end of a complete run."""
    handle.execute("UPDATE project SET indexed_at_ms = :now_ms", {"now_ms": now_ms})


def upsert_branch(handle: Handle, name: str, commit_id: str | None) -> int:
    """Return the id of a branch, created when new, and set its checked-out commit."""
    branch_id = handle.execute(
        """INSERT INTO branches (name, commit_id) VALUES (:name, :commit_id)
           ON CONFLICT (name) DO UPDATE SET commit_id = excluded.commit_id RETURNING id""",
        {"name": name, "commit_id": commit_id},
    ).get
    return int(branch_id)


def update_branch(
    handle: Handle, branch_id: int, *, found_files: int, complete: bool, now_ms: int | None = None
) -> None:
    """Record how far a run came: what the scan found, and whether all of it has an outcome."""
    handle.execute(
        """UPDATE branches SET found_files = :found_files, complete = :complete,
                  indexed_at_ms = coalesce(:now_ms, indexed_at_ms) WHERE id = :branch_id""",
        {
            "branch_id": branch_id,
            "found_files": found_files,
            "complete": int(complete),
            "now_ms": now_ms,
        },
    )


def lower_found(handle: Handle, branch_id: int, by: int) -> None:
    """Lower the number of files that the scan found: so many of them cannot be indexed."""
    handle.execute(
        "UPDATE branches SET found_files = max(0, found_files - :by) WHERE id = :branch_id",
        {"by": by, "branch_id": branch_id},
    )


def read_branches(handle: Handle) -> list[BranchRow]:
    """Return all branches, the most recently indexed first."""
    rows = handle.execute(
        """SELECT id, name, commit_id, found_files, complete, indexed_at_ms FROM branches
           ORDER BY indexed_at_ms DESC NULLS LAST, id DESC"""
    )
    return [
        BranchRow(id_, name, commit_id, found, bool(complete), indexed_at_ms)
        for id_, name, commit_id, found, complete, indexed_at_ms in rows
    ]


def branches_by_name(handle: Handle, first: BranchRow) -> list[BranchRow]:
    """Return all branches by name, this one first if it is there."""
    return sorted(read_branches(handle), key=lambda each: (each.id != first.id, each.name))


def read_branch(handle: Handle, branch_id: int) -> BranchRow:
    """Return one branch, which must exist."""
    return next(branch for branch in read_branches(handle) if branch.id == branch_id)


def shrink_branch(handle: Handle, branch_id: int) -> bool:
    """Delete some files of a branch that is gone, at last the branch itself with its skips.

    It is incomplete from the first piece on. Blobs stay until ``blobs.delete_blobs``.

    Returns:
        Whether something is left.
    """
    rows = handle.execute(
        "SELECT id FROM files WHERE branch_id = :branch_id LIMIT :limit",
        {"branch_id": branch_id, "limit": _DELETED_AT_ONCE},
    )
    ids = [file_id for (file_id,) in rows]
    if not ids:
        handle.execute("DELETE FROM branches WHERE id = :branch_id", {"branch_id": branch_id})
        return False
    handle.execute(
        "UPDATE branches SET complete = 0 WHERE id = :branch_id", {"branch_id": branch_id}
    )
    fulltext.delete_path_terms(handle, ids)
    files.delete_files(handle, ids)
    return True


def delete_contents(handle: Handle) -> None:
    """Empty the index; the project's row and scope stay, and so do jobs, events and memories."""
    history.clear_history(handle)
    handle.execute("UPDATE project SET indexed_at_ms = NULL")
    models.drop_models(handle)
    handle.execute("INSERT INTO chunk_terms (chunk_terms) VALUES ('delete-all')")
    handle.execute("INSERT INTO file_paths (file_paths) VALUES ('delete-all')")
    tables = (
        "files",
        "skips",
        "symbols",
        "chunks",
        "blob_names",
        "blob_texts",
        "blobs",
        "branches",
    )
    for table in tables:
        handle.execute(f"DELETE FROM {table}")  # noqa: S608 - names from above


def adopt(handle: Handle, *, project_id: str, root: bytes, max_file_size: int, now_ms: int) -> None:
    """Turn a copied index into another project's: only blobs and their contents stay."""
    models.empty_file_vectors(handle)
    memories.delete_all(handle)
    history.clear_history(handle)
    handle.execute("INSERT INTO file_paths (file_paths) VALUES ('delete-all')")
    for table in ("files", "skips", "branches", "jobs"):
        handle.execute(f"DELETE FROM {table}")  # noqa: S608 - names from the line above
    handle.execute(
        """UPDATE project SET project_id = :project_id, root = :root, include_patterns = '[]',
             exclude_patterns = '[]', allow_secret_files = '[]',
             max_file_size = :max_file_size, created_at_ms = :now_ms, changes = :now_ms,
             indexed_at_ms = NULL""",
        {
            "project_id": project_id,
            "root": root,
            "max_file_size": max_file_size,
            "now_ms": now_ms,
        },
    )


def read_root(file: Path, busy_timeout_ms: int) -> str:
    """Return the resolved folder that a database file indexes.

    Raises:
        EngineError: The file is not a sound index.
    """
    store = Store(file, busy_timeout_ms=busy_timeout_ms)
    try:
        with store.read() as handle:
            row = read_project(handle)
    finally:
        store.close()
    if row is None:
        raise ProjectNotFoundError(f"{file.name} holds no project")
    return os.fsdecode(row.root)
