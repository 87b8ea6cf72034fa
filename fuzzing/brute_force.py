"""Thresholds and measures by their definitions, over all cuts of a few samples.

Nothing here is fast, and nothing is shared with training, its oracles or its certificates but the value of a measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from metricwise.measures.base import CountsTable

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MOST_SAMPLES = 11  # 2048 labellings


def find_best_cut(measure: CountsTable, positive: Mask, scores: Floats, weights: Floats, error: float) -> float:
    """Return the largest value over all cuts between clearly distinct scores, but for that with all positive.

    Scores have an ``error`` at most.
    """
    room = max(1e-8 * float(np.abs(scores).max(initial=0.0)), 4.0 * error)
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
    "average_precision": metrics.average_precision_score,
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
