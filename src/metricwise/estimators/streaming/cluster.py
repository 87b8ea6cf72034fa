"""The training of a streaming classifier on a cluster: passes over shards, averaged after every pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.folds import deal_chunks
from metricwise.designs.base import make_design
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.tasks import WorkerTasks
from metricwise.estimators.streaming.memory import MemoryJob
from metricwise.estimators.streaming.passes import BinaryFitting, Passes, Pauses, Progress, seed_of_pass
from metricwise.measures import Measure
from metricwise.solvers.point_updates import StreamLearner
from metricwise.solvers.shards import ChunkLabels, averaged_state, pass_over_chunk
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

if TYPE_CHECKING:
    from metricwise.estimators.streaming.base import StreamingClassifier


_SEEDS = 2**40
_BETWEEN_CHUNKS = 0x9E3779B1  # seeds of neighbouring chunks are far apart


class ClusterRows(StreamData):
    """Labelled samples in chunks on a cluster. Scores come from the workers; learning is done by `ShardedFitting`.

    Parameters
    ----------
    source : DaskSource
        The chunks.
    positive, weights : arrays
        Of all samples, here.
    """

    def __init__(self, source: DaskSource, positive: Mask, weights: Floats) -> None:
        self.X, self.positive, self.weights = source, positive, weights
        self.is_sparse = source.is_sparse
        self.tasks = WorkerTasks(source)
        self._placed: tuple[Indices, list[tuple[int, Indices, Any]]] = np.zeros(0, dtype=np.int64), []

    def scores(self, rows: Indices, w: Floats, intercept: float) -> Floats:
        """Return scores of samples in any order."""
        sent = self.tasks.keep(w, w.nbytes)
        parts = self._parts(rows)
        found = self.tasks.answers([self.tasks.on_chunk(k, _scores, kept, sent) for k, _, kept in parts], _array_bytes)
        out = np.zeros(rows.size)
        for (_, places, _), scores in zip(parts, found, strict=True):
            out[places] = scores
        return out + intercept

    def _parts(self, rows: Indices) -> list[tuple[int, Indices, Any]]:
        """Return chunks with their places among some samples, and the numbers of these samples, which are sent once."""
        if rows is not self._placed[0]:  # the same samples are judged again and again
            chunk_of, bounds = np.searchsorted(self.X.bounds, rows, side="right") - 1, self.X.bounds
            parts = []
            for k in np.unique(chunk_of).tolist():
                places = np.flatnonzero(chunk_of == k)
                numbers = rows[places] - bounds[k]
                parts.append((k, places, self.tasks.keep(numbers, numbers.nbytes, beside=k)))
            self._placed = rows, parts
        return self._placed[1]


def _scores(X: Any, rows: Indices, w: Floats) -> Floats:
    return make_design(X).take(rows).scores(w)


def _array_bytes(array: Floats) -> int:
    return array.nbytes


def _state_bytes(state: StreamState) -> int:
    return count_bytes(state.to_arrays())


class ShardedFitting(BinaryFitting):
    """The rounds of one binary problem: a pass of every shard over its chunks, side by side, then an average.

    The state of a shard goes from chunk to chunk, in an order that is shuffled every round, and samples are shuffled
    within chunks; what happens depends on the chunks and the seed alone.
    """

    data: ClusterRows

    def __init__(
        self,
        learner: StreamLearner,
        measure: Measure,
        data: ClusterRows,
        rows: Indices,
        passes: Passes,
        held: Indices,
        n_shards: int,
        scaling: bool,
    ) -> None:
        super().__init__(learner, measure, data, rows, passes, held)
        self.scaling = scaling
        bounds = data.X.bounds
        learnt = np.zeros(bounds[-1], dtype=np.bool_)
        learnt[self.train] = True
        self._counts = np.add.reduceat(learnt, bounds[:-1], dtype=np.int64)
        shards = [[k for k in shard if self._counts[k]] for shard in deal_chunks(len(bounds) - 1, n_shards)]
        self.shards = [shard for shard in shards if shard]
        even = bool(np.all(data.weights[self.train] == 1.0))
        self._labels = {}
        for k in (k for shard in self.shards for k in shard):
            own = slice(bounds[k], bounds[k + 1])
            labels = ChunkLabels(data.positive[own], None if even else data.weights[own], learnt[own])
            size = count_bytes([part for part in labels if part is not None])
            self._labels[k] = data.tasks.keep(labels, size, beside=k)

    def _few_rows(self, rows: Indices) -> tuple[StreamData, Indices]:
        source, rows = self.data.X, np.sort(rows)
        if rows.size > source.most_gathered:
            rows = rows[:: -(-rows.size // source.most_gathered)]
        gathered = StreamData(source.gather(rows), self.data.positive[rows], self.data.weights[rows])
        return gathered, np.arange(rows.size)

    def _order(self, number: int) -> Indices:
        return self.train  # what the order is, chunks find out by themselves

    def _next_stop(self, progress: Progress, pauses: Pauses | None) -> int:
        return self.train.size

    def _evaluations(self, passes: int) -> list[int]:
        return [self.train.size]

    def _seen(self, progress: Progress) -> int:
        return progress.passes * self.train.size

    def _learn(self, progress: Progress, rows: Indices) -> None:
        """Make one round."""
        tasks, number = self.data.tasks, progress.passes
        start, learner = tasks.keep(progress.state, _state_bytes(progress.state)), tasks.keep(self.learner, 0)
        ends = []
        for shard in self.shards:
            state = start
            for k in np.random.default_rng((self.passes.seed, 5, number, shard[0])).permutation(shard).tolist():
                seed = seed_of_pass((self.passes.seed + k * _BETWEEN_CHUNKS) % _SEEDS, number)
                state = tasks.on_chunk(k, pass_over_chunk, learner, state, self._labels[k], seed)
            ends.append(state)
        counts = [int(self._counts[shard].sum()) for shard in self.shards]
        progress.state = averaged_state(progress.state, tasks.answers(ends, _state_bytes), counts, self.scaling)


class ClusterJob(MemoryJob):
    """The binary problems of one call of `fit` on a Dask collection."""

    X: DaskSource

    def __init__(self, model: StreamingClassifier, measure: Measure, X: DaskSource, weights: Floats, seed: int) -> None:
        super().__init__(model, measure, X, weights, seed)

    @property
    def bytes_moved(self) -> int:
        """Bytes of arrays between here and the workers so far."""
        return self.X.bytes_moved

    def _kind(self) -> tuple[Any, ...]:
        return self.X.shape, self.X.is_sparse, self.X.bounds.tolist()

    def _stream_rows(self, positive: Mask, weights: Floats) -> StreamData:
        self._check_shards(positive, weights)
        return ClusterRows(self.X, positive, weights)

    def _make_fitting(self, data: Any, rows: Indices, passes: Passes, held: Indices) -> BinaryFitting:
        model = self.model
        learner, scaling = model._learner(self.measure).adapt_to(rows.size), not model._settings().plain
        return ShardedFitting(learner, self.measure, data, rows, passes, held, model.n_shards, scaling)

    def _check_shards(self, positive: Mask, weights: Floats) -> None:
        """Raise if a shard has no sample of one of the classes, whose price it could not learn."""
        starts = self.X.bounds[:-1]
        sides = [np.add.reduceat(side & (weights > 0.0), starts, dtype=np.int64) for side in (positive, ~positive)]
        for number, shard in enumerate(deal_chunks(starts.size, self.model.n_shards)):
            for name, counts in zip(("positive", "negative"), sides, strict=True):
                if not counts[shard].any():
                    raise ValueError(
                        f"shard {number}, which is chunks {shard} of those that have samples, has no {name} sample to "
                        f"learn from: lower n_shards={self.model.n_shards}, or shuffle the samples among chunks"
                    )
