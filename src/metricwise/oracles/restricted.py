"""Measures of the top samples: precision and recall at k, and the break-even point.

The paper allows the labellings that predict exactly k samples positive. If k is not the number of positives, the true
labels are not among them, and the slack can be driven to zero by moving all scores together, which ranks nothing. So
the number predicted positive may vary between that of the true labels and k: at most k samples if there are fewer
positives (`AtMostOracle`), at least k samples if there are more (`AtLeastOracle`). With as many positives as top
samples, the break-even point, it is exactly k.

The loss is that of `metricwise.measures.restricted.training_value`.
"""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import selection, tables
from metricwise.measures.restricted import training_value
from metricwise.oracles.base import Classes, CutLabelling, bound_table, cut_after
from metricwise.threads import run_both


class _SortedClasses:
    """Scores of the positives ascending, negated scores of the negatives ascending, and their weights."""

    def __init__(self, scores: Floats, classes: Classes, ceiling: float = np.inf, floor: float = -np.inf) -> None:
        pos, neg, weights = scores[: classes.n_pos], -scores[classes.n_pos :], classes.weights
        self.classes = classes
        self.pos_weights: Floats | None = None
        self.neg_weights: Floats | None = None
        if weights is None:
            self.pos, self.neg = run_both(
                lambda: np.sort(pos[pos < ceiling]), lambda: np.sort(neg[neg < -floor]), classes.sorting_threads
            )
            return
        pos_order, neg_order = np.argsort(pos), np.argsort(neg)
        self.pos, self.pos_weights = pos[pos_order], weights[: classes.n_pos][pos_order]
        self.neg, self.neg_weights = neg[neg_order], weights[classes.n_pos :][neg_order]

    def arrays(self) -> tuple[Floats, Floats | None, Floats, Floats | None]:
        """Return the arguments of the kernels."""
        return self.pos, self.pos_weights, self.neg, self.neg_weights

    def labelling(self, scores: Floats, value: float, size: float, tp: float, fp: float, scale: float) -> CutLabelling:
        """Return the labelling that takes the best samples of either class, of those of a top of ``size``."""
        n_pos = self.classes.pos_weight
        pos_cut = cut_after(self.pos, self.pos_weights, n_pos - tp)
        neg_cut = cut_after(self.neg, self.neg_weights, fp)
        taken = tp, fp
        if self.classes.is_weighted:
            weights = self.pos_weights, self.neg_weights
            taken = bound_table(self.classes, (pos_cut, neg_cut), (self.pos, self.neg), weights)
        return CutLabelling(
            value=value,
            loss=1.0 - float(training_value(*taken, n_pos, size)),
            table=(tp, fp),
            pos=pos_cut,
            neg=neg_cut.negate(),
            scores=scores,
            classes=self.classes,
            scale=scale,
        )


class AtMostOracle:
    """The oracle for k >= n_pos: at most (or, if equal, exactly) ``size`` samples are predicted positive.

    A true positive given up costs the same everywhere, so the objective is concave: samples that gain on their own come
    first, then exchanges within the size. One walk along the sorted classes, with weights too.
    """

    def __init__(self, size: float, classes: Classes, mistakes: float) -> None:
        self.size, self.classes, self.mistakes = size, classes, mistakes
        self.n_pos, self.n_neg = classes.pos_weight, classes.neg_weight

    def violate(self, scores: Floats) -> CutLabelling:
        scale, cost = 1.0 / self.mistakes, 1.0 / self.n_pos
        exact = self.size == self.n_pos
        ordered = self._sort_exchangeable(scores, cost) if exact else _SortedClasses(scores, self.classes)
        missed, alarms, exchanging = 0.0, 0.0, True
        if not exact:
            pos, pos_weight, neg, neg_weight = ordered.arrays()
            missed = float(selection.weight_below(pos, pos_weight, cost / scale))
            wanted = float(selection.weight_below(neg, neg_weight, 0.0))
            alarms = min(wanted, self.size - self.n_pos + missed)
            exchanging = alarms < wanted
        if exchanging:
            value, missed, alarms = selection.exchange(*ordered.arrays(), missed, alarms, cost, scale)
        else:
            value = selection.score_part(*ordered.arrays(), missed, alarms, scale)
        tp = self.n_pos - missed
        loss = 1.0 - float(training_value(tp, alarms, self.n_pos, self.size))
        return ordered.labelling(scores, loss + value, self.size, tp, alarms, scale)

    def _sort_exchangeable(self, scores: Floats, cost: float) -> _SortedClasses:
        """Return the sorted samples that an exchange may gain by, starting from the true labels."""
        reach = self.mistakes * cost * (1.0 + 1e-9)
        pos, neg = scores[: self.classes.n_pos], scores[self.classes.n_pos :]
        return _SortedClasses(scores, self.classes, neg.max() + reach, pos.min() - reach)


class AtLeastOracle:
    """The oracle for k < n_pos: at least ``size`` samples are predicted positive; the loss is 1 - precision."""

    def __init__(self, size: float, classes: Classes, mistakes: float) -> None:
        self.size, self.classes, self.mistakes = size, classes, mistakes
        self.n_pos, self.n_neg = classes.pos_weight, classes.neg_weight
        # Precision, tp / (tp + fp), as the kernels take a ratio.
        self._par = np.array([self.n_pos, self.n_neg, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0])

    def violate(self, scores: Floats) -> CutLabelling:
        ordered, scale = _SortedClasses(scores, self.classes), 1.0 / self.mistakes
        pos, pos_weight, neg, neg_weight = ordered.arrays()
        T, A = np.empty(pos.size + 1), np.empty(pos.size + 1)
        F, B = np.empty(neg.size + 1), np.empty(neg.size + 1)
        selection.prefix_sums(pos, pos_weight, self.n_pos, True, scale, T, A)
        selection.prefix_sums(neg, neg_weight, self.n_neg, False, scale, F, B)
        if self.classes.is_weighted:
            T, A, F, B = self._with_bound(T, A, F, B)
        value, a, fp = tables.scan_splitting(self._par, T, A, F, B, self.classes.has_whole_weights, self.size)
        tp = float(T[a])
        return ordered.labelling(scores, value, self.size, tp, float(fp), scale)

    def _with_bound(self, T: Floats, A: Floats, F: Floats, B: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Add the points where the bound T + F = size meets the grid: within samples, A and B are linear."""
        more_T, more_F = self.size - F, self.size - T
        all_T = np.union1d(T, more_T[(more_T > 0.0) & (more_T < self.n_pos)])
        all_F = np.union1d(F, more_F[(more_F > 0.0) & (more_F < self.n_neg)])
        return all_T, np.interp(all_T, T, A), all_F, np.interp(all_F, F, B)
