"""The most violated ranking of a measure of gains by rank, without any code of the oracles.

A ranking is given by the number r_j of positives above every negative. For each negative j it adds to the violation

    sum over i > r_j of  f(i, i + j - 1) - f(i, i + j) - (s_i - t_j) / (n+ n-).

The middle one of a range of negatives is placed first. Gains are convex in the rank, so the negatives before it stand
no lower, and those after it no higher: both halves of the range follow, all ranges of a round at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Mask
from metricwise.measures import NDCG, AveragePrecision, ReciprocalRank

Counts = NDArray[np.int64]

_BLOCK = 1 << 20  # pairs that are looked at together
_SHAPE_ERROR = 32 * 2.0**-53  # of a gain: by how much rounding may bend its curve


class Rankings:
    """The rankings of the copies of samples with whole-number weights."""

    def __init__(self, measure: Any, positive: Mask, weights: Floats) -> None:
        if np.any(weights != np.floor(weights)):
            raise ValueError(
                f"measure {measure.name!r} is trained with sample weights that are whole numbers, but some have "
                "fractions: pass the weights of the training"
            )
        self.measure, self.positive, self.weights = measure, positive, weights
        self.n_pos, self.n_neg = int(weights[positive].sum()), int(weights[~positive].sum())
        if not _has_known_shape(measure):
            self._check_shape()

    def gains(self, i: Counts, k: Counts) -> Floats:
        """Return the gains of the i-th best positives at ranks k."""
        return np.asarray(self.measure.rank_gain(i, k, self.n_pos), dtype=np.float64)

    def _check_shape(self) -> None:
        """Raise unless gains fall ever more slowly with the rank, which places of negatives rely on."""
        for i in range(1, self.n_pos + 1):
            own = self.gains(np.full(self.n_neg + 1, i), np.arange(i, i + self.n_neg + 1))
            lost, room = own[:-1] - own[1:], _SHAPE_ERROR * np.abs(own[:-1])
            bends = np.any(lost[1:] > lost[:-1] + room[:-1])
            if bends or np.any(lost < -room) or not np.all(own >= 0.0):
                raise ValueError(
                    f"the gains of {self.measure!r} do not fall ever more slowly with the rank: no bounds can be "
                    "proved for it. Train for another measure, such as 'ndcg'"
                )

    def most_violated(self, scores: Floats, reach: float, tied: float) -> tuple[float, Floats]:
        """Return loss and coefficients of the most violated ranking.

        Of places whose violations differ by no more than ``reach`` over all negatives the lowest is taken, and samples
        of a class share their coefficients if neighbours differ by no more than ``tied``.
        """
        pos, neg = (_Copies(scores[part], self.weights[part], tied) for part in (self.positive, ~self.positive))
        above = self._place(pos.scores, neg.scores, reach / self.n_neg)
        i = np.arange(1, self.n_pos + 1)
        before = np.cumsum(np.bincount(above, minlength=self.n_pos + 1))[:-1]  # negatives above every positive
        loss = float((self.gains(i, i) - self.gains(i, i + before)).sum())
        c, scale = np.zeros(scores.size), float(self.n_pos) * float(self.n_neg)
        c[self.positive], c[~self.positive] = -pos.average(before) / scale, neg.average(self.n_pos - above) / scale
        return loss, c

    def _place(self, pos: Floats, neg: Floats, reach: float) -> Counts:
        """Return the number of positives above every negative, given the scores of the copies, best first."""
        above = np.zeros(self.n_neg, dtype=np.int64)
        ranges = np.array([[0, self.n_neg, 0, self.n_pos]])  # of negatives, and of their places
        while ranges.size:
            first, end, high, low = ranges.T
            middle = (first + end) // 2  # with no more negatives after it than before it
            above[middle] = self._place_some(pos, neg, middle, high, low, reach)
            halves = [(first, middle, high, above[middle]), (middle + 1, end, above[middle], low)]
            ranges = np.concatenate([np.stack(half, axis=1) for half in halves])
            ranges = ranges[ranges[:, 0] < ranges[:, 1]]
        return above

    def _place_some(self, pos: Floats, neg: Floats, j: Counts, high: Counts, low: Counts, reach: float) -> Counts:
        """Return the best places of some negatives between the places ``high`` and ``low`` of each."""
        places, scale = low.copy(), float(self.n_pos) * float(self.n_neg)
        for some, width in group_by_width(low - high):
            i = low[some, None] - np.arange(width)  # the positives that it may pass, the last first
            may_pass = i > high[some, None]
            i, negative = np.maximum(i, 1), j[some, None]
            lost = self.gains(i, i + negative) - self.gains(i, i + negative + 1)
            worth = lost - (pos[i - 1] - neg[negative]) / scale
            sums = np.cumsum(np.where(may_pass, worth, -np.inf), axis=1)
            best = sums.max(axis=1)
            passed = np.argmax(sums >= best[:, None] - reach, axis=1) + 1
            places[some] = np.where(best > reach, low[some] - passed, low[some])
        return places


def _has_known_shape(measure: Any) -> bool:
    """Return whether gains are proved to be convex: multiples of 1 / k and 1 / log2(k + 1) are."""
    return type(measure) in (AveragePrecision, ReciprocalRank) or (type(measure) is NDCG and measure.k is None)


def group_by_width(widths: Counts) -> Iterator[tuple[Counts, int]]:
    """Yield indices of similar widths above zero, and the largest of them; few at a time if they are wide."""
    doublings = np.frexp(widths.astype(np.float64))[1]
    for doubling in np.unique(doublings[widths > 0]):
        alike = np.flatnonzero((doublings == doubling) & (widths > 0))
        width = int(widths[alike].max())
        size = max(_BLOCK // width, 1)
        for start in range(0, alike.size, size):
            yield alike[start : start + size], width


class _Copies:
    """The copies of the samples of a class, best first."""

    def __init__(self, scores: Floats, weights: Floats, tied: float) -> None:
        self._order = np.argsort(-scores, kind="stable")
        in_order = scores[self._order]
        self._own = weights[self._order]
        self.scores = np.repeat(in_order, self._own.astype(np.int64))
        self._group = np.cumsum(np.concatenate([[0], in_order[:-1] - in_order[1:] > tied]))

    def average(self, partners: Counts) -> Floats:
        """Return every sample's number of partners, those of its copies together; equal ones among tied copies."""
        groups = np.repeat(self._group, self._own.astype(np.int64))
        means = np.bincount(groups, partners.astype(np.float64)) / np.bincount(groups)
        total = np.empty(self._order.size)
        total[self._order] = self._own * means[self._group]
        return total
