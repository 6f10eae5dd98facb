"""The two keyword indexes, words of chunks and words of paths: writing and ranked reading."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from heapq import nsmallest
from itertools import chain, islice, takewhile
from typing import Any, Literal, NamedTuple

import apsw

from engine.store.connection import Handle
from engine.store.filters import Filters

#: The columns of chunk_terms: names of definitions; signatures, docs and containers; all text.
CHUNK_COLUMNS = ("name", "signature", "body")
#: BM25 weights of these columns.
CHUNK_WEIGHTS = (3.0, 2.0, 1.0)
#: BM25 weights of the columns folders, stem.
PATH_WEIGHTS = (1.0, 3.0)


#: Pages of 4 kB rewritten in one transaction: other writers wait some 30 ms.
_MERGED_PAGES = 500
#: A merge that finds nothing to do changes one row (FTS5's documentation of ``merge``).
_LEAST_CHANGES = 2
# Matches that can be scanned in the time of looking up one chunk.
_WALKED_A_CHUNK = 250
_ALL = -1  # no limit, to SQLite


# FTS5's constants of BM25.
_K1 = 1.2
_B = 0.75


#: The keyword indexes whose deleted words must not stay.
MergedTable = Literal["chunk_terms", "memory_terms", "commit_terms"]


class WordTable(NamedTuple):
    """A keyword index."""

    name: str
    weights: tuple[float, ...]  # of its columns


CHUNK_WORDS = WordTable("chunk_terms", CHUNK_WEIGHTS)
PATH_WORDS = WordTable("file_paths", PATH_WEIGHTS)


class Scored(NamedTuple):
    """A row of a keyword index with its BM25 score; higher is better."""

    id: int
    score: float


def insert_chunk_terms(handle: Handle, rows: Iterable[tuple[int, str, str, str]]) -> None:
    """Insert the words of chunks: (chunk id, name, signature, body)."""
    handle.executemany(
        "INSERT INTO chunk_terms (rowid, name, signature, body) VALUES (?, ?, ?, ?)", rows
    )


def insert_path_terms(handle: Handle, rows: Iterable[tuple[int, str, str]]) -> None:
    """Insert the words of paths: (file id, folders, stem)."""
    handle.executemany("INSERT INTO file_paths (rowid, folders, stem) VALUES (?, ?, ?)", rows)


def delete_path_terms(handle: Handle, file_ids: Iterable[int]) -> None:
    """Delete the words of paths."""
    handle.executemany("DELETE FROM file_paths WHERE rowid = ?", ((id_,) for id_ in file_ids))


def merge_words(handle: Handle, *, is_first: bool, table: MergedTable = "chunk_terms") -> bool:
    """Rewrite a piece of a keyword index without the words of deleted rows.

    Deleted words else stay until a merge happens to reach them. Called until there is nothing left
    to do, each time in a transaction of its own, it has rewritten the whole index (0.2 s for
    60,000 chunks), as ``optimize`` does in one. FTS5's own ``secure-delete`` is no way: long lists
    of words do not survive it (SQLite 3.54.1 finds their checksum wrong).

    Args:
        handle: A write transaction.
        is_first: Begin with the whole index; else go on.
        table: The keyword index.

    Returns:
        Whether there is more to do.
    """
    before = handle.total_changes()
    pages = -_MERGED_PAGES if is_first else _MERGED_PAGES
    handle.execute(
        f"INSERT INTO {table} ({table}, rank) VALUES ('merge', :pages)",  # noqa: S608 - constants
        {"pages": pages},
    )
    return handle.total_changes() - before >= _LEAST_CHANGES


def match_chunks_of_blob(
    handle: Handle, match: str, first_chunk: int, last_chunk: int
) -> list[Scored]:
    """Return the scores of the chunks of one blob that match, best first."""
    rows = handle.execute(
        f"""SELECT rowid, -rank FROM chunk_terms
            WHERE chunk_terms MATCH :match AND rank MATCH 'bm25{CHUNK_WEIGHTS}'
              AND rowid BETWEEN :first AND :last ORDER BY rank""",  # noqa: S608 - constants
        {"match": match, "first": first_chunk, "last": last_chunk},
    )
    return [Scored(id_, score) for id_, score in rows]


def read_ids(handle: Handle, table: WordTable, word: str) -> str:
    """Return the ids of the rows with a quoted word or phrase, rising, joined by commas.

    As one text they cost a tenth of what their scores cost: 2.6 and 24 ms for 33,000 rows.
    """
    ids: str | None = handle.execute(
        f"""SELECT group_concat(rowid) FROM
              (SELECT rowid FROM {table.name} WHERE {table.name} MATCH :word
               ORDER BY rowid)""",  # noqa: S608 - our own names
        {"word": word},
    ).get
    return ids or ""


def read_scores(
    handle: Handle, table: WordTable, word: str, among: Sequence[int] | None = None
) -> list[tuple[int, float]]:
    """Return the share of one quoted word or phrase in BM25 scores, by id.

    BM25 is a sum over words: an expression that joins words by OR scores the sum of these.

    Args:
        handle: A read transaction.
        table: The keyword index.
        word: The quoted word or phrase.
        among: Only these rows; all rows with the word are walked, and only these are scored.
    """
    condition, values = "", {"word": word}
    if among is not None:
        condition = "AND +rowid IN (SELECT value FROM json_each(:ids))"
        values["ids"] = json.dumps(among)
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT rowid, -rank FROM {table.name}
            WHERE {table.name} MATCH :word AND rank MATCH 'bm25{table.weights}' {condition}""",  # noqa: S608
        values,
    ).fetchall()
    return rows


def highest_score(rows: int, with_it: int) -> float:
    """Return what no BM25 score of a word in so many of all rows exceeds."""
    return rarity(rows, with_it) * (_K1 + 1)


def rarity(rows: int, with_it: int) -> float:
    """Return FTS5's factor for a word (its inverse document frequency)."""
    value = math.log((rows - with_it + 0.5) / (with_it + 0.5))
    return value if value > 0 else 1e-6


def at_mean_length(score: float, length: int, mean: float, other_mean: float) -> float:
    """Return the BM25 score of a word that it would have among rows of another mean length.

    Args:
        score: Of the word, without its rarity.
        length: Words of the row.
        mean: Words of a row in the table of the score.
        other_mean: Words of a row in the other table.
    """
    if mean == other_mean:
        return score
    frequency = score * _slowness(length / mean) / (_K1 + 1 - score)
    return frequency * (_K1 + 1) / (frequency + _slowness(length / other_mean))


def _slowness(relative_length: float) -> float:
    """Return how slowly repetitions of a word add to the score of a row of this length."""
    return _K1 * (1 - _B + _B * relative_length)


def count_chunks_with(handle: Handle, word: str, most: int = _ALL) -> int:
    """Return the number of chunks, of all branches, that contain a quoted word or phrase.

    Args:
        handle: A read transaction.
        word: The quoted word or phrase.
        most: Stop there.
    """
    return int(
        handle.execute(
            """SELECT count(*) FROM
                 (SELECT 1 FROM chunk_terms WHERE chunk_terms MATCH :word LIMIT :most)""",
            {"word": word, "most": most},
        ).get
    )


def is_in_chunks(handle: Handle, match: str) -> bool:
    """Return whether a chunk, of any branch, matches an FTS5 expression."""
    return bool(
        handle.execute(
            "SELECT EXISTS (SELECT 1 FROM chunk_terms WHERE chunk_terms MATCH :match)",
            {"match": match},
        ).get
    )


def some_chunks(handle: Handle, match: str, most: int) -> list[int]:
    """Return the ids of chunks, of any branch, that match an FTS5 expression, the first ones."""
    rows = handle.execute(
        "SELECT rowid FROM chunk_terms WHERE chunk_terms MATCH :match LIMIT :most",
        {"match": match, "most": most},
    )
    return [chunk_id for (chunk_id,) in rows]


def is_in_paths(handle: Handle, match: str) -> bool:
    """Return whether the path of a file, of any branch, matches an FTS5 expression."""
    return bool(
        handle.execute(
            "SELECT EXISTS (SELECT 1 FROM file_paths WHERE file_paths MATCH :match)",
            {"match": match},
        ).get
    )


def matches_of_columns(word: str) -> list[tuple[str, str]]:
    """Return each column of chunks, with the expression for a quoted word or phrase in it."""
    return [(column, f"{column} : {word}") for column in CHUNK_COLUMNS]


def columns_with(
    handle: Handle, word: str, ids: Sequence[int], holding: int
) -> dict[int, tuple[str, ...]]:
    """Return, for each chunk that contains a quoted word or phrase, the columns that do.

    Args:
        handle: A read transaction.
        word: The quoted word or phrase.
        ids: The chunks.
        holding: How many chunks have it, of all. To go through these costs less than to look each
            of 20 up, until there are some 5,000 (1.2 ms and 3.2 ms at 4,000).
    """
    found: dict[int, tuple[str, ...]] = {}
    wanted = set(ids)
    for column, match in matches_of_columns(word):
        if holding <= _WALKED_A_CHUNK * len(wanted):
            rows = handle.execute(
                """SELECT rowid FROM chunk_terms
                   WHERE chunk_terms MATCH :match AND rowid BETWEEN :low AND :high""",
                {"match": match, "low": min(wanted), "high": max(wanted)},
            )
        else:
            rows = handle.execute(
                """SELECT t.rowid FROM json_each(:ids) wanted CROSS JOIN chunk_terms t
                   ON t.rowid = wanted.value WHERE t.chunk_terms MATCH :match""",
                {"ids": json.dumps(ids), "match": match},
            )
        for (chunk_id,) in rows:
            if chunk_id in wanted:
                found[chunk_id] = (*found.get(chunk_id, ()), column)
    return found


def first_ranked(
    rows: apsw.Cursor, limit: int, order: Callable[[tuple[Any, ...]], Any]
) -> list[tuple[Any, ...]]:
    """Return the first rows of a cursor that gives them by rank, sorted.

    Of the others only those are read, and not kept, whose score is that of the last one: SQL with a
    second column to order by would look up every match before it gives the first.

    Args:
        rows: Each begins with its score, which falls.
        limit: How many are wanted.
        order: Of a row, what decides among those with equal scores.
    """
    found = list(islice(rows, limit))
    found.sort(key=lambda row: (-row[0], order(row)))
    if found and len(found) == limit:
        last = found[-1][0]
        above = [row for row in found if row[0] != last]
        equal = chain(found[len(above) :], takewhile(lambda row: row[0] == last, rows))
        found = above + nsmallest(limit - len(above), equal, key=order)
        rows.close()
    return found


def match_paths(handle: Handle, match: str, filters: Filters, limit: int) -> list[Scored]:
    """Return the non-empty files whose path matches best, filtered before the limit.

    Of equally good ones the first by path, however they came into the index.
    """
    rows = handle.execute(
        f"""SELECT -p.rank, f.path, f.id FROM file_paths p CROSS JOIN files f ON f.id = p.rowid
            WHERE p.file_paths MATCH :match AND p.rank MATCH 'bm25{PATH_WEIGHTS}'
              AND {filters.file_condition}
              AND (SELECT b.size_bytes FROM blobs b WHERE b.id = f.blob_id) > 0
            ORDER BY p.rank""",  # noqa: S608 - constant fragments
        {"match": match, **filters.values},
    )
    found = first_ranked(rows, limit, lambda row: row[1:])
    return [Scored(id_, score) for score, _, id_ in found]


def stem_of(word: str) -> str:
    """Return the stem of a lower-case word of letters and digits, as the indexes have it."""
    try:
        tokens = _tokenizer()(
            word.encode(),
            apsw.FTS5_TOKENIZE_QUERY,
            None,
            include_offsets=False,
            include_colocated=False,
        )
    except UnicodeError:  # FTS5 takes each byte for a letter, so a stem can end within a character
        return word
    stems = [str(each) for each in tokens]
    return stems[0] if len(stems) == 1 else word


@cache
def _tokenizer() -> apsw.FTS5Tokenizer:
    return apsw.Connection(":memory:").fts5_tokenizer("porter", ["ascii"])
