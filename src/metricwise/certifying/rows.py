"""The data as certificates see them: scores of weights, and norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from metricwise._typing import Floats
from metricwise.certifying.on_cluster import ClusterRows

_CHUNK = 65_536
_KERNEL_CHUNK = 1024


def dense_points(points: Any) -> Iterator[Floats]:
    """Yield the samples of a dense or sparse array."""
    for k in range(points.shape[0]):
        row = points[[k]]
        yield np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()


def reads_blocks(X: Any) -> bool:
    """Whether samples are on disk and give themselves block by block."""
    return hasattr(X, "blocks") and hasattr(X, "bounds")


class _RowsHere:
    """Samples in memory or on disk, multiplied chunk by chunk so that single precision is not copied whole."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, X.shape

    def times(self, w: Floats) -> Floats:
        """Return X w."""
        return np.concatenate([chunk @ w for _, chunk in self._chunks()])

    def combined(self, c: Floats) -> Floats:
        """Return X' c."""
        total = np.zeros(self.shape[1])
        for start, chunk in self._chunks():
            total += chunk.T @ c[start : start + chunk.shape[0]]
        return total

    def _chunks(self) -> Iterator[tuple[int, Any]]:
        if not reads_blocks(self.X):
            for start in range(0, self.shape[0], _CHUNK):
                yield start, self.X[start : start + _CHUNK]
            return
        for first, block in self.X.blocks():  # of any size: products may take a copy in double precision
            for start in range(0, block.shape[0], _CHUNK):
                yield first + start, block[start : start + _CHUNK]


class LinearRows:
    """The data with a constant column.

    Parameters
    ----------
    X : array, CSR matrix, samples on disk or on a cluster
        All samples.
    kept : array
        Those that count, ascending.
    constant : float
        Value of the constant column; 0 if there is none.
    """

    def __init__(self, X: Any, kept: NDArray[np.int64], constant: float) -> None:
        self._rows = X if isinstance(X, ClusterRows) else _RowsHere(X)
        self.constant = constant
        self._kept = None if kept.size == X.shape[0] else kept

    def scores(self, w: Floats) -> Floats:
        """Return X w."""
        weights, offset = (w[:-1], self.constant * w[-1]) if self.constant else (w, 0.0)
        scores = self._rows.times(weights) + offset
        return scores if self._kept is None else scores[self._kept]

    def combine(self, c: Floats) -> Floats:
        """Return the sum of c_i x_i."""
        spread = c
        if self._kept is not None:
            spread = np.zeros(self._rows.shape[0])
            spread[self._kept] = c
        total = self._rows.combined(spread)
        return np.append(total, self.constant * c.sum()) if self.constant else total

    def square(self, w: Floats) -> float:
        """Return |w|^2."""
        return float(w @ w)

    def square_of_sum(self, w: Floats, c: Floats) -> float:
        """Return the square of w + sum of c_i x_i."""
        return self.square(w + self.combine(c))


class KernelledRows:
    """The same through a kernel: weights are a coefficient for every sample, and the constant term at the end.

    Parameters
    ----------
    X : array or CSR matrix
        Samples, or their kernel matrix.
    model : fitted KernelClassifier
        Knows its kernel.
    """

    def __init__(self, X: Any, model: Any) -> None:
        self.X, self.constant = X, model.intercept_value
        self.kernel = model.kernel
        names = {"rbf": ("gamma",), "poly": ("gamma", "degree", "coef0"), "sigmoid": ("gamma", "coef0")}
        settings = {"gamma": model.gamma_, "degree": model.degree, "coef0": model.coef0}
        self.settings = {} if callable(self.kernel) else {name: settings[name] for name in names.get(self.kernel, ())}

    def _product(self, coefficients: Floats) -> Floats:
        """Return the kernel matrix times a vector, a few samples of it at a time."""
        used = np.flatnonzero(coefficients)
        if used.size == 0:
            return np.zeros(self.X.shape[0])
        chunks = [
            self._block(slice(start, start + _KERNEL_CHUNK), used) @ coefficients[used]
            for start in range(0, self.X.shape[0], _KERNEL_CHUNK)
        ]
        return np.concatenate(chunks)

    def _block(self, down: slice, across: NDArray[np.int64]) -> Any:
        if callable(self.kernel):
            return np.asarray(self.kernel(self.X[down], self.X[across]))
        if self.kernel == "precomputed":
            return self.X[down][:, across]
        return pairwise_kernels(self.X[down], self.X[across], metric=self.kernel, **self.settings)

    def scores(self, w: Floats) -> Floats:
        """Return the values of the function at all samples."""
        values: Floats = self._product(w[:-1]) + w[-1]
        return values

    def square(self, w: Floats) -> float:
        """Return the square of the function's norm."""
        constant = (w[-1] / self.constant) ** 2 if self.constant else 0.0
        return float(w[:-1] @ self._product(w[:-1]) + constant)

    def square_of_sum(self, w: Floats, c: Floats) -> float:
        """Return the square of the function w + sum of c_i k(x_i, .)."""
        return self.square(w + np.append(c, self.constant**2 * c.sum()))
