"""The commits of a project, with their files, words and vectors."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.records import HistoryExtent
from engine.store.compression import pack_text, unpack_text
from engine.store.connection import Handle
from engine.store.fulltext import WordTable

#: The columns of commit_terms: first line and rest of the message; paths; changed lines.
COLUMNS = ("subject", "body", "paths", "lines")
#: BM25 weights of these columns.
WEIGHTS = (3.0, 2.0, 2.0, 1.0)
#: In the note about what was not read.
SHALLOW = "the clone is shallow"
COMMIT_WORDS = WordTable("commit_terms", WEIGHTS)


class HistoryState(NamedTuple):
    """What the stored commits were read from."""

    head: bytes | None  # None: there was no commit
    made_by: str
    model: str | None  # identity of the model of its vectors; None: it has none
    is_complete: bool
    note: str  # what is missing and why, as a sentence
    read_at_ms: int


class KnownCommit(NamedTuple):
    """The place of a stored commit among others."""

    id: int
    parents: tuple[bytes, ...]
    committed_at_s: int
    is_partial: bool  # its files are not all known: some could not be read


class CommitFile(NamedTuple):
    """A file that a commit changed; paths from the root of the project."""

    change: str  # A, M, D or R
    path: bytes
    old_path: bytes | None  # of a renamed file
    added: int | None  # lines; None: not counted
    removed: int | None


class NewCommit(NamedTuple):
    """A commit to store."""

    name: bytes
    parents: tuple[bytes, ...]
    author: str
    email: str
    committed_at_s: int
    subject: str
    body: bytes
    file_count: int  # of all files, also of those that are not listed
    files: tuple[CommitFile, ...]
    is_here: bool
    is_partial: bool
    is_cut: bool  # its files were not all compared, and never will be
    terms: tuple[str, str, str, str]  # for COLUMNS


class CommitRow(NamedTuple):
    """A stored commit."""

    id: int
    name: bytes
    author: str
    email: str
    committed_at_s: int
    subject: str
    body: str
    file_count: int


class CommitVector(NamedTuple):
    """The vector of a commit."""

    commit_id: int
    vector: bytes


def read_state(handle: Handle) -> HistoryState | None:
    """Return what the stored commits were read from; None: they were never read."""
    row = handle.execute(
        "SELECT head, made_by, model, is_complete, note, read_at_ms FROM history"
    ).fetchone()
    return HistoryState(*row)._replace(is_complete=bool(row[3])) if row else None


def write_state(handle: Handle, state: HistoryState) -> None:
    """Note what the stored commits were read from."""
    handle.execute(
        """INSERT INTO history (id, head, made_by, model, is_complete, note, read_at_ms)
           VALUES (1, :head, :made_by, :model, :is_complete, :note, :read_at_ms)
           ON CONFLICT (id) DO UPDATE SET head = excluded.head, made_by = excluded.made_by,
             model = excluded.model, is_complete = excluded.is_complete, note = excluded.note,
             read_at_ms = excluded.read_at_ms""",
        {**state._asdict(), "is_complete": int(state.is_complete)},
    )


def read_known(handle: Handle) -> dict[bytes, KnownCommit]:
    """Return the places of all stored commits by name."""
    rows = handle.execute("SELECT name, id, parents, committed_at_s, is_partial FROM commits")
    return {
        name: KnownCommit(id_, _split(parents, len(name)), at_s, bool(is_partial))
        for name, id_, parents, at_s, is_partial in rows
    }


def insert_commits(handle: Handle, commits: Iterable[NewCommit]) -> None:
    """Insert commits with their files and words; one that is stored already is replaced."""
    for each in commits:
        delete_commits(handle, _ids_of(handle, each.name))
        commit_id = handle.execute(
            """INSERT INTO commits (name, parents, author, email, committed_at_s, subject, body,
                 file_count, is_here, is_partial, is_cut)
               VALUES (:name, :parents, :author, :email, :committed_at_s, :subject, :body,
                 :file_count, :is_here, :is_partial, :is_cut) RETURNING id""",
            {
                "name": each.name,
                "parents": b"".join(each.parents),
                "author": each.author,
                "email": each.email,
                "committed_at_s": each.committed_at_s,
                "subject": each.subject,
                "body": pack_text(each.body),
                "file_count": each.file_count,
                "is_here": int(each.is_here),
                "is_partial": int(each.is_partial),
                "is_cut": int(each.is_cut),
            },
        ).get
        _insert_files(handle, commit_id, each.files)
        if each.is_here:
            handle.execute(
                """INSERT INTO commit_terms (rowid, subject, body, paths, lines)
                   VALUES (?, ?, ?, ?, ?)""",
                (commit_id, *each.terms),
            )


def _ids_of(handle: Handle, name: bytes) -> list[int]:
    return [row[0] for row in handle.execute("SELECT id FROM commits WHERE name = ?", (name,))]


def _insert_files(handle: Handle, commit_id: int, files: Sequence[CommitFile]) -> None:
    paths = {each.path for each in files} | {each.old_path for each in files if each.old_path}
    handle.executemany(
        "INSERT INTO commit_paths (path) VALUES (?) ON CONFLICT DO NOTHING",
        ((path,) for path in sorted(paths)),
    )
    handle.executemany(
        """INSERT INTO commit_files (commit_id, path_id, change, old_path_id, added, removed)
           VALUES (:commit_id, (SELECT id FROM commit_paths WHERE path = :path), :change,
             (SELECT id FROM commit_paths WHERE path = :old_path), :added, :removed)""",
        ({"commit_id": commit_id, **each._asdict()} for each in files),
    )


def delete_commits(handle: Handle, ids: Sequence[int]) -> None:
    """Delete commits with their files, words and vectors; paths stay."""
    for commit_id in ids:
        values = (commit_id,)
        handle.execute("DELETE FROM commit_files WHERE commit_id = ?", values)
        handle.execute("DELETE FROM commit_terms WHERE rowid = ?", values)
        handle.execute("DELETE FROM commits WHERE id = ?", values)  # the vector goes with it


def delete_vectors(handle: Handle, ids: Sequence[int]) -> None:
    """Delete the vectors of commits."""
    handle.executemany("DELETE FROM commit_vectors WHERE commit_id = ?", ((id_,) for id_ in ids))


def forget_head(handle: Handle) -> None:
    """Forget which commit the history was read from, so that it is due to be read."""
    handle.execute("UPDATE history SET head = NULL")


def delete_unused_paths(handle: Handle) -> None:
    """Delete the paths that no commit names."""
    handle.execute(
        """DELETE FROM commit_paths WHERE id NOT IN
             (SELECT path_id FROM commit_files
              UNION SELECT old_path_id FROM commit_files WHERE old_path_id IS NOT NULL)"""
    )


def clear_history(handle: Handle) -> None:
    """Delete all commits, and forget what they were read from."""
    handle.execute("INSERT INTO commit_terms (commit_terms) VALUES ('delete-all')")
    for table in ("commit_vectors", "commit_files", "commit_paths", "commits", "history"):
        handle.execute(f"DELETE FROM {table}")  # noqa: S608 - names from the line above


def count_commits(handle: Handle) -> int:
    """Return the number of commits that can be found."""
    return int(handle.execute("SELECT count(*) FROM commits WHERE is_here").get)


def read_word_scores(handle: Handle, word: str) -> list[tuple[int, float]]:
    """Return the commits that contain a quoted word or phrase, each with its BM25 score."""
    rows = handle.execute(
        f"""SELECT rowid, -rank FROM commit_terms
            WHERE commit_terms MATCH :word AND rank MATCH 'bm25{WEIGHTS}'""",  # noqa: S608
        {"word": word},
    )
    return list(rows)


def read_matching(handle: Handle, match: str) -> list[int]:
    """Return the ids of the commits that match an FTS5 expression."""
    rows = handle.execute(
        "SELECT rowid FROM commit_terms WHERE commit_terms MATCH :match", {"match": match}
    )
    return [commit_id for (commit_id,) in rows]


def read_matching_among(handle: Handle, match: str, ids: Sequence[int]) -> list[int]:
    """Return those of some commits that match an FTS5 expression."""
    rows = handle.execute(
        """SELECT rowid FROM commit_terms WHERE commit_terms MATCH :match
             AND +rowid IN (SELECT value FROM json_each(:ids))""",
        {"match": match, "ids": json.dumps(ids)},
    )
    return [commit_id for (commit_id,) in rows]


def read_oldest(handle: Handle) -> int | None:
    """Return when the oldest commit that can be found was made, in seconds; None without any."""
    found: int | None = handle.execute("SELECT min(committed_at_s) FROM commits WHERE is_here").get
    return found


def is_whole(handle: Handle) -> bool:
    """Return whether the commits that are stored reach back to the first one.

    They do if the oldest has no parents. Where dates fall that may be another, so else each is
    asked whether its first parent is stored: the oldest ones first, as these tell at once where
    commits are left out.
    """
    oldest = handle.execute(
        """SELECT hex(name), length(parents) FROM commits
           ORDER BY committed_at_s, length(parents) LIMIT 100"""
    ).fetchall()
    if not oldest or not oldest[0][1]:
        return bool(oldest)
    unknown = "parent <> x'' AND NOT EXISTS (SELECT 1 FROM commits p WHERE p.name = parent)"
    named = json.dumps([name for name, _ in oldest])
    commits = "SELECT substr(parents, 1, length(name)) AS parent FROM commits"
    few = "WHERE name IN (SELECT unhex(value) FROM json_each(:names))"
    return not any(
        handle.execute(
            f"SELECT 1 FROM ({commits} {which}) WHERE {unknown} LIMIT 1",  # noqa: S608
            values,
        ).get
        for which, values in ((few, {"names": named}), ("", {}))
    )


def read_extent(handle: Handle) -> HistoryExtent:
    """Return how much of the history is stored; that of 5,000 commits takes a millisecond."""
    state = read_state(handle)
    if state is None:
        return HistoryExtent.SO_FAR
    is_all = SHALLOW not in state.note and is_whole(handle)
    return HistoryExtent.ALL if is_all else HistoryExtent.NEWEST


class CommitRule(NamedTuple):
    """Which commits pass; None and empty lists let all pass."""

    after_s: int | None = None  # at this time or later
    before_s: int | None = None  # earlier than this
    authors: tuple[str, ...] | None = None  # one of these, as ``read_authors`` gives them
    not_authors: tuple[str, ...] = ()
    path_ids: tuple[int, ...] | None = None  # of commit_paths: it changed one of them
    followed: tuple[int, ...] = ()  # of commits that changed one of these under a former name
    not_path_ids: tuple[int, ...] = ()


_AUTHOR = "author || ' <' || email || '>'"
_CHANGED = """SELECT commit_id FROM commit_files
      WHERE path_id IN (SELECT value FROM json_each(:{0}))
    UNION ALL SELECT commit_id FROM commit_files
      WHERE old_path_id IS NOT NULL AND old_path_id IN (SELECT value FROM json_each(:{0}))"""
_FOLLOWED = "id IN (SELECT value FROM json_each(:followed))"
_CONDITIONS = {
    "after_s": "committed_at_s >= :after_s",
    "before_s": "committed_at_s < :before_s",
    "authors": f"{_AUTHOR} IN (SELECT value FROM json_each(:authors))",  # noqa: S608
    "not_authors": f"{_AUTHOR} NOT IN (SELECT value FROM json_each(:not_authors))",  # noqa: S608
    "path_ids": f"(id IN ({_CHANGED.format('path_ids')}) OR {_FOLLOWED})",
    "not_path_ids": f"id NOT IN ({_CHANGED.format('not_path_ids')})",
}


def read_passing(handle: Handle, rule: CommitRule) -> list[int]:
    """Return the ids of the commits that pass, the newest first."""
    values = {
        name: json.dumps(value) if isinstance(value, tuple) else value
        for name, value in rule._asdict().items()
        if value is not None and (value != () or name in ("authors", "path_ids", "followed"))
    }
    passes = " AND ".join(
        ["is_here", *(_CONDITIONS[name] for name in values if name in _CONDITIONS)]
    )
    rows = handle.execute(
        f"SELECT id FROM commits WHERE {passes} ORDER BY committed_at_s DESC, id",  # noqa: S608
        values,
    )
    return [commit_id for (commit_id,) in rows]


def read_authors(handle: Handle) -> list[str]:
    """Return the authors of all commits, each with the address: ``Ada <ada@example.org>``."""
    return [author for (author,) in handle.execute(f"SELECT DISTINCT {_AUTHOR} FROM commits")]  # noqa: S608


def read_files_by(handle: Handle, branch_ids: Sequence[int], authors: Sequence[str]) -> list[int]:
    """Return the ids of the files of branches that authors changed, under former names too.

    Args:
        handle: A read transaction.
        branch_ids: The branches.
        authors: As ``read_authors`` gives them.
    """
    rows = handle.execute(
        f"""WITH RECURSIVE touched (path_id) AS (
              SELECT f.path_id FROM commit_files f JOIN commits c ON c.id = f.commit_id
              WHERE {_AUTHOR} IN (SELECT value FROM json_each(:authors))
              UNION
              SELECT f.path_id FROM touched t JOIN commit_files f
                ON f.old_path_id IS NOT NULL AND f.old_path_id = t.path_id
            )
            SELECT f.id FROM touched t JOIN commit_paths p ON p.id = t.path_id
            JOIN files f ON f.path = p.path
              AND f.branch_id IN (SELECT value FROM json_each(:branches))""",  # noqa: S608
        {"authors": json.dumps(authors), "branches": json.dumps(branch_ids)},
    )
    return [file_id for (file_id,) in rows]


class FileAuthor(NamedTuple):
    """An author of a file."""

    name: str
    commits: int  # that changed it
    last_s: int  # when the last of them was made


def read_authors_among(handle: Handle, ids: Iterable[int]) -> list[FileAuthor]:
    """Return the authors of some commits, those of most of them first."""
    rows = handle.execute(
        """SELECT author, count(*) AS number, max(committed_at_s) AS last
           FROM commits WHERE id IN (SELECT value FROM json_each(:ids))
           GROUP BY author ORDER BY number DESC, last DESC, author""",
        {"ids": json.dumps(sorted(ids))},
    )
    return [FileAuthor(*row) for row in rows]


class NamedChange(NamedTuple):
    """What a commit did to a file that has, or had, a name."""

    commit_id: int
    committed_at_s: int
    path_id: int
    old_path_id: int | None  # of a renamed file
    is_new: bool  # it has the name since then


def read_path_id(handle: Handle, path: bytes) -> int | None:
    """Return the id of a path that commits name; None: none does."""
    row = handle.execute("SELECT id FROM commit_paths WHERE path = ?", (path,)).fetchone()
    return row[0] if row else None


def read_names_of(handle: Handle, path_ids: Sequence[int]) -> dict[int, bytes]:
    """Return paths by id."""
    rows = handle.execute(
        "SELECT id, path FROM commit_paths WHERE id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(path_ids)},
    )
    return dict(rows)


def read_named_changes(handle: Handle, path_id: int) -> list[NamedChange]:
    """Return what commits did to a path, and which ones renamed a file that had it."""
    columns = """SELECT c.id, c.committed_at_s, f.path_id, f.old_path_id, f.change IN ('A', 'R')
                 FROM commit_files f JOIN commits c ON c.id = f.commit_id"""
    rows = handle.execute(
        f"""{columns} WHERE f.path_id = :id UNION ALL {columns}
            WHERE f.old_path_id IS NOT NULL AND f.old_path_id = :id AND f.path_id <> :id""",
        {"id": path_id},
    )
    return [NamedChange(*row) for row in rows]


def read_paths(handle: Handle) -> list[tuple[int, bytes]]:
    """Return all paths that commits name, with their ids."""
    return list(handle.execute("SELECT id, path FROM commit_paths"))


def read_commits(handle: Handle, ids: Sequence[int]) -> dict[int, CommitRow]:
    """Return commits by id."""
    rows = handle.execute(
        """SELECT id, name, author, email, committed_at_s, subject, body, file_count
           FROM commits WHERE id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(ids)},
    )
    return {
        row[0]: CommitRow(*row)._replace(body=unpack_text(row[6]).decode("utf-8", "replace"))
        for row in rows
    }


def read_ids_of(handle: Handle, digits: str) -> list[int]:
    """Return the ids of at most two commits whose names begin with these hexadecimal digits.

    Args:
        handle: A read transaction.
        digits: 64 at most.
    """
    low = bytes.fromhex(digits + "0" * (len(digits) % 2))
    high = bytes.fromhex(digits.ljust(64, "f"))
    rows = handle.execute(
        "SELECT id FROM commits WHERE is_here AND name BETWEEN :low AND :high LIMIT 2",
        {"low": low, "high": high},
    )
    return [commit_id for (commit_id,) in rows]


def read_files(handle: Handle, ids: Sequence[int]) -> dict[int, list[CommitFile]]:
    """Return the files that commits changed, by path, by the commits' ids."""
    found: dict[int, list[CommitFile]] = {commit_id: [] for commit_id in ids}
    rows = handle.execute(
        """SELECT f.commit_id, f.change, p.path, o.path, f.added, f.removed
           FROM commit_files f JOIN commit_paths p ON p.id = f.path_id
           LEFT JOIN commit_paths o ON o.id = f.old_path_id
           WHERE f.commit_id IN (SELECT value FROM json_each(:ids)) ORDER BY f.commit_id, p.path""",
        {"ids": json.dumps(ids)},
    )
    for commit_id, *row in rows:
        found[commit_id].append(CommitFile(*row))
    return found


def read_version(handle: Handle) -> tuple[int, bytes | None] | None:
    """Return what tells one reading of the commits from another, None before the first."""
    row = handle.execute("SELECT read_at_ms, head FROM history").fetchone()
    return (row[0], row[1]) if row else None


def read_ids(handle: Handle, among: Sequence[int] | None = None) -> list[int]:
    """Return the ids of the commits that can be found, the newest first.

    Args:
        handle: A read transaction.
        among: Only these; None for all, which takes 20 ms for 10,000.
    """
    some = "" if among is None else "AND id IN (SELECT value FROM json_each(:among))"
    ids = f"SELECT id FROM commits WHERE is_here {some} ORDER BY +committed_at_s DESC, name"  # noqa: S608
    values = {} if among is None else {"among": json.dumps(among)}
    joined = handle.execute(f"SELECT group_concat(id) FROM ({ids})", values).get  # noqa: S608
    return list(map(int, joined.split(","))) if joined else []


def read_changed_paths(handle: Handle, ids: Sequence[int], most: int) -> dict[int, tuple[str, ...]]:
    """Return the paths that commits added or changed, by id; none of those with more files."""
    found: dict[int, list[str]] = {commit_id: [] for commit_id in ids}
    rows = handle.execute(
        """SELECT f.commit_id, p.path FROM commit_files f
           JOIN commit_paths p ON p.id = f.path_id JOIN commits c ON c.id = f.commit_id
           WHERE f.commit_id IN (SELECT value FROM json_each(:ids))
             AND f.change <> 'D' AND c.file_count <= :most""",
        {"ids": json.dumps(ids), "most": most},
    )
    for commit_id, path in rows:
        found[commit_id].append(os.fsdecode(path))
    return {commit_id: tuple(paths) for commit_id, paths in found.items()}


class FileChange(NamedTuple):
    """What a commit did to a file."""

    change: str  # A, M, D or R
    old_path: bytes | None  # of a renamed file


def read_changes_of(handle: Handle, path: bytes) -> dict[int, FileChange]:
    """Return what commits did to a file, by the commits' ids."""
    rows = handle.execute(
        """SELECT f.commit_id, f.change, o.path FROM commit_files f
           JOIN commit_paths p ON p.id = f.path_id
           LEFT JOIN commit_paths o ON o.id = f.old_path_id
           WHERE p.path = ?""",
        (path,),
    )
    return {commit_id: FileChange(change, old_path) for commit_id, change, old_path in rows}


class LastChange(NamedTuple):
    """The newest of the commits that changed a file."""

    name: bytes
    author: str
    committed_at_s: int
    subject: str


def read_last_changes(handle: Handle, paths: Iterable[bytes]) -> dict[bytes, LastChange]:
    """Return the newest of the commits that changed each file, for files that have one."""
    rows = handle.execute(
        """SELECT p.path, c.name, c.author, c.committed_at_s, c.subject
           FROM json_each(:paths) wanted
           CROSS JOIN commit_paths p ON p.path = unhex(wanted.value)
           CROSS JOIN commits c ON c.id =
             (SELECT f.commit_id FROM commit_files f JOIN commits k ON k.id = f.commit_id
              WHERE f.path_id = p.id ORDER BY k.committed_at_s DESC, k.id LIMIT 1)""",
        {"paths": json.dumps([path.hex() for path in paths])},
    )
    return {path: LastChange(*row) for path, *row in rows}


def read_not_all_listed(handle: Handle, most_files: int) -> set[int]:
    """Return the ids of the commits of which not all files are listed."""
    rows = handle.execute(
        "SELECT id FROM commits WHERE is_partial OR is_cut OR file_count > ?", (most_files,)
    )
    return {commit_id for (commit_id,) in rows}


def read_unembedded(handle: Handle, model: str, limit: int) -> list[int]:
    """Return the ids of some commits that have no vector of a model, the oldest ids first."""
    rows = handle.execute(
        """SELECT id FROM commits c WHERE is_here AND NOT EXISTS
             (SELECT 1 FROM commit_vectors v WHERE v.commit_id = c.id AND v.model = :model)
           ORDER BY id LIMIT :limit""",
        {"model": model, "limit": limit},
    )
    return [commit_id for (commit_id,) in rows]


def write_vectors(handle: Handle, model: str, rows: Iterable[CommitVector]) -> None:
    """Store the vectors of commits, replacing those of another model."""
    handle.executemany(
        """INSERT INTO commit_vectors (commit_id, model, vector) VALUES (?, ?, ?)
           ON CONFLICT (commit_id) DO UPDATE
             SET model = excluded.model, vector = excluded.vector""",
        ((row.commit_id, model, row.vector) for row in rows),
    )


def read_vectors(handle: Handle, model: str) -> list[tuple[int, bytes]]:
    """Return the ids of the commits of which a model made vectors, rising, with the vectors."""
    rows = handle.execute(
        "SELECT commit_id, vector FROM commit_vectors WHERE model = :model ORDER BY commit_id",
        {"model": model},
    )
    return list(rows)


def read_vectors_version(handle: Handle) -> tuple[int, int]:
    """Return the number of vectors and the highest id, which tell new ones from those before."""
    rows = handle.execute("SELECT count(*), coalesce(max(commit_id), 0) FROM commit_vectors")
    [(number, highest)] = rows
    return number, highest


def _split(joined: bytes, size: int) -> tuple[bytes, ...]:
    if len(joined) == size:  # as nearly all are, and all commits of a project are read at once
        return (joined,)
    return tuple(joined[at : at + size] for at in range(0, len(joined), size))
