"""Measures of the contingency table: the best table by a fast scan (Joachims 2005, Algorithm 2, without its n^2).

For given weights of true and false positives the most violated labelling takes the best-scored samples of each class,
so one sort per class and a scan over tables is enough. How many tables the scan must visit depends on the shape of
the loss; `scan_for_ratio` chooses the scan of a ratio from its coefficients.

Sample weights: a sample of weight 3 is three copies of it, each with a label of its own. If some weight is not a whole
number, a labelling may split a sample at any point, which is the limit of ever finer copies. Losses that are convex
along both axes never gain by splitting, and for ratios that are convex in the true and concave in the false positives
(F, Jaccard) the best split has a closed form. All other losses with weights are left to the generic scan.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import selection, tables
from metricwise.measures.base import CountsTable, is_monotone
from metricwise.measures.rate_capabilities import Ratio, RatioOfRates
from metricwise.oracles.base import Classes, Cut, CutLabelling, MarginOracle, bound_table, cut_after
from metricwise.rounding import gamma
from metricwise.threads import run_both

Scan = Literal["pointers", "bisection", "rising", "falling"]


def ratio_constants(ratio: Ratio, n_pos: float, n_neg: float) -> Floats:
    """Rewrite a ratio of the rates as one of the weights of true and false positives, as the kernels take it."""
    a0, a1, a2, b0, b1, b2 = ratio
    return np.array([n_pos, n_neg, a0 + a2, a1 / n_pos, -a2 / n_neg, b0 + b2, b1 / n_pos, -b2 / n_neg], dtype=float)


def ratio_error(ratio: Ratio) -> float:
    """Return the rounding error of a ratio as the kernels take it: its constants are differences of coefficients."""
    a0, a1, a2, b0, b1, b2 = ratio
    corners = [(P, Q) for P in (0.0, 1.0) for Q in (0.0, 1.0)]
    least = min(b0 + b1 * P + b2 * (1.0 - Q) for P, Q in corners)
    largest = max(1.0, *(abs(a0 + a1 * P + a2 * (1.0 - Q)) / least for P, Q in corners))
    sizes = abs(a0) + abs(a1) + abs(a2) + largest * (abs(b0) + abs(b1) + abs(b2))
    return gamma(8) * sizes / least


def widen_tables(T: Floats, F: Floats, errors: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return fewer true and more false positives by the errors of both; those of all or nothing have none."""
    if not any(errors):
        return T, F
    fewer, more = np.maximum(T - errors[0], 0.0), np.minimum(F + errors[1], F[-1])
    fewer[-1], more[0] = T[-1], F[0]
    return fewer, more


class RatioShape:
    """Signs of the second differences of the loss 1 - (p0 + p1 P + q Q) / (r0 + r1 P + t Q) over all tables.

    P is the true and Q the false positive rate. Each sign is that of a function that is affine along the axes, so the
    corners of the unit square decide.
    """

    def __init__(self, ratio: Ratio) -> None:
        a0, a1, a2, b0, b1, b2 = ratio
        p0, p1, q, r0, r1, t = a0 + a2, a1, -a2, b0 + b2, b1, -b2
        corners = [(P, Q) for P in (0.0, 1.0) for Q in (0.0, 1.0)]
        self.defined = min(r0 + r1 * P + t * Q for P, Q in corners) > 0.0
        self.additive = r1 == 0.0 and t == 0.0
        slope = _Signs([[p0 * t, p1 * P * t, -q * r0, -q * r1 * P] for P in (0.0, 1.0)])
        in_neg = _Signs([[t * t * p0, t * t * p1 * P, -t * q * r0, -t * q * r1 * P] for P in (0.0, 1.0)])
        in_pos = _Signs([[r1 * r1 * p0, r1 * r1 * q * Q, -r1 * p1 * r0, -r1 * p1 * t * Q] for Q in (0.0, 1.0)])
        mixed = p1 * t + q * r1
        cross = _Signs(
            [
                [mixed * r0, mixed * r1 * P, mixed * t * Q, -2 * t * r1 * p0, -2 * t * r1 * p1 * P, -2 * t * r1 * q * Q]
                for P, Q in corners
            ]
        )
        self.concave_in_neg, self.convex_in_neg = in_neg.never_negative, in_neg.never_positive
        self.convex_in_pos = in_pos.never_positive
        self.rising, self.falling = cross.never_negative, cross.never_positive
        self.loss_grows_with_neg = t > 0.0 and slope.never_negative


class _Signs:
    """The signs of sums, each given by its terms, which bound its rounding error."""

    def __init__(self, sums: list[list[float]]) -> None:
        values = [(sum(terms), 1e-12 * sum(map(abs, terms))) for terms in sums]
        self.never_negative = all(value >= -noise for value, noise in values)
        self.never_positive = all(value <= noise for value, noise in values)


def scan_for_ratio(shape: RatioShape) -> Scan | None:
    """Return the fastest scan that is exact for a ratio of this shape, or None."""
    if not shape.defined:
        return None
    if shape.concave_in_neg:
        return "pointers" if shape.rising else "bisection"
    return "rising" if shape.rising else "falling" if shape.falling else None


class AdditiveOracle(MarginOracle):
    """The oracle of losses that add up over samples (error rate, balanced error): no sort is needed.

    Parameters
    ----------
    pos_cost, neg_cost : float
        Loss per unit of mislabelled weight of each class.
    """

    def __init__(self, pos_cost: float, neg_cost: float, classes: Classes, mistakes: float) -> None:
        self.classes = classes
        self.mistakes = mistakes
        self._pos_cost, self._neg_cost = pos_cost, neg_cost

    def violate(self, scores: Floats) -> CutLabelling:
        classes, scale = self.classes, 1.0 / self.mistakes
        pos_cut, neg_cut = self._pos_cost * self.mistakes, -self._neg_cost * self.mistakes
        pos_cut -= self._tolerance(scores, pos_cut)
        neg_cut += self._tolerance(scores, neg_cut)
        value, missed, alarms = selection.independent_violations(
            scores,
            classes.n_pos,
            self._pos_cost,
            self._neg_cost,
            pos_cut,
            neg_cut,
            classes.weights,
            scale,
        )
        return CutLabelling(
            value=value,
            loss=missed * self._pos_cost + alarms * self._neg_cost,
            table=(classes.pos_weight - missed, alarms),
            pos=Cut(pos_cut, pos_cut, 0.0),
            neg=Cut(neg_cut, neg_cut, 0.0),
            scores=scores,
            classes=classes,
            scale=scale,
        )


class TableOracle:
    """The oracle of losses with a fast scan over tables.

    Parameters
    ----------
    measure : CountsTable
        The measure; the loss is 1 minus it.
    kind, par : int, array
        The loss in the encoding of `metricwise.kernels.tables`.
    scan : str
        The scan that is exact for it.
    split : bool
        Whether samples with weights may have to be split (concave in the false positives).
    """

    def __init__(
        self,
        measure: CountsTable,
        kind: int,
        par: Floats,
        scan: Scan,
        split: bool,
        classes: Classes,
        mistakes: float,
    ) -> None:
        self.measure, self.kind, self.par, self.scan = measure, kind, par, scan
        self.split = split and classes.is_weighted
        self.classes = classes
        self.mistakes = mistakes
        self._ceiling, self._floor = self._margins(measure)
        self._table_errors, self._loss_error = (0.0, 0.0), 0.0
        self._pos, self._T, self._A = (np.empty(classes.n_pos + extra) for extra in (0, 1, 1))
        self._neg, self._F, self._B = (np.empty(classes.n_neg + extra) for extra in (0, 1, 1))

    def exact(self) -> Self:
        """Return the oracle whose value bounds the slack for the exact tables.

        Sums of weights that are not whole numbers have rounding errors, and losses such as the geometric mean's may
        rise arbitrarily steeply with them. So the loss is evaluated where it is largest within these errors.
        """
        oracle = copy(self)
        if self.kind == tables.RATIO:
            assert isinstance(self.measure, RatioOfRates)
            oracle._loss_error = ratio_error(self.measure.ratio(self.classes.neg_weight / self.classes.pos_weight))
        if is_monotone(self.measure):
            oracle._table_errors = self.classes.weight_errors
        return oracle

    def _margins(self, measure: CountsTable) -> tuple[float, float]:
        """Return the score above which no positive, and below which no negative, is ever mislabelled.

        Mislabelling one more sample raises the loss by at most the steepest step between neighbouring tables. Along
        either axis the loss is convex or concave, so the steepest step is at an end of the axis. With weights there
        are steps of any length, and no bound is used.
        """
        if self.classes.is_weighted:
            return np.inf, -np.inf
        n_pos, n_neg = self.classes.n_pos, self.classes.n_neg

        def loss(tp: Any, fp: Any) -> Any:
            return 1.0 - measure.value(tp, fp, n_pos - tp, n_neg - fp)

        tp, fp = np.arange(n_pos + 1.0), np.arange(n_neg + 1.0)
        pos_step = max((loss(first, fp) - loss(first + 1.0, fp)).max() for first in (0.0, n_pos - 1.0))
        neg_step = max((loss(tp, first + 1.0) - loss(tp, first)).max() for first in (0.0, n_neg - 1.0))
        slack = 1.0 + 1e-9
        return float(self.mistakes * pos_step * slack), float(-self.mistakes * neg_step * slack)

    def violate(self, scores: Floats) -> CutLabelling:
        classes, scale = self.classes, 1.0 / self.mistakes
        (pos, pos_weights), (neg, neg_weights) = run_both(
            lambda: self._sort_pos(scores), lambda: self._sort_neg(scores), classes.sorting_threads
        )
        T, A = self._T[: pos.size + 1], self._A[: pos.size + 1]
        F, B = self._F[: neg.size + 1], self._B[: neg.size + 1]
        selection.prefix_sums(pos, pos_weights, classes.pos_weight, True, scale, T, A)
        selection.prefix_sums(neg, neg_weights, classes.neg_weight, False, scale, F, B)
        T, F = widen_tables(T, F, self._table_errors)
        value, tp, fp = self._best_table(T, A, F, B)
        pos_cut = cut_after(pos, pos_weights, classes.pos_weight - tp)
        neg_cut = cut_after(neg, neg_weights, fp)
        taken = tp, fp
        if classes.is_weighted:
            taken = bound_table(classes, (pos_cut, neg_cut), (pos, neg), (pos_weights, neg_weights))
        return CutLabelling(
            value=value + self._loss_error,
            loss=self._loss(*taken),
            table=(tp, fp),
            pos=pos_cut,
            neg=neg_cut.negate(),
            scores=scores,
            classes=classes,
            scale=scale,
        )

    def _loss(self, tp: float, fp: float) -> float:
        n_pos, n_neg = self.classes.pos_weight, self.classes.neg_weight
        return 1.0 - float(self.measure.value(tp, fp, n_pos - tp, n_neg - fp))

    def _best_table(self, T: Floats, A: Floats, F: Floats, B: Floats) -> tuple[float, float, float]:
        if self.split:
            value, a, fp = tables.scan_splitting(self.par, T, A, F, B, self.classes.has_whole_weights, 0.0)
            return value, float(T[a]), fp
        x, y = self._coordinates(T, F) if self.classes.is_weighted else self._whole_coordinates(T.size, F.size)
        if self.scan == "pointers":
            value, a, b = tables.scan_pointers(self.kind, self.par, x, A, y, B)
        elif self.scan == "bisection":
            value, a, b = tables.scan_bisection(self.kind, self.par, x, A, y, B)
        else:
            value, a, b = tables.scan_monge(self.kind, self.par, x, A, y, B, self.scan == "rising")
        return value, float(T[a]), float(F[b])

    def _coordinates(self, T: Floats, F: Floats) -> tuple[Floats, Floats]:
        """Return the coordinates that the compiled loss is a function of."""
        if self.kind == tables.RATIO:
            return T, F
        tpr, tnr = T / self.classes.pos_weight, 1.0 - F / self.classes.neg_weight
        return (np.sqrt(tpr), np.sqrt(tnr)) if self.kind == tables.G_MEAN else (tpr, tnr)

    def _whole_coordinates(self, n_true: int, n_false: int) -> tuple[Floats, Floats]:
        """Return the coordinates of the largest true and the smallest false counts of whole samples."""
        x, y = self._all_coordinates
        return x[x.size - n_true :], y[:n_false]

    @cached_property
    def _all_coordinates(self) -> tuple[Floats, Floats]:
        return self._coordinates(np.arange(self.classes.n_pos + 1.0), np.arange(self.classes.n_neg + 1.0))

    def _sort_pos(self, scores: Floats) -> tuple[Floats, Floats | None]:
        n_pos, weights = self.classes.n_pos, self.classes.weights
        if weights is not None:
            order = np.argsort(scores[:n_pos])
            return scores[:n_pos][order], weights[:n_pos][order]
        count = selection.gather_below(scores, 0, n_pos, 1.0, self._ceiling, self._pos)
        pos = self._pos[:count]
        pos.sort()
        return pos, None

    def _sort_neg(self, scores: Floats) -> tuple[Floats, Floats | None]:
        n_pos, weights = self.classes.n_pos, self.classes.weights
        if weights is not None:
            keys = -scores[n_pos:]
            order = np.argsort(keys)
            return keys[order], weights[n_pos:][order]
        count = selection.gather_below(scores, n_pos, scores.size, -1.0, -self._floor, self._neg)
        neg = self._neg[:count]
        neg.sort()
        return neg, None
