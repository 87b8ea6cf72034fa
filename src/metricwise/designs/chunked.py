"""Matrices in chunks of samples that are not all at hand: on disk, or with the workers of a cluster.

A `ChunkSource` knows the chunks, `ChunkedDesign` makes a design of any source: what differs between disk and cluster
is in the source and nowhere else. A design holds a few numbers a sample, never the samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import Design, make_design


class RowChunks(Protocol):
    """Consecutive chunks of samples.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    is_sparse : bool
        Whether chunks are CSR matrices.
    bounds : array
        The first sample of every chunk, and the number of all samples.
    most_gathered : int
        Samples that may be held in memory at once.
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
class ChunkSource(RowChunks, Protocol):
    """Chunks, and the products with them.

    Vectors over samples are as long as all samples. Of a product with some chunks, the entries of other samples mean
    nothing.
    """

    def scores(self, w: Floats, chunks: Indices) -> Floats:
        """Return X w for the samples of some chunks."""
        ...

    def combine(self, c: Floats, chunks: Indices) -> Floats:
        """Return X' c, where c is zero outside of some chunks."""
        ...

    def fingerprints(self, seed: int, chunks: Indices) -> Hashes:
        """Return a number for every sample of some chunks, as designs do."""
        ...

    def gather(self, rows: Indices) -> Any:
        """Return samples, ascending and each once, as a dense array or a CSR matrix in memory."""
        ...


class ChunkedDesign:
    """Samples of a matrix in chunks, in a given order, with ``intercept`` as the value of a constant last column.

    Parameters
    ----------
    source : ChunkSource
        The chunks.
    samples : array
        Positions within the source; a sample may be listed more than once.
    intercept : float
        Value of the constant column; 0 if there is none.
    threads : int
        How many threads may work on the samples.
    """

    def __init__(self, source: ChunkSource, rows: Indices, intercept: float, threads: int) -> None:
        self.source = source
        self.rows = rows
        self.intercept = float(intercept)
        self.threads = threads
        listed = np.zeros(source.shape[0], dtype=np.bool_)
        listed[rows] = True
        self._chunks = self._touched(listed)  # others are not read
        self._each_once = int(np.count_nonzero(listed)) == len(rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.source.shape[1] + (self.intercept != 0.0)

    @property
    def is_sparse(self) -> bool:
        return self.source.is_sparse

    @property
    def most_gathered(self) -> int:
        return min(len(self.rows), self.source.most_gathered)

    @property
    def bytes_moved(self) -> int:
        """Bytes that products have moved between here and a cluster so far; 0 where there is none."""
        return int(getattr(self.source, "bytes_moved", 0))

    def scores(self, w: Floats) -> Floats:
        w = np.ascontiguousarray(w, dtype=np.float64)
        constant = self.intercept != 0.0
        found: Floats = self.source.scores(w[:-1] if constant else w, self._chunks)[self.rows]
        return found + self.intercept * float(w[-1]) if constant else found

    def combine(self, c: Floats) -> Floats:
        # A chunk without a coefficient adds nothing: cuts of measures at the top need few samples.
        spread = self._spread(c)
        found = self.source.combine(spread, self._touched(spread != 0.0))
        return np.append(found, self.intercept * c.sum()) if self.intercept != 0.0 else found

    def _spread(self, c: Floats) -> Floats:
        """Return the coefficients of all samples of the source."""
        if not self._each_once:
            return np.bincount(self.rows, weights=c, minlength=self.source.shape[0])  # type: ignore[return-value]
        spread = np.zeros(self.source.shape[0])
        spread[self.rows] = c
        return spread

    def _touched(self, mask: NDArray[np.bool_]) -> Indices:
        """Return the chunks with a sample in a mask over the samples of the source."""
        return np.flatnonzero(np.logical_or.reduceat(mask, self.source.bounds[:-1]))

    def covector(self, w: Floats) -> Floats:
        return w

    def portable(self, w: Floats) -> Floats:
        return w

    def scores_by(self, model: Floats) -> Floats:
        return self.scores(model)

    def take(self, rows: Indices) -> ChunkedDesign:
        return ChunkedDesign(self.source, self.rows[rows], self.intercept, self.threads)

    def gathered(self, rows: Indices) -> Design:
        wanted, places = np.unique(self.rows[rows], return_inverse=True)
        matrix = self.source.gather(wanted)
        return make_design(matrix, intercept=self.intercept, threads=self.threads).take(places)

    def fingerprints(self, seed: int = 0) -> Hashes:
        found: Hashes = self.source.fingerprints(seed, self._chunks)[self.rows]
        return found

    def row_blocks(self, size: int) -> Iterator[ChunkedDesign]:
        for start in range(0, len(self.rows), size):
            yield self.take(np.arange(start, min(start + size, len(self.rows))))
