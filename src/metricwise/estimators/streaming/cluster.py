"""Samples on a cluster as a source: shards make passes in parallel and are averaged after every pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import make_design
from metricwise.designs.cluster.blocks import deal_chunks
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.tasks import WorkerTasks
from metricwise.estimators.streaming.memory import MemorySource, hold_out, seed_of_pass, select_samples
from metricwise.estimators.streaming.training import Progress, StreamPlan
from metricwise.solvers.shards import ChunkLabels, average_states, pass_over_chunk
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

_SEEDS = 2**40
_BETWEEN_CHUNKS = 0x9E3779B1  # seeds of neighbouring chunks are far apart


class ClusterData(StreamData):
    """Labelled samples in chunks on a cluster. Scores come from the workers; learning is done by `ShardSource`."""

    def __init__(self, source: DaskSource, positive: Mask, weights: Floats) -> None:
        self.X, self.positive, self.weights = source, positive, weights
        self.is_sparse = source.is_sparse
        self.tasks = WorkerTasks(source)
        self._last_parts: tuple[Indices, list[tuple[int, Indices, Any]]] = np.zeros(0, dtype=np.int64), []

    def scores(self, samples: Indices, w: Floats, intercept: float) -> Floats:
        """Return scores of samples in any order."""
        sent = self.tasks.keep(w, w.nbytes)
        parts = self._divide(samples)
        found = self.tasks.answers([self.tasks.on_chunk(k, _scores, kept, sent) for k, _, kept in parts], _array_bytes)
        out = np.zeros(samples.size)
        for (_, positions, _), scores in zip(parts, found, strict=True):
            out[positions] = scores
        return out + intercept

    def _divide(self, samples: Indices) -> list[tuple[int, Indices, Any]]:
        """Return chunks with the positions of their samples, and the numbers of these samples, which are sent once."""
        if samples is not self._last_parts[0]:  # the same samples are scored again and again
            chunk_of, bounds = np.searchsorted(self.X.bounds, samples, side="right") - 1, self.X.bounds
            parts = []
            for k in np.unique(chunk_of).tolist():
                positions = np.flatnonzero(chunk_of == k)
                numbers = samples[positions] - bounds[k]
                parts.append((k, positions, self.tasks.keep(numbers, numbers.nbytes, beside=k)))
            self._last_parts = samples, parts
        return self._last_parts[1]


def _scores(X: Any, samples: Indices, w: Floats) -> Floats:
    return make_design(X).take(samples).scores(w)


def _array_bytes(array: Floats) -> int:
    return array.nbytes


def _state_bytes(state: StreamState) -> int:
    return count_bytes(state.to_arrays())


class ShardSource(MemorySource):
    """The chunks of one binary problem: in a pass, every shard learns from its chunks, then their states are averaged.

    The state of a shard goes from chunk to chunk, in an order that is shuffled every pass, and samples are shuffled
    within chunks; what happens depends on the chunks and the seed alone.
    """

    data: ClusterData

    def __init__(self, plan: StreamPlan, data: ClusterData, samples: Indices, held: Indices) -> None:
        super().__init__(plan, data, samples, held)
        bounds = data.X.bounds
        learnt = np.zeros(bounds[-1], dtype=np.bool_)
        learnt[self.train] = True
        self._counts = np.add.reduceat(learnt, bounds[:-1], dtype=np.int64)
        shards = [[k for k in shard if self._counts[k]] for shard in deal_chunks(len(bounds) - 1, plan.n_shards)]
        self.shards = [shard for shard in shards if shard]
        even = bool(np.all(data.weights[self.train] == 1.0))
        self._labels = {}
        for k in (k for shard in self.shards for k in shard):
            own = slice(bounds[k], bounds[k + 1])
            labels = ChunkLabels(data.positive[own], None if even else data.weights[own], learnt[own])
            size = count_bytes([part for part in labels if part is not None])
            self._labels[k] = data.tasks.keep(labels, size, beside=k)

    def _gather(self, samples: Indices) -> tuple[StreamData, Indices]:
        source, samples = self.data.X, np.sort(samples)
        if samples.size > source.most_gathered:
            samples = samples[:: -(-samples.size // source.most_gathered)]
        gathered = StreamData(source.gather(samples), self.data.positive[samples], self.data.weights[samples])
        return gathered, np.arange(samples.size)

    def _evaluation_points(self, passes: int) -> list[int]:
        return [self.train.size]

    def learn_pass(self, progress: Progress) -> Iterator[None]:
        """Train every shard on its chunks, and average their states."""
        if progress.offset:  # resumed at the end of a pass
            return
        tasks, number, before = self.data.tasks, progress.passes, progress.states[0]
        start, learner = tasks.keep(before, _state_bytes(before)), tasks.keep(self.learner, 0)
        ends = []
        for shard in self.shards:
            state = start
            for k in np.random.default_rng((self.plan.seed, 5, number, shard[0])).permutation(shard).tolist():
                seed = seed_of_pass((self.plan.seed + k * _BETWEEN_CHUNKS) % _SEEDS, number)
                state = tasks.on_chunk(k, pass_over_chunk, learner, state, self._labels[k], seed)
            ends.append(state)
        counts = [int(self._counts[shard].sum()) for shard in self.shards]
        is_scaling = not self.learner.settings.plain
        progress.states = [average_states(before, tasks.answers(ends, _state_bytes), counts, is_scaling)]
        progress.offset = self.train.size
        progress.n_elsewhere = (number + 1) * self.train.size - progress.states[0].position
        yield


def make_shard_sources(
    plan: StreamPlan, X: DaskSource, positives: Sequence[Mask], weights: Floats
) -> Iterator[ShardSource]:
    """Yield the source of every binary problem."""
    for positive in positives:
        samples, merged = select_samples(X, positive, weights)
        _check_shards(X, plan.n_shards, positive, merged)
        data = ClusterData(X, positive, merged)
        yield ShardSource(plan, data, samples, hold_out(plan, data, samples))


def _check_shards(X: DaskSource, n_shards: int, positive: Mask, weights: Floats) -> None:
    """Raise if a shard has no sample of one of the classes, whose cost it could not learn."""
    starts = X.bounds[:-1]
    sides = [np.add.reduceat(side & (weights > 0.0), starts, dtype=np.int64) for side in (positive, ~positive)]
    for number, shard in enumerate(deal_chunks(starts.size, n_shards)):
        for name, counts in zip(("positive", "negative"), sides, strict=True):
            if not counts[shard].any():
                raise ValueError(
                    f"shard {number}, which is chunks {shard} of those that have samples, has no {name} sample to "
                    f"learn from: lower n_shards={n_shards}, or shuffle the samples among chunks"
                )
