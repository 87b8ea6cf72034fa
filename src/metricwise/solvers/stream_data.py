"""Labelled samples for streaming solvers, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs.matrix import make_matrix_design
from metricwise.kernels import streaming


class StreamData:
    """Samples of a matrix with their truth and their weights, read in any order and never copied.

    Parameters
    ----------
    X : array or CSR matrix
        The samples.
    positive : array of bool
        Whether each sample is positive.
    weights : array
        Weights of the samples, above zero.
    threads : int
        How many threads may compute scores.
    is_checked : bool
        Whether every entry of a CSR matrix is known to lie within its shape.
    """

    def __init__(self, X: Any, positive: Mask, weights: Floats, threads: int = 1, *, is_checked: bool = False) -> None:
        self.X, self.positive, self.weights = X, positive, weights
        self.is_sparse = bool(sparse.issparse(X))
        self._design = make_matrix_design(X, threads=threads, is_checked=is_checked)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def sample(self, i: int) -> Floats:
        """Return one dense sample."""
        return np.asarray(self.X[i], dtype=np.float64)

    def scores(self, samples: Indices, w: Floats, intercept: float) -> Floats:
        return self._design.take(samples).scores(w) + intercept

    def remember(
        self, samples: Indices, position: int, strides: Indices, w: Floats, intercept: float, *recent: Any
    ) -> None:
        """Score some of the samples, which are sparse and start at a position, and enter them into recent scores."""
        X, labels = self.X, (self.positive, self.weights)
        streaming.remember_sparse(
            X.data, X.indices, X.indptr, samples, *labels, position, strides, w, intercept, *recent
        )

    def combine(self, samples: Indices, c: Floats) -> Floats:
        """Return the sum of c[k] times sample k."""
        return self._design.take(samples).combine(c)

    def observe(self, samples: Indices, origin: Floats, first: Floats, second: Floats, observed: int) -> None:
        """Add samples to the sums of `StreamState` over those observed before."""
        X = self.X
        if self.is_sparse:
            streaming.observe_sparse(X.data, X.indices, X.indptr, samples, first, second, 0, samples.size)
        else:
            streaming.observe_dense(X, samples, origin, first, second, observed, 0, samples.size)

    def learn(
        self, samples: Indices, state: Any, settings: Floats, region: int | None, plain: bool, intercept: float
    ) -> None:
        """Update the model of a state with every sample in turn."""
        X, labels = self.X, (self.positive, self.weights)
        model = state.v, state.z, state.numbers, settings, region, plain, intercept, 0, samples.size
        if self.is_sparse:
            streaming.sparse_pass(X.data, X.indices, X.indptr, samples, *labels, state.precision, *model)
        else:
            streaming.dense_pass(X, samples, *labels, state.mean, state.precision, *model)
