"""The slack of a measure by its definition, without any code of the oracles."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from metricwise._typing import Floats, Mask
from metricwise.measures.base import (
    ConcaveInRates,
    CountsTable,
    RanksPairs,
    RatioOfRates,
    RestrictsLabellings,
    is_monotone,
)
from metricwise.measures.restricted import training_value


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
        if not whole and not isinstance(measure, RanksPairs | RestrictsLabellings | ConcaveInRates):
            convex_in_pos, convex_in_neg, concave_in_neg = self._shape()
            self.splits_samples = convex_in_pos and concave_in_neg
            if not (convex_in_pos and (convex_in_neg or concave_in_neg)):
                self._divide_samples()
                self.n_pos, self.n_neg = float(self.weights[positive].sum()), float(self.weights[~positive].sum())

    def loss(self, tp: Any, fp: Any) -> Any:
        """Return 1 - measure of labels with ``tp`` true and ``fp`` false positives."""
        if isinstance(self.measure, RestrictsLabellings):
            size = self.measure.predicted_positives(self.n_pos, self.n_pos + self.n_neg)
            return 1.0 - np.asarray(training_value(tp, fp, self.n_pos, size), dtype=np.float64)
        return 1.0 - np.asarray(self.measure.value(tp, fp, self.n_pos - tp, self.n_neg - fp), dtype=np.float64)

    def at(self, scores: Floats) -> float:
        """Return the slack at given scores."""
        if isinstance(self.measure, RanksPairs):
            loss, c = self._pairs(scores, reach=0.0)  # a margin that is missed by rounding only counts as well
            return float(loss + c @ scores)
        assert isinstance(self.measure, CountsTable)
        T, A = self._path(scores[self.positive], self.weights[self.positive], self.units[0], self.n_pos, -1.0)
        F, B = self._path(-scores[~self.positive], self.weights[~self.positive], self.units[1], 0.0, 1.0)
        T, A = T[::-1], A[::-1]
        if isinstance(self.measure, RestrictsLabellings):
            return self._restricted_peak(T, A, F, B)
        if is_monotone(self.measure):
            return self._branch_and_bound(T, A, F, B)
        return max(float((self.loss(t, F) + a + B).max()) for t, a in zip(T, A, strict=True))

    def _path(
        self, keys: Floats, weights: Floats, unit: float | None, start: float, sign: float
    ) -> tuple[Floats, Floats]:
        """Return weight predicted positive and score part, as samples are mislabelled in the order of the keys."""
        order = np.argsort(keys)
        keys, weights = keys[order], weights[order]
        if unit is not None:
            pieces = np.rint(weights / unit).astype(np.int64)
            keys, weights = np.repeat(keys, pieces), np.full(int(pieces.sum()), unit)
        predicted = start + sign * np.concatenate([[0.0], np.cumsum(weights)])
        predicted[-1] = start + sign * (self.n_pos if sign < 0 else self.n_neg)
        return predicted, -np.concatenate([[0.0], np.cumsum(weights * keys)]) / self.u

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
            best_a, best_b = A[min(max(a_peak, a0), a1)], B[min(max(b_peak, b0), b1)]
            return float(self.loss(T[a0], F[b1]) + best_a + best_b)

        everything = (0, T.size - 1, 0, F.size - 1)
        queue = [(-bound(everything), everything)]
        best = 0.0  # the value of the true labels, which are among the labellings
        while queue and -queue[0][0] > best + 1e-12 * max(1.0, best):
            a0, a1, b0, b1 = heapq.heappop(queue)[1]
            if (a1 - a0 + 1) * (b1 - b0 + 1) <= 4096:
                a, b = slice(a0, a1 + 1), slice(b0, b1 + 1)
                best = max(best, float((self.loss(T[a, None], F[None, b]) + A[a, None] + B[None, b]).max()))
                if inside:
                    best = max(best, self._between(T[a], A[a], F[b0 : b1 + 2], B[b0 : b1 + 2], best))
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

    def _between(self, T: Floats, A: Floats, F: Floats, B: Floats, best: float) -> float:
        """Return the largest value inside those cells of a block that could exceed ``best``."""
        for j in range(F.size - 1):
            ceiling = self.loss(T, F[j + 1]) + A + max(B[j], B[j + 1])
            for i in np.flatnonzero(ceiling > best):
                found = minimize_scalar(
                    lambda f, i=i, j=j: -float(self.loss(T[i], f) + A[i] + np.interp(f, F[j : j + 2], B[j : j + 2])),
                    bounds=(F[j], F[j + 1]),
                    method="bounded",
                    options={"xatol": 1e-10 * max(1.0, F[j + 1])},
                )
                best = max(best, -float(found.fun))
        return best

    def labelling(self, scores: Floats, table: Floats) -> tuple[float, Floats]:
        """Return loss and coefficients of the labelling with a given table in the order of the scores."""
        if isinstance(self.measure, RanksPairs):
            return self._pairs(scores, reach=1e-10 * max(1.0, float(np.abs(scores).max())))
        tp, fp = table
        c = np.zeros(scores.size)
        c[self.positive] = -self._share(scores[self.positive], self.weights[self.positive], self.n_pos - tp)
        c[~self.positive] = self._share(-scores[~self.positive], self.weights[~self.positive], fp)
        return float(self.loss(tp, fp)), c * self.weights / self.u

    @staticmethod
    def _share(keys: Floats, weights: Floats, amount: float) -> Floats:
        """Return the share of every sample when ``amount`` of weight is taken in ascending order, ties shared."""
        order = np.argsort(keys)
        taken = np.cumsum(weights[order])
        share = np.zeros(keys.size)
        if amount <= 0.0:
            return share
        # Samples whose scores differ by rounding only are tied: any labelling gives a valid bound.
        last = min(int(np.searchsorted(taken, amount * (1.0 - 1e-12))), keys.size - 1)
        distance = keys - keys[order[last]]
        reach = 1e-11 * float(np.abs(keys).max())
        tied = np.abs(distance) <= reach
        share[distance < -reach] = 1.0
        before = float(weights[distance < -reach].sum())
        share[tied] = np.clip((amount - before) / weights[tied].sum(), 0.0, 1.0)
        return share

    def _pairs(self, scores: Floats, reach: float) -> tuple[float, Floats]:
        """Return the labelling that ranks each positive below the number of top negatives that violates most.

        The loss counts negatives above a positive between the two false positive rates. Before the first rate, moving
        below a negative pays while its score exceeds the positive's; after it, while it exceeds that minus one. Margins
        that are missed by less than ``reach`` count as met.
        """
        start, end = (rate * self.n_neg for rate in self.measure.fpr_range)
        pos, neg = scores[self.positive], scores[~self.positive]
        pos_weight, neg_weight = self.weights[self.positive], self.weights[~self.positive]
        order = np.argsort(-neg)
        taken = (neg_weight * self._share(-neg, neg_weight, end))[order]
        weight, total = (np.concatenate([[0.0], np.cumsum(part)]) for part in (taken, taken * neg[order]))
        lost = np.maximum(weight - start, 0.0)
        few = np.searchsorted(-neg[order], -pos - reach, "left")
        many = np.searchsorted(-neg[order], 1.0 - reach - pos, "left")
        gain = (total + lost)[many] - (total + lost)[few] - (weight[many] - weight[few]) * pos
        below = np.where((weight[few] < start) & (gain <= reach * end), few, many)
        passed = np.cumsum(np.bincount(below, pos_weight, minlength=neg.size + 1)[::-1])[::-1]
        of_negatives = np.empty(neg.size)
        of_negatives[order] = taken * passed[1:]
        scale = self.n_pos * (end - start)
        c = np.zeros(scores.size)
        c[self.positive], c[~self.positive] = -pos_weight * weight[below] / scale, of_negatives / scale
        return float(pos_weight @ lost[below]) / scale, c
