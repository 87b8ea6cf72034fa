"""Samples on disk or on a cluster, as model selection uses them: some in memory, scores of others, all for training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.chunk_learners import ChunkTargets, partial_fit_chunk, score_chunk
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.tasks import WorkerTasks
from metricwise.designs.disk import BlockReader, DiskSource
from metricwise.designs.disk_views import SelectedSamples, TransformedSamples

Score = Callable[[Any], Floats]
_THREADS = 1  # of gathering, which computes no products


class Targets(NamedTuple):
    """Labels and weights of stored samples; weights are None if all have weight one."""

    y: Labels
    weights: Floats | None


class StoredSamples(Protocol):
    """Samples at a location other than memory."""

    @property
    def location(self) -> Literal["disk", "cluster"]:
        """Where the samples are."""

    @property
    def data(self) -> Any:
        """What `fit` of classifiers that train there takes."""

    def gather(self, samples: Indices) -> Any:
        """Return ascending samples as a matrix in memory."""

    def score(self, score: Score, samples: Indices) -> Floats:
        """Return what a function of samples in memory returns of ascending samples."""

    def select(self, samples: Indices, targets: Targets) -> tuple[StoredSamples, Targets]:
        """Return stored samples and targets of which only the given samples count."""

    def transform(self, transform: Callable[[Any], Any]) -> StoredSamples:
        """Return what a function makes of the samples."""

    def learn(self, model: Any, targets: Targets, classes: Labels, seed: int) -> Any:
        """Return the model after ``partial_fit`` on every chunk."""


@dataclass(frozen=True)
class DiskSamples:
    """Samples that are read in blocks."""

    data: BlockReader
    location: Literal["disk"] = "disk"

    def gather(self, samples: Indices) -> Any:
        """Return ascending samples as a matrix in memory."""
        return DiskSource(self.data, _THREADS).gather(samples)

    def score(self, score: Score, samples: Indices) -> Floats:
        """Return what a function of samples in memory returns of ascending samples."""
        return np.concatenate([score(part) for _, part in DiskSource(self.data, _THREADS).take(samples)])

    def select(self, samples: Indices, targets: Targets) -> tuple[DiskSamples, Targets]:
        """Return only the given samples, with their targets."""
        weights = None if targets.weights is None else targets.weights[samples]
        return DiskSamples(SelectedSamples(self.data, samples)), Targets(targets.y[samples], weights)

    def transform(self, transform: Callable[[Any], Any]) -> DiskSamples:
        """Return what a function makes of the samples, block by block."""
        return DiskSamples(TransformedSamples(self.data, transform))

    def learn(self, model: Any, targets: Targets, classes: Labels, seed: int) -> Any:
        """Return the model after ``partial_fit`` on every block, in random order."""
        for X, y, weights in BlockStream(self.data, targets, seed):
            model = partial_fit_chunk(X, model, ChunkTargets(y, weights), classes)
        return model


@dataclass(frozen=True)
class BlockStream:
    """Blocks with their labels and weights, in random order: those of a file may be sorted by class or time."""

    reader: BlockReader
    targets: Targets
    seed: int

    def __iter__(self) -> Iterator[tuple[Any, Labels, Floats | None]]:
        order = np.random.default_rng(self.seed).permutation(len(self.reader.bounds) - 1)
        y, weights = self.targets
        for first, block in self.reader.blocks(order.tolist()):
            own = slice(first, first + block.shape[0])
            yield block, y[own], None if weights is None else weights[own]


@dataclass(frozen=True)
class ClusterSamples:
    """The chunks of a Dask collection."""

    data: DaskSource
    location: Literal["cluster"] = "cluster"

    def gather(self, samples: Indices) -> Any:
        """Return ascending samples as a matrix in memory."""
        return self.data.gather(samples)

    def score(self, score: Score, samples: Indices) -> Floats:
        """Return what a function of samples in memory returns of ascending samples; workers call it."""
        tasks, bounds = WorkerTasks(self.data), self.data.bounds
        kept, edges = tasks.keep(score, 0), np.searchsorted(samples, bounds)
        asked = [
            tasks.on_chunk(k, score_chunk, kept, _call, samples[edges[k] : edges[k + 1]] - bounds[k])
            for k in np.flatnonzero(np.diff(edges)).tolist()
        ]
        return np.concatenate(tasks.answers(asked, lambda scores: int(scores.nbytes)))

    def select(self, samples: Indices, targets: Targets) -> tuple[ClusterSamples, Targets]:
        """Return all chunks, with weights that are zero for all but the given samples: chunks stay whole."""
        weights = np.zeros(len(targets.y))
        weights[samples] = 1.0 if targets.weights is None else targets.weights[samples]
        return self, Targets(targets.y, weights)

    def transform(self, transform: Callable[[Any], Any]) -> ClusterSamples:
        """Return what a function makes of the samples, beside them on their workers."""
        return ClusterSamples(DaskSource(self.data.blocks.map(transform)))

    def learn(self, model: Any, targets: Targets, classes: Labels, seed: int) -> Any:
        """Return the model after ``partial_fit`` on every chunk, in random order, on the worker that has it."""
        tasks, bounds = WorkerTasks(self.data), self.data.bounds
        learnt = tasks.keep(model, 0)
        for k in np.random.default_rng(seed).permutation(len(bounds) - 1).tolist():
            own = slice(bounds[k], bounds[k + 1])
            part = ChunkTargets(targets.y[own], None if targets.weights is None else targets.weights[own])
            sent = tasks.keep(part, count_bytes([one for one in part if one is not None]), beside=k)
            learnt = tasks.on_chunk(k, partial_fit_chunk, learnt, sent, classes)
        return tasks.answers([learnt], lambda _: 0)[0]


def _call(score: Score, X: Any) -> Floats:
    return score(X)


def store(X: Any) -> StoredSamples:
    """Return samples that are not in memory as model selection uses them."""
    return ClusterSamples(X) if isinstance(X, DaskSource) else DiskSamples(X)


def transform_by(transformer: Any) -> Callable[[Any], Any]:
    """Return the function of a fitted transformer, which workers can receive."""
    return partial(_transform, transformer)


def _transform(transformer: Any, X: Any) -> Any:
    return transformer.transform(X)
