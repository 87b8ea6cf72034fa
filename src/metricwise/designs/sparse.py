"""Matrices in compressed sparse row format (CSR)."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.matrix import MatrixDesign
from metricwise.kernels import hashing, products


class SparseDesign(MatrixDesign):
    """Samples of a CSR matrix; the work is proportional to the stored entries."""

    is_sparse = True

    def __init__(self, X: Any, rows: Indices, intercept: float, threads: int) -> None:
        super().__init__(X, rows, intercept, threads)
        self._entries_per_row = X.nnz / max(X.shape[0], 1)

    def _scores(self, w: Floats, offset: float) -> Floats:
        X, rows, order = self.X, self.rows, self.order
        out = np.empty(len(rows))
        self._run(
            lambda start, stop: products.sparse_scores(
                X.data, X.indices, X.indptr, rows, order, w, offset, out, start, stop
            ),
            len(rows),
            self._entries_per_row * len(rows),
        )
        return out

    def _combine(self, c: Floats, out: Floats) -> None:
        X, rows, order = self.X, self.rows, self.order
        work = self._entries_per_row * np.count_nonzero(c)
        # Every block needs an accumulator with one entry per column, which must not cost more than the block itself.
        if work < 8 * X.shape[1]:
            work = 0.0
        self._sum_blocks(
            lambda start, stop, part: products.sparse_combine(
                X.data, X.indices, X.indptr, rows, order, c, part, start, stop
            ),
            out,
            work,
        )

    def fingerprints(self, seed: int = 0) -> Hashes:
        out = np.empty(len(self.rows), dtype=np.uint64)
        hashing.hash_sparse(self.X.data, self.X.indices, self.X.indptr, self.rows, np.uint64(seed), out)
        return out
