"""Objectives, thresholds and measures by their definitions, over all labellings, cuts and pairs of a few samples.

Nothing here is fast, and nothing is shared with training, its oracles or its certificates but the value of a measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from metricwise.measures import Measure
from metricwise.measures.base import CountsTable, HasMistakeCosts, RanksPairs, RestrictsLabellings

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MOST_SAMPLES = 11  # 2048 labellings


@dataclass(frozen=True)
class SurrogateProblem:
    """``J(w) = 1/2 |w|^2 + C u max over labellings of (loss + plane . w)``, or the mean hinge loss of all pairs.

    Parameters
    ----------
    samples : array of shape (n_samples, n_columns)
        With the constant feature of the intercept, if there is one; repeated by their weights.
    positive : array of bool
        Their labels.
    measure : Measure
        The measure whose loss is bounded.
    C : float
        Cost of one mistake.
    """

    samples: Floats
    positive: Mask
    measure: Any
    C: float

    @property
    def cost(self) -> float:
        """C u: what a full loss costs."""
        n_pos = float(np.count_nonzero(self.positive))
        return self.C * float(self.measure.mistakes_per_loss(n_pos, self.positive.size - n_pos))

    def compute(self, w: Floats) -> tuple[float, float]:
        """Return J(w), and how large the rounding errors of a careful computation may be."""
        scores = self.samples @ w
        squares = 0.5 * math.fsum(float(value) ** 2 for value in w)
        size = float(np.max(np.abs(self.samples) @ np.abs(w), initial=0.0))
        if isinstance(self.measure, RanksPairs):
            difference = scores[self.positive][:, None] - scores[~self.positive][None, :]
            slack = float(np.maximum(0.0, 1.0 - difference).mean())
        else:
            slack = self._find_slack(scores)
        terms = 1.0 + size * self.positive.size / max(1.0, self.cost / self.C if self.C else 1.0)
        return squares + self.cost * slack, 1e-11 * (squares + self.cost * terms)

    def _find_slack(self, scores: Floats) -> float:
        """Return the largest sum of loss and difference of scores over all labellings."""
        losses, chosen = list_losses(self.measure, self.positive)
        mistakes = self.cost / self.C
        return float(np.max(losses + (chosen - self.positive) @ scores / mistakes))


def list_losses(measure: Any, positive: Mask) -> tuple[Floats, Floats]:
    """Return the losses of all labellings that a measure allows, and the labellings."""
    n, n_pos = positive.size, int(np.count_nonzero(positive))
    chosen = np.array(list(product([0.0, 1.0], repeat=n)))
    if isinstance(measure, RestrictsLabellings):
        # The size varies between that of the true labels and k; the loss is that of the former.
        size, sizes = measure.predicted_positives(n_pos, n), chosen.sum(axis=1)
        chosen = chosen[(sizes <= size) if size > n_pos else (sizes >= size) if size < n_pos else (sizes == size)]
        tp = chosen[:, positive].sum(axis=1)
        return 1.0 - tp / (n_pos if size >= n_pos else chosen.sum(axis=1)), chosen
    tp, fp = chosen[:, positive].sum(axis=1), chosen[:, ~positive].sum(axis=1)
    return 1.0 - np.asarray(measure.value(tp, fp, n_pos - tp, n - n_pos - fp)), chosen


def has_surrogate(measure: Measure) -> bool:
    """Return whether `SurrogateProblem` covers a measure: not ranges of the ROC curve, nor costs."""
    if isinstance(measure, RanksPairs):
        return measure.fpr_range == (0.0, 1.0)
    return not isinstance(measure, HasMistakeCosts)


def find_best_cut(measure: CountsTable, positive: Mask, scores: Floats, weights: Floats) -> float:
    """Return the largest value over all cuts between clearly distinct scores, but for that with all positive."""
    room = 1e-8 * float(np.abs(scores).max(initial=0.0))
    distinct = np.unique(scores)
    cuts = [np.inf, *distinct[:-1][np.diff(distinct) > room]]
    return max(evaluate_labels(measure, positive, scores > cut, weights) for cut in cuts)


def evaluate_labels(measure: CountsTable, positive: Mask, labels: Mask, weights: Floats) -> float:
    """Return the value of a measure, from a table that is counted sample by sample."""
    tp = math.fsum(weights[positive & labels])
    fp = math.fsum(weights[~positive & labels])
    fn = math.fsum(weights[positive & ~labels])
    tn = math.fsum(weights[~positive & ~labels])
    return float(measure.value(tp, fp, fn, tn))


Score = Callable[..., float]
REFERENCES: dict[str, Score] = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1": metrics.f1_score,
    "jaccard": metrics.jaccard_score,
    "matthews_corrcoef": metrics.matthews_corrcoef,
    "cohen_kappa": metrics.cohen_kappa_score,
    "roc_auc": metrics.roc_auc_score,
}


def compute_reference(name: str, positive: Mask, response: Any, weights: Floats | None) -> float | None:
    """Return the value of a measure by scikit-learn; None if it has none, or where it is a matter of definition."""
    if name not in REFERENCES or not 0 < np.count_nonzero(positive) < positive.size:
        return None
    if name != "roc_auc" and len(set(np.asarray(response).tolist())) < 2:
        return None
    value = float(REFERENCES[name](positive, response, sample_weight=weights))
    return value if math.isfinite(value) else None
