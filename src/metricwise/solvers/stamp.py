"""STAMP: stochastic alternate maximisation for ratios of rates (Narasimhan, Kar, Jain 2015, Algorithm 3).

Objective: the largest M = (a0 + a1 P + a2 N) / (b0 + b1 P + b2 N), P and N hinge-based rates as in SPADE. A model has
a measure above the challenge level v just when (a1 - v b1) P + (a2 - v b2) N + a0 - v b0 is above zero, and that is
linear in the rates. So epochs of two stages alternate, each epoch twice as long as the last, the first of 100 samples:

1. learn with the cost (a1 - v b1) / p for a positive and (a2 - v b2) / (1 - p) for a negative sample; scaled to sum to
   one over the classes, so that the steps have the same length for every measure;
2. estimate: score samples that are not learnt from, and set v to the measure of these scores at their best threshold,
   which is what `predict` will reach.

Rewards of labels lie in [0, 1], within the ranges of the paper's Table 2: v is a measure of actual labels, as in the
paper's experiments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._typing import Indices
from metricwise.inference import best_threshold
from metricwise.kernels import streaming
from metricwise.solvers.point_updates import PointLearner, PointSettings
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

_FIRST_EPOCH = 100
_ESTIMATION = 4  # ratio of the length of a learning stage to that of the estimation stage after it


class Stamp(PointLearner):
    """STAMP for a measure that is a ratio of rates."""

    def __init__(self, measure: Any, settings: PointSettings) -> None:
        super().__init__(settings)
        self.measure = measure

    def start(self, n_features: int, is_sparse: bool) -> StreamState:
        state = super().start(n_features, is_sparse)
        state.epoch_rows = state.stage_end = _FIRST_EPOCH
        self._set_costs(state)
        return state

    def until_boundary(self, state: StreamState) -> int:
        return min(state.next_landmark, state.stage_end) - state.position

    def _train(self, state: StreamState, data: StreamData, samples: Indices) -> None:
        if not state.estimating:
            self._update(state, data, samples, streaming.FIXED_COSTS)

    def _after(self, state: StreamState) -> None:
        if state.position < state.stage_end:
            return
        if state.estimating:
            self._raise_level(state)
            state.epoch_rows *= 2
        else:
            state.take_snapshot()
        state.estimating = not state.estimating
        n_samples = max(state.epoch_rows // _ESTIMATION, 1) if state.estimating else state.epoch_rows
        state.stage_start, state.stage_end = state.position, state.position + n_samples

    def _raise_level(self, state: StreamState) -> None:
        recent = state.recent_scores(since=state.stage_start)
        if recent is not None:
            truth, scores, weights = recent
            state.level = best_threshold(self.measure, truth, scores, weights).value
        self._set_costs(state)

    def _set_costs(self, state: StreamState) -> None:
        prior = self.settings.prior or state.prior
        _, a1, a2, _, b1, b2 = self.measure.ratio((1.0 - prior) / prior)
        costs = np.maximum([a1 - state.level * b1, a2 - state.level * b2], 0.0)
        if costs.sum() == 0.0:
            raise ValueError(
                f"measure {self.measure.name!r} rewards neither true positives nor true negatives at the value "
                f"{state.level:g}: check its ratio of rates"
            )
        state.numbers[[streaming.ALPHA, streaming.BETA]] = costs / costs.sum()

    def duals(self, state: StreamState) -> tuple[float]:
        """Return the challenge level."""
        return (state.level,)
