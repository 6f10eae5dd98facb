"""Pairs of one repository as compact arrays, kept in a file of their own."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from engine.embedding.training.pairs import Pair

#: A word of an answer carries the field it stands in and how often: ``field * 64 + count``.
FIELD_CODES: Final = 64
NAME, SIGNATURE, BODY = 0, 1, 2
FOLDERS, STEM = 0, 1
MAX_WORDS: Final = {NAME: 24, SIGNATURE: 60, BODY: 130}  # different ones of a field

Ints = NDArray[np.int32]
Codes = NDArray[np.uint8]


class Bags(NamedTuple):
    """Bags of words one after the other: those of bag i are ``offsets[i]:offsets[i + 1]``."""

    words: NDArray[np.integer]
    codes: Codes
    offsets: NDArray[np.int64]


class Shard(NamedTuple):
    """The pairs of a repository over words of its own."""

    vocabulary: list[str]
    kinds: Codes
    files: Ints
    query_hashes: NDArray[np.uint32]
    queries: Bags
    answers: Bags
    paths: Bags

    @property
    def size(self) -> int:
        """How many pairs."""
        return len(self.kinds)


class _Builder:
    """Collects bags."""

    def __init__(self, ids: dict[str, int]) -> None:
        self._ids = ids
        self._words: list[int] = []
        self._codes: list[int] = []
        self._offsets = [0]

    def add(self, fields: Sequence[tuple[int, str, int]]) -> None:
        """Add a bag.

        Args:
            fields: The number of a field, its words, and how many different ones are taken.
        """
        ids = self._ids
        for field, text, most in fields:
            for word, count in list(Counter(text.split()).items())[:most]:
                self._words.append(ids.setdefault(word, len(ids)))
                self._codes.append(field * FIELD_CODES + min(count, FIELD_CODES - 1))
        self._offsets.append(len(self._words))

    def bags(self) -> Bags:
        """Give what was collected."""
        return Bags(
            np.array(self._words, np.int32),
            np.array(self._codes, np.uint8),
            np.array(self._offsets, np.int64),
        )


def shard_of(pairs: Sequence[Pair]) -> Shard:
    """Count the words of pairs."""
    ids: dict[str, int] = {}
    queries, answers, paths = _Builder(ids), _Builder(ids), _Builder(ids)
    for pair in pairs:
        queries.add([(0, pair.query, 1 << 10)])
        answers.add(
            [
                (NAME, pair.answer.name_terms, MAX_WORDS[NAME]),
                (SIGNATURE, pair.answer.signature_terms, MAX_WORDS[SIGNATURE]),
                (BODY, pair.answer.body_terms, MAX_WORDS[BODY]),
            ]
        )
        paths.add([(FOLDERS, pair.place.folders, 1 << 10), (STEM, pair.place.stem, 1 << 10)])
    return Shard(
        list(ids),
        np.array([pair.kind for pair in pairs], np.uint8),
        np.array([pair.place.file for pair in pairs], np.int32),
        np.array([crc32(pair.query.encode()) for pair in pairs], np.uint32),
        queries.bags(),
        answers.bags(),
        paths.bags(),
    )


def save_shard(shard: Shard, file: Path) -> None:
    """Write a shard; the file appears whole or not at all."""
    blob = "\n".join(shard.vocabulary).encode("utf-8", "surrogatepass")
    part = file.with_suffix(".part.npz")
    np.savez(
        part,
        vocabulary=np.frombuffer(blob, np.uint8),
        kinds=shard.kinds,
        files=shard.files,
        query_hashes=shard.query_hashes,
        **{
            f"{name}_{field}": array
            for name in ("queries", "answers", "paths")
            for field, array in getattr(shard, name)._asdict().items()
        },
    )
    part.rename(file)


def load_shard(file: Path) -> Shard:
    """Read what ``save_shard`` wrote."""
    with np.load(file) as data:
        blob = data["vocabulary"].tobytes().decode("utf-8", "surrogatepass")
        bags = [
            Bags(*(data[f"{name}_{field}"] for field in Bags._fields))
            for name in ("queries", "answers", "paths")
        ]
        return Shard(
            blob.split("\n") if blob else [],
            data["kinds"],
            data["files"],
            data["query_hashes"],
            *bags,
        )
