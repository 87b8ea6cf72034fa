"""Dense matrices, float32 or float64, with contiguous rows or contiguous columns."""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.matrix import MatrixDesign
from metricwise.kernels import hashing, products


class DenseDesign(MatrixDesign):
    """Samples of a dense matrix. Any layout but contiguous columns is read row by row."""

    is_sparse = False

    def __init__(self, X: np.ndarray, rows: Indices, intercept: float, threads: int) -> None:
        super().__init__(X, rows, intercept, threads)
        self._by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
        # Reading whole columns is faster than picking samples out of them, unless few samples are wanted.
        self._whole_columns = self._by_columns and 4 * len(rows) > X.shape[0]

    def _scores(self, w: Floats, offset: float) -> Floats:
        X, rows = self.X, self.rows
        work = float(len(rows)) * X.shape[1]
        if self._whole_columns:
            out = np.empty(X.shape[0])
            self._run(lambda start, stop: products.columns_scores(X, w, out, start, stop), X.shape[0], work)
            return out[rows] + offset
        out = np.empty(len(rows))
        if self._by_columns:
            self._run(
                lambda start, stop: products.columns_scores_of_subset(X, rows, w, out, start, stop), len(rows), work
            )
            return out + offset
        order = self.order
        self._run(
            lambda start, stop: products.dense_scores(X, rows, order, w, offset, out, start, stop), len(rows), work
        )
        return out

    def _combine(self, c: Floats, out: Floats) -> None:
        X, rows = self.X, self.rows
        work = float(np.count_nonzero(c)) * X.shape[1]
        if self._whole_columns:
            spread = np.bincount(rows, weights=c, minlength=X.shape[0])  # a sample may be listed more than once
            self._run(lambda start, stop: products.columns_combine(X, spread, out, start, stop), X.shape[1], X.size)
        elif self._by_columns:
            self._run(
                lambda start, stop: products.columns_combine_of_subset(X, rows, c, out, start, stop), X.shape[1], work
            )
        else:
            order = self.order
            self._sum_blocks(
                lambda start, stop, part: products.dense_combine(X, rows, order, c, part, start, stop), out, work
            )

    def fingerprints(self, seed: int = 0) -> Hashes:
        out = np.empty(len(self.rows), dtype=np.uint64)
        hashing.hash_dense(self.X, self.rows, np.uint64(seed), out)
        return out
