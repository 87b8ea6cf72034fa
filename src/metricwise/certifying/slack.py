"""The slack of a measure by its definition, without any code of the oracles."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.certifying.rankings import Rankings
from metricwise.measures.base import CountsTable, RestrictsLabellings, is_monotone
from metricwise.measures.ranking_capabilities import GainsByRank, RanksPairs, loss_size
from metricwise.measures.rate_capabilities import ConcaveInRates, RatioOfRates
from metricwise.measures.restricted import training_value
from metricwise.rounding import sum_error

_TIED = 1e-11  # of the largest score: samples that differ by less may share a place, which is a labelling, too


def _peak_of_integers(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the integers from low to high at which a concave function is largest, elementwise."""
    while np.any(high > low):
        middle = np.floor((low + high) / 2)
        rising = function(middle + 1.0) > function(middle)
        low, high = np.where(rising & (high > low), middle + 1.0, low), np.where(rising, high, middle)
        high = np.maximum(low, high)
    return low


def _peak(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the points between low and high at which a concave function is largest, elementwise (golden section)."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        rising = function(right) > function(left)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return 0.5 * (low + high)


class Slack:
    """R(w) = max over labellings of loss + sum c_i s_i, and single labellings."""

    def __init__(self, measure: Any, positive: Mask, weights: Floats, u: float) -> None:
        self.measure, self.positive, self.weights, self.u = measure, positive, weights.copy(), u
        self.n_pos, self.n_neg = float(weights[positive].sum()), float(weights[~positive].sum())
        whole = bool(np.all(weights == np.floor(weights)))
        # The size of the pieces that have their own label: one copy, or any size.
        self.units: list[float | None] = [1.0 if whole else None] * 2
        self.splits_samples = False
        self.rankings = Rankings(measure, positive, weights) if isinstance(measure, GainsByRank) else None
        if not whole and not isinstance(measure, RanksPairs | RestrictsLabellings | ConcaveInRates):
            convex_in_pos, convex_in_neg, concave_in_neg = self._shape()
            self.splits_samples = convex_in_pos and concave_in_neg
            if not (convex_in_pos and (convex_in_neg or concave_in_neg)):
                self._divide_samples()
                self.n_pos, self.n_neg = float(self.weights[positive].sum()), float(self.weights[~positive].sum())
        self.weight_errors = sum_error(self.weights[positive]), sum_error(self.weights[~positive])

    @property
    def loss_size(self) -> float:
        """Sum of the absolute terms of the largest loss."""
        return loss_size(self.measure, self.n_pos, self.n_neg)

    @property
    def n_copies(self) -> int:
        """Number of samples; of their copies where each copy has a rank, and so a term of the loss, of its own."""
        return self.positive.size if self.rankings is None else self.rankings.n_pos + self.rankings.n_neg

    def loss(self, tp: Any, fp: Any) -> Any:
        """Return 1 - measure of labels with ``tp`` true and ``fp`` false positives."""
        if isinstance(self.measure, RestrictsLabellings):
            size = self.measure.predicted_positives(self.n_pos, self.n_pos + self.n_neg)
            return 1.0 - np.asarray(training_value(tp, fp, self.n_pos, size), dtype=np.float64)
        return 1.0 - np.asarray(self.measure.value(tp, fp, self.n_pos - tp, self.n_neg - fp), dtype=np.float64)

    def at(self, scores: Floats) -> float:
        """Return the slack at given scores."""
        if self.rankings is not None:
            loss, c = self.rankings.most_violated(scores, reach=0.0, tied=0.0)
            return float(loss + c @ scores)
        if isinstance(self.measure, RanksPairs):
            # A margin that is missed by rounding only counts as well, and no ties are averaged: both lower the value.
            loss, c = self._pairs(scores, reach=0.0, tied=0.0)
            return float(loss + c @ scores)
        assert isinstance(self.measure, CountsTable)
        T, A = self._path(scores[self.positive], self.weights[self.positive], self.units[0], self.n_pos, -1.0)
        F, B = self._path(-scores[~self.positive], self.weights[~self.positive], self.units[1], 0.0, 1.0)
        T, A = T[::-1], A[::-1]
        if isinstance(self.measure, RestrictsLabellings):
            return self._restricted_peak(T, A, F, B)
        if is_monotone(self.measure):
            # The loss may rise steeply within the rounding errors of sums of weights: it is taken where it is largest.
            fewer = np.append(np.maximum(T[:-1] - self.weight_errors[0], 0.0), T[-1])
            more = np.append(F[0], np.minimum(F[1:] + self.weight_errors[1], self.n_neg))
            return self._branch_and_bound(fewer, A, more, B)
        return max(float((self.loss(t, F) + a + B).max()) for t, a in zip(T, A, strict=True))

    def _path(
        self, keys: Floats, weights: Floats, unit: float | None, start: float, sign: float
    ) -> tuple[Floats, Floats]:
        """Return weight predicted positive and score part, as samples are mislabelled in the order of the keys."""
        order = np.argsort(keys)
        keys, weights = keys[order], weights[order]
        taken, sums = (np.concatenate([[0.0], np.cumsum(part)]) for part in (weights, weights * keys))
        if unit is not None:
            # Within a sample both are multiples of a piece, so that rounding errors grow with the samples alone.
            pieces = np.rint(weights / unit).astype(np.int64)
            ends = np.concatenate([[0], np.cumsum(pieces)])
            own = np.arange(1, ends[-1] + 1) - np.repeat(ends[:-1], pieces)
            taken = unit * np.arange(ends[-1] + 1.0)
            sums = np.concatenate([[0.0], np.repeat(sums[:-1], pieces) + unit * own * np.repeat(keys, pieces)])
        predicted = start + sign * taken
        predicted[-1] = start + sign * (self.n_pos if sign < 0 else self.n_neg)
        return predicted, -sums / self.u

    def _divide_samples(self) -> None:
        """Round the weights to the pieces that samples are divided into where the loss has no useful shape."""
        for k, mask in enumerate((self.positive, ~self.positive)):
            weights = self.weights[mask]
            if np.all(weights == np.floor(weights)):
                unit = 1.0
            elif np.all(weights == weights[0]):
                unit = float(weights[0])
            else:
                unit = float(weights.mean()) / 16
            self.units[k] = unit
            self.weights[mask] = np.maximum(np.rint(weights / unit), 1.0) * unit

    def _restricted_peak(self, T: Floats, A: Floats, F: Floats, B: Floats) -> float:
        """Maximise over labellings whose size lies between that of the true labels and that of the top samples."""
        size = self.measure.predicted_positives(self.n_pos, self.n_pos + self.n_neg)
        # Along the bound T + F = size either may end within a sample.
        tp = np.unique(np.concatenate([T, size - F]))
        fewest = 0.0 if size > self.n_pos else max(0.0, size - self.n_neg)
        tp = tp[(tp >= fewest) & (tp <= self.n_pos)]
        low = np.zeros(tp.size) if size > self.n_pos else np.maximum(size - tp, 0.0)
        high = np.full(tp.size, self.n_neg) if size < self.n_pos else np.minimum(size - tp, self.n_neg)
        score = np.interp(tp, T, A)
        if self.units[1] is not None:
            fp = _peak_of_integers(lambda f: self.loss(tp, f) + np.interp(f, F, B), low, high)
        else:
            fp = _peak(lambda f: self.loss(tp, f) + np.interp(f, F, B), low, high)
        return float((self.loss(tp, fp) + np.interp(fp, F, B) + score).max())

    def _branch_and_bound(self, T: Floats, A: Floats, F: Floats, B: Floats) -> float:
        """Maximise loss(T, F) + A + B over a grid for a monotone measure.

        The loss of a block is largest where true positives are fewest and false positives most; the score parts are
        concave, so their largest values within a block are known from where they peak.
        """
        a_peak, b_peak = int(np.argmax(A)), int(np.argmax(B))
        inside = self.splits_samples

        def bound(block: tuple[int, int, int, int]) -> float:
            a0, a1, b0, b1 = block
            # The cell after the last false positives of a block is searched with it.
            end = min(b1 + 1, F.size - 1) if inside else b1
            best_a, best_b = A[min(max(a_peak, a0), a1)], B[min(max(b_peak, b0), end)]
            return float(self.loss(T[a0], F[end]) + best_a + best_b)

        everything = (0, T.size - 1, 0, F.size - 1)
        queue = [(-bound(everything), everything)]
        best = 0.0  # the value of the true labels, which are among the labellings
        while queue and -queue[0][0] > best + 1e-12 * max(1.0, best):
            a0, a1, b0, b1 = heapq.heappop(queue)[1]
            if (a1 - a0 + 1) * (b1 - b0 + 1) <= 4096:
                a, b = slice(a0, a1 + 1), slice(b0, b1 + 1)
                best = max(best, float((self.loss(T[a, None], F[None, b]) + A[a, None] + B[None, b]).max()))
                if inside and b0 + 1 < F.size:
                    best = max(best, self._between(T[a], A[a], F[b0 : b1 + 2], B[b0 : b1 + 2]))
                continue
            if a1 - a0 >= b1 - b0:
                middle = (a0 + a1) // 2
                parts = [(a0, middle, b0, b1), (middle + 1, a1, b0, b1)]
            else:
                middle = (b0 + b1) // 2
                parts = [(a0, a1, b0, middle), (a0, a1, middle + 1, b1)]
            for part in parts:
                if bound(part) > best:
                    heapq.heappush(queue, (-bound(part), part))
        return best

    def _shape(self) -> tuple[bool, bool, bool]:
        """Return whether the loss is convex in the true, convex in the false, and concave in the false positives."""
        if not isinstance(self.measure, RatioOfRates):
            return False, False, False

        def midpoint_gap(first: tuple[float, float], last: tuple[float, float]) -> float:
            middle = self.loss(0.5 * (first[0] + last[0]), 0.5 * (first[1] + last[1]))
            return float(middle - 0.5 * (self.loss(*first) + self.loss(*last)))

        # The curvature of a ratio along a line keeps its sign, so the ends and the middle determine it.
        in_pos = [midpoint_gap((0.0, fp), (self.n_pos, fp)) for fp in (0.0, self.n_neg)]
        in_neg = [midpoint_gap((tp, 0.0), (tp, self.n_neg)) for tp in (0.0, self.n_pos)]
        return max(in_pos) <= 1e-12, max(in_neg) <= 1e-12, min(in_neg) >= -1e-12

    def _between(self, T: Floats, A: Floats, F: Floats, B: Floats) -> float:
        """Return the largest value inside the cells of a block, for a loss that is concave in the false positives.

        With the measure (p + q f) / (r + t f), the loss has the slope (p t - q r) / (r + t f)^2, and B is linear.
        """
        a0, a1, a2, b0, b1, b2 = self.measure.ratio(self.n_neg / self.n_pos)
        p, q = a0 + a2 + a1 * T[:, None] / self.n_pos, -a2 / self.n_neg
        r, t = b0 + b2 + b1 * T[:, None] / self.n_pos, -b2 / self.n_neg
        widths, rises = np.diff(F), np.diff(B)
        slopes = np.divide(rises, widths, out=np.zeros_like(widths), where=widths > 0.0)
        falls = np.where(slopes < 0.0, -slopes, np.inf)  # without a fall, the best is at an end, which is a table
        best = (np.sqrt(np.maximum((p * t - q * r) / falls, 0.0)) - r) / t if t else F[:-1]
        f = np.clip(best, F[:-1], F[1:])
        values = self.loss(T[:, None], f) + A[:, None] + B[:-1] + slopes * (f - F[:-1])
        return float(np.nanmax(values, initial=-np.inf))

    def labelling(self, scores: Floats, table: Floats) -> tuple[float, Floats]:
        """Return loss and coefficients of the labelling with a given table in the order of the scores."""
        largest = float(np.abs(scores).max())
        if self.rankings is not None:
            return self.rankings.most_violated(scores, reach=1e-10 * max(1.0, largest), tied=_TIED * largest)
        if isinstance(self.measure, RanksPairs):
            return self._pairs(scores, reach=1e-10 * max(1.0, largest), tied=_TIED)
        tp, fp = table
        missed = self._share(scores[self.positive], self.weights[self.positive], self.n_pos - tp, _TIED)
        alarms = self._share(-scores[~self.positive], self.weights[~self.positive], fp, _TIED)
        c = np.zeros(scores.size)
        c[self.positive], c[~self.positive] = -missed, alarms
        return self._least_loss(missed, alarms), c * self.weights / self.u

    def _least_loss(self, missed: Floats, alarms: Floats) -> float:
        """Return the least loss of the weight that shares take, within the rounding errors of its sum.

        The shares of a light sample may have been lost by rounding. A monotone loss falls with the true and rises with
        the false positives.
        """
        taken = float(self.weights[self.positive] @ missed), float(self.weights[~self.positive] @ alarms)
        tp = self.n_pos - max(taken[0] - self.weight_errors[0], 0.0) if np.any(missed < 1.0) else 0.0
        fp = max(taken[1] - self.weight_errors[1], 0.0) if np.any(alarms < 1.0) else self.n_neg
        return float(self.loss(tp, fp))

    @staticmethod
    def _share(keys: Floats, weights: Floats, amount: float, tied_within: float) -> Floats:
        """Return the share of every sample when ``amount`` of weight is taken in ascending order, ties shared.

        Keys are tied if they differ by at most ``tied_within`` times the largest one.
        """
        order = np.argsort(keys)
        taken = np.cumsum(weights[order])
        share = np.zeros(keys.size)
        if amount <= 0.0:
            return share
        # Samples whose scores differ by rounding only are tied: any labelling gives a valid bound.
        last = min(int(np.searchsorted(taken, amount * (1.0 - 1e-12))), keys.size - 1)
        distance = keys - keys[order[last]]
        reach = tied_within * float(np.abs(keys).max())
        tied = np.abs(distance) <= reach
        share[distance < -reach] = 1.0
        before = float(weights[distance < -reach].sum())
        takes_all = bool(tied[order[-1]]) and amount >= taken[-1] * (1.0 - 1e-12)
        share[tied] = 1.0 if takes_all else np.clip((amount - before) / weights[tied].sum(), 0.0, 1.0)
        return share

    def _pairs(self, scores: Floats, reach: float, tied: float) -> tuple[float, Floats]:
        """Return the labelling that ranks each counted positive below the number of top negatives that violates most.

        The loss counts negatives above a positive between the two false positive rates. Before the first rate, moving
        below a negative pays while its score exceeds the positive's; after it, while it exceeds that minus one. What a
        positive adds rises as its score falls, so that the lowest positives count. Margins that are missed by less
        than ``reach`` count as met, and scores that differ by ``tied`` of the largest as equal.
        """
        low, high, least = self.measure.roc_region
        start, end = low * self.n_neg, high * self.n_neg
        pos, neg = scores[self.positive], scores[~self.positive]
        pos_weight, neg_weight = self.weights[self.positive], self.weights[~self.positive]
        pos_weight = pos_weight * self._share(pos, pos_weight, (1.0 - least) * self.n_pos, tied)
        order = np.argsort(-neg)
        taken = (neg_weight * self._share(-neg, neg_weight, end, tied))[order]
        weight, total = (np.concatenate([[0.0], np.cumsum(part)]) for part in (taken, taken * neg[order]))
        lost = np.maximum(weight - start, 0.0)
        few = np.searchsorted(-neg[order], -pos - reach, "left")
        many = np.searchsorted(-neg[order], 1.0 - reach - pos, "left")
        gain = (total + lost)[many] - (total + lost)[few] - (weight[many] - weight[few]) * pos
        below = np.where((weight[few] < start) & (gain <= reach * end), few, many)
        passed = np.cumsum(np.bincount(below, pos_weight, minlength=neg.size + 1)[::-1])[::-1]
        of_negatives = np.empty(neg.size)
        of_negatives[order] = taken * passed[1:]
        # Rates differ exactly, their products with a weight do not.
        scale = self.n_pos * (1.0 - least) * (self.n_neg * (high - low))
        c = np.zeros(scores.size)
        c[self.positive], c[~self.positive] = -pos_weight * weight[below] / scale, of_negatives / scale
        return float(pos_weight @ lost[below]) / scale, c
