"""Test whether one classifier is better than another on new samples, by out-of-fold samples of both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.design_effect import estimate_design_effect
from metricwise.decisions.intervals import score_interval
from metricwise.measures.base import CountsTable

# A gain counts if this interval for it lies above zero, that is with probability 3/4. On average, as measured, more
# caution loses more than it saves, and less admits noise where positives are few.
CONFIDENCE = 0.5


class Judged(NamedTuple):
    """Out-of-fold samples with the decision that was chosen on them."""

    samples: ScoredSamples
    decision: Decision


def least_gain(
    measure: CountsTable,
    first: Judged,
    other: Judged,
    groups: Integers | None = None,
    confidence: float = CONFIDENCE,
) -> float:
    """Return the lower end of an interval for what one classifier gains over another on new samples.

    Both have labelled the same samples, so the gain is a function of eight cells: truth and both labels. Samples in
    groups count as as many independent ones as they are worth.
    """
    truth, weights = first.samples.target, first.samples.weights
    labels = [one.samples.scores > one.decision.threshold for one in (first, other)]
    cell = 4 * truth.astype(np.int64) + 2 * labels[0] + labels[1]
    cells = np.bincount(cell, weights, 8).astype(np.float64)

    def gain(*drawn: Floats) -> Any:
        counts = np.array(drawn)
        before, after = counts.reshape(2, 2, 2, -1).sum(axis=2), counts.reshape(2, 2, 2, -1).sum(axis=1)
        return _value(measure, after) - _value(measure, before)

    if groups is not None:

        def gain_by_weights(drawn: Floats) -> float:
            return float(gain(*np.bincount(cell, drawn, 8)[:, None])[0])

        cells = cells / estimate_design_effect(gain_by_weights, weights, groups, truth.astype(np.int64))
    return score_interval(gain, tuple(float(weight) for weight in cells), confidence)[0]


def _value(measure: CountsTable, counts: Floats) -> Any:
    """Return the measure of counts (truth, label, draws)."""
    return measure.value(tp=counts[1, 1], fp=counts[0, 1], fn=counts[1, 0], tn=counts[0, 0])
