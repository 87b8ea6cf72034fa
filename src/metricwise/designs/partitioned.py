"""Matrices in chunks of consecutive samples that are not in memory: on disk, or on the workers of a cluster.

A `DataSource` multiplies with its chunks, and `PartitionedDesign` makes a design of any source, so that disk and
cluster differ in their source only. A design holds a few numbers per sample, never the samples.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from metricwise._typing import Floats, Hashes, Indices, Mask
from metricwise.designs.base import Design
from metricwise.designs.matrix import LinearRounding, make_design


class PartitionedData(Protocol):
    """Samples in consecutive chunks.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    is_sparse : bool
        Whether chunks are CSR matrices.
    bounds : array
        The first sample of every chunk, followed by the number of all samples.
    most_gathered : int
        How many samples may be held in memory at once.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def bounds(self) -> Indices: ...

    @property
    def most_gathered(self) -> int: ...


@runtime_checkable
class DataSource(PartitionedData, Protocol):
    """Chunks that can be multiplied where they are.

    Vectors over samples have one entry per sample of all chunks. In the result of a product with some chunks, the
    entries of other chunks are undefined.

    Attributes
    ----------
    bytes_moved : int
        Bytes that were exchanged with a cluster so far; 0 where there is none.
    """

    @property
    def bytes_moved(self) -> int: ...

    def scores(self, w: Floats, chunks: Indices) -> Floats:
        """Return X w for the samples of some chunks."""
        ...

    def combine(self, c: Floats, chunks: Indices) -> Floats:
        """Return X' c, where c is zero outside of some chunks."""
        ...

    def sizes(self, weights: Floats, mass: Floats, chunks: Indices) -> tuple[Floats, Floats]:
        """Return abs(X) weights for the samples of some chunks, and abs(X)' mass, mass being zero outside of them."""
        ...

    def fingerprints(self, seed: int, chunks: Indices) -> Hashes:
        """Return one hash per sample of some chunks, as designs do."""
        ...

    def gather(self, samples: Indices) -> Any:
        """Return distinct samples, in ascending order, as a dense array or a CSR matrix in memory."""
        ...


class PartitionedDesign(LinearRounding):
    """Samples of a source, in a given order, with ``intercept`` as the value of a constant last column.

    Parameters
    ----------
    source : DataSource
        The chunks.
    samples : array
        Positions of the samples within the source; a sample may be listed more than once.
    intercept : float
        Value of the constant column; 0 if there is none.
    threads : int
        How many threads may compute products with gathered samples.
    """

    def __init__(self, source: DataSource, samples: Indices, intercept: float, threads: int) -> None:
        self.source = source
        self.samples = samples
        self.intercept = float(intercept)
        self.threads = threads
        is_listed = np.zeros(source.shape[0], dtype=np.bool_)
        is_listed[samples] = True
        self._chunks = self._find_chunks(is_listed)  # others are not read
        self._has_duplicates = int(np.count_nonzero(is_listed)) != len(samples)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.samples), self.source.shape[1] + (self.intercept != 0.0)

    @property
    def is_sparse(self) -> bool:
        return self.source.is_sparse

    @property
    def most_gathered(self) -> int:
        return min(len(self.samples), self.source.most_gathered)

    @property
    def bytes_moved(self) -> int:
        """Bytes that products have exchanged with a cluster so far; 0 where there is none."""
        return self.source.bytes_moved

    def scores(self, w: Floats) -> Floats:
        w = np.ascontiguousarray(w, dtype=np.float64)
        has_intercept = self.intercept != 0.0
        scores: Floats = self.source.scores(w[:-1] if has_intercept else w, self._chunks)[self.samples]
        return scores + self.intercept * float(w[-1]) if has_intercept else scores

    def combine(self, c: Floats) -> Floats:
        # Chunks without a coefficient are skipped: labellings for measures at the top concern few samples.
        coefficients = self._scatter(c)
        combination = self.source.combine(coefficients, self._find_chunks(coefficients != 0.0))
        return np.append(combination, self.intercept * c.sum()) if self.intercept != 0.0 else combination

    def _listed_sizes(self, weights: Floats, mass: Floats) -> tuple[Floats, Floats]:
        of_samples, of_columns = self.source.sizes(weights, self._scatter(mass), self._chunks)
        return of_samples[self.samples], of_columns

    def _scatter(self, c: Floats) -> Floats:
        """Return the coefficients of all samples of the source."""
        if self._has_duplicates:
            return np.bincount(self.samples, weights=c, minlength=self.source.shape[0])  # type: ignore[return-value]
        coefficients = np.zeros(self.source.shape[0])
        coefficients[self.samples] = c
        return coefficients

    def _find_chunks(self, mask: Mask) -> Indices:
        """Return the chunks with a sample in a mask over the samples of the source."""
        return np.flatnonzero(np.logical_or.reduceat(mask, self.source.bounds[:-1]))

    def scores_by(self, model: Floats) -> Floats:
        return self.scores(model)

    def take(self, samples: Indices) -> PartitionedDesign:
        return PartitionedDesign(self.source, self.samples[samples], self.intercept, self.threads)

    def gather(self, samples: Indices) -> Design:
        distinct, positions = np.unique(self.samples[samples], return_inverse=True)
        matrix = self.source.gather(distinct)
        return make_design(matrix, intercept=self.intercept, threads=self.threads).take(positions)

    def fingerprints(self, seed: int = 0) -> Hashes:
        hashes: Hashes = self.source.fingerprints(seed, self._chunks)[self.samples]
        return hashes
