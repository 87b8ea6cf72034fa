"""Parameter averaging: shards of the samples are trained in parallel, and their states are averaged.

This is not the sequential algorithm of the papers, but the usual way to run one on parts of the samples (iterative
parameter mixing, McDonald, Hall and Mann 2010; local stochastic gradient steps). A round begins with one state. Every
shard learns from its samples, starting from that state and independently of the others; the states are then averaged,
with the numbers of samples as weights:

- the model, the sums of its average, the weights of the classes and the dual variables, costs or level: means. The
  regions of dual variables are convex, and so hold their means. Samples are counted as a mean, too: the steps of the
  next round are those of a sequential run over a mean shard, not of one over all samples.
- statistics of the features: sums over all shards.
- what depends on the position in a stream (the position, the stage of STAMP and the scores of that stage): that of the
  shard with most samples, the first of several.

One shard is its own average, bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.kernels import streaming
from metricwise.kernels.random_numbers import shuffle
from metricwise.solvers.point_updates import StreamLearner
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState


class ChunkLabels(NamedTuple):
    """Truth and weights of the samples of a chunk (None: all have weight one), and which of them to learn from."""

    positive: Mask
    weights: Floats | None
    learnt: Mask


def pass_over_chunk(X: Any, learner: StreamLearner, state: StreamState, labels: ChunkLabels, seed: int) -> StreamState:
    """Return the state after a shuffled pass over the samples of a chunk; the given one is unchanged."""
    order: Indices = np.flatnonzero(labels.learnt)
    shuffle(order, np.uint64(seed))
    weights = np.ones(labels.positive.size) if labels.weights is None else labels.weights
    after = deepcopy(state)
    learner.learn(after, StreamData(X, labels.positive, weights), order, remember=False)
    return after


def average_states(
    before: StreamState, after: Sequence[StreamState], n_samples: Sequence[int], scaling: bool
) -> StreamState:
    """Return the average of the states of shards.

    Parameters
    ----------
    before : StreamState
        The common state before.
    after : sequence of StreamState
        The states after, one per shard.
    n_samples : sequence of int
        Numbers of samples that the shards learnt from.
    scaling : bool
        Whether features are scaled by their statistics.
    """
    if len(after) == 1:
        return after[0]
    shares = np.asarray(n_samples) / np.sum(n_samples)
    state = deepcopy(after[int(np.argmax(n_samples))])
    state.v = _mean([one.v * one.numbers[streaming.SCALE] for one in after], shares)
    # The sums of the average, A v - z, move into z.
    state.z = _mean([one.z - one.v * one.numbers[streaming.SUM_SCALE] for one in after], shares)
    state.numbers = _mean([one.numbers for one in after], shares)
    state.numbers[[streaming.SCALE, streaming.SUM_SCALE, streaming.OFFSET]] = 1.0, 0.0, 0.0
    state.numbers[streaming.BIAS] = _mean([np.asarray(_intercept(one)) for one in after], shares)
    state.level = float(_mean([np.asarray(one.level) for one in after], shares))
    for one in after:  # features that only some shards have seen
        np.copyto(state.precision, one.precision, where=state.precision == 0.0)
    if scaling:
        state.first = before.first + np.sum([one.first - before.first for one in after], axis=0)
        state.second = before.second + np.sum([one.second - before.second for one in after], axis=0)
        state.observed = before.observed + sum(one.observed - before.observed for one in after)
        state.rescale()
    return state


def _intercept(state: StreamState) -> float:
    """Return the intercept of the model for raw features."""
    numbers = state.numbers
    return float(numbers[streaming.BIAS] - numbers[streaming.SCALE] * numbers[streaming.OFFSET])


def _mean(values: Sequence[Floats], shares: Floats) -> Floats:
    """Return the weighted mean, summed in the order of the shards."""
    total = np.zeros_like(values[0])
    for value, share in zip(values, shares, strict=True):
        total = total + share * value
    return total
