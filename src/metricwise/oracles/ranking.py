"""Area under the ROC curve: the most violated labelling of the pairs (Joachims 2005, Algorithm 3).

The pairs are independent, so the violation is the mean hinge loss over pairs; it takes one sort per class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import pairs, selection
from metricwise.oracles.base import Classes, MarginOracle
from metricwise.threads import run_both


@dataclass(frozen=True)
class PairLabelling:
    """The labelling that orders every pair with a margin below one wrongly."""

    value: float
    loss: float
    sample_coefficients: Floats
    table: tuple[float, float] = (float("nan"), float("nan"))

    def coefficients(self) -> Floats:
        return self.sample_coefficients

    def slope(self, direction: Floats) -> float:
        return float(selection.dot(self.sample_coefficients, direction))


class PairOracle(MarginOracle):
    """The oracle of all pairs of a positive and a negative."""

    def __init__(self, classes: Classes, mistakes: float) -> None:
        self.classes = classes
        self.mistakes = mistakes
        self._scale = 1.0 / (classes.pos_weight * classes.neg_weight)

    def violate(self, scores: Floats) -> PairLabelling:
        classes, n_pos = self.classes, self.classes.n_pos
        margin = 1.0 - self._tolerance(scores, 1.0)
        lowest, highest = float(scores[:n_pos].min()), float(scores[n_pos:].max())
        (pos_indices, pos), (neg_indices, neg) = run_both(
            lambda: pairs.sort_near_margin(scores, 0, n_pos, -1.0, -(highest + margin)),
            lambda: pairs.sort_near_margin(scores, n_pos, scores.size, 1.0, lowest - margin),
            classes.sorting_threads,
        )
        out = np.zeros(scores.size)
        walk = pos_indices, pos, neg_indices, neg, classes.weights, self._scale, margin, out
        (value, loss), _ = run_both(
            lambda: pairs.violated_by_negatives(*walk),
            lambda: pairs.violated_by_positives(*walk),
            classes.sorting_threads,
        )
        return PairLabelling(value, loss, out)
