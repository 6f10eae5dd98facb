"""Store all pairs as arrays over the rows of a model, and sample batches as sparse matrices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from engine.embedding.static_weights import Splitter
from tools.training.pairs import BODY, FIELD_CODES, NAME, SIGNATURE, Bags, Shard
from tools.training.vocabulary import expanded, rows_of

BATCH: Final = 1024
BLOCK: Final = 128  # pairs of one repository in a row: the hardest negatives are its own
_QUERY_WORDS_DROPPED: Final = 0.1
_ASKED: Final = 0.35  # share of the questions that begin like a question
#: Typical starts of questions and ends of phrases.
_OPENINGS: Final = (
    "how does", "how is", "how are", "how to", "where is", "where are", "what is", "what does",
    "which", "how", "where", "find", "how do", "when is", "code that", "function to", "class for",
)  # fmt: skip
_ENDINGS: Final = (
    "", "", "work", "works", "logic", "implementation", "handled", "implemented", "handling",
    "and", "code", "function", "support", "defined",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BagShape:
    """The weights of the words of an answer."""

    field_factors: tuple[float, float, float] = (8.0, 1.0, 1.0)  # name, signature, body
    path_factors: tuple[float, float] = (1.0, 2.0)  # folders, stem
    count_power: float = 0.75  # a word that occurs n times counts n to this power
    word_drop: float = 0.25
    field_drop: float = 0.2  # of the names and of the signatures
    path_drop: float = 0.3

    def answer_weights(self) -> NDArray[np.float32]:
        """Return the weight of each code of an answer's words."""
        counts = np.maximum(np.arange(FIELD_CODES), 1) ** self.count_power
        unused = np.zeros(FIELD_CODES)
        fields = [factor * counts for factor in self.field_factors]
        return np.concatenate([*fields, unused]).astype(np.float32)

    def path_weights(self) -> NDArray[np.float32]:
        """Return the weight of each code of a path's words."""
        fields = [np.full(FIELD_CODES, factor) for factor in (*self.path_factors, 0.0, 0.0)]
        return np.concatenate(fields).astype(np.float32)


class Corpus(NamedTuple):
    """The pairs of all repositories."""

    kinds: NDArray[np.uint8]
    repositories: NDArray[np.int32]
    files: NDArray[np.int64]  # unique over repositories
    query_hashes: NDArray[np.uint32]
    queries: Bags
    answers: Bags
    paths: Bags


class Batch(NamedTuple):
    """The input of one step: matrices of n × rows, and the pairs that are not negatives."""

    queries: csr_matrix
    answers: csr_matrix
    paths: csr_matrix
    masked: NDArray[np.bool_]


def corpus_of(shards: Sequence[Shard], splitter: Splitter) -> Corpus:
    """Join shards over the rows of one vocabulary."""
    bags: tuple[list[Bags], list[Bags], list[Bags]] = ([], [], [])
    for shard in shards:
        rows, offsets = rows_of(shard.vocabulary, splitter)
        for each, known in zip(bags, (shard.queries, shard.answers, shard.paths), strict=True):
            each.append(expanded(known, rows, offsets))
    sizes = [shard.size for shard in shards]
    return Corpus(
        np.concatenate([shard.kinds for shard in shards]),
        np.repeat(np.arange(len(shards), dtype=np.int32), sizes),
        np.concatenate(
            [shard.files.astype(np.int64) + (at << 32) for at, shard in enumerate(shards)]
        ),
        np.concatenate([shard.query_hashes for shard in shards]),
        *(_joined(each) for each in bags),
    )


def distinct(corpus: Corpus) -> NDArray[np.int64]:
    """Return the numbers of the pairs without repeated questions about the same file.

    Otherwise the name of a class would be a question once for each of its members.
    """
    keys = (corpus.kinds, corpus.files, corpus.query_hashes)
    order = np.lexsort(keys)  # stable: the first of equal ones comes first
    is_new = np.ones(len(order), bool)
    is_new[1:] = np.any([np.diff(key[order].astype(np.int64)) != 0 for key in keys], axis=0)
    return np.sort(order[is_new])


def _joined(bags: list[Bags]) -> Bags:
    starts = np.cumsum([0, *(int(each.offsets[-1]) for each in bags)])
    offsets = [each.offsets[:-1] + start for each, start in zip(bags, starts[:-1], strict=True)]
    return Bags(
        np.concatenate([each.words for each in bags]),
        np.concatenate([each.codes for each in bags]),
        np.concatenate([*offsets, starts[-1:]]),
    )


class Sampler:
    """Sampler of batches; the seed decides everything.

    Args:
        corpus: The pairs.
        rows: Of the model.
        shape: How words count.
        splitter: Splits the words that questions begin and end with.
        random: The source of all randomness.
    """

    def __init__(
        self,
        corpus: Corpus,
        rows: int,
        shape: BagShape,
        splitter: Splitter,
        random: np.random.Generator,
    ) -> None:
        self._corpus = corpus
        self._rows = rows
        self._shape = shape
        self._random = random
        self._numbers = distinct(corpus)
        self._answer_weights = shape.answer_weights()
        self._path_weights = shape.path_weights()
        self._openings = [_rows_of_phrase(phrase, splitter) for phrase in _OPENINGS]
        self._endings = [_rows_of_phrase(phrase, splitter) for phrase in _ENDINGS]

    @property
    def size(self) -> int:
        """The number of pairs in an epoch."""
        return len(self._numbers)

    def batches(self) -> Iterator[Batch]:
        """Yield one epoch: every distinct pair once, in blocks of one repository."""
        random = self._random
        order = random.permutation(self._numbers)
        order = order[np.argsort(self._corpus.repositories[order], kind="stable")]
        bounds = np.searchsorted(
            self._corpus.repositories[order], np.arange(self._corpus.repositories.max() + 2)
        )
        blocks = []
        loose = []
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            whole = start + (end - start) // BLOCK * BLOCK
            blocks += [order[at : at + BLOCK] for at in range(start, whole, BLOCK)]
            loose.append(order[whole:end])
        rest = random.permutation(np.concatenate(loose))
        blocks += [rest[at : at + BLOCK] for at in range(0, len(rest), BLOCK)]
        mixed = np.concatenate([blocks[at] for at in random.permutation(len(blocks))])
        for at in range(0, len(mixed), BATCH):
            chosen = mixed[at : at + BATCH]
            if len(chosen) > 1:
                yield self.batch(chosen)

    def batch(self, chosen: NDArray[np.integer]) -> Batch:
        """Return the matrices of some pairs."""
        corpus, shape, random = self._corpus, self._shape, self._random
        words, codes, owners = _taken(corpus.answers, chosen)
        weights = self._answer_weights[codes]
        weights[random.random(len(words), np.float32) < shape.word_drop] = 0
        fields = codes // FIELD_CODES
        for field in (NAME, SIGNATURE):
            lost = random.random(len(chosen)) < shape.field_drop
            weights[(fields == field) & lost[owners]] = 0
        body = random.random(len(chosen)) < shape.field_drop / 2
        has_more = np.bincount(owners, weights * (fields != BODY), len(chosen)) > 0
        weights[(fields == BODY) & (body & has_more)[owners]] = 0
        answers = _matrix(words, weights, owners, (len(chosen), self._rows))

        words, codes, owners = _taken(corpus.paths, chosen)
        weights = self._path_weights[codes]
        weights[(random.random(len(chosen)) < shape.path_drop)[owners]] = 0
        weights[random.random(len(words), np.float32) < shape.word_drop] = 0
        paths = _matrix(words, weights, owners, (len(chosen), self._rows))
        return Batch(self._queries(chosen), answers, paths, self._masked(chosen))

    def whole(self, chosen: NDArray[np.integer]) -> tuple[csr_matrix, csr_matrix]:
        """Return the questions and answers of some pairs with all their words and no others."""
        shape = (len(chosen), self._rows)
        words, _, owners = _taken(self._corpus.queries, chosen)
        queries = _matrix(words, np.ones(len(words), np.float32), owners, shape)
        words, codes, owners = _taken(self._corpus.answers, chosen)
        return queries, _matrix(words, self._answer_weights[codes], owners, shape)

    def _queries(self, chosen: NDArray[np.integer]) -> csr_matrix:
        random = self._random
        words, _, owners = _taken(self._corpus.queries, chosen)
        keep = random.random(len(words), np.float32) >= _QUERY_WORDS_DROPPED
        more, asked = [words[keep]], [owners[keep]]
        for at in np.flatnonzero(random.random(len(chosen)) < _ASKED).tolist():
            opening = self._openings[int(random.integers(len(self._openings)))]
            ending = self._endings[int(random.integers(len(self._endings)))]
            more += [opening, ending]
            asked.append(np.full(len(opening) + len(ending), at))
        all_words, all_owners = np.concatenate(more), np.concatenate(asked)
        weights = np.ones(len(all_words), np.float32)
        return _matrix(all_words, weights, all_owners, (len(chosen), self._rows))

    def _masked(self, chosen: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Mark pieces of one file and equal questions, which may answer each other."""
        files = self._corpus.files[chosen]
        asked = self._corpus.query_hashes[chosen]
        masked: NDArray[np.bool_] = files[:, None] == files
        masked |= asked[:, None] == asked
        np.fill_diagonal(masked, val=False)
        return masked


def _rows_of_phrase(phrase: str, splitter: Splitter) -> NDArray[np.uint16]:
    return np.array([row for word in phrase.split() for row in splitter.rows(word)], np.uint16)


def _taken(
    bags: Bags, chosen: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words, codes and positions of the chosen bags."""
    starts = bags.offsets[chosen]
    lengths = bags.offsets[chosen + 1] - starts
    ends = np.cumsum(lengths)
    where = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1])
    return bags.words[where], bags.codes[where], np.repeat(np.arange(len(chosen)), lengths)


def _matrix(
    words: NDArray[np.integer],
    weights: NDArray[np.float32],
    owners: NDArray[np.int64],
    shape: tuple[int, int],
) -> csr_matrix:
    keep = weights > 0
    return csr_matrix((weights[keep], (owners[keep], words[keep].astype(np.int32))), shape=shape)
