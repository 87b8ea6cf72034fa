"""Measures that fix how many rows are called positive: precision and recall at k, and the break-even point.

All of them lose a constant for each true positive given up, so the objective is concave along the exchange of true for
false positives and one walk along the sorted classes finds the best point, with weights too.
"""

from __future__ import annotations

import numpy as np

from metricwise.kernels import selection
from metricwise.measures.base import CountsTable, RestrictsLabellings
from metricwise.oracles.base import Classes, Cut, CutLabelling, Floats, cut_after


class FixedSizeOracle:
    """The most violated labelling that calls exactly ``size`` rows (a weight) positive."""

    def __init__(self, measure: CountsTable, classes: Classes, mistakes: float) -> None:
        assert isinstance(measure, RestrictsLabellings)
        self.classes = classes
        self.mistakes = mistakes
        self.n_pos, self.n_neg = classes.pos_weight, classes.neg_weight
        self.size = float(measure.predicted_positives(self.n_pos, self.n_pos + self.n_neg))
        self._measure = measure
        tp = min(self.n_pos, self.size)
        self._price = self._loss(tp - 1.0) - self._loss(tp) if tp >= 1.0 else self._loss(0.0) / tp
        self._pos, self._neg = np.empty(classes.n_pos), np.empty(classes.n_neg)

    @property
    def truth_allowed(self) -> bool:
        return self.size == self.n_pos

    def _loss(self, tp: float) -> float:
        fp = self.size - tp
        return 1.0 - float(self._measure.value(tp, fp, self.n_pos - tp, self.n_neg - fp))

    def violate(self, scores: Floats) -> CutLabelling:
        rows, scale = self.classes, 1.0 / self.mistakes
        pos, pos_weights, neg, neg_weights = self._sorted(scores)
        value, missed, alarms = 0.0, 0.0, 0.0
        if pos.size and neg.size:
            value, missed, alarms = selection.exchange_fixed_size(
                pos,
                rows.weight_array if pos_weights is None else pos_weights,
                neg,
                rows.weight_array if neg_weights is None else neg_weights,
                rows.weighted,
                self.n_pos,
                self.size,
                self._price,
                scale,
            )
        tp = self.n_pos - missed
        loss = self._loss(tp)
        neg_cut = cut_after(neg, neg_weights, alarms)
        return CutLabelling(
            value=loss + value,
            loss=loss,
            table=(tp, alarms),
            pos=cut_after(pos, pos_weights, missed),
            neg=Cut(-neg_cut.at, neg_cut.share),
            scores=scores,
            classes=rows,
            scale=scale,
        )

    def _sorted(self, scores: Floats) -> tuple[Floats, Floats | None, Floats, Floats | None]:
        n_pos, weights = self.classes.n_pos, self.classes.weights
        pos, neg = scores[:n_pos], scores[n_pos:]
        if weights is not None:
            pos_order, neg_order = np.argsort(pos), np.argsort(-neg)
            return pos[pos_order], weights[:n_pos][pos_order], -neg[neg_order], weights[n_pos:][neg_order]
        ceiling, floor = np.inf, -np.inf
        if self.truth_allowed:
            # Every exchange starts from the true labels: rows that no partner can gain by are left out.
            reach = self.mistakes * self._price * (1.0 + 1e-9)
            ceiling, floor = neg.max() + reach, pos.min() - reach
        kept_pos = self._pos[: selection.gather_below(scores, 0, n_pos, ceiling, self._pos)]
        kept_neg = self._neg[: selection.gather_above(scores, n_pos, scores.size, floor, self._neg)]
        kept_pos.sort()
        kept_neg.sort()
        return kept_pos, None, kept_neg, None
