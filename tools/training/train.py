"""Train the rows and factors of a static model, join several runs and write the model file.

Optimiser: Adam (Kingma and Ba 2015), applied to the rows that a batch touches, with a step count
for each row; the learning rate falls linearly. Rows are initialised at random, factors as smooth
inverse frequencies (Arora et al. 2017): the more frequent a word is in code, the lower its weight.

Loss, with a gradient derived by hand: a question's score for an answer is the cosine with the chunk
plus a share of the cosine with its path. The loss is InfoNCE (van den Oord et al. 2018) over the
answers of the batch, in both directions, at several leading dimensions at once (Matryoshka,
Kusupati et al. 2022).

Joining: runs that differ by their seed alone make different mistakes. Their rows side by side give
the mean of their cosines; of these dimensions, the principal directions of many texts are kept,
strongest first, so that the leading dimensions work alone.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from engine.embedding.static_weights import MAGIC, Header, Splitter
from tools.training.batches import BATCH, BagShape, Batch, Corpus, Sampler
from tools.training.vocabulary import row_frequencies

Floats = NDArray[np.float32]

FORWARD_SHARE = 0.7  # of the direction question → answer
_TINY = 1e-6


class Scored(NamedTuple):
    """A loss with its gradients with respect to the sums of the three kinds of bags."""

    value: float
    queries: Floats
    answers: Floats
    paths: Floats


def contrast(
    sums: tuple[Floats, Floats, Floats],
    masked: NDArray[np.bool_],
    *,
    temperature: float,
    path_share: float,
    sizes: tuple[int, ...],
) -> Scored:
    """Return the loss of a batch.

    Args:
        sums: Weighted sums of the rows of the questions, answers and paths, n × dimension each.
            Answer i with path i belongs to question i; a path may be all zeros.
        masked: n × n, the pairs that do not count as negatives; its diagonal is False.
        temperature: Divides the scores.
        path_share: How much the path's cosine counts.
        sizes: Leading dimensions at which the loss is taken; their losses are averaged.
    """
    gradients = [np.zeros_like(each) for each in sums]
    value = 0.0
    for size in sizes:
        units = [normalised(each[:, :size]) for each in sums]
        (queries, _), (answers, _), (paths, _) = units
        targets = answers + np.float32(path_share) * paths
        logits = queries @ targets.T
        logits /= np.float32(temperature)
        logits[masked] = -1e9
        loss, slope = _cross_entropy(logits)
        value += loss / len(sizes)
        slope /= np.float32(temperature * len(sizes))
        d_targets = slope.T @ queries
        slopes = (slope @ targets, d_targets, np.float32(path_share) * d_targets)
        for gradient, d_unit, (unit, length) in zip(gradients, slopes, units, strict=True):
            gradient[:, :size] += _through_norm(d_unit, unit, length)
    return Scored(value, *gradients)


def normalised(sums: Floats) -> tuple[Floats, Floats]:
    """Return the rows scaled to length 1, and their lengths, n × 1. Zero rows stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None] + np.float32(_TINY)
    return sums / lengths, lengths


def quantised(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Quantise rows to integers from -127 to 127 and a scale per row."""
    scales = np.maximum(np.abs(rows).max(axis=-1) / np.float32(127), np.float32(1e-12))
    return np.rint(rows / scales[..., None]).astype(np.int8), scales


def _through_norm(slope: Floats, unit: Floats, length: Floats) -> Floats:
    along = np.einsum("ij,ij->i", slope, unit)[:, None]
    passed: Floats = (slope - unit * along) / length
    return passed


def _cross_entropy(logits: Floats) -> tuple[float, Floats]:
    """Return the loss of both directions and its gradient with respect to the logits."""
    count = len(logits)
    right = np.diagonal(logits)
    value = 0.0
    slope = np.zeros_like(logits)
    for axis, share in ((1, FORWARD_SHARE), (0, 1 - FORWARD_SHARE)):
        top = logits.max(axis=axis, keepdims=True)
        powers = np.exp(logits - top)
        sums = powers.sum(axis=axis, keepdims=True)
        value += share * float((np.log(sums) + top).ravel().mean() - right.mean())
        powers *= np.float32(share / count) / sums
        slope += powers
    slope[np.arange(count), np.arange(count)] -= np.float32(1 / count)
    return value, slope


_TEXTS: Final = 60_000


def joined(
    tables: Sequence[Floats],
    corpus: Corpus,
    sampler: Sampler,
    dimension: int,
    random: np.random.Generator,
) -> Floats:
    """Join the tables of runs over one vocabulary.

    Args:
        tables: Rows × dimension of a run each, the factors multiplied in.
        corpus: The pairs; their questions and answers are the texts.
        sampler: Makes matrices of them, without randomness.
        dimension: How many dimensions to keep.
        random: Chooses the texts.

    Returns:
        Rows × dimension.
    """
    count = min(_TEXTS, len(corpus.kinds))
    chosen = np.sort(random.choice(len(corpus.kinds), count, replace=False))
    queries, answers = sampler.whole(chosen)
    # Answers have the same mean length in each run, so that none dominates.
    scaled = [table / np.float32(_mean_length(answers @ table)) for table in tables]
    wide = np.concatenate(scaled, axis=1)
    spread = np.zeros((wide.shape[1], wide.shape[1]))
    for matrix in (queries, answers):
        units, _ = normalised(matrix @ wide)
        spread += units.T @ units
    _, directions = np.linalg.eigh(spread)  # weakest first
    kept = directions[:, ::-1][:, :dimension].astype(np.float32)
    table: Floats = wide @ kept
    return table


def _mean_length(sums: Floats) -> float:
    return float(np.linalg.norm(sums, axis=1).mean())


_FREQUENT: Final = 1e-3  # the share of a word above which it counts less than half
_EPSILON: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The hyperparameters of a model."""

    runs: int = 3  # that differ by their seed, to be joined
    joined_dimension: int = 192  # of all runs together
    dimension: int = 256  # of one run
    sizes: tuple[int, ...] = (256, 128)  # leading dimensions that must work alone
    epochs: float = 1.0
    rate: float = 4e-3
    factor_rate: float = 2e-2  # of the logarithms of the factors
    temperature: float = 0.06
    path_share: float = 0.4
    mean_share: float = 0.0  # of its chunks, in the vector of a file; not used in training
    decays: tuple[float, float] = (0.9, 0.98)
    seed: int = 1
    shape: BagShape = field(default_factory=BagShape)


class Weights:
    """The parameters.

    Args:
        rows: Rows × dimension.
        logs: One a row, the logarithms of the factors by which the rows count.
    """

    def __init__(self, rows: Floats, logs: Floats) -> None:
        self.rows = rows
        self.logs = logs

    def table(self) -> Floats:
        """Return the rows times their factors."""
        scaled: Floats = self.rows * np.exp(self.logs)[:, None]
        return scaled


def first_weights(corpus: Corpus, rows: int, recipe: Recipe) -> Weights:
    """Return the initial weights: random rows, and factors by the rarity of a word."""
    random = np.random.default_rng(recipe.seed)
    shares = row_frequencies(corpus.answers, rows)
    spread = np.float32(1 / np.sqrt(recipe.dimension))
    return Weights(
        random.standard_normal((rows, recipe.dimension), np.float32) * spread,
        np.log(_FREQUENT / (_FREQUENT + shares)).astype(np.float32),
    )


class Adam:
    """Adam optimiser for the rows that a step touches.

    Args:
        values: The parameters, changed in place; their first axis is the rows.
        decays: Of the running mean and of the running square.
    """

    def __init__(self, values: Floats, decays: tuple[float, float]) -> None:
        self._values = values
        self._mean = np.zeros_like(values)
        self._square = np.zeros_like(values)
        self._steps = np.zeros((len(values), *[1] * (values.ndim - 1)), np.float32)
        self._decays = decays

    def step(self, rows: NDArray[np.integer], gradient: Floats, rate: float) -> None:
        """Move some rows against their gradient."""
        keep, keep_square = map(np.float32, self._decays)
        steps = self._steps[rows] + 1
        self._steps[rows] = steps
        mean = self._mean[rows]
        mean *= keep
        mean += (1 - keep) * gradient
        self._mean[rows] = mean
        square = self._square[rows]
        square *= keep_square
        np.square(gradient, out=gradient)
        gradient *= 1 - keep_square
        square += gradient
        self._square[rows] = square
        square /= 1 - keep_square**steps
        np.sqrt(square, out=square)
        square += np.float32(_EPSILON)
        mean /= square
        mean *= np.float32(rate) / (1 - keep**steps)
        self._values[rows] -= mean


class Trainer:
    """Trainer that runs single steps.

    Args:
        weights: The parameters, changed in place.
        recipe: The hyperparameters.
    """

    def __init__(self, weights: Weights, recipe: Recipe) -> None:
        self._weights = weights
        self._recipe = recipe
        self._rows = Adam(weights.rows, recipe.decays)
        self._logs = Adam(weights.logs, recipe.decays)

    def gradients(self, batch: Batch) -> tuple[float, NDArray[np.integer], Floats, Floats]:
        """Return the loss, the rows in a batch, and the gradients of those rows and factors."""
        recipe, weights = self._recipe, self._weights
        touched, matrix = _narrowed(
            vstack([batch.queries, batch.answers, batch.paths], format="csr")
        )
        rows = weights.rows[touched]
        factors = np.exp(weights.logs[touched])[:, None]
        sums = matrix @ (rows * factors)
        count = len(batch.masked)
        scored = contrast(
            (sums[:count], sums[count : 2 * count], sums[2 * count :]),
            batch.masked,
            temperature=recipe.temperature,
            path_share=recipe.path_share,
            sizes=recipe.sizes,
        )
        slope = np.concatenate([scored.queries, scored.answers, scored.paths])
        d_rows = matrix.T.tocsr() @ slope
        d_rows *= factors
        d_logs = np.einsum("ij,ij->i", d_rows, rows)
        return scored.value, touched, d_rows, d_logs

    def step(self, batch: Batch, progress: float) -> float:
        """Train on a batch and return its loss.

        Args:
            batch: The batch.
            progress: From 0 at the beginning to 1 at the end.
        """
        value, touched, d_rows, d_logs = self.gradients(batch)
        left = max(1 - progress, 0.02) * min(1.0, 0.1 + progress * 50)
        self._rows.step(touched, d_rows, self._recipe.rate * left)
        self._logs.step(touched, d_logs, self._recipe.factor_rate * left)
        return value


def _narrowed(matrix: csr_matrix) -> tuple[NDArray[np.integer], csr_matrix]:
    """Return the numbers of the used columns, and the matrix over them."""
    touched, columns = np.unique(matrix.indices, return_inverse=True)
    kept = (matrix.data, columns.astype(np.int32), matrix.indptr)
    return touched, csr_matrix(kept, shape=(matrix.shape[0], len(touched)))


def train(
    corpus: Corpus,
    rows: int,
    splitter: Splitter,
    recipe: Recipe,
    tell: Callable[[int, int, float], None],
) -> Floats:
    """Train a model.

    Args:
        corpus: The pairs.
        rows: How many rows the vocabulary has.
        splitter: Cuts words into rows.
        recipe: The hyperparameters.
        tell: Called after each step with its number, the number of all of the run, and a running
            loss.

    Returns:
        Rows × dimension, the factors multiplied in; the leading dimensions work alone.
    """
    tables = []
    for run in range(recipe.runs):
        one = replace(recipe, seed=recipe.seed + run)
        sampler = _sampler(corpus, rows, splitter, one)
        tables.append(_run(corpus, rows, sampler, one, tell).table())
    if len(tables) == 1:
        return tables[0]
    random = np.random.default_rng(recipe.seed)
    sampler = _sampler(corpus, rows, splitter, recipe)
    return joined(tables, corpus, sampler, recipe.joined_dimension, random)


def _sampler(corpus: Corpus, rows: int, splitter: Splitter, recipe: Recipe) -> Sampler:
    return Sampler(corpus, rows, recipe.shape, splitter, np.random.default_rng(recipe.seed))


def _run(
    corpus: Corpus,
    rows: int,
    sampler: Sampler,
    recipe: Recipe,
    tell: Callable[[int, int, float], None],
) -> Weights:
    """Train with one seed."""
    weights = first_weights(corpus, rows, recipe)
    trainer = Trainer(weights, recipe)
    steps = max(1, round(recipe.epochs * sampler.size / BATCH))
    running = 0.0
    for number, batch in zip(range(steps), _without_end(sampler), strict=False):
        value = trainer.step(batch, number / steps)
        running = value if number == 0 else 0.98 * running + 0.02 * value
        tell(number + 1, steps, running)
    return weights


def _without_end(sampler: Sampler) -> Iterator[Batch]:
    while True:
        yield from sampler.batches()


def exported(header: Header, words: Sequence[str], table: NDArray[np.float32]) -> bytes:
    """Return the bytes of a weights file.

    Args:
        header: The header before the weights; its sizes are taken from the rows and the words.
        words: Words and pieces, one a row.
        table: Rows × dimension, the factors multiplied in.
    """
    levels, scales = quantised(table)
    scales /= scales.max()  # only directions matter, and float16 represents these well
    blob = "\n".join(words).encode()
    sizes = {"rows": len(words), "dimension": table.shape[1], "word_bytes": len(blob)}
    line = json.dumps(header._replace(**sizes)._asdict(), sort_keys=True).encode()
    return b"".join([MAGIC, line, b"\n", blob, scales.astype("<f2").tobytes(), levels.tobytes()])
