"""Tiny samples that are awkward: ties, copies, constant columns, extreme scales, one class, weights."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from fuzzing.cases import make_generator


def draw_samples(random: Random, most_samples: int) -> dict[str, Any]:
    """Return X, y and perhaps sample_weight as lists; the sum of the weights is at most ``most_samples``."""
    rng = make_generator(random)
    n = random.randint(2, most_samples)
    X = rng.normal(size=(n, random.randint(1, 4)))
    if random.random() < 0.4:
        X = np.round(2.0 * X)  # ties
    y = (X[:, 0] + random.choice([0.1, 1.0, 10.0]) * rng.normal(size=n) > random.choice([0.0, 0.5, 1.0])).astype(int)
    for change in random.sample(_CHANGES, random.choice([0, 0, 1, 1, 2])):
        X = change(X, random)
    if random.random() < 0.95 and len(set(y.tolist())) < 2:
        y[random.randrange(n)] = 1 - y[0]
    if random.random() < 0.05:
        y[:] = y[0]
    drawn = {"X": X.tolist(), "y": y.tolist(), "sample_weight": None}
    if random.random() < 0.3 and n <= most_samples - 2:
        weights = np.ones(n, dtype=int)
        for _ in range(most_samples - n):
            weights[random.randrange(n)] += 1
        if random.random() < 0.2:
            weights[random.randrange(n)] = 0
        drawn["sample_weight"] = weights.astype(float).tolist()
    return drawn


Matrix = np.ndarray[Any, np.dtype[np.float64]]


def _make_constant(X: Matrix, random: Random) -> Matrix:
    X[:, random.randrange(X.shape[1])] = random.choice([0.0, 1.0, 1e8])
    return X


def _copy_samples(X: Matrix, random: Random) -> Matrix:
    X[:] = X[[random.randrange(random.choice([1, len(X)])) for _ in X]]
    return X


def _copy_columns(X: Matrix, random: Random) -> Matrix:
    return np.hstack([X, X[:, :1] * random.choice([1.0, -1.0, 1.0 + 1e-12])])


def _scale_column(X: Matrix, random: Random) -> Matrix:
    X[:, random.randrange(X.shape[1])] *= 10.0 ** random.choice([-300, -150, -20, -8, 8, 12, 20, 100, 150])
    return X


def _scale_all(X: Matrix, random: Random) -> Matrix:
    return np.asarray(X * 10.0 ** random.choice([-310, -160, -30, -6, 6, 30, 160, 300]))


def _shift(X: Matrix, random: Random) -> Matrix:
    X[:, random.randrange(X.shape[1])] += random.choice([1e3, -1e6, 1e10, 1e16])
    return X


def _place_outlier(X: Matrix, random: Random) -> Matrix:
    X[random.randrange(len(X)), random.randrange(X.shape[1])] = random.choice([1e5, -1e9, 1e160, 1e-200])
    return X


_CHANGES = (_make_constant, _copy_samples, _copy_columns, _scale_column, _scale_all, _shift, _place_outlier)
