"""Samples seen through few of them: features whose inner products are those of the kernel on a subspace.

With the kernel matrix of some basis samples B factored as L L', the features of sample x are k(x, B) L'^-1: an
orthonormal basis of the functions spanned by k(b, .), so that linear weights w of the features and the function they
stand for have the same norm. When the basis grows, features are added and none changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import Design
from metricwise.designs.kernel_function import KernelMatrix
from metricwise.designs.matrix import DenseDesign

_RIDGE = (
    1e-10  # of the mean of the kernel's diagonal, added to the rest so that nearly dependent samples can be factored
)
_MORE = 100.0
_MOST_TRIALS = 5


class Subspace:
    """The features of all samples by a basis that can grow.

    Parameters
    ----------
    source : KernelMatrix
        The samples and their kernel.
    capacity : int
        Most basis samples.
    """

    def __init__(self, source: KernelMatrix, capacity: int) -> None:
        self.source = source
        self.basis: Indices = np.empty(0, dtype=np.int64)
        self._features = np.empty((source.n_samples, capacity), order="F")
        self._factor = np.zeros((capacity, capacity))

    @property
    def features(self) -> Floats:
        """The features so far, columns contiguous."""
        return self._features[:, : self.basis.size]

    @property
    def factor(self) -> Floats:
        """L, lower triangular."""
        return self._factor[: self.basis.size, : self.basis.size]

    def extend(self, rows: Indices) -> None:
        """Add samples to the basis that are not in it."""
        old, new = self.basis.size, self.basis.size + rows.size
        known = self.features
        # What the kernel of the new samples has outside of the subspace so far.
        columns = self.source.columns(rows)
        scale = float(np.diagonal(columns[rows]).mean())
        rest = columns - known @ known[rows].T
        lower = _factored(rest[rows], scale)
        self._factor[old:new, :old] = known[rows]
        self._factor[old:new, old:new] = lower
        self._features[:, old:new] = solve_triangular(lower, rest.T, lower=True).T
        self.basis = np.concatenate([self.basis, rows])

    def coefficients(self, w: Floats) -> Floats:
        """Return the coefficient of k(b, .) for every basis sample b, given weights of the features."""
        solved: Floats = solve_triangular(self.factor, w, lower=True, trans="T")
        return solved

    def weights(self, coefficients: Floats) -> Floats:
        """Undo `coefficients`."""
        product: Floats = self.factor.T @ coefficients
        return product


def _factored(matrix: Floats, scale: float) -> Floats:
    """Return the Cholesky factor of a matrix that is positive semi-definite but for rounding errors.

    These are relative to the kernel values that it was made of, ``scale``, and may be all there is left of them.
    """
    size = len(matrix)
    ridge = _RIDGE * max(scale, 1e-300)
    for _ in range(_MOST_TRIALS):
        try:
            lower: Floats = cholesky(matrix + ridge * np.eye(size), lower=True)
        except LinAlgError:
            ridge *= _MORE
        else:
            return lower
    raise ValueError("the kernel is not positive semi-definite: choose another one, or other parameters")


class SubspaceDesign(DenseDesign):
    """Samples by the features of a subspace; equal samples are known by their content."""

    def __init__(
        self, X: Any, rows: Indices, intercept: float, threads: int, *, subspace: Subspace, content: Design
    ) -> None:
        super().__init__(X, rows, intercept, threads)
        self.subspace, self.content = subspace, content

    def take(self, rows: NDArray[np.int64]) -> SubspaceDesign:
        return SubspaceDesign(
            self.X, self.rows[rows], self.intercept, self.threads, subspace=self.subspace, content=self.content
        )

    def portable(self, w: Floats) -> Floats:
        """Return a coefficient for every sample of the data, and the constant term."""
        weights, constant = self._split(w)
        model = np.zeros(self.X.shape[0] + 1)
        model[self.subspace.basis] = self.subspace.coefficients(weights)
        model[-1] = constant
        return model

    def scores_by(self, model: Floats) -> Floats:
        return self._scores(self.subspace.weights(model[self.subspace.basis]), float(model[-1]))

    def fingerprints(self, seed: int = 0) -> Hashes:
        return self.content.take(self.rows).fingerprints(seed)
