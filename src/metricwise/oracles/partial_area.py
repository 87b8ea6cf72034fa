"""Area under a part of the ROC curve: the most violated placement of the positives among the top negatives.

This is the tight structural surrogate of Narasimhan and Agarwal (2013), for ranges that end within a sample and for
samples with weights. With W+ and W- the weights of the classes, let a = min_fpr W-, b = max_fpr W- and m = b - a. A
labelling puts b of negative weight in some order and places every positive i below the first q_i of it. Its loss is
what lies between a and b of this, so that

    R = max  1 / (W+ m)  sum_i w_i ( max(0, q_i - a) + integral from 0 to q_i of (s(t) - s_i) dt )

with s(t) the score of the negative at weight t of the order. Early negatives have more positives below them than late
ones, so the order of the scores is the best one, and only the top b of it counts. Given the order, every positive
is placed independently. R is a maximum of linear functions of the scores, hence convex, and bounds from above the area
that the ranking of the scores lacks: placing a positive below the negatives that are not lower adds nothing negative to
the loss. From 0 to 1 it is the mean hinge loss over pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.kernels import pairs, partial_area, selection
from metricwise.oracles.base import TIED, Classes, MarginOracle, cut_after
from metricwise.oracles.ranking import PairLabelling
from metricwise.threads import run_both

SampleIndices = NDArray[np.int32]


class PartialAreaOracle(MarginOracle):
    """The oracle of the area between two false positive rates."""

    def __init__(self, fpr_range: tuple[float, float], classes: Classes, mistakes: float) -> None:
        self.classes = classes
        self.mistakes = mistakes
        low, high = fpr_range
        self._start, self._end = low * classes.neg_weight, high * classes.neg_weight
        # The difference of the rates is exact to the last digit, that of their products is not.
        self._scale = 1.0 / (classes.pos_weight * (classes.neg_weight * (high - low)))
        lightest = 1.0 if classes.weights is None else float(classes.weights[classes.n_pos :].min())
        # This many negatives have at least the weight of the top, whichever they are.
        self._enough = int(min(np.ceil(self._end / lightest), classes.n_neg))

    def violate(self, scores: Floats) -> PairLabelling:
        classes, n_pos = self.classes, self.classes.n_pos
        reach = self._tolerance(scores, 1.0)
        margin = 1.0 - reach
        lowest, highest = float(scores[:n_pos].min()), float(scores[n_pos:].max())
        (pos_indices, pos), (neg_indices, neg) = run_both(
            lambda: pairs.sort_near_margin(scores, 0, n_pos, -1.0, -(highest + margin)),
            lambda: self._top_negatives(scores, lowest - margin, reach),
            classes.sorting_threads,
        )
        out = np.zeros(scores.size)
        loss = partial_area.violated_at_top(
            pos_indices,
            pos,
            neg_indices,
            neg,
            self._top_weights(neg_indices, neg),
            classes.weights,
            self._start,
            self._scale,
            margin,
            reach,
            reach * self._end,
            out,
        )
        return PairLabelling(loss + float(selection.dot(out, scores)), loss, out)

    def _top_negatives(self, scores: Floats, limit: float, reach: float) -> tuple[SampleIndices, Floats]:
        """Return the negatives above ``limit`` that may belong to the top, and those tied with them, ascending.

        Samples are left out from the bottom of the order only, so that those kept have the ranks they have among all.
        """
        n_pos, n_neg = self.classes.n_pos, self.classes.n_neg
        if self._enough < n_neg:
            last = n_neg - self._enough
            lowest = float(np.partition(scores[n_pos:], last)[last]) - reach
            limit = max(limit, float(np.nextafter(lowest, -np.inf)))  # the lowest of the top is one of them
        selected: tuple[SampleIndices, Floats] = pairs.sort_near_margin(scores, n_pos, scores.size, 1.0, limit)
        return selected

    def _top_weights(self, neg_indices: SampleIndices, neg: Floats) -> Floats:
        """Return how much of each negative's weight belongs to the top; tied ones share what is left for them."""
        weights = None if self.classes.weights is None else self.classes.weights[neg_indices]
        tied = TIED if self._on_margin else 0.0  # an average over near-ties is a labelling, but not the most violated
        cut = cut_after(-neg[::-1], None if weights is None else weights[::-1], self._end, tied)
        share = np.where(-neg < cut.low, 1.0, np.where(-neg <= cut.high, cut.share, 0.0))
        return share if weights is None else share * weights
