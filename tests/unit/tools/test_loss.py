"""The loss and its gradient."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tools.training.batches import Batch
from tools.training.train import Adam, Recipe, Trainer, Weights, contrast

RANDOM = np.random.default_rng(5)
ROWS, PAIRS, DIMENSION = 12, 5, 8


def _matrix() -> csr_matrix:
    dense = RANDOM.random((PAIRS, ROWS)) * (RANDOM.random((PAIRS, ROWS)) < 0.5)
    dense[:, 0] += 0.1
    return csr_matrix(dense)


def _batch() -> Batch:
    masked = np.zeros((PAIRS, PAIRS), bool)
    masked[0, 1] = masked[1, 0] = True
    return Batch(_matrix(), _matrix(), _matrix(), masked)


def _weights() -> Weights:
    rows = RANDOM.standard_normal((ROWS, DIMENSION))
    logs = RANDOM.standard_normal(ROWS) * 0.3
    weights = Weights(rows.astype(np.float32), logs.astype(np.float32))
    weights.rows, weights.logs = rows, logs  # type: ignore[assignment] # small differences
    return weights


@pytest.mark.parametrize("which", ["rows", "logs"])
def test_gradients_are_those_of_finite_differences(which: str) -> None:
    recipe = Recipe(dimension=DIMENSION, sizes=(DIMENSION, 4), temperature=0.5, path_share=0.4)
    batch, weights = _batch(), _weights()
    trainer = Trainer(weights, recipe)
    _, touched, d_rows, d_logs = trainer.gradients(batch)
    values = getattr(weights, which)
    given = np.zeros_like(values)
    given[touched] = d_rows if which == "rows" else d_logs
    step = 1e-5
    for _ in range(30):
        at = tuple(RANDOM.integers(size) for size in values.shape)
        before = values[at]
        values[at] = before + step
        above = trainer.gradients(batch)[0]
        values[at] = before - step
        below = trainer.gradients(batch)[0]
        values[at] = before
        assert given[at] == pytest.approx((above - below) / (2 * step), rel=2e-3, abs=2e-6)


def test_a_masked_pair_is_no_negative() -> None:
    same = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    none = np.zeros_like(same)
    masked = np.zeros((3, 3), bool)

    def loss() -> float:
        return contrast(
            (same, same, none), masked, temperature=0.1, path_share=0.4, sizes=(3,)
        ).value

    open_loss = loss()
    masked[0, 1] = masked[1, 0] = True
    assert loss() < 0.01 < open_loss


def test_adam_moves_only_the_rows_it_is_given() -> None:
    values = np.zeros((3, 2), np.float32)
    adam = Adam(values, (0.9, 0.98))
    for _ in range(3):
        adam.step(np.array([1]), np.array([[1.0, -2.0]], np.float32), 0.1)
    assert np.allclose(values.tolist(), np.array([[0, 0], [-0.3, 0.3], [0, 0]]), atol=1e-5)
