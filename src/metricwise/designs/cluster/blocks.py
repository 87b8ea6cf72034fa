"""Chunks of Dask collections, validated and persisted on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from metricwise._typing import Indices
from metricwise.clusters import list_chunks
from metricwise.designs.cluster.connection import run_on_cluster
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.lost_workers import WorkerWatch, refuse_large_samples
from metricwise.designs.finite import LARGEST, find_unusable
from metricwise.memory import available_bytes
from metricwise.raw_inputs import check_sparse

_MAX_GATHERED_BYTES = 2**30
_SHARE_OF_MEMORY = 0.25


class BlockSummary(NamedTuple):
    """What the coordinator knows of a chunk."""

    n_samples: int
    n_features: int
    dtype: str
    is_sparse: bool
    n_bytes: int


@dataclass(frozen=True)
class PersistedBlocks:
    """The chunks of a Dask collection, kept on the workers.

    Parameters
    ----------
    client : distributed.Client
        Knows the workers.
    futures : list of distributed.Future
        The chunks that have samples.
    summaries : list of BlockSummary
        Their properties.
    sizes : list of int
        Samples of all chunks of the collection, empty chunks included.
    feature_names : list of str, optional
        The columns of a data frame.
    """

    client: Any
    futures: list[Any]
    summaries: list[BlockSummary]
    sizes: list[int]
    feature_names: list[str] | None

    @cached_property
    def bounds(self) -> Indices:
        """The first sample of every chunk that has samples, followed by the number of all samples."""
        return np.cumsum([0] + [block.n_samples for block in self.summaries])

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.bounds[-1]), self.summaries[0].n_features

    @property
    def is_sparse(self) -> bool:
        return self.summaries[0].is_sparse

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return np.dtype(self.summaries[0].dtype)

    def count_samples_that_fit(self) -> int:
        """Return how many samples may be copied to the memory of this process."""
        room = min(_MAX_GATHERED_BYTES, _SHARE_OF_MEMORY * available_bytes())
        sample_bytes = sum(block.n_bytes for block in self.summaries) / self.shape[0]
        return max(1, min(self.shape[0], int(room / max(sample_bytes, 1.0))))

    def select(self, chunks: Sequence[int]) -> PersistedBlocks:
        """Return some of the chunks; they stay on their workers."""
        summaries = [self.summaries[k] for k in chunks]
        sizes = [block.n_samples for block in summaries]
        return replace(self, futures=[self.futures[k] for k in chunks], summaries=summaries, sizes=sizes)

    def map(self, function: Callable[[Any], Any]) -> PersistedBlocks:
        """Return what a function makes of every chunk, kept beside them; features of the results have no names."""
        client = self.client
        futures = run_on_cluster(client, lambda: client.map(function, self.futures, pure=False))
        summaries = run_on_cluster(client, lambda: _summarize_blocks(client, futures))
        sizes = [block.n_samples for block in summaries]
        return PersistedBlocks(client, futures, summaries, sizes, None)


def persist_blocks(X: Any, client: Any) -> PersistedBlocks:
    """Compute the chunks of a Dask collection once and keep them on the workers.

    Parameters
    ----------
    X : dask array or dask data frame
        Samples; every chunk of an array must have all columns.
    client : distributed.Client
        Knows the workers.
    """
    from dask import delayed

    chunks = list_chunks(X)
    refuse_large_samples(X, client)
    prepare = delayed(prepare_block, pure=False)
    tasks = [prepare(block, number) for number, block in enumerate(chunks)]
    futures = run_on_cluster(client, lambda: client.compute(tasks))
    summaries: list[BlockSummary] = run_on_cluster(client, lambda: _summarize_blocks(client, futures))
    filled = [k for k, block in enumerate(summaries) if block.n_samples > 0]
    if not filled:
        raise ValueError("X has no samples: all of its chunks are empty. Check how it was read or filtered")
    _check_same_kind(summaries, filled)
    return PersistedBlocks(
        client,
        [futures[k] for k in filled],
        [summaries[k] for k in filled],
        [block.n_samples for block in summaries],
        [str(name) for name in X.columns] if hasattr(X, "columns") else None,
    )


def _summarize_blocks(client: Any, futures: list[Any]) -> list[BlockSummary]:
    """Return what the coordinator must know of all chunks, once workers have computed them."""
    summaries = client.map(summarize_block, futures, pure=False)
    WorkerWatch(client).wait(summaries)
    found: list[BlockSummary] = client.gather(summaries)
    return found


def prepare_block(block: Any, number: int) -> Any:
    """Return a chunk as an array or a CSR matrix of finite numbers; raise an error that names the chunk otherwise."""
    if hasattr(block, "columns"):
        _check_numeric_columns(block, number)
        is_single = all(kind == np.float32 for kind in block.dtypes)
        block = block.to_numpy(dtype=np.float32 if is_single else np.float64, na_value=np.nan)
    if sparse.issparse(block):
        block = check_sparse(block, f"chunk {number} of X").tocsr()
    elif not isinstance(block, np.ndarray):
        raise TypeError(
            f"chunk {number} of X is of type {type(block).__name__}: chunks must be NumPy arrays, CSR matrices of "
            "SciPy or pandas data frames. Convert them with X.map_blocks(...)"
        )
    if block.ndim != 2:
        raise ValueError(f"chunk {number} of X has {block.ndim} dimension(s): samples and features make two")
    if block.dtype.kind not in "fiub":
        raise ValueError(f"chunk {number} of X has entries of type {block.dtype}: convert them to numbers")
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float64)
    if isinstance(block, np.ndarray):
        # Data frames store columns contiguously, and samples are read in any order.
        block = np.ascontiguousarray(block)
    _check_finite(block, number)
    return block


def summarize_block(block: Any) -> BlockSummary:
    """Return what the coordinator must know of a prepared chunk."""
    is_sparse = bool(sparse.issparse(block))
    return BlockSummary(int(block.shape[0]), int(block.shape[1]), str(block.dtype), is_sparse, count_bytes(block))


def _check_numeric_columns(frame: Any, number: int) -> None:
    for name, kind in frame.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiub":
            raise ValueError(
                f"column {name!r} of X holds {kind} (chunk {number}), not numbers: encode it as numbers "
                "(OneHotEncoder, OrdinalEncoder) or drop it"
            )


def _check_finite(block: Any, number: int) -> None:
    found = find_unusable(block)
    if found is not None:
        value = "NaN" if np.isnan(found.value) else "infinity" if np.isinf(found.value) else f"{found.value:g}"
        remedy = "fill or drop such samples first (X.fillna(...), X.dropna() or dask.array.nan_to_num(X))"
        if np.isfinite(found.value):
            remedy = f"learners compute with numbers up to {LARGEST:.2g}: scale the column down, or use its logarithm"
        raise ValueError(
            f"X contains {value} in chunk {number}, sample {found.row} of it, column {found.column}: {remedy}"
        )


def _check_same_kind(summaries: Sequence[BlockSummary], filled: Sequence[int]) -> None:
    """Raise a ValueError if a chunk differs from the first one in width, storage or type."""
    first = summaries[filled[0]]
    for k in filled[1:]:
        block = summaries[k]
        if block.n_features != first.n_features:
            raise ValueError(
                f"chunk {k} of X has {block.n_features} columns and chunk {filled[0]} has {first.n_features}: all "
                "chunks must have the same features"
            )
        if block.is_sparse != first.is_sparse:
            kinds = [("a CSR matrix" if one.is_sparse else "a dense array") for one in (block, first)]
            raise ValueError(
                f"chunk {k} of X is {kinds[0]} and chunk {filled[0]} is {kinds[1]}: convert all chunks to one kind "
                "with X.map_blocks(...)"
            )
        if block.dtype != first.dtype:
            raise ValueError(
                f"chunk {k} of X has entries of type {block.dtype} and chunk {filled[0]} of type {first.dtype}: use "
                f"X.map_blocks(lambda block: block.astype({first.dtype!r}))"
            )


def deal_chunks(n_chunks: int, n_parts: int) -> list[list[int]]:
    """Return the chunks of every part: dealt out in turn, which spreads samples that are stored together.

    Examples
    --------
    >>> deal_chunks(5, 2)
    [[0, 2, 4], [1, 3]]
    >>> deal_chunks(2, 8)
    [[0], [1]]
    """
    return [list(range(first, n_chunks, n_parts)) for first in range(min(n_parts, n_chunks))]
