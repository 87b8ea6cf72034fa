"""The window of scores whose samples a person reviews, and the best place for a window of given capacity.

A sample is positive above the upper threshold, negative up to the lower one, and reviewed in between. With a capacity,
the window holds as large a share of the samples as a person can review, and its place is the one with the best measure
of the samples outside: all others see the same number of reviews. Samples near the edges of the window are the least
certain of those outside, so a wider window is better as long as scores rank the samples, and none narrower is searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.inference.threshold import Candidates
from metricwise.measures.base import CountsTable

_ROUNDING = 1e-9  # of a sum of weights, relative to all of them
NEGATIVE, REVIEW, POSITIVE = 0, 1, 2


@stored_fields(version=1)
class ReviewWindow(NamedTuple):
    """Two thresholds of scores.

    Attributes
    ----------
    lower, upper : float
        Samples with a score above ``upper`` are positive, those up to ``lower`` negative, and those between are
        reviewed. Minus infinity and infinity if no sample is ever negative, or positive.

    Examples
    --------
    >>> import numpy as np
    >>> ReviewWindow(-1.0, 1.0).assign(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    array([0, 0, 1, 1, 2])
    """

    lower: float
    upper: float

    def assign(self, scores: Floats) -> Integers:
        """Return `NEGATIVE`, `REVIEW` or `POSITIVE` for each score."""
        codes: Integers = np.where(scores > self.upper, POSITIVE, np.where(scores <= self.lower, NEGATIVE, REVIEW))
        return codes

    def holds(self, scores: Floats) -> Mask:
        """Return which scores are in the window."""
        mask: Mask = (scores > self.lower) & (scores <= self.upper)
        return mask

    def margins(self, scores: Floats) -> Floats:
        """Return scores relative to the window: above zero if positive, below zero if negative, zero if reviewed.

        Examples
        --------
        >>> import numpy as np
        >>> ReviewWindow(-1.0, 1.0).margins(np.array([-2.0, 0.5, 3.0]))
        array([-1.,  0.,  2.])
        """
        least = np.finfo(np.float64).tiny  # a score on the lower threshold is negative, not reviewed
        codes = self.assign(scores)
        margins = np.zeros(scores.shape)
        above, below = codes == POSITIVE, codes == NEGATIVE
        margins[above] = np.maximum(scores[above] - self.upper, least)
        margins[below] = np.minimum(scores[below] - self.lower, -least)
        return margins

    def table(self, positive: Mask, scores: Floats, weights: Floats) -> tuple[float, float, float, float]:
        """Return tp, fp, fn, tn of the samples outside the window."""
        codes = self.assign(scores)
        above, below = codes == POSITIVE, codes == NEGATIVE
        cells = above & positive, above & ~positive, below & positive, below & ~positive
        tp, fp, fn, tn = (float(weights[cell].sum()) for cell in cells)
        return tp, fp, fn, tn


def best_window(measure: CountsTable, candidates: Candidates, capacity: float) -> ReviewWindow:
    """Return the window that holds the capacity and has the best measure of the samples outside.

    For every upper threshold the lower one is as low as the capacity allows, so that there is one window per candidate.

    Parameters
    ----------
    measure : CountsTable
        A function of the contingency table.
    candidates : Candidates
        Samples by their scores.
    capacity : float
        Share of the weight that the window may hold; samples of equal scores are all inside or all outside.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Accuracy
    >>> scores = np.arange(10.0)
    >>> truth = np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1]) == 1
    >>> best_window(Accuracy(), Candidates.of(truth, scores), capacity=0.2)
    ReviewWindow(lower=3.5, upper=5.5)
    """
    first, last = widest_windows(candidates, capacity)
    found, wrong = (_prefix_sums(one) for one in (candidates.positives, candidates.negatives))
    with np.errstate(invalid="ignore", divide="ignore"):
        values: Floats = np.asarray(
            measure.value(found[first], wrong[first], found[-1] - found[last], wrong[-1] - wrong[last]),
            dtype=np.float64,
        )
    values = np.where(np.isnan(values), -np.inf, values)
    most = values.max()
    best = np.flatnonzero(values >= most - 1e-12 * max(1.0, abs(most)))
    # Of several best ones the fullest, and of these the one in the widest gaps: it leaves most room for new samples.
    held = (found + wrong)[last[best]] - (found + wrong)[first[best]]
    gaps = candidates.edges[:-1] - candidates.edges[1:]
    room = np.minimum(gaps[first[best]], gaps[last[best]])
    chosen = best[np.lexsort((best, -room, -np.round(held / (found[-1] + wrong[-1]), 9)))[0]]
    lower, upper = candidates.thresholds(last[chosen]), candidates.thresholds(first[chosen])
    return ReviewWindow(float(lower), float(upper))


def widest_windows(candidates: Candidates, capacity: float) -> tuple[Indices, Indices]:
    """Return the candidates of the upper and lower thresholds of the widest window below each upper threshold."""
    weight = _prefix_sums(candidates.positives + candidates.negatives)
    first: Indices = np.arange(weight.size)
    room = (capacity + _ROUNDING) * weight[-1]
    last: Indices = np.searchsorted(weight, weight + room, side="right") - 1
    return first, np.maximum(last, first)


def _prefix_sums(weights: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(weights)])
