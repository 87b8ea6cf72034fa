"""Samples of one matrix, dense or sparse (CSR), with a virtual constant column; and the design of any data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices
from metricwise.csr import check_csr_arrays
from metricwise.designs.base import Design
from metricwise.kernels import hashing, products
from metricwise.rounding import RoundingErrors, linear_errors
from metricwise.threads import block_bounds, run_blocks

_MANY_SAMPLES = 5000
_FEW_SAMPLES = 1024


class LinearWeights:
    """Weights that are plain vectors: they are their own covectors and portable form."""

    @property
    def bytes_moved(self) -> int:
        """None: the samples are in this process."""
        return 0

    def covector(self, w: Floats) -> Floats:
        """Return ``w``."""
        return w

    def portable(self, w: Floats) -> Floats:
        """Return ``w``."""
        return w


class LinearRounding(LinearWeights, ABC):
    """Rounding errors of products with samples and a constant column, from sums of absolute terms."""

    intercept: float

    def recompute_values(self, w: Floats) -> Floats:
        """Return ``w``: plain weights hold no values of samples."""
        return w

    def estimate_error(self, w: Floats) -> float:
        """Return 0: nothing cancels out in a sum of squares."""
        return 0.0

    def rounding_errors(self, w: Floats, g: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of ``w``, and of the square of the combination ``g``.

        Every coefficient of g is a sum of ``n_terms`` terms, whose absolute values add up to ``mass`` at most. One
        pass over the samples.
        """
        weights, offset = np.abs(w), 0.0
        if self.intercept != 0.0:
            weights, offset = weights[:-1], abs(self.intercept) * float(weights[-1])
        of_samples, of_columns = self._listed_sizes(weights, mass)
        return linear_errors(w, g, (of_samples + offset, self._append_constant(of_columns, mass)), n_terms)

    def column_sizes(self, mass: Floats) -> Floats:
        """Return abs(X)' mass, the constant column included."""
        nothing = np.zeros(self.shape[1] - (self.intercept != 0.0))
        return self._append_constant(self._listed_sizes(nothing, mass)[1], mass)

    def _append_constant(self, of_columns: Floats, mass: Floats) -> Floats:
        return np.append(of_columns, abs(self.intercept) * mass.sum()) if self.intercept != 0.0 else of_columns

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...

    @abstractmethod
    def _listed_sizes(self, weights: Floats, mass: Floats) -> tuple[Floats, Floats]:
        """Return abs(X) weights and abs(X)' mass of the listed samples, without the constant column."""


class MatrixDesign(LinearRounding):
    """Some samples of a matrix, in a given order, with ``intercept`` as the value of a constant last column."""

    is_sparse: bool

    def __init__(self, X: Any, samples: Indices, intercept: float, threads: int) -> None:
        self.X = X
        self.samples = samples
        self.intercept = float(intercept)
        self.threads = threads

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.samples), int(self.X.shape[1]) + (self.intercept != 0.0)

    @cached_property
    def order(self) -> Indices:
        """The order in which products read the samples: by their position in memory, if there are many.

        Few samples fit into the cache and are read as listed, so that sums over them depend on the list alone.
        """
        if len(self.samples) < _MANY_SAMPLES:
            return np.arange(len(self.samples))
        return np.argsort(self.samples, kind="stable")  # linear time for a few ascending runs, such as the two classes

    def take(self, samples: Indices) -> Self:
        return type(self)(self.X, self.samples[samples], self.intercept, self.threads)

    @property
    def most_gathered(self) -> int:
        return len(self.samples)

    def gather(self, samples: Indices) -> MatrixDesign:
        # In the order of memory, so that sums over the copies have the order of those over the originals.
        distinct, positions = np.unique(self.samples[samples], return_inverse=True)
        return make_matrix_design(self.X[distinct], intercept=self.intercept, threads=self.threads).take(positions)

    def scores(self, w: Floats) -> Floats:
        weights, offset = self._split(w)
        return self._scores(weights, offset)

    def combine(self, c: Floats) -> Floats:
        out = np.zeros(self.shape[1])
        self._combine(np.ascontiguousarray(c, dtype=np.float64), out[: self.X.shape[1]])
        if self.intercept != 0.0:
            out[-1] = self.intercept * c.sum()
        return out

    def scores_by(self, model: Floats) -> Floats:
        return self.scores(model)

    def _listed_sizes(self, weights: Floats, mass: Floats) -> tuple[Floats, Floats]:
        return self.sizes(weights, mass)

    def sizes(self, weights: Floats, mass: Floats) -> tuple[Floats, Floats]:
        """Return abs(X) weights and abs(X)' mass, from copies of so few samples that they fit into the cache."""
        of_samples, of_columns = np.empty(len(self.samples)), np.zeros(self.X.shape[1])
        for start in range(0, len(self.samples), _FEW_SAMPLES):
            places = self.order[start : start + _FEW_SAMPLES]
            block = self.X[self.samples[places]]
            block = np.abs(block, out=block) if isinstance(block, np.ndarray) else abs(block)
            of_samples[places] = block @ weights
            of_columns += block.T @ mass[places]
        return of_samples, of_columns

    def _split(self, w: Floats) -> tuple[Floats, float]:
        """Return the weights of the real columns and what the constant column adds to every score."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        if self.intercept == 0.0:
            return w, 0.0
        return w[:-1], self.intercept * float(w[-1])

    def _sum_blocks(self, task: Any, out: Floats, work: float) -> None:
        """Run task(start, stop, out) on blocks of samples with an accumulator each, and add these up in order."""
        bounds = block_bounds(len(self.samples), work)
        if len(bounds) == 1:
            task(0, len(self.samples), out)
            return
        parts = np.zeros((len(bounds), out.size))
        run_blocks(lambda block, start, stop: task(start, stop, parts[block]), bounds, self.threads)
        np.sum(parts, axis=0, out=out)

    def _run(self, task: Any, size: int, work: float) -> None:
        run_blocks(lambda _, start, stop: task(start, stop), block_bounds(size, work), self.threads)

    @abstractmethod
    def _scores(self, w: Floats, offset: float) -> Floats: ...

    @abstractmethod
    def _combine(self, c: Floats, out: Floats) -> None: ...

    @abstractmethod
    def fingerprints(self, seed: int = 0) -> Hashes: ...


class DenseDesign(MatrixDesign):
    """Samples of a dense matrix. Any layout but contiguous columns is read row by row."""

    is_sparse = False

    def __init__(self, X: np.ndarray, samples: Indices, intercept: float, threads: int) -> None:
        super().__init__(X, samples, intercept, threads)
        self._by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
        # Reading whole columns is faster than picking samples out of them, unless few samples are wanted.
        self._whole_columns = self._by_columns and 4 * len(samples) > X.shape[0]

    def _scores(self, w: Floats, offset: float) -> Floats:
        X, samples = self.X, self.samples
        work = float(len(samples)) * X.shape[1]
        if self._whole_columns:
            out = np.empty(X.shape[0])
            self._run(lambda start, stop: products.columns_scores(X, w, out, start, stop), X.shape[0], work)
            return out[samples] + offset
        out = np.empty(len(samples))
        if self._by_columns:
            self._run(
                lambda start, stop: products.columns_scores_of_subset(X, samples, w, out, start, stop),
                len(samples),
                work,
            )
            return out + offset
        order = self.order
        self._run(
            lambda start, stop: products.dense_scores(X, samples, order, w, offset, out, start, stop),
            len(samples),
            work,
        )
        return out

    def _combine(self, c: Floats, out: Floats) -> None:
        X, samples = self.X, self.samples
        work = float(np.count_nonzero(c)) * X.shape[1]
        if self._whole_columns:
            spread = np.bincount(samples, weights=c, minlength=X.shape[0])  # a sample may be listed more than once
            self._run(lambda start, stop: products.columns_combine(X, spread, out, start, stop), X.shape[1], X.size)
        elif self._by_columns:
            self._run(
                lambda start, stop: products.columns_combine_of_subset(X, samples, c, out, start, stop),
                X.shape[1],
                work,
            )
        else:
            order = self.order
            self._sum_blocks(
                lambda start, stop, part: products.dense_combine(X, samples, order, c, part, start, stop), out, work
            )

    def fingerprints(self, seed: int = 0) -> Hashes:
        out = np.empty(len(self.samples), dtype=np.uint64)
        hashing.hash_dense(self.X, self.samples, np.uint64(seed), out)
        return out


class SparseDesign(MatrixDesign):
    """Samples of a CSR matrix; the work is proportional to the stored entries."""

    is_sparse = True

    def __init__(self, X: Any, samples: Indices, intercept: float, threads: int) -> None:
        super().__init__(X, samples, intercept, threads)
        self._entries_per_sample = X.nnz / max(X.shape[0], 1)

    def _scores(self, w: Floats, offset: float) -> Floats:
        X, samples, order = self.X, self.samples, self.order
        out = np.empty(len(samples))
        self._run(
            lambda start, stop: products.sparse_scores(
                X.data, X.indices, X.indptr, samples, order, w, offset, out, start, stop
            ),
            len(samples),
            self._entries_per_sample * len(samples),
        )
        return out

    def _combine(self, c: Floats, out: Floats) -> None:
        X, samples, order = self.X, self.samples, self.order
        work = self._entries_per_sample * np.count_nonzero(c)
        # Every block needs an accumulator with one entry per column, which must not cost more than the block itself.
        if work < 8 * X.shape[1]:
            work = 0.0
        self._sum_blocks(
            lambda start, stop, part: products.sparse_combine(
                X.data, X.indices, X.indptr, samples, order, c, part, start, stop
            ),
            out,
            work,
        )

    def fingerprints(self, seed: int = 0) -> Hashes:
        out = np.empty(len(self.samples), dtype=np.uint64)
        hashing.hash_sparse(self.X.data, self.X.indices, self.X.indptr, self.samples, np.uint64(seed), out)
        return out


def make_design(X: Any, *, intercept: float = 0.0, threads: int = 1) -> Design:
    """Return the design of an array, a CSR matrix, data on disk or on a cluster.

    Parameters
    ----------
    X : array, CSR matrix, BlockReader or DataSource
        The samples.
    intercept : float
        Value of the constant column; 0 if there is none.
    threads : int
        How many threads may compute products.

    Examples
    --------
    >>> import numpy as np
    >>> design = make_design(np.eye(2), intercept=1.0)
    >>> design.shape
    (2, 3)
    >>> design.scores(np.array([1.0, 2.0, 10.0]))
    array([11., 12.])
    """
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):  # checking protocols takes longer than small products
        # Imported here because chunks in memory are designs of this module themselves.
        from metricwise.designs.disk import BlockReader, DiskSource
        from metricwise.designs.partitioned import DataSource, PartitionedDesign

        if isinstance(X, BlockReader):
            X = DiskSource(X, threads)
        if isinstance(X, DataSource):
            return PartitionedDesign(X, np.arange(X.shape[0], dtype=np.int64), intercept, threads)
    return make_matrix_design(X, intercept=intercept, threads=threads)


def make_matrix_design(X: Any, *, intercept: float = 0.0, threads: int = 1, is_checked: bool = False) -> MatrixDesign:
    """Return the design of an array or a CSR matrix.

    ``is_checked`` states that every entry of a CSR matrix is known to lie within its shape, as in the blocks of a
    `BlockReader`: they are not checked twice.
    """
    samples = np.arange(X.shape[0], dtype=np.int64)
    if sparse.issparse(X):
        if X.format != "csr":
            raise TypeError(f"sparse X must be in CSR format, got {X.format!r}: convert it with X.tocsr()")
        if not is_checked:
            check_positions(X)
        if X.indices.dtype != X.indptr.dtype:  # for which there would be other compiled functions
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        return SparseDesign(X, samples, intercept, threads)
    return DenseDesign(np.asarray(X), samples, intercept, threads)


def check_positions(X: Any) -> None:
    """Raise a ValueError unless all entries of a CSR matrix are where its shape says: compiled code follows them.

    SciPy does not check the positions in arrays that a matrix is made of, or that were changed later.
    """
    try:
        X.check_format(full_check=False)  # drops unused entries after the last one
        check_csr_arrays(X.data, X.indices, X.indptr, X.shape)
    except ValueError as error:
        raise ValueError(
            f"X is not a valid CSR matrix ({error}): its indices or indptr are damaged; build it again from its entries"
        ) from None


def append_columns(X: Any, columns: Floats) -> Any:
    """Return samples with further features, sparse if the samples are.

    Examples
    --------
    >>> import numpy as np
    >>> append_columns(np.array([[1.0, 2.0]]), np.array([[3.0]]))
    array([[1., 2., 3.]])
    """
    return sparse.hstack([X, columns], format="csr") if sparse.issparse(X) else np.hstack([X, columns])
