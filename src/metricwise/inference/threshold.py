"""The threshold of a scorer that serves a measure best, exact over all distinct scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise.measures import BalancedAccuracy, Measure
from metricwise.measures.base import CountsTable, RestrictsLabellings

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


# Calling every row positive is the most drastic labelling there is, and must be worth it.
_NOTICEABLE = 1e-6


class BestThreshold(NamedTuple):
    """Rows with a score above ``threshold`` are called positive; ``value`` is the measure this gives."""

    threshold: float
    value: float


def best_threshold(
    measure: CountsTable, positive: Mask, scores: Floats, weights: Floats | None = None
) -> BestThreshold:
    """Return the threshold with the largest measure among all that tell scores apart.

    The threshold lies halfway between two neighbouring scores. Of several best ones the one in the widest gap is
    taken: it leaves most room for new rows.

    Parameters
    ----------
    measure : CountsTable
        A function of the contingency table.
    positive : array of bool
        The truth.
    scores : array
        Greater means more positive.
    weights : array, optional
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> best_threshold(FBeta(), np.array([True, True, False]), np.array([3.0, 1.0, 0.0]))
    BestThreshold(threshold=0.5, value=1.0)
    """
    weight = np.ones(scores.size) if weights is None else weights
    order, last = _descending(scores)
    tp = _sums_above(weight * positive, order, last)
    fp = _sums_above(weight * ~positive, order, last)
    values = np.asarray(measure.value(tp, fp, tp[-1] - tp, fp[-1] - fp), dtype=np.float64)
    if values[-1] <= values[0] + _NOTICEABLE:
        values[-1] = -np.inf
    edges = _edges(scores[order[last]])
    best = np.flatnonzero(values >= values.max() - 1e-12 * max(1.0, abs(values.max())))
    widest = best[np.argmax((edges[:-1] - edges[1:])[best])]
    return BestThreshold(_between(edges[widest + 1], edges[widest]), float(values[widest]))


def _descending(scores: Floats) -> tuple[Rows, Rows]:
    """Return the order of the scores from large to small, and where in it the last one of every distinct score is."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    return order, np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), scores.size - 1)


def _sums_above(amounts: Floats, order: Rows, last: Rows) -> Floats:
    """Return what the rows above each distinct score add up to: nothing first, all of them last."""
    sums = np.zeros(last.size + 1)
    sums[1:] = np.cumsum(amounts[order])[last]
    return sums


def _edges(descending: Floats) -> Floats:
    """Return the scores with one more at either end, where nothing and where everything is called positive."""
    # Both ends count as narrow gaps, so that an inner threshold is preferred where it is as good.
    room = float(np.min(-np.diff(descending))) if descending.size > 1 else 1.0
    above = max(descending[0] + room, np.nextafter(descending[0], np.inf))
    below = min(descending[-1] - room, np.nextafter(descending[-1], -np.inf))
    return np.concatenate([[above], descending, [below]])


def _between(low: float, high: float) -> float:
    """Return the middle, or the lower end where rounding leaves nothing between."""
    middle = 0.5 * low + 0.5 * high
    return float(middle if low <= middle < high else low)


def fraction_threshold(scores: Floats, fraction: float, weights: Floats | None = None) -> float:
    """Return the threshold above which the given fraction of the rows (by weight) lies, as nearly as ties allow.

    Examples
    --------
    >>> import numpy as np
    >>> fraction_threshold(np.array([4.0, 3.0, 2.0, 1.0]), 0.25)
    3.5
    """
    weight = np.ones(scores.size) if weights is None else weights
    order, last = _descending(scores)
    above = _sums_above(weight, order, last)
    edges = _edges(scores[order[last]])
    nearest = int(np.argmin(np.abs(above - fraction * above[-1])))
    return _between(edges[nearest + 1], edges[nearest])


def threshold_for(
    measure: Measure, positive: Mask, scores: Floats, weights: Floats | None = None, fraction: float | None = None
) -> float:
    """Return the threshold that suits a measure on given scores.

    That is the one with the largest value for functions of the table, the one that selects as many rows as the measure
    asks for where it fixes their number, and the one with the best balanced accuracy for measures of the ranking,
    which do not depend on it.

    Parameters
    ----------
    measure : Measure
        What the labels are judged by.
    positive, scores, weights
        As in `best_threshold`.
    fraction : float, optional
        Share of the rows to select instead of the share that the measure asks for on these rows.

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
