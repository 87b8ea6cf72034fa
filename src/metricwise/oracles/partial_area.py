"""Area under a part of the ROC curve: the most violated placement of the worst positives among the top negatives.

This is the tight structural surrogate of Narasimhan and Agarwal (2013), for ranges that end within a sample, for
samples with weights, and for a least true positive rate. With W+ and W- the weights of the classes, let a = min_fpr W-,
b = max_fpr W-, m = b - a and p = (1 - min_tpr) W+. A labelling puts b of negative weight in some order, chooses p of
positive weight and places every chosen positive i below the first q_i of the negatives. Its loss is what lies between a
and b of this, so that

    R = max  1 / (p m)  sum_i v_i ( max(0, q_i - a) + integral from 0 to q_i of (s(t) - s_i) dt )

with v_i the chosen weight of a positive and s(t) the score of the negative at weight t of the order. Early negatives
have more positives below them than late ones, so the order of the scores is the best one, and only the top b of it
counts. Given the order, every positive is placed independently, and adds the more the lower its score: the lowest p are
chosen. R is a maximum of linear functions of the scores, hence convex, and bounds from above the area that the ranking
of the scores lacks: placing a positive below the negatives that are not lower adds nothing negative to the loss. Where
a is zero, it is the mean hinge loss over pairs of a chosen positive and a top negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.kernels import pairs, partial_area, selection
from metricwise.measures.ranking_capabilities import RocRegion
from metricwise.oracles.base import TIED, Classes, MarginOracle, cut_after
from metricwise.oracles.ranking import PairLabelling
from metricwise.threads import run_both

SampleIndices = NDArray[np.int32]


@dataclass(frozen=True)
class _ClassEnd:
    """The samples at one end of a class, up to an amount of weight: the lowest positives or the highest negatives.

    Parameters
    ----------
    samples : slice
        The samples of the class.
    sign : float
        1.0 for the highest samples, -1.0 for the lowest.
    weights : array or None
        Weights of the samples of both classes; None if each counts once.
    amount : float
        The weight at the end that counts.
    """

    samples: slice
    sign: float
    weights: Floats | None
    amount: float

    def sort(self, scores: Floats, limit: float, reach: float) -> tuple[SampleIndices, Floats]:
        """Return the samples whose sign * score exceeds ``limit`` that may count, and those tied with them, ascending.

        Samples are left out from the other end of the order only: those kept have the ranks that they have among all.
        """
        own = scores[self.samples]
        left_out = own.size - self._most_samples
        if left_out > 0:
            last = float(np.partition(self.sign * own, left_out)[left_out]) - reach
            limit = max(limit, float(np.nextafter(last, -np.inf)))  # the last that may count is one of them
        selected: tuple[SampleIndices, Floats] = pairs.sort_near_margin(
            scores, self.samples.start, self.samples.stop, self.sign, limit
        )
        return selected

    @cached_property
    def _most_samples(self) -> int:
        """So many samples have at least the weight that counts, whichever they are."""
        own = None if self.weights is None else self.weights[self.samples]
        lightest = 1.0 if own is None else float(own.min())
        return int(min(np.ceil(self.amount / lightest), self.samples.stop - self.samples.start))

    def weigh(self, indices: SampleIndices, values: Floats, tied: float) -> Floats:
        """Return how much of the weight of each sorted sample counts; tied ones share what is left for them."""
        weights = None if self.weights is None else self.weights[indices]
        keys, towards_middle = -self.sign * values, -int(self.sign)
        ordered = None if weights is None else weights[::towards_middle]
        cut = cut_after(keys[::towards_middle], ordered, self.amount, tied)
        share = np.where(keys < cut.low, 1.0, np.where(keys <= cut.high, cut.share, 0.0))
        return share if weights is None else share * weights


class PartialAreaOracle(MarginOracle):
    """The oracle of the area in a region of the ROC curve's square."""

    def __init__(self, region: RocRegion, classes: Classes, mistakes: float) -> None:
        self.classes = classes
        self.mistakes = mistakes
        n_pos, pos_weight, neg_weight = classes.n_pos, classes.pos_weight, classes.neg_weight
        self._start = region.min_fpr * neg_weight
        self._pos = _ClassEnd(slice(0, n_pos), -1.0, classes.weights, region.height * pos_weight)
        self._neg = _ClassEnd(slice(n_pos, n_pos + classes.n_neg), 1.0, classes.weights, region.max_fpr * neg_weight)
        # The difference of the rates is exact to the last digit, that of their products is not.
        self._scale = 1.0 / (pos_weight * region.height * (neg_weight * region.width))

    def violate(self, scores: Floats) -> PairLabelling:
        classes, n_pos = self.classes, self.classes.n_pos
        reach = self._tolerance(scores, 1.0)
        margin = 1.0 - reach
        lowest, highest = float(scores[:n_pos].min()), float(scores[n_pos:].max())
        (pos_indices, pos), (neg_indices, neg) = run_both(
            lambda: self._pos.sort(scores, -(highest + margin), reach),
            lambda: self._neg.sort(scores, lowest - margin, reach),
            classes.sorting_threads,
        )
        tied = TIED if self._on_margin else 0.0  # an average over near-ties is a labelling, but not the most violated
        out = np.zeros(scores.size)
        loss = partial_area.violated_at_top(
            pos_indices,
            pos,
            self._pos.weigh(pos_indices, pos, tied),
            neg_indices,
            neg,
            self._neg.weigh(neg_indices, neg, tied),
            self._start,
            self._scale,
            margin,
            reach,
            reach * self._neg.amount,
            out,
        )
        return PairLabelling(loss + float(selection.dot(out, scores)), loss, out)
