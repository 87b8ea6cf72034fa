"""Samples on disk: products block by block; the next block is read while the current one is multiplied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.finite import LARGEST, find_unusable
from metricwise.designs.matrix import MatrixDesign, make_matrix_design
from metricwise.designs.partitioned import PartitionedData


@runtime_checkable
class BlockReader(PartitionedData, Protocol):
    """Samples that are read in blocks.

    Attributes
    ----------
    path : str
        The file, for error messages.
    dtype : dtype
        Type of the entries.
    y, sample_weight : array or None
        Labels and weights of the samples, where the file has them.
    """

    @property
    def path(self) -> str: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def y(self) -> Any: ...

    @property
    def sample_weight(self) -> Any: ...

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the first sample of every block and the block, which is valid until the next one is read.

        Every entry of a CSR matrix lies within its shape: compiled code follows the indices unchecked.
        """
        ...


class DiskSource:
    """The `DataSource` of samples that are read in blocks.

    Entries are not checked one by one: NaN or infinity in a sample shows in its score and in every combination with it.

    Parameters
    ----------
    reader : BlockReader
        Reads the samples.
    threads : int
        How many threads may multiply with a block.
    """

    bytes_moved = 0

    def __init__(self, reader: BlockReader, threads: int) -> None:
        self.reader, self.threads = reader, threads
        self.shape, self.is_sparse, self.bounds = reader.shape, reader.is_sparse, reader.bounds
        self.most_gathered = reader.most_gathered

    def scores(self, w: Floats, chunks: Indices) -> Floats:
        """Return X w for the samples of some blocks."""
        out = np.empty(self.shape[0])
        for first, block, design in self._designs(chunks):
            scores = design.scores(w)
            self._check_if_huge(scores, first, block)
            out[first : first + len(scores)] = scores
        return out

    def combine(self, c: Floats, chunks: Indices) -> Floats:
        """Return X' c, where c is zero outside of some blocks."""
        out = np.zeros(self.shape[1])
        # Backwards: the blocks that the last product read last may still be in the page cache.
        for first, block, design in self._designs(chunks[::-1]):
            part = design.combine(c[first : first + block.shape[0]])
            self._check_if_huge(part, first, block)
            out += part
        return out

    def sizes(self, weights: Floats, mass: Floats, chunks: Indices) -> tuple[Floats, Floats]:
        """Return abs(X) weights for the samples of some blocks, and abs(X)' mass."""
        of_samples, of_columns = np.empty(self.shape[0]), np.zeros(self.shape[1])
        for first, block, design in self._designs(chunks):
            samples = slice(first, first + block.shape[0])
            of_samples[samples], part = design.sizes(weights, mass[samples])
            of_columns += part
        return of_samples, of_columns

    def fingerprints(self, seed: int, chunks: Indices) -> Hashes:
        """Return one hash per sample of some blocks."""
        out = np.zeros(self.shape[0], dtype=np.uint64)
        for first, block, design in self._designs(chunks):
            out[first : first + block.shape[0]] = design.fingerprints(seed)
        return out

    def gather(self, samples: Indices) -> Any:
        """Return distinct samples, in ascending order, as one matrix in memory."""
        if self.is_sparse:
            return sparse.vstack([part for _, part in self.take(samples)], format="csr")
        gathered = np.empty((len(samples), self.shape[1]), dtype=self.reader.dtype)
        for listed, part in self.take(samples):
            gathered[listed] = part
        return gathered

    def take(self, samples: Indices) -> Iterator[tuple[slice, Any]]:
        """Yield distinct samples in ascending order, block by block, each part with its place among them."""
        starts = np.searchsorted(samples, self.bounds)
        wanted = np.flatnonzero(np.diff(starts)).tolist()
        for number, (first, block) in zip(wanted, self.reader.blocks(wanted), strict=True):
            self._check_finite(first, block)
            listed = slice(*starts[number : number + 2])
            yield listed, block[samples[listed] - first]

    def _designs(self, chunks: Indices) -> Iterator[tuple[int, Any, MatrixDesign]]:
        for first, block in self.reader.blocks(chunks.tolist()):
            yield first, block, make_matrix_design(block, threads=self.threads, is_checked=True)

    def _check_if_huge(self, products: Floats, first: int, block: Any) -> None:
        """Check a block whose products show that it may hold what cannot be computed with."""
        if not (np.abs(products) <= LARGEST).all():
            self._check_finite(first, block)

    def _check_finite(self, first: int, block: Any) -> None:
        """Raise a ValueError if a block contains NaN, infinity or numbers too large to compute with."""
        found = find_unusable(block)
        if found is not None:
            raise ValueError(
                f"{self.reader.path} holds {found.value:g} in sample {first + found.row}, column {found.column} "
                f"(counted from 0) {found.remedy}, and write the file again"
            )
