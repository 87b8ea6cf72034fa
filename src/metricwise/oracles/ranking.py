"""Area under the ROC curve: the most violated labelling of the pairs (Joachims 2005, Algorithm 3).

Pairs decide for themselves, so the violation is the mean hinge loss over pairs, found with one sort of each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import pairs, selection
from metricwise.oracles.base import Classes, reach_of_margin
from metricwise.threads import both


@dataclass(frozen=True)
class PairLabelling:
    """Calls every pair with a margin below one wrongly ordered."""

    value: float
    loss: float
    weights_of_rows: Floats
    table: tuple[float, float] = (float("nan"), float("nan"))

    def coefficients(self) -> Floats:
        return self.weights_of_rows

    def slope(self, direction: Floats) -> float:
        return float(selection.dot(self.weights_of_rows, direction))


class PairOracle:
    """The most violated labelling of all pairs of a positive and a negative."""

    def __init__(self, classes: Classes, mistakes: float) -> None:
        self.classes = classes
        self.mistakes = mistakes
        self._scale = 1.0 / (classes.pos_weight * classes.neg_weight)

    def violate(self, scores: Floats) -> PairLabelling:
        rows, n_pos = self.classes, self.classes.n_pos
        margin = 1.0 - reach_of_margin(scores, 1.0)
        lowest, highest = float(scores[:n_pos].min()), float(scores[n_pos:].max())
        (pos_rows, pos), (neg_rows, neg) = both(
            lambda: pairs.near_rows(scores, 0, n_pos, -1.0, -(highest + margin)),
            lambda: pairs.near_rows(scores, n_pos, scores.size, 1.0, lowest - margin),
            rows.sorting_threads,
        )
        out = np.zeros(scores.size)
        walk = pos_rows, pos, neg_rows, neg, rows.weight_array, rows.weighted, self._scale, margin, out
        (value, loss), _ = both(
            lambda: pairs.violated_by_negatives(*walk),
            lambda: pairs.violated_by_positives(*walk),
            rows.sorting_threads,
        )
        return PairLabelling(value, loss, out)
