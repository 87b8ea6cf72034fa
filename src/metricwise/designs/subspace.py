"""Features by a basis of few samples, whose inner products are those of the kernel on a subspace.

With the kernel matrix of some basis samples B factored as L L', the features of sample x are k(x, B) L'^-1: an
orthonormal basis of the functions spanned by k(b, .), so that linear weights w of the features and the function they
stand for have the same norm. When the basis grows, features are added and none changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import Design
from metricwise.designs.kernel_function import KernelMatrix
from metricwise.designs.matrix import DenseDesign

# Of the mean kernel diagonal: added to the residual so that nearly dependent samples can be factored.
_RIDGE = 1e-10
_RIDGE_GROWTH = 100.0
_MOST_RIDGES = 5


class Subspace:
    """Features of all samples by a basis that can grow.

    Parameters
    ----------
    source : KernelMatrix
        The samples and their kernel.
    capacity : int
        Largest number of basis samples.
    """

    def __init__(self, source: KernelMatrix, capacity: int) -> None:
        self.source = source
        self.basis: Indices = np.empty(0, dtype=np.int64)
        self._features = np.empty((source.n_samples, capacity), order="F")
        self._factor = np.zeros((capacity, capacity))

    @property
    def features(self) -> Floats:
        """The features by the present basis, columns contiguous."""
        return self._features[:, : self.basis.size]

    @property
    def factor(self) -> Floats:
        """The Cholesky factor L of the kernel matrix of the basis."""
        return self._factor[: self.basis.size, : self.basis.size]

    def extend(self, samples: Indices) -> None:
        """Add samples to the basis; none of them may be in it."""
        old, new = self.basis.size, self.basis.size + samples.size
        known = self.features
        # The new features span the part of the kernel that is orthogonal to the present subspace.
        columns = self.source.columns(samples)
        scale = float(np.diagonal(columns[samples]).mean())
        residual = columns - known @ known[samples].T
        lower = _factor_residual(residual[samples], scale)
        self._factor[old:new, :old] = known[samples]
        self._factor[old:new, old:new] = lower
        self._features[:, old:new] = solve_triangular(lower, residual.T, lower=True).T
        self.basis = np.concatenate([self.basis, samples])

    def coefficients(self, w: Floats) -> Floats:
        """Return the coefficient of k(b, .) for every basis sample b, given weights of the features."""
        solved: Floats = solve_triangular(self.factor, w, lower=True, trans="T")
        return solved

    def weights(self, coefficients: Floats) -> Floats:
        """Return the weights of the features, given the coefficients of the basis samples."""
        product: Floats = self.factor.T @ coefficients
        return product


def _factor_residual(matrix: Floats, scale: float) -> Floats:
    """Return the Cholesky factor of a matrix that is positive semi-definite up to rounding.

    Rounding errors are relative to ``scale``, the kernel values that the matrix is a difference of, and may exceed it.
    """
    size = len(matrix)
    ridge = _RIDGE * max(scale, 1e-300)
    for _ in range(_MOST_RIDGES):
        try:
            lower: Floats = cholesky(matrix + ridge * np.eye(size), lower=True)
        except LinAlgError:
            ridge *= _RIDGE_GROWTH
        else:
            return lower
    raise ValueError("the kernel is not positive semi-definite: choose another one, or other parameters")


class SubspaceDesign(DenseDesign):
    """Samples by the features of a subspace; fingerprints are those of ``content``, the samples themselves."""

    def __init__(
        self, X: Any, samples: Indices, intercept: float, threads: int, *, subspace: Subspace, content: Design
    ) -> None:
        super().__init__(X, samples, intercept, threads)
        self.subspace, self.content = subspace, content

    def take(self, samples: Indices) -> SubspaceDesign:
        return SubspaceDesign(
            self.X, self.samples[samples], self.intercept, self.threads, subspace=self.subspace, content=self.content
        )

    def portable(self, w: Floats) -> Floats:
        """Return one coefficient per sample of the data, followed by the constant term."""
        weights, constant = self._split(w)
        model = np.zeros(self.X.shape[0] + 1)
        model[self.subspace.basis] = self.subspace.coefficients(weights)
        model[-1] = constant
        return model

    def scores_by(self, model: Floats) -> Floats:
        return self._scores(self.subspace.weights(model[self.subspace.basis]), float(model[-1]))

    def fingerprints(self, seed: int = 0) -> Hashes:
        return self.content.take(self.samples).fingerprints(seed)
