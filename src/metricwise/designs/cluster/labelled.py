"""Samples of Dask collections with their labels: both stay with the workers, and so do scores.

Every worker has its samples, labels and scores in one object (`LabelledRows` in a Dask actor). If it is lost, the
samples are computed again by Dask and the scores from the weights that the coordinator still knows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Integers
from metricwise.clusters import is_dask
from metricwise.designs.base import Design, make_design
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.workers import HeldChunks, Timed
from metricwise.designs.labelled import Codes, LabelledRows

_MOST_LABELS = 10_000  # of a chunk: what has more is no label


class LabelFacts(NamedTuple):
    """What the coordinator knows of the labels of a chunk."""

    n_samples: int
    labels: NDArray[Any]
    counts: Integers


def prepared_labels(block: Any, number: int) -> NDArray[Any]:
    """Return the labels of a chunk as an array."""
    labels = np.asarray(block)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"chunk {number} of y has {labels.ndim} dimension(s): there must be one label a sample")
    wrong = np.flatnonzero(np.asarray(labels != labels) | np.asarray(labels == None))  # noqa: E711 - one by one
    if wrong.size:
        raise ValueError(
            f"y lacks a label in chunk {number}, sample {wrong[0]} of it: drop such samples from X and y, or label them"
        )
    return labels


def label_facts(labels: NDArray[Any], number: int) -> LabelFacts:
    """Return what the coordinator must know of the labels of a chunk."""
    found, counts = np.unique(labels, return_counts=True)
    if found.size > _MOST_LABELS:
        raise ValueError(
            f"chunk {number} of y has {found.size:,} different labels, such as {found[:1].tolist()[0]!r}: training "
            "needs classes. Make some, for example by y > limit"
        )
    return LabelFacts(labels.size, found, counts)


def encoded(labels: NDArray[Any], classes: NDArray[Any]) -> Codes:
    """Return the places of labels among the sorted classes."""
    return np.searchsorted(classes, labels).astype(np.int32)


class HeldLabelledChunks(HeldChunks):
    """The chunks of one worker with their labels; lives on the worker.

    Parameters
    ----------
    numbers : sequence of int
        Of the chunks.
    intercept : float
        Value of the constant column; 0 if there is none.
    *parts
        The chunks, then the codes of their labels.
    """

    def __init__(self, numbers: Sequence[int], intercept: float, *parts: Any) -> None:
        super().__init__(numbers, *parts[: len(numbers)])
        designs = {
            number: make_design(block, intercept=intercept, threads=self.designs[number].threads)
            for number, block in self.blocks.items()
        }
        codes = dict(zip(numbers, parts[len(numbers) :], strict=True))
        self.rows = LabelledRows(designs, codes, lambda number, rows: self.blocks[number][rows])

    def answer(self, numbers: Sequence[int], method: str, *arguments: Any) -> Timed:
        """Return what the samples answer."""
        started = time.perf_counter()
        answers = getattr(self.rows, method)(*arguments)
        return Timed(answers, time.perf_counter() - started)


class LabelledDaskSource(DaskSource):
    """The chunks of a Dask array or data frame with their labels; see `metricwise.designs.remote_scores.Places`.

    Parameters
    ----------
    X : dask array or dask data frame
        Samples.
    y : dask array, dask series or array
        Labels; of Dask collections, the same samples in every chunk.
    client : distributed.Client
        Knows the workers.
    intercept : float
        Value of the constant column; 0 if there is none.
    threads : int
        How many threads may work on samples that are gathered.

    Attributes
    ----------
    classes : array
        The labels there are, sorted.
    """

    def __init__(self, X: Any, y: Any, client: Any, intercept: float, threads: int) -> None:
        super().__init__(X, client)
        self.intercept, self.threads = float(intercept), threads
        futures = self._label_futures(X, y)
        known: list[LabelFacts] = self._cluster(
            lambda: client.gather(client.map(label_facts, futures, range(len(futures)), pure=False))
        )
        for k, (size, facts) in enumerate(zip(self._sizes, known, strict=True)):
            if size != facts.n_samples:
                raise ValueError(
                    f"chunk {k} of X has {size} samples and chunk {k} of y {facts.n_samples} labels: they must be the "
                    "same samples. Make both from one collection, or use y.rechunk((X.chunks[0],))"
                )
        filled = [k for k, size in enumerate(self._sizes) if size > 0]
        self.classes: NDArray[Any] = np.unique(np.concatenate([known[k].labels for k in filled]))
        self._codes = client.map(encoded, [futures[k] for k in filled], classes=self.classes, pure=False)
        self.class_counts = np.zeros((len(filled), self.classes.size), dtype=np.int64)
        for place, k in enumerate(filled):
            self.class_counts[place, np.searchsorted(self.classes, known[k].labels)] = known[k].counts

    @property
    def n_samples(self) -> int:
        """All samples."""
        return self.shape[0]

    @property
    def n_weights(self) -> int:
        """All features and the constant."""
        return self.shape[1] + (self.intercept != 0.0)

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers of all workers."""
        everything = np.arange(len(self._futures))
        replies = self._replies("answer", everything, lambda _: (method, *arguments))
        return [answer for _, answers in replies for answer in answers]

    def stacked(self, blocks: Sequence[Any]) -> Design:
        """Return the design of gathered samples."""
        matrix = sparse.vstack(blocks, format="csr") if self.is_sparse else np.concatenate(blocks)
        return make_design(matrix, intercept=self.intercept, threads=self.threads)

    def _holding(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        parts = [*(self._futures[k] for k in numbers), *(self._codes[k] for k in numbers)]
        return HeldLabelledChunks, numbers, self.intercept, *parts

    def _label_futures(self, X: Any, y: Any) -> list[Any]:
        blocks = _label_blocks(X, y, self._sizes)
        if not is_dask(y):
            submit = self._client.submit
            return [submit(prepared_labels, block, number, pure=False) for number, block in enumerate(blocks)]
        from dask import delayed

        make = delayed(prepared_labels, pure=False)
        tasks = [make(block, number) for number, block in enumerate(blocks)]
        futures: list[Any] = self._cluster(lambda: self._client.compute(tasks))
        return futures


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
