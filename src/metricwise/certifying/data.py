"""The training data of certificates: scores of weights, combinations of samples, and norms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from metricwise._typing import Floats, Indices
from metricwise.certifying.cluster_data import ClusterData, absolute_values
from metricwise.certifying.fitted import FittedKernel
from metricwise.rounding import STEPS, RoundingErrors, ValueErrors, gamma, kernel_errors, linear_errors

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

    def rounding_errors(self, w: Floats, c: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of w, and of the square of `combine` (c).

        Every coefficient is a sum of ``n_terms`` terms, whose absolute values add up to ``mass`` at most.
        """
        ...


class LocalData:
    """Samples in memory or on disk, multiplied chunk by chunk: a conversion to double precision copies one chunk."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, X.shape

    def multiply(self, w: Floats) -> Floats:
        """Return X w."""
        return np.concatenate([chunk @ w for _, chunk in self._chunks()])

    def multiply_sizes(self, w: Floats) -> Floats:
        """Return |X| |w|, of absolute values."""
        return np.concatenate([absolute_values(chunk) @ np.abs(w) for _, chunk in self._chunks()])

    def combine_sizes(self, c: Floats) -> Floats:
        """Return |X|' |c|, of absolute values."""
        total = np.zeros(self.shape[1])
        for start, chunk in self._chunks():
            total += absolute_values(chunk).T @ np.abs(c[start : start + chunk.shape[0]])
        return total

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
        total = self._data.combine(self._spread(c))
        return np.append(total, self.constant * c.sum()) if self.constant else total

    def _spread(self, c: Floats) -> Floats:
        """Return one coefficient per sample of the data, zero for those without weight."""
        if self._kept is None:
            return c
        spread = np.zeros(self._data.shape[0])
        spread[self._kept] = c
        return spread

    def square(self, w: Floats) -> float:
        """Return |w|^2."""
        return float(w @ w)

    def rounding_errors(self, w: Floats, c: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of w, and of the square of `combine` (c)."""
        weights, offset = (w[:-1], abs(self.constant * w[-1])) if self.constant else (w, 0.0)
        of_samples = self._data.multiply_sizes(weights) + offset
        of_columns = self._data.combine_sizes(self._spread(mass))
        if self.constant:
            of_columns = np.append(of_columns, abs(self.constant) * mass.sum())
        sizes = of_samples if self._kept is None else of_samples[self._kept], of_columns
        return linear_errors(w, self.combine(c), sizes, n_terms)

    def column_errors(self, mass: Floats, n_terms: int) -> Floats:
        """Return by how much every entry of a combination with coefficients of these sizes may differ."""
        sizes = self._data.combine_sizes(self._spread(mass))
        sizes = np.append(sizes, abs(self.constant) * mass.sum()) if self.constant else sizes
        return gamma(mass.size + n_terms + STEPS) * sizes


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
        is_dense_rbf = kernel.function == "rbf" and not sparse.issparse(X)
        self._centre = np.mean(X, axis=0, dtype=np.float64) if is_dense_rbf else 0.0

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
        left, right = self._centre_samples(down), self._centre_samples(across)
        return pairwise_kernels(left, right, metric=function, **self.kernel.parameters)

    def _centre_samples(self, samples: slice | Indices) -> Any:
        """Return samples in double precision; for distances near the origin, where these lose least to rounding."""
        chosen = self.X[samples].astype(np.float64)
        return chosen - self._centre if self.kernel.function == "rbf" and not sparse.issparse(chosen) else chosen

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

    def rounding_errors(self, w: Floats, c: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of w, and of the square of `combine` (c)."""
        own = gamma(n_terms + STEPS) * mass  # of the coefficients
        spread = np.zeros((3, self.X.shape[0]))
        spread[0], spread[1:, self._kept] = np.abs(w[:-1]), (np.abs(c), own)
        used = np.flatnonzero(spread.any(axis=0))
        sizes = self._value_sizes(spread[:, used], used)
        relative, constant = gamma(2 * used.size + STEPS), (w[-1] / self.constant) ** 2 if self.constant else 0.0
        scores = relative * sizes[0] + self._errors.of_function(spread[0]) + gamma(STEPS) * abs(w[-1])
        values = relative * sizes[1] + self._errors.of_function(spread[1] + spread[2])
        combination = spread[1] @ values + spread[2] @ (2.0 * sizes[1] + sizes[2] + 2.0 * values)
        total = self.constant * float(mass.sum())
        combination += gamma(2 * (c.size + n_terms) + STEPS) * total**2
        square = 2.0 * float(spread[0] @ scores) + gamma(STEPS) * constant
        return RoundingErrors(scores[self._kept], square, float(combination))

    def _value_sizes(self, sizes: Floats, used: Indices) -> Floats:
        """Return the sums of the absolute terms of the values of functions with coefficients at some samples."""
        starts = range(0, self.X.shape[0], _KERNEL_CHUNK)
        blocks = (np.abs(np.asarray(self._block(slice(k, k + _KERNEL_CHUNK), used), dtype=np.float64)) for k in starts)
        return np.concatenate([sizes @ block.T for block in blocks], axis=1)

    @cached_property
    def _errors(self) -> ValueErrors:
        """By how much kernel values may differ from the exact ones."""
        if callable(self.kernel.function) or self.kernel.function == "precomputed":
            return ValueErrors(())
        everything = self._centre_samples(slice(None))
        squares = everything.power(2) if sparse.issparse(everything) else everything**2
        norms = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        return kernel_errors(self.kernel.function, self.kernel.parameters, norms, int(self.X.shape[1]))
