"""Class weights that a measure of the confusion matrix sets for more than two classes.

At a confusion matrix of shares C, the gradient G of the measure has the gain of predicting class j for a sample of
class i. A learner with one weight per class cannot follow all of G; it gets what being right gains over being wrong, on
average: the weight of class i is proportional to G_ii - mean_{j != i} G_ij (Narasimhan et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.decisions.comparison import CONFIDENCE, Judged
from metricwise.decisions.confusion_choice import count_decided
from metricwise.decisions.intervals import resampled_interval
from metricwise.estimators.wrappers.cost_sensitive.iterations import JudgedWeights
from metricwise.measures.confusion import of_matrices
from metricwise.measures.multiclass_capabilities import ConcaveInRecalls

_LEAST_WEIGHT = 0.01  # of a class: one of weight zero cannot be learnt


def weigh_classes(measure: Any, last: JudgedWeights) -> Floats:
    """Return the class weights that a measure sets at the out-of-fold confusion matrix of an iteration."""
    return compute_class_weights(measure, count_decided(last.judged.decision, last.judged.samples))


def compute_class_weights(measure: Any, counts: Floats) -> Floats:
    """Return the weight of a sample of each class; the mean over all samples is 1, and zeros mean that none are set.

    Parameters
    ----------
    measure : CountsConfusion
        The measure.
    counts : array of shape (n_classes, n_classes)
        Weights of samples by true and predicted class; every class has some.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import BalancedAccuracy
    >>> counts = np.array([[50.0, 5.0, 5.0], [5.0, 20.0, 5.0], [2.0, 3.0, 5.0]])
    >>> compute_class_weights(BalancedAccuracy(), counts).round(3)
    array([0.556, 1.111, 3.333])
    """
    gains = _recall_gains(measure, counts) if isinstance(measure, ConcaveInRecalls) else _mean_gains(measure, counts)
    shares = counts.sum(axis=1) / counts.sum()
    gains = np.maximum(gains, 0.0)
    total = float(shares @ gains)
    if not (np.isfinite(total) and total > 0.0):
        return np.zeros(len(counts))
    weights = np.maximum(gains / total, _LEAST_WEIGHT)
    return np.asarray(weights / float(shares @ weights))


def _mean_gains(measure: Any, counts: Floats) -> Floats:
    """Return what being right gains over being wrong for a sample of each class, the mean over the wrong classes."""
    gradient = np.asarray(measure.confusion_gradient(counts / counts.sum()))
    right = np.diagonal(gradient)
    return np.asarray(right - (gradient.sum(axis=1) - right) / (len(counts) - 1))


def _recall_gains(measure: Any, counts: Floats) -> Floats:
    """Return the slopes of a mean of recalls, per sample, as mean slopes over their standard error on both sides.

    Where a measure has a kink, such as the least recall, or an unbounded slope, such as the geometric mean at zero, the
    slopes of a point would be zero or without bound.
    """
    true = counts.sum(axis=1)
    room = min(0.25, 0.5 / math.sqrt(float(true.min())))
    recalls = np.clip(np.diagonal(counts) / true, room, 1.0 - room)
    steps, counted = room * np.eye(true.size), np.ones(true.size, dtype=bool)
    rise = measure.of_recalls(recalls + steps, counted) - measure.of_recalls(recalls - steps, counted)
    return np.asarray(rise / true)


def select_class_iteration(measure: Any, iterations: list[JudgedWeights], groups: Integers | None = None) -> int:
    """Return the best iteration if it is likely to gain over the first, else the first."""
    best = int(np.argmax([one.expected_score for one in iterations]))
    gains = best > 0 and _least_gain(measure, (iterations[0].judged, iterations[best].judged), groups) > 0.0
    return best if gains else 0


def _least_gain(measure: Any, judged: Sequence[Judged], groups: Integers | None) -> float:
    """Return the lower end of an interval for what the second of two classifiers gains over the first."""
    samples = judged[0].samples
    truth, weights, size = samples.target, samples.weights, samples.scores.shape[1]
    labels = [np.argmax(one.decision.margins(one.samples.scores), axis=1) for one in judged]
    cells = np.array([truth * size + predicted for predicted in labels])
    if groups is None:  # samples of the same cells are alike, so that copies and weights draw the same
        cells, place = np.unique(cells, axis=1, return_inverse=True)
        weights = np.asarray(np.bincount(place.ravel(), weights), dtype=np.float64)

    def gain(drawn: Floats) -> float:
        matrices = np.array([np.bincount(of_one, drawn, size * size) for of_one in cells], dtype=np.float64)
        first, other = of_matrices(measure, matrices.reshape(2, size, size))
        return float(other - first)

    return resampled_interval(gain, weights, CONFIDENCE, groups=groups)[0]
