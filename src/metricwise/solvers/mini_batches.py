"""1PMB: gradients of the multivariate surrogate on buffers of samples (Kar, Narasimhan, Jain 2014).

Objective: alpha/2 |w|^2 plus the mean over buffers of R(w), the slack of a measure's most violated labelling on the
samples of one buffer (`metricwise.oracles`): an approximation of the slack on all samples, which no mean over parts
equals.

Order of steps:

1. collect samples until the buffer is full and holds both classes;
2. score them, find the most violated labelling, one product X' c with its coefficients: a subgradient;
3. step along it on the standardised features, as long as one over the root of the buffers; average the models.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Indices, Mask
from metricwise.kernels import streaming
from metricwise.oracles import Oracle, make_oracle
from metricwise.solvers.point_updates import PointSettings
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

_FIRST_STEPS = 10.0  # buffers after which steps begin to shrink
_STEP_OF_A_BUFFER = 20.0  # in steps of a sample
_FEWEST_BUFFERS = 8  # per pass, if the number of samples is known
_MOST_ORACLES = 64  # kept at a time
_MOST_BUFFERS = 8  # factor by which a buffer may grow while a class is missing, before it is dropped


class MiniBatches:
    """1PMB for a measure with a most violated labelling.

    Parameters
    ----------
    measure : Measure
        The measure to train for.
    settings : PointSettings
        The lengths of the steps.
    batch_size : int
        Samples of a buffer.
    """

    def __init__(self, measure: Any, settings: PointSettings, batch_size: int) -> None:
        self.measure, self.settings, self.batch_size = measure, settings, batch_size
        self._oracles: dict[tuple[int, int], Oracle] = {}

    def adapt_to(self, n_samples: int) -> MiniBatches:
        """Return a learner whose passes have several buffers."""
        batch_size = min(self.batch_size, max(n_samples // _FEWEST_BUFFERS, 2))
        return MiniBatches(self.measure, self.settings, batch_size)

    def start(self, n_features: int, is_sparse: bool) -> StreamState:
        """Return the state before the first sample."""
        return StreamState.fresh(n_features, is_sparse, scaling=not self.settings.plain)

    def prepare(self, state: StreamState, data: StreamData, samples: Indices) -> None:
        """Estimate the scale of the features from some samples before the first update."""
        state.observe_ahead(data, samples, scaling=not self.settings.plain)

    def duals(self, state: StreamState) -> tuple[float, ...]:
        """Return the slack of the last buffer."""
        return (state.level,)

    def learn(self, state: StreamState, data: StreamData, samples: Indices, *, remember: bool = True) -> None:
        """Learn from samples in the given order; those of an unfinished buffer wait in the state for the next call."""
        first = 0
        while first < samples.size:
            missing = self.until_boundary(state)
            part = samples[first : first + missing]
            if remember:
                state.remember(data, part)
            if not self.settings.plain:
                state.observe(data, part)
            state.position += part.size
            first += part.size
            # Landmarks wait for the end of a buffer, so that they do not depend on how the stream was cut.
            due = part.size == missing and state.position >= state.next_landmark
            if due:
                state.pass_landmark(scaling=not self.settings.plain)
            self._collect(state, data, part)
            if due:
                state.take_snapshot()  # of the model after this buffer

    def until_boundary(self, state: StreamState) -> int:
        """Return how many samples the buffer lacks."""
        return self.batch_size - state.waiting % self.batch_size

    def _collect(self, state: StreamState, data: StreamData, samples: Indices) -> None:
        """Learn from a full buffer with both classes, else keep the samples for later."""
        if state.waiting == 0 and samples.size == self.batch_size and _has_both_classes(data.positive[samples]):
            self._step(state, data, samples)  # the samples are exactly one buffer
            return
        state.pieces.append((data.X[samples], data.positive[samples], data.weights[samples]))
        state.waiting += samples.size
        if state.waiting % self.batch_size:
            return
        positive = np.concatenate([piece[1] for piece in state.pieces])
        if _has_both_classes(positive):
            parts = [piece[0] for piece in state.pieces]
            X = sparse.vstack(parts, format="csr") if state.is_sparse else np.concatenate(parts)
            weights = np.concatenate([piece[2] for piece in state.pieces])
            self._step(state, StreamData(X, positive, weights), np.arange(positive.size))
        elif state.waiting < _MOST_BUFFERS * self.batch_size:
            return
        state.pieces, state.waiting = [], 0

    def _step(self, state: StreamState, data: StreamData, samples: Indices) -> None:
        numbers, positive = state.numbers, data.positive[samples]
        samples = np.concatenate([samples[positive], samples[~positive]])
        n_pos, weights = int(np.count_nonzero(positive)), data.weights[samples]
        scale = numbers[streaming.SCALE]
        bias = float(numbers[streaming.BIAS] - scale * numbers[streaming.OFFSET])
        scores = data.scores(samples, scale * state.v, bias)
        labelling = self._oracle(n_pos, weights).violate(scores)
        coefficients = labelling.coefficients()
        total = float(coefficients.sum())
        gradient = data.combine(samples, coefficients) - total * state.mean
        numbers[streaming.N_SAMPLES] += samples.size
        numbers[streaming.POS_WEIGHT] += float(weights[:n_pos].sum())
        numbers[streaming.NEG_WEIGHT] += float(weights[n_pos:].sum())
        state.batches += 1
        state.level = labelling.value
        self._move(state, gradient, total)

    def _oracle(self, n_pos: int, weights: Floats) -> Oracle:
        """Return the oracle of a buffer; without weights, buffers with as many samples of each class share one."""
        n_neg = weights.size - n_pos
        if not np.all(weights == 1.0):
            return make_oracle(self.measure, n_pos, n_neg, np.ascontiguousarray(weights))
        if (n_pos, n_neg) not in self._oracles:
            if len(self._oracles) >= _MOST_ORACLES:
                self._oracles.clear()
            self._oracles[n_pos, n_neg] = make_oracle(self.measure, n_pos, n_neg)
        return self._oracles[n_pos, n_neg]

    def _move(self, state: StreamState, gradient: Floats, total: float) -> None:
        """Step against a gradient in the scaled features, no longer than a typical sample is."""
        numbers, settings = state.numbers, self.settings
        step = settings.numbers(state)[streaming.STEP] * self._decay(state.batches)
        scaled = gradient * state.precision
        square = float(gradient @ scaled) + total * total * settings.intercept
        if not settings.plain:
            step *= _STEP_OF_A_BUFFER * min(1.0, math.sqrt(state.square / square)) if square > 0.0 else 0.0
        streaming.shrink(state.v, state.z, numbers, step * settings.alpha)
        move = -step / numbers[streaming.SCALE] * scaled
        state.v += move
        state.z += numbers[streaming.SUM_SCALE] * move
        numbers[streaming.OFFSET] += float(move @ state.mean)
        numbers[streaming.BIAS] -= step * total * settings.intercept
        share = 1.0 if settings.plain else float(state.batches)
        numbers[streaming.SUM_SCALE] += share * numbers[streaming.SCALE]
        numbers[streaming.SUM_BIAS] += share * (
            numbers[streaming.BIAS] - numbers[streaming.SCALE] * numbers[streaming.OFFSET]
        )
        numbers[streaming.SUM_SHARES] += share

    def _decay(self, batches: int) -> float:
        return 1.0 / math.sqrt(batches) if self.settings.plain else math.sqrt(_FIRST_STEPS / (_FIRST_STEPS + batches))


def _has_both_classes(positive: Mask) -> bool:
    return bool(positive.any() and not positive.all())
