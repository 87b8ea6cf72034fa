"""Views of samples on disk: some of them, or what a function makes of them, read in blocks like the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Indices
from metricwise.designs.disk import BlockReader
from metricwise.designs.matrix import check_positions


class SelectedSamples:
    """Some of the samples of a reader, in their order, as a reader of its own.

    Parameters
    ----------
    reader : BlockReader
        Reads the samples.
    samples : array of int
        Positions of the samples, distinct and ascending; at least one.
    memory_limit : int, optional
        Memory that the process may take, in bytes; by default that of the reader.
    """

    def __init__(self, reader: BlockReader, samples: Indices, memory_limit: int | None = None) -> None:
        self._reader, self._samples = reader, samples
        self._starts = np.searchsorted(samples, reader.bounds)
        self._numbers = np.flatnonzero(np.diff(self._starts))
        self.bounds: Indices = np.append(self._starts[self._numbers], samples.size)
        self.path, self.dtype, self.is_sparse = reader.path, reader.dtype, reader.is_sparse
        self.shape = int(samples.size), reader.shape[1]
        self.feature_names = getattr(reader, "feature_names", None)
        self.memory_limit = getattr(reader, "memory_limit", None) if memory_limit is None else memory_limit
        self.most_gathered = min(reader.most_gathered, int(samples.size))
        self.y, self.sample_weight = (
            None if values is None else values[samples] for values in (reader.y, reader.sample_weight)
        )

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the first sample of every block and the block, which is valid until the next one is read."""
        wanted = list(range(self._numbers.size)) if which is None else [int(number) for number in which]
        found = self._reader.blocks(self._numbers[wanted].tolist())
        for number, (first, block) in zip(wanted, found, strict=True):
            own = self._samples[self.bounds[number] : self.bounds[number + 1]] - first
            yield int(self.bounds[number]), block if own.size == block.shape[0] else block[own]


class TransformedSamples:
    """What a function makes of the samples of a reader, as a reader of its own.

    Parameters
    ----------
    reader : BlockReader
        Reads the samples.
    transform : callable
        Returns an array or a CSR matrix of one sample per sample that it is given.
    """

    def __init__(self, reader: BlockReader, transform: Callable[[Any], Any]) -> None:
        self._reader, self._transform = reader, transform
        _, block = next(iter(reader.blocks([0])))
        example = self._convert(block[:1])
        self.shape, self.dtype, self.is_sparse = (
            (reader.shape[0], int(example.shape[1])),
            example.dtype,
            bool(sparse.issparse(example)),
        )
        self.path, self.bounds = reader.path, reader.bounds
        self.y, self.sample_weight, self.most_gathered = reader.y, reader.sample_weight, reader.most_gathered

    def blocks(self, which: Iterable[int] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the first sample of every block and the block, which is valid until the next one is read."""
        for first, block in self._reader.blocks(which):
            yield first, self._convert(block)

    def _convert(self, block: Any) -> Any:
        found = self._transform(block)
        if not sparse.issparse(found):
            return np.ascontiguousarray(found)
        matrix = found.tocsr()
        check_positions(matrix)
        return matrix
