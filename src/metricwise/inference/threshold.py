"""The best threshold for a measure, exact over all distinct scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.inference.candidate_thresholds import Candidates
from metricwise.measures import BalancedAccuracy, Measure
from metricwise.measures.base import CountsTable, RestrictsLabellings


class BestThreshold(NamedTuple):
    """Samples with a score above ``threshold`` are predicted positive; ``value`` is the measure this gives."""

    threshold: float
    value: float


def best_threshold(
    measure: CountsTable, positive: Mask, scores: Floats, weights: Floats | None = None
) -> BestThreshold:
    """Return the threshold with the largest measure among all that separate the scores.

    The threshold lies halfway between two neighbouring scores. Of several best ones the one in the widest gap is
    taken: it leaves most room for new samples.

    Parameters
    ----------
    measure : CountsTable
        A function of the contingency table.
    positive : array of bool
        The truth.
    scores : array
        Greater means more positive.
    weights : array, optional
        Weights of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> best_threshold(FBeta(), np.array([True, True, False]), np.array([3.0, 1.0, 0.0]))
    BestThreshold(threshold=0.5, value=1.0)
    """
    candidates = Candidates.of(positive, scores, weights)
    values = candidates.values(measure)
    best = candidates.best(values)
    return BestThreshold(float(candidates.thresholds(best)), float(values[best]))


def fraction_threshold(scores: Floats, fraction: float, weights: Floats | None = None) -> float:
    """Return the threshold above which the given fraction of the samples (by weight) lies, as nearly as ties allow.

    Examples
    --------
    >>> import numpy as np
    >>> fraction_threshold(np.array([4.0, 3.0, 2.0, 1.0]), 0.25)
    3.5
    """
    candidates = Candidates.of(np.ones(scores.size, dtype=bool), scores, weights)
    above = candidates.tables()[0]
    return float(candidates.thresholds(int(np.argmin(np.abs(above - fraction * above[-1])))))


def threshold_for(
    measure: Measure, positive: Mask, scores: Floats, weights: Floats | None = None, fraction: float | None = None
) -> float:
    """Return the threshold that suits a measure on given scores.

    That is the one with the largest value for functions of the table, the one that selects as many samples as the
    measure asks for where it fixes their number, and the one with the best balanced accuracy for ranking measures,
    which do not depend on it.

    Parameters
    ----------
    measure : Measure
        The measure of the labels.
    positive : array of bool
        The truth.
    scores : array
        Greater means more positive.
    weights : array, optional
        Weights of the samples.
    fraction : float, optional
        Share of the samples to select instead of the share that the measure asks for on these samples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import PRBEP
    >>> threshold_for(PRBEP(), np.array([True, False, False]), np.array([1.0, 3.0, 0.0]))
    2.0
    """
    if fraction is None and isinstance(measure, RestrictsLabellings):
        weight = np.ones(scores.size) if weights is None else weights
        total = float(weight.sum())
        fraction = measure.predicted_positives(float(weight[positive].sum()), total) / total
    if fraction is not None:
        return fraction_threshold(scores, fraction, weights)
    table = measure if isinstance(measure, CountsTable) else BalancedAccuracy()
    return best_threshold(table, positive, scores, weights).threshold
