"""The training data of certificates: scores of weights, combinations of samples, and norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from metricwise._typing import Floats, Indices
from metricwise.certifying.cluster_data import ClusterData
from metricwise.certifying.fitted import FittedKernel

_CHUNK = 65_536
_KERNEL_CHUNK = 1024


def dense_points(points: Any) -> Iterator[Floats]:
    """Yield the rows of a dense or sparse array as dense vectors."""
    for k in range(points.shape[0]):
        row = points[[k]]
        yield np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()


@runtime_checkable
class SamplesInBlocks(Protocol):
    """Samples on disk, with their labels and weights if these are known, that are read block by block."""

    shape: tuple[int, int]
    bounds: Any
    y: Any
    sample_weight: Any

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield every block with the position of its first sample."""
        ...


class TrainingData(Protocol):
    """The samples of a binary problem, as linear functions see them."""

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the samples with weight."""
        ...

    def combine(self, c: Floats) -> Floats:
        """Return the sum of c_i x_i over the samples with weight."""
        ...

    def square(self, w: Floats) -> float:
        """Return |w|^2."""
        ...


class LocalData:
    """Samples in memory or on disk, multiplied chunk by chunk: a conversion to double precision copies one chunk."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, X.shape

    def multiply(self, w: Floats) -> Floats:
        """Return X w."""
        return np.concatenate([chunk @ w for _, chunk in self._chunks()])

    def combine(self, c: Floats) -> Floats:
        """Return X' c."""
        total = np.zeros(self.shape[1])
        for start, chunk in self._chunks():
            total += chunk.T @ c[start : start + chunk.shape[0]]
        return total

    def _chunks(self) -> Iterator[tuple[int, Any]]:
        if not isinstance(self.X, SamplesInBlocks):
            for start in range(0, self.shape[0], _CHUNK):
                yield start, self.X[start : start + _CHUNK]
            return
        for first, block in self.X.blocks():  # in small parts: products may copy them to double precision
            for start in range(0, block.shape[0], _CHUNK):
                yield first + start, block[start : start + _CHUNK]


class LinearData:
    """The data with a constant column.

    Parameters
    ----------
    X : array, CSR matrix, samples on disk or on a cluster
        All samples.
    kept : array
        Indices of the samples with weight, ascending.
    constant : float
        Value of the constant column; 0 if there is none.
    """

    def __init__(self, X: Any, kept: Indices, constant: float) -> None:
        self._data = X if isinstance(X, ClusterData) else LocalData(X)
        self.constant = constant
        self._kept = None if kept.size == X.shape[0] else kept

    def scores(self, w: Floats) -> Floats:
        """Return X w."""
        weights, offset = (w[:-1], self.constant * w[-1]) if self.constant else (w, 0.0)
        scores = self._data.multiply(weights) + offset
        return scores if self._kept is None else scores[self._kept]

    def combine(self, c: Floats) -> Floats:
        """Return the sum of c_i x_i."""
        spread = c
        if self._kept is not None:
            spread = np.zeros(self._data.shape[0])
            spread[self._kept] = c
        total = self._data.combine(spread)
        return np.append(total, self.constant * c.sum()) if self.constant else total

    def square(self, w: Floats) -> float:
        """Return |w|^2."""
        return float(w @ w)


class KernelData:
    """The data through a kernel: weights are one coefficient per sample, with or without weight, and the constant term.

    Parameters
    ----------
    X : array or CSR matrix
        Samples, or their kernel matrix.
    kept : array
        Indices of the samples with weight, ascending.
    constant : float
        Value of the constant feature; 0 if there is none.
    kernel : FittedKernel
        The kernel and its parameters.
    """

    def __init__(self, X: Any, kept: Indices, constant: float, kernel: FittedKernel) -> None:
        self.X, self.constant, self.kernel = X, constant, kernel
        self._kept = kept

    def _product(self, coefficients: Floats) -> Floats:
        """Return the product of the kernel matrix with a vector, block by block."""
        used = np.flatnonzero(coefficients)
        if used.size == 0:
            return np.zeros(self.X.shape[0])
        chunks = [
            self._block(slice(start, start + _KERNEL_CHUNK), used) @ coefficients[used]
            for start in range(0, self.X.shape[0], _KERNEL_CHUNK)
        ]
        return np.concatenate(chunks)

    def _block(self, down: slice, across: Indices) -> Any:
        function = self.kernel.function
        if callable(function):
            return np.asarray(function(self.X[down], self.X[across]))
        if function == "precomputed":
            return self.X[down][:, across]
        return pairwise_kernels(self.X[down], self.X[across], metric=function, **self.kernel.parameters)

    def scores(self, w: Floats) -> Floats:
        """Return the values of the function at the samples with weight."""
        values: Floats = self._product(w[:-1]) + w[-1]
        return values[self._kept]

    def combine(self, c: Floats) -> Floats:
        """Return the coefficients of the function that is the sum of c_i k(x_i, .)."""
        spread = np.zeros(self.X.shape[0])
        spread[self._kept] = c
        return np.append(spread, self.constant**2 * spread.sum())

    def square(self, w: Floats) -> float:
        """Return the square of the function's norm."""
        constant = (w[-1] / self.constant) ** 2 if self.constant else 0.0
        return float(w[:-1] @ self._product(w[:-1]) + constant)
