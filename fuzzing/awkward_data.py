"""Tiny samples that are awkward: ties, copies, constant columns, extreme scales, one class, weights, odd matrices."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from scipy import sparse

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


def repeat_entries(X: Matrix) -> Any:
    """Return a CSR matrix that holds every value in two halves, in columns that do not rise."""
    n_rows, n_columns = X.shape
    columns = np.tile(np.r_[np.arange(n_columns)[::-1], np.arange(n_columns)], n_rows)
    halves = np.hstack([X[:, ::-1], X]).ravel() / 2.0
    return sparse.csr_matrix((halves, columns, np.arange(n_rows + 1) * 2 * n_columns), shape=X.shape)


def draw_damage(random: Random) -> dict[str, Any]:
    """Return the format of a sparse matrix, and which of its positions is replaced by one outside of its shape."""
    form = random.choice(["csr", "csc", "coo", "bsr"])
    part = random.choice(["row", "col"] if form == "coo" else ["indices", "indptr"])
    return {"form": form, "part": part, "at": random.random(), "value": random.choice([-1, 1, 40]) * 10**8 // 4}


def damage_entries(X: Matrix, damage: dict[str, Any]) -> Any:
    """Return a sparse matrix with a position outside of its shape; None if it has no entries."""
    matrix = getattr(sparse, f"{damage['form']}_matrix")(X)
    if not matrix.nnz:
        return None
    positions = getattr(matrix, damage["part"])
    positions[int(damage["at"] * positions.size)] = damage["value"]
    return matrix


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
