"""Samples of Dask collections with their labels: both stay on the workers, and so do scores.

Every worker keeps its samples, labels and scores (`LabelledSamples`) in a Dask actor. If it is lost, Dask computes the
samples again, and the scores are computed from the weights that the coordinator still knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Integers
from metricwise.clusters import is_dask
from metricwise.designs.base import Design
from metricwise.designs.cluster.blocks import PersistedBlocks
from metricwise.designs.cluster.connection import run_on_cluster
from metricwise.designs.cluster.messages import AnswerT, Request, keep_blocks
from metricwise.designs.cluster.pool import WorkerPool
from metricwise.designs.cluster.source import stack_blocks
from metricwise.designs.labelled import Codes, LabelledSamples
from metricwise.designs.matrix import make_design

_MAX_LABELS = 10_000  # per chunk: more are not class labels


class LabelSummary(NamedTuple):
    """What the coordinator knows of the labels of a chunk."""

    n_samples: int
    labels: NDArray[Any]
    counts: Integers


def prepare_labels(block: Any, number: int) -> NDArray[Any]:
    """Return the labels of a chunk as an array."""
    labels = np.asarray(block)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"chunk {number} of y has {labels.ndim} dimension(s): there must be one label per sample")
    wrong = np.flatnonzero(np.asarray(labels != labels) | np.asarray(labels == None))  # noqa: E711 - one by one
    if wrong.size:
        raise ValueError(
            f"y lacks a label in chunk {number}, sample {wrong[0]} of it: drop such samples from X and y, or label them"
        )
    return labels


def summarize_labels(labels: NDArray[Any], number: int) -> LabelSummary:
    """Return what the coordinator must know of the labels of a chunk."""
    found, counts = np.unique(labels, return_counts=True)
    if found.size > _MAX_LABELS:
        raise ValueError(
            f"chunk {number} of y has {found.size:,} different labels, such as {found[:1].tolist()[0]!r}: training "
            "needs classes. Make some, for example by y > limit"
        )
    return LabelSummary(labels.size, found, counts)


def encode_labels(labels: NDArray[Any], classes: NDArray[Any]) -> Codes:
    """Return the positions of labels among the sorted classes."""
    return np.searchsorted(classes, labels).astype(np.int32)


def keep_labelled_blocks(chunks: Sequence[int], intercept: float, *parts: Any) -> LabelledSamples:
    """Return chunks with their labels for a worker.

    Parameters
    ----------
    chunks : sequence of int
        Numbers of the chunks.
    intercept : float
        Value of the constant column; 0 if there is none.
    *parts
        The chunks, then the codes of their labels.
    """
    blocks = keep_blocks(chunks, intercept, *parts[: len(chunks)])
    codes = dict(zip(chunks, parts[len(chunks) :], strict=True))
    return LabelledSamples(blocks.designs, codes, lambda number, samples: blocks.matrices[number][samples])


class ClusterData:
    """The `LabelledData` of a Dask array or data frame.

    Parameters
    ----------
    blocks : PersistedBlocks
        The samples.
    X : dask array or dask data frame
        Where they came from.
    y : dask array, dask series or array
        Labels; a Dask collection must have the same samples in every chunk.
    intercept : float
        Value of the constant column; 0 if there is none.
    threads : int
        How many threads may compute products with gathered samples.

    Attributes
    ----------
    classes : array
        The distinct labels, sorted.
    """

    def __init__(self, blocks: PersistedBlocks, X: Any, y: Any, intercept: float, threads: int) -> None:
        self._blocks = blocks
        self.is_sparse, self.most_gathered = blocks.is_sparse, blocks.count_samples_that_fit()
        self.intercept, self.threads = float(intercept), threads
        self.n_samples, n_features = blocks.shape
        self.n_weights = n_features + (self.intercept != 0.0)
        client, futures = blocks.client, self._persist_labels(X, y)
        summaries: list[LabelSummary] = run_on_cluster(
            client, lambda: client.gather(client.map(summarize_labels, futures, range(len(futures)), pure=False))
        )
        _check_sizes(blocks.sizes, summaries)
        filled = [k for k, size in enumerate(blocks.sizes) if size > 0]
        self.classes: NDArray[Any] = np.unique(np.concatenate([summaries[k].labels for k in filled]))
        self._codes = client.map(encode_labels, [futures[k] for k in filled], classes=self.classes, pure=False)
        self.class_counts = np.zeros((len(filled), self.classes.size), dtype=np.int64)
        for chunk, k in enumerate(filled):
            self.class_counts[chunk, np.searchsorted(self.classes, summaries[k].labels)] = summaries[k].counts
        self.pool: WorkerPool[LabelledSamples] = WorkerPool(client, blocks.futures, self._describe_data)

    @property
    def bytes_moved(self) -> int:
        """Bytes of arrays that were exchanged with the workers so far."""
        return self.pool.bytes_moved

    def ask(self, request: Request[LabelledSamples, AnswerT]) -> list[AnswerT]:
        """Return the answers of all workers."""
        return self.pool.ask_all(request)

    def stack(self, blocks: Sequence[Any]) -> Design:
        """Return the design of gathered samples."""
        return make_design(stack_blocks(blocks, self.is_sparse), intercept=self.intercept, threads=self.threads)

    def _describe_data(self, chunks: Sequence[int]) -> tuple[Any, ...]:
        parts = [*(self._blocks.futures[k] for k in chunks), *(self._codes[k] for k in chunks)]
        return keep_labelled_blocks, chunks, self.intercept, *parts

    def _persist_labels(self, X: Any, y: Any) -> list[Any]:
        """Return the futures of the labels of every chunk."""
        client, blocks = self._blocks.client, _label_blocks(X, y, self._blocks.sizes)
        if not is_dask(y):
            return [client.submit(prepare_labels, block, number, pure=False) for number, block in enumerate(blocks)]
        from dask import delayed

        prepare = delayed(prepare_labels, pure=False)
        tasks = [prepare(block, number) for number, block in enumerate(blocks)]
        futures: list[Any] = run_on_cluster(client, lambda: client.compute(tasks))
        return futures


def _check_sizes(sizes: Sequence[int], summaries: Sequence[LabelSummary]) -> None:
    """Raise a ValueError if a chunk has more samples than labels, or fewer."""
    for k, (size, labels) in enumerate(zip(sizes, summaries, strict=True)):
        if size != labels.n_samples:
            raise ValueError(
                f"chunk {k} of X has {size} samples and chunk {k} of y {labels.n_samples} labels: they must be the "
                "same samples. Make both from one collection, or use y.rechunk((X.chunks[0],))"
            )


def _label_blocks(X: Any, y: Any, sizes: Sequence[int]) -> list[Any]:
    """Return the labels of every chunk of X, not computed if they are in a Dask collection."""
    if y is None:
        raise ValueError("training requires y to be passed, but the target y is None: pass the labels of the samples")
    if not is_dask(y):
        labels = np.asarray(y)
        if len(labels) != sum(sizes):
            raise ValueError(
                f"X has {sum(sizes)} samples and y has {len(labels)} labels: they must be the same samples"
            )
        return np.split(labels, np.cumsum(sizes)[:-1])
    if not hasattr(y, "to_delayed") or not (hasattr(y, "chunks") or hasattr(y, "npartitions")):
        raise TypeError(f"y is a Dask {type(y).__name__}: labels must be in a Dask array or a Dask series")
    if hasattr(X, "chunks") and hasattr(y, "chunks") and not np.isnan(y.shape[0]):
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples and y has {y.shape[0]} labels: they must be the same samples")
        y = y.rechunk({0: X.chunks[0]})
    blocks = list(np.ravel(y.to_delayed()))
    if len(blocks) != len(sizes):
        raise ValueError(
            f"X is in {len(sizes)} chunks and y in {len(blocks)}: they must be the same samples in every chunk. Make "
            "both from one collection, or use y.rechunk((X.chunks[0],))"
        )
    return blocks
