"""The plane of the map: its axes stay, their signs are fixed, and a small change moves little."""

import numpy as np
from numpy.typing import NDArray

from engine.browsing import meaning_map
from engine.browsing.meaning_map import (
    Axes,
    axes_from,
    fidelity_of,
    places_of,
    spread_of,
    still_fit,
)

_DIMENSION = 16


def _files(number: int = 200, *, seed: int = 7) -> NDArray[np.float32]:
    """Give unit vectors with two directions in which they differ most."""
    chance = np.random.default_rng(seed)
    spread = np.full(_DIMENSION, 0.1)
    spread[3], spread[5] = 3.0, 1.5
    rows = chance.normal(size=(number, _DIMENSION)) * spread + 1
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def axes_of(vectors: NDArray[np.float32]) -> Axes:
    return meaning_map.axes_of(vectors, spread_of(vectors))


def test_the_axes_are_those_of_the_largest_spread() -> None:
    vectors = _files()
    axes = axes_of(vectors)
    assert np.abs(axes.directions).argmax(axis=1).tolist() == [3, 5]
    assert np.allclose(axes.directions @ axes.directions.T, np.eye(2), atol=1e-5)
    _, values, _ = np.linalg.svd(vectors - vectors.mean(axis=0))
    share = (values[:2] ** 2).sum() / (values**2).sum()
    assert np.isclose(fidelity_of(spread_of(vectors), axes), share, atol=1e-4)


def test_the_sign_is_fixed_whatever_the_order_of_the_files() -> None:
    vectors = _files()
    axes = axes_of(vectors)
    for direction in axes.directions:
        assert direction[np.abs(direction).argmax()] > 0
    turned = axes_of(vectors[::-1].copy())
    assert np.allclose(turned.directions, axes.directions, atol=1e-4)


def test_a_change_of_some_files_moves_no_other_one() -> None:
    before = _files()
    kept = axes_of(before)
    after = np.concatenate([before[10:], _files(12, seed=8)])
    assert still_fit(spread_of(after), kept)
    assert np.array_equal(places_of(before, kept)[10:], places_of(after, kept)[: len(before) - 10])
    # Axes made anew would lie close by, but not there.
    moved = np.abs(places_of(before, axes_of(after)) - places_of(before, kept)).max()
    assert 0 < moved < 0.1


def test_axes_are_given_up_when_the_tree_is_another_one() -> None:
    before = _files()
    after = before[:, ::-1].copy()  # it differs in other directions now
    assert not still_fit(spread_of(after), axes_of(before))


def test_all_lie_in_the_frame_and_fill_it() -> None:
    vectors = _files()
    places = places_of(vectors, axes_of(vectors))
    assert places.min() == 0.0
    assert places.max() == 1.0
    assert (np.ptp(places, axis=0) == 1.0).all()


def test_axes_are_kept_to_the_last_bit() -> None:
    vectors = _files()
    axes = axes_of(vectors)
    read = axes_from(axes.as_bytes(), _DIMENSION)
    assert read is not None
    assert np.array_equal(places_of(vectors, read), places_of(vectors, axes))


def test_what_is_no_axes_is_not_taken_for_some() -> None:
    numbers = axes_of(_files()).as_bytes()
    assert axes_from(numbers, _DIMENSION + 8) is None
    assert axes_from(numbers[:-4], _DIMENSION) is None
    assert axes_from(b"\xff" * len(numbers), _DIMENSION) is None  # not a number
    assert axes_from(b"\x3f" * len(numbers), _DIMENSION) is None  # not at right angles
    flipped = bytearray(numbers)
    flipped[4 * _DIMENSION + 3 * 4 + 3] ^= 0x40  # the largest number of the first direction
    assert axes_from(bytes(flipped), _DIMENSION) is None


def test_files_that_are_all_alike_lie_somewhere() -> None:
    vectors = np.repeat(_files(1), 5, axis=0)
    axes = axes_of(vectors)
    places = places_of(vectors, axes)
    assert np.isfinite(places).all()
    assert fidelity_of(spread_of(vectors), axes) >= 0
