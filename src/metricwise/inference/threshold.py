"""All thresholds that separate samples by their scores, and the best of them for a measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Mask
from metricwise.measures import BalancedAccuracy, Measure
from metricwise.measures.base import CountsTable, RestrictsLabellings

# Predicting every sample positive is accepted only for a noticeable gain.
_NOTICEABLE = 1e-6
# Scores that differ by less, relative to their size and to the median size of distinct scores, are the same: the last
# digits of a score depend on the order of summation, hence on the memory layout of the samples, and must not decide
# about a threshold. The same holds for the widths of gaps.
_ROUNDING = 1e-10
# Candidates that a measure is evaluated for at a time: a dozen arrays of intermediate results stay in the cache.
BLOCK = 16_384


@dataclass(frozen=True)
class Candidates:
    """Samples grouped by distinct score, greatest first; candidate k predicts the first k groups positive.

    Attributes
    ----------
    edges : array of shape (groups + 2,)
        The distinct scores with one more at either end, where nothing and where everything is predicted positive.
    positives, negatives : arrays of shape (groups,)
        Weights of the samples of each group.
    """

    edges: Floats
    positives: Floats
    negatives: Floats

    @classmethod
    def of(cls, positive: Mask, scores: Floats, weights: Floats | None = None, error: float = 0.0) -> Candidates:
        """Group samples by their scores; those that differ by less than the error of scores are the same.

        Examples
        --------
        >>> import numpy as np
        >>> Candidates.of(np.array([True, False, True]), np.array([2.0, 1.0, 2.0])).positives
        array([2., 0.])
        """
        weight = np.ones(scores.size) if weights is None else weights
        order = np.argsort(-scores)  # samples of equal scores are added up: their order does not matter
        ordered, weight, truth = scores[order], weight[order], positive[order]
        del order  # many samples need many bytes each here
        first = np.flatnonzero(np.concatenate([[True], are_distinct(ordered, error)]))
        positives, negatives = (np.add.reduceat(weight * part, first) for part in (truth, ~truth))
        return cls(_edges(ordered[first]), positives, negatives)

    @classmethod
    def of_descending(cls, scores: Floats, positives: Floats, negatives: Floats) -> Candidates:
        """Group samples whose scores fall, given what each weighs as a positive and as a negative.

        Examples
        --------
        >>> Candidates.of_descending(np.array([2.0, 2.0, 1.0]), np.ones(3), np.zeros(3)).positives
        array([2., 1.])
        """
        first = np.flatnonzero(np.concatenate([[True], are_distinct(scores)]))
        return cls(_edges(scores[first]), np.add.reduceat(positives, first), np.add.reduceat(negatives, first))

    def tables(self) -> tuple[Floats, ...]:
        """Return tp, fp, fn, tn of every candidate."""
        tp, fp = _prefix_sums(self.positives), _prefix_sums(self.negatives)
        return tp, fp, tp[-1] - tp, fp[-1] - fp

    def values(self, measure: CountsTable, positives: Floats | None = None, negatives: Floats | None = None) -> Floats:
        """Return the measure of every candidate, for the samples' own weights or others.

        The last candidate, all samples positive, counts only if it beats the first.
        """
        tp = _prefix_sums(self.positives if positives is None else positives)
        fp = _prefix_sums(self.negatives if negatives is None else negatives)
        values = np.empty(tp.size)
        for start in range(0, tp.size, BLOCK):
            own = slice(start, start + BLOCK)
            values[own] = measure.value(tp[own], fp[own], tp[-1] - tp[own], fp[-1] - fp[own])
        if values[-1] <= values[0] + _NOTICEABLE:
            values[-1] = -np.inf
        return values

    def best(self, values: Floats) -> int:
        """Return the best candidate; of several, the one in the widest gap: it leaves most room for new samples.

        Of gaps that are equally wide, the one of highest scores; rounding errors change neither.
        """
        most = values.max()
        best = np.flatnonzero(values >= most - 1e-12 * max(1.0, abs(most)))
        if best.size == 1:  # as a rule
            return int(best[0])
        high, low = self.edges[best], self.edges[best + 1]
        gaps = high - low
        return int(best[np.argmax(gaps >= gaps.max() - 2.0 * _rounding_errors(high, low, self._typical_size).max())])

    @cached_property
    def _typical_size(self) -> float:
        return _typical_size(self.edges)

    def thresholds(self, which: Any) -> Any:
        """Return the thresholds of candidates: halfway between the scores on either side."""
        high, low = self.edges[which], self.edges[np.add(which, 1)]
        middle = 0.5 * low + 0.5 * high
        # Where rounding leaves nothing between, the lower end.
        return np.where((low <= middle) & (middle < high), middle, low)[()]

    def shares(self) -> Floats:
        """Return the share of the weight that every candidate predicts positive."""
        shares = _prefix_sums(self.positives) + _prefix_sums(self.negatives)
        shares /= shares[-1]
        return shares

    def threshold_of_share(self, share: float, shares: Floats) -> float:
        """Return the threshold of a share of the weight predicted positive, interpolated between candidates.

        Parameters
        ----------
        share : float
            The share.
        shares : array
            Those of the candidates.

        Examples
        --------
        >>> import numpy as np
        >>> candidates = Candidates.of(np.array([True, False]), np.array([2.0, 1.0]))
        >>> candidates.threshold_of_share(0.5, candidates.shares())
        1.5
        """
        below = max(int(np.searchsorted(shares, share, side="right")) - 1, 0)
        near = np.arange(below, min(below + 2, shares.size))
        return float(np.interp(share, shares[near], self.thresholds(near)))


def are_distinct(descending: Floats, error: float = 0.0) -> Mask:
    """Return whether each score is less than the one before by more than rounding errors, or a known larger error."""
    typical = _typical_size(descending)
    distinct = np.empty(descending.size - 1, dtype=np.bool_)
    for start in range(0, distinct.size, BLOCK):
        part = descending[start : start + BLOCK + 1]
        with np.errstate(invalid="ignore"):  # of two infinite scores
            room = np.maximum(_rounding_errors(part[:-1], part[1:], typical), error)
            distinct[start : start + BLOCK] = part[:-1] - part[1:] > room
    return distinct


def _rounding_errors(high: Floats, low: Floats, typical: float) -> Floats:
    """Return the differences below which pairs of scores count as the same, given the typical size of a score."""
    errors: Floats = _ROUNDING * np.maximum(np.maximum(_finite_sizes(high), _finite_sizes(low)), typical)
    return errors


def _typical_size(descending: Floats) -> float:
    """Return the median size of distinct scores, so that copies of samples change nothing."""
    is_first = np.ones(descending.size, dtype=np.bool_)
    np.not_equal(descending[1:], descending[:-1], out=is_first[1:])
    return _median(_finite_sizes(descending)[is_first])


def _median(values: Floats) -> float:
    """Return the median of finite values, which are put into another order.

    It is that of numpy, whose checks take longer than a partition of few values.
    """
    high = values.size // 2
    if values.size % 2:
        values.partition(high)
        return float(values[high])
    values.partition([high - 1, high])
    return float(0.5 * (values[high - 1] + values[high]))


def _finite_sizes(scores: Floats) -> Floats:
    sizes: Floats = np.abs(scores)
    sizes[~np.isfinite(sizes)] = 0.0
    return sizes


def _prefix_sums(weights: Floats) -> Floats:
    sums = np.zeros(weights.size + 1)
    np.cumsum(weights, out=sums[1:])
    return sums


def _edges(descending: Floats) -> Floats:
    # Both ends count as narrow gaps, so that an inner threshold is preferred where it is as good.
    room = float(np.min(-np.diff(descending))) if descending.size > 1 else 1.0
    above = max(descending[0] + room, np.nextafter(descending[0], np.inf))
    below = min(descending[-1] - room, np.nextafter(descending[-1], -np.inf))
    return np.concatenate([[above], descending, [below]])


class BestThreshold(NamedTuple):
    """Samples with a score above ``threshold`` are predicted positive; ``value`` is the measure this gives."""

    threshold: float
    value: float


def best_threshold(
    measure: CountsTable, positive: Mask, scores: Floats, weights: Floats | None = None, error: float = 0.0
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
    error : float
        Scores that differ by less are the same.

    Returns
    -------
    BestThreshold
        The threshold, and the value of the measure with it.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> best_threshold(FBeta(), np.array([True, True, False]), np.array([3.0, 1.0, 0.0]))
    BestThreshold(threshold=0.5, value=1.0)
    """
    candidates = Candidates.of(positive, scores, weights, error)
    values = candidates.values(measure)
    best = candidates.best(values)
    return BestThreshold(float(candidates.thresholds(best)), float(values[best]))


def fraction_threshold(scores: Floats, fraction: float, weights: Floats | None = None, error: float = 0.0) -> float:
    """Return the threshold above which the given fraction of the samples (by weight) lies, as nearly as ties allow.

    Scores that differ by less than ``error`` are ties.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Greater means more positive.
    fraction : float
        Share of the samples to select, by weight.
    weights : array of shape (n_samples,), optional
        Weights of the samples.
    error : float, default=0.0
        Scores that differ by less are the same.

    Returns
    -------
    float
        The threshold.

    Examples
    --------
    >>> import numpy as np
    >>> fraction_threshold(np.array([4.0, 3.0, 2.0, 1.0]), 0.25)
    3.5
    """
    candidates = Candidates.of(np.ones(scores.size, dtype=bool), scores, weights, error)
    above = candidates.tables()[0]
    return float(candidates.thresholds(candidates.best(-np.abs(above / above[-1] - fraction))))


def threshold_for(
    measure: Measure,
    positive: Mask,
    scores: Floats,
    weights: Floats | None = None,
    fraction: float | None = None,
    error: float = 0.0,
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
    error : float
        Scores that differ by less are the same.

    Returns
    -------
    float
        The threshold.

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
        return fraction_threshold(scores, fraction, weights, error)
    table = measure if isinstance(measure, CountsTable) else BalancedAccuracy()
    return best_threshold(table, positive, scores, weights, error).threshold


def evaluate_threshold_for(
    measure: Measure, positive: Mask, scores: Floats, weights: Floats, error: float = 0.0
) -> BestThreshold:
    """Return the threshold of `threshold_for`, and the measure at that threshold."""
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings):
        return best_threshold(measure, positive, scores, weights, error)
    threshold = threshold_for(measure, positive, scores, weights, error=error)
    response = scores if measure.response == "scores" else scores > threshold
    return BestThreshold(threshold, float(measure.score(positive, response, weights)))
