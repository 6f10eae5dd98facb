"""Several runs → one model.

Runs that differ by their seed alone make different mistakes. Their rows side by side give the mean
of their cosines; of these dimensions, the principal directions of many texts are kept, strongest
first, so that the leading dimensions serve alone.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.embedding.training.batches import Corpus, Sampler
from engine.embedding.training.loss import normalised

_TEXTS: Final = 60_000

Floats = NDArray[np.float32]


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
        sampler: Makes matrices of them, without chance.
        dimension: How many dimensions to keep.
        random: Chooses the texts.

    Returns:
        Rows × dimension.
    """
    count = min(_TEXTS, len(corpus.kinds))
    chosen = np.sort(random.choice(len(corpus.kinds), count, replace=False))
    queries, answers = sampler.whole(chosen)
    # Of each run an answer is as long as of the others in the mean, so that none prevails.
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
