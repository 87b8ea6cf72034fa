"""The design: what every solver knows of the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices


class Design(Protocol):
    """A data matrix X, with a constant column at the end if there is an intercept, seen through its products.

    ``shape`` counts that virtual column. Implementations never copy, densify or extend the matrix they are given.
    Weights are vectors as long as a sample of X, or stand for functions that are not written down as such
    (`KernelDesign`): solvers add and scale them, and measure them by `covector`.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def threads(self) -> int:
        """How many threads may work on the samples."""
        ...

    def scores(self, w: Floats) -> Floats:
        """Return X w."""
        ...

    def combine(self, c: Floats) -> Floats:
        """Return X' c."""
        ...

    def covector(self, w: Floats) -> Floats:
        """Return the vector whose product with any weights is their inner product with ``w``."""
        ...

    def portable(self, w: Floats) -> Floats:
        """Return weights in a form that does not depend on which samples this design lists."""
        ...

    def scores_by(self, model: Floats) -> Floats:
        """Return the scores that portable weights give to the samples of this design."""
        ...

    def take(self, rows: Indices) -> Design:
        """Return the design of some samples (positions within this design), sharing the matrix."""
        ...

    @property
    def most_gathered(self) -> int:
        """How many samples `gathered` may bring into memory."""
        ...

    def gathered(self, rows: Indices) -> Design:
        """Return the design of some samples, as `take` does, with all of them in memory."""
        ...

    def fingerprints(self, seed: int = 0) -> Hashes:
        """Return a hash for every sample, equal for equal samples whatever their storage."""
        ...

    def row_blocks(self, size: int) -> Iterator[Design]:
        """Yield designs of consecutive samples, at most ``size`` each."""
        ...


def sample_sizes(n_pos: int, n_neg: int, n_samples: int) -> tuple[int, int]:
    """Return how many samples of both classes a sample has: their shares, and one of each at least.

    Examples
    --------
    >>> sample_sizes(10, 990, 200), sample_sizes(1, 999, 10)
    ((2, 198), (1, 9))
    """
    few_pos = min(max(round(n_samples * n_pos / (n_pos + n_neg)), 1), n_pos)
    return few_pos, min(max(n_samples - few_pos, 1), n_neg)


def make_design(X: Any, *, intercept: float = 0.0, threads: int = 1) -> Design:
    """Return the design of an array, a CSR matrix, data on disk or chunks, with ``intercept`` as the constant column.

    Examples
    --------
    >>> import numpy as np
    >>> design = make_design(np.eye(2), intercept=1.0)
    >>> design.shape
    (2, 3)
    >>> design.scores(np.array([1.0, 2.0, 10.0]))
    array([11., 12.])
    """
    from metricwise.designs.chunked import ChunkedDesign, ChunkSource
    from metricwise.designs.dense import DenseDesign
    from metricwise.designs.disk import DiskSource, StoredRows
    from metricwise.designs.sparse import SparseDesign

    rows = np.arange(X.shape[0], dtype=np.int64)
    if sparse.issparse(X):
        if X.format != "csr":
            raise TypeError(f"sparse X must be in CSR format, got {X.format!r}: convert it with X.tocsr()")
        return SparseDesign(X, rows, intercept, threads)
    if not isinstance(X, np.ndarray):  # asking for protocols takes longer than small products
        if isinstance(X, StoredRows):
            X = DiskSource(X, threads)
        if isinstance(X, ChunkSource):
            return ChunkedDesign(X, rows, intercept, threads)
    return DenseDesign(np.asarray(X), rows, intercept, threads)
