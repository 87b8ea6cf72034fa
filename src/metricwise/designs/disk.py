"""Samples on disk: products block by block, the next block being read while the kernels work on one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.base import Design, make_design
from metricwise.designs.chunked import RowChunks
from metricwise.designs.finite import first_not_finite


@runtime_checkable
class StoredRows(RowChunks, Protocol):
    """Chunks that can be read.

    Attributes
    ----------
    path : str
        Where they are, for messages.
    dtype : dtype
        Of the numbers.
    """

    @property
    def path(self) -> str: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield blocks with the numbers of their first samples; a block is gone when the next one is asked for."""
        ...


class DiskSource:
    """The `ChunkSource` of samples that are read in blocks.

    A number that is not finite is found without looking for it: it makes the score of its sample so, and every
    combination with it.

    Parameters
    ----------
    stored : StoredRows
        The samples.
    threads : int
        How many threads may work on a block.
    """

    def __init__(self, stored: StoredRows, threads: int) -> None:
        self.stored, self.threads = stored, threads
        self.shape, self.is_sparse, self.bounds = stored.shape, stored.is_sparse, stored.bounds
        self.most_gathered = stored.most_gathered

    def scores(self, w: Floats, chunks: Indices) -> Floats:
        """Return X w for the samples of some blocks."""
        out = np.empty(self.shape[0])
        for first, block, design in self._designs(chunks):
            scores = design.scores(w)
            if not np.isfinite(scores).all():
                self._check_finite(first, block)
            out[first : first + len(scores)] = scores
        return out

    def combine(self, c: Floats, chunks: Indices) -> Floats:
        """Return X' c, where c is zero outside of some blocks."""
        out = np.zeros(self.shape[1])
        # Backwards: what the last product has read last may still be in the memory of the system.
        for first, block, design in self._designs(chunks[::-1]):
            part = design.combine(c[first : first + block.shape[0]])
            if not np.isfinite(part).all():
                self._check_finite(first, block)
            out += part
        return out

    def fingerprints(self, seed: int, chunks: Indices) -> Hashes:
        """Return a number for every sample of some blocks."""
        out = np.zeros(self.shape[0], dtype=np.uint64)
        for first, block, design in self._designs(chunks):
            out[first : first + block.shape[0]] = design.fingerprints(seed)
        return out

    def gather(self, rows: Indices) -> Any:
        """Return samples, ascending, as one matrix in memory."""
        starts = np.searchsorted(rows, self.bounds)
        wanted = np.flatnonzero(np.diff(starts))
        parts: Any = [] if self.is_sparse else np.empty((len(rows), self.shape[1]), dtype=self.stored.dtype)
        for number, (first, block, _) in zip(wanted.tolist(), self._designs(wanted), strict=True):
            self._check_finite(first, block)
            listed = slice(*starts[number : number + 2])
            if isinstance(parts, list):
                parts.append(block[rows[listed] - first])
            else:
                np.take(block, rows[listed] - first, axis=0, out=parts[listed])
        return sparse.vstack(parts, format="csr") if isinstance(parts, list) else parts

    def _designs(self, chunks: Indices) -> Iterator[tuple[int, Any, Design]]:
        for first, block in self.stored.blocks(chunks.tolist()):
            yield first, block, make_design(block, threads=self.threads)

    def _check_finite(self, first: int, block: Any) -> None:
        """Raise if a number of a block is not finite."""
        found = first_not_finite(block)
        if found is not None:
            raise ValueError(
                f"{self.stored.path} holds {found.value} in sample {first + found.row}, column {found.column} (counted "
                "from 0) where a finite number belongs: fill it in or drop the sample, and write the file again"
            )
