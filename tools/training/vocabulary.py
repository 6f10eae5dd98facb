"""Choose the words of a model, and pieces of words for all others.

A word that enough repositories use has a row of its own; any other word is split into known words
and pieces, the longest first, so that every identifier has a vector.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.embedding.static_weights import Splitter
from tools.training.pairs import Bags, Shard

MAX_WORDS: Final = 44_000
MAX_PIECES: Final = 6_000
LEAST_REPOSITORIES: Final = 2
_LONGEST_WORD: Final = 24
_PIECE_CHARS: Final = (2, 3, 4, 5)
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def vocabulary_of(
    shards: Iterable[Shard], *, max_words: int = MAX_WORDS, max_pieces: int = MAX_PIECES
) -> tuple[list[str], list[str]]:
    """Choose the rows of a model.

    Args:
        shards: One a repository.
        max_words: The maximum number of words with a row of their own.
        max_pieces: The maximum number of pieces of other words, single letters included.

    Returns:
        The words, most widely used first, and the pieces that are not words themselves.
    """
    spread: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for shard in shards:
        counts = _counts(shard)
        for word, count in zip(shard.vocabulary, counts.tolist(), strict=True):
            spread[word] += 1
            uses[word] += count
    order = sorted(spread, key=lambda word: (-spread[word], -uses[word], word))
    wide = [word for word in order if _is_word(word) and spread[word] >= LEAST_REPOSITORIES]
    words = wide[:max_words]
    known = set(words)
    return words, _pieces([word for word in order if word not in known], known, max_pieces)


def rows_of(
    words: Sequence[str], splitter: Splitter
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the rows of all words: word i has ``rows[offsets[i]:offsets[i + 1]]``."""
    found = [splitter.rows(word) for word in words]
    offsets = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(rows) for rows in found], out=offsets[1:])
    flat = np.fromiter(chain.from_iterable(found), np.uint16, int(offsets[-1]))
    return flat, offsets


def expanded(bags: Bags, rows: NDArray[np.uint16], offsets: NDArray[np.int64]) -> Bags:
    """Replace words by rows; a word of several pieces becomes several entries."""
    lengths = np.diff(offsets)[bags.words]
    ends = np.cumsum(lengths)
    starts = np.repeat(offsets[bags.words] - (ends - lengths), lengths)
    where = starts + np.arange(len(starts))
    bounds = np.concatenate([[0], ends])[bags.offsets]
    return Bags(rows[where], np.repeat(bags.codes, lengths), bounds.astype(np.int64))


def _counts(shard: Shard) -> NDArray[np.int64]:
    total = np.zeros(len(shard.vocabulary), np.int64)
    for bags in (shard.queries, shard.answers, shard.paths):
        total += np.bincount(bags.words, minlength=len(total))
    return total


def _is_word(word: str) -> bool:
    return len(word) <= _LONGEST_WORD and not (word[0].isdigit() and len(word) > 4)


def _pieces(others: Iterable[str], known: set[str], most: int) -> list[str]:
    """Choose the character runs that most other words share, and all single letters."""
    found: Counter[str] = Counter()
    for word in others:
        if word[0].isdigit() or len(word) > _LONGEST_WORD:
            continue
        for size in _PIECE_CHARS:
            found.update({word[at : at + size] for at in range(len(word) - size + 1)})
    single = [letter for letter in _ALPHABET if letter not in known]
    # A long run is more informative than a short one.
    order = sorted(found, key=lambda piece: (-found[piece] * len(piece), piece))
    frequent = [piece for piece in order if piece not in known and piece.isascii()]
    return (single + frequent)[:most]


def row_frequencies(bags: Bags, rows: int) -> NDArray[np.float64]:
    """Return the share of each row among all entries."""
    counts = np.bincount(bags.words, minlength=rows) + 1.0
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def known_rows(words: Sequence[str], pieces: Sequence[str]) -> Mapping[str, int]:
    """Return the rows of words and pieces as in the weights file."""
    return {word: row for row, word in enumerate([*words, *pieces])}
