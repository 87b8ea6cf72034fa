"""Samples of Dask collections: they stay on the workers of a cluster, and vectors travel.

For a product, weights go to every worker, or the coefficients of a chunk to the worker that keeps it; scores or one
vector per chunk come back. The coordinator adds vectors in the order of the chunks, so that no bit depends on which
worker has which chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.cluster.blocks import PersistedBlocks
from metricwise.designs.cluster.encoding import encode_coefficients, sum_weights
from metricwise.designs.cluster.messages import (
    CombineSamples,
    ComputeFingerprints,
    ComputeScores,
    ComputeSizes,
    GatherSamples,
    WorkerBlocks,
    keep_blocks,
)
from metricwise.designs.cluster.pool import WorkerPool

T = TypeVar("T")


class DaskSource:
    """The `DataSource` of a Dask array or data frame, whose chunks are kept on the workers of a cluster.

    Parameters
    ----------
    blocks : PersistedBlocks
        The chunks.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    is_sparse : bool
        Whether chunks are CSR matrices.
    bounds : array
        The first sample of every chunk that has samples, followed by the number of all samples.
    most_gathered : int
        How many samples may be held in memory at once.
    pool : WorkerPool
        The workers that keep the chunks.
    """

    def __init__(self, blocks: PersistedBlocks) -> None:
        self.blocks = blocks
        self.shape, self.is_sparse, self.bounds, self.dtype = (
            blocks.shape,
            blocks.is_sparse,
            blocks.bounds,
            blocks.dtype,
        )
        self.feature_names, self.futures = blocks.feature_names, blocks.futures
        self.most_gathered = blocks.count_samples_that_fit()
        self.pool: WorkerPool[WorkerBlocks] = WorkerPool(
            blocks.client, blocks.futures, lambda chunks: (keep_blocks, chunks, 0.0, *(self.futures[k] for k in chunks))
        )

    def __getitem__(self, samples: Any) -> NoReturn:
        # Splitters of scikit-learn look for it, and most of them then use the number of samples only.
        raise TypeError(
            "the samples are on the workers of a cluster, and what was called needs them in memory: give cv a "
            "number, or a splitter that does not look at samples"
        )

    @property
    def bytes_moved(self) -> int:
        """Bytes of arrays that were exchanged with the workers so far."""
        return self.pool.bytes_moved

    def part(self, chunks: Sequence[int]) -> DaskSource:
        """Return some of the chunks as a source of their own; they stay on their workers."""
        return DaskSource(self.blocks.select(chunks))

    def scores(self, w: Floats, chunks: Indices) -> Floats:
        out = np.zeros(self.shape[0])
        for k, scores in _order_by_chunk(self.pool.ask(chunks, lambda kept: ComputeScores(kept, w))):
            out[self.bounds[k] : self.bounds[k + 1]] = scores
        return out

    def combine(self, c: Floats, chunks: Indices) -> Floats:
        def make_request(kept: Sequence[int]) -> CombineSamples:
            return CombineSamples({k: encode_coefficients(c[self.bounds[k] : self.bounds[k + 1]]) for k in kept})

        parts = _order_by_chunk(self.pool.ask(chunks, make_request))
        return sum_weights((weights for _, weights in parts), self.shape[1])

    def sizes(self, weights: Floats, mass: Floats, chunks: Indices) -> tuple[Floats, Floats]:
        def make_request(kept: Sequence[int]) -> ComputeSizes:
            return ComputeSizes(weights, {k: mass[self.bounds[k] : self.bounds[k + 1]] for k in kept})

        of_samples, of_columns = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        for k, (samples, columns) in _order_by_chunk(self.pool.ask(chunks, make_request)):
            of_samples[self.bounds[k] : self.bounds[k + 1]] = samples
            of_columns += columns
        return of_samples, of_columns

    def fingerprints(self, seed: int, chunks: Indices) -> Hashes:
        out = np.zeros(self.shape[0], dtype=np.uint64)
        for k, hashes in _order_by_chunk(self.pool.ask(chunks, lambda kept: ComputeFingerprints(kept, seed))):
            out[self.bounds[k] : self.bounds[k + 1]] = hashes
        return out

    def gather(self, samples: Indices) -> Any:
        edges = np.searchsorted(samples, self.bounds)

        def make_request(kept: Sequence[int]) -> GatherSamples:
            return GatherSamples({k: samples[edges[k] : edges[k + 1]] - self.bounds[k] for k in kept})

        parts = _order_by_chunk(self.pool.ask(np.flatnonzero(np.diff(edges)), make_request))
        return stack_blocks([block for _, block in parts], self.is_sparse)


def stack_blocks(blocks: Sequence[Any], is_sparse: bool) -> Any:
    """Return blocks of samples as one matrix."""
    return sparse.vstack(blocks, format="csr") if is_sparse else np.concatenate(blocks)


def _order_by_chunk(answers: Iterable[Mapping[int, T]]) -> list[tuple[int, T]]:
    """Return the answers of all workers in the order of the chunks."""
    return sorted(((k, part) for answer in answers for k, part in answer.items()), key=lambda pair: pair[0])
