"""Ranking measures that add up gains by rank: average precision, normalised discounted gain, reciprocal rank.

The i-th best positive gains f(i, k) where it stands at rank k among all samples. In every measure here f falls with k,
more slowly the greater k is (it is convex in k), and the gains of a perfect ranking, f(i, i), add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.base import Response
from metricwise.measures.checks import (
    MOST_COUNTED,
    check_finite,
    check_relevance,
    check_same_length,
    check_weights,
    shorten,
)
from metricwise.measures.tables import divide
from metricwise.measures.thresholds import ScoreGroups, group_by_score

_LARGEST_EXPONENT = 1000.0  # of two, so that sums over gains stay finite
_LISTED_RANKS = 1 << 20  # discounts of later ranks are integrated: their sum is then exact to the last digits


class _RankGains:
    """What measures of gains by rank share."""

    response: ClassVar[Response] = "scores"

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the truth ``y`` (0 and 1, -1 and 1, or booleans).

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Scores: the greater, the more likely a sample is positive.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The measure; 0 without positives.
        """
        groups = group_by_score(y, response, sample_weight)
        return self._value(groups) if groups.positives.any() else 0.0

    def _value(self, groups: ScoreGroups) -> float:
        raise NotImplementedError

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: all samples, as for the ROC area."""
        return float(n_pos + n_neg)


@stored_fields(version=1)
@dataclass(frozen=True)
class AveragePrecision(_RankGains):
    """The mean of the precision at the rank of every positive: an area under the precision-recall curve.

    It is ``sklearn.metrics.average_precision_score``, ties and sample weights included: samples with equal scores share
    the precision at the last of them. Without positives it is 0, without negatives 1.

    Notes
    -----
    Training needs sample weights that are whole numbers, each for that many copies of a sample. Its loss bounds that of
    any order of tied samples, also the least precise one.

    Examples
    --------
    >>> from metricwise.measures import AveragePrecision
    >>> round(AveragePrecision().score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """

    name: ClassVar[str] = "average_precision"

    def _value(self, groups: ScoreGroups) -> float:
        tp, fp = np.cumsum(groups.positives), np.cumsum(groups.negatives)
        return float(groups.positives @ divide(tp, tp + fp) / tp[-1])

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the ``i``-th best positive at rank ``k``: its share of the precision there, i / k."""
        return np.divide(i, np.multiply(k, float(n_pos)))


@stored_fields(version=1)
@dataclass(frozen=True, repr=False)
class NDCG:
    """The normalised discounted cumulative gain: a sample at rank k gains g / log2(k + 1), over what is best.

    It is ``sklearn.metrics.ndcg_score`` for one query: g is the relevance of the sample, one for positives and zero for
    negatives, or any number that is not negative. Samples with equal scores share the gains of their ranks, which is
    the mean over all orders of them. A sample of weight w takes w ranks, so that a weight of 2 equals a sample given
    twice. If no sample is relevant it is 0, if all are equally relevant 1.

    Parameters
    ----------
    k : int, optional
        Ranks that count, from the top; by default all. As in scikit-learn, all count if there are fewer than ``k``.
    gain : {"linear", "exponential"}, default="linear"
        What a relevance r gains: r itself, as in scikit-learn, or 2^r - 1, as in LightGBM and XGBoost. For positives
        and negatives both are the same.

    Notes
    -----
    Training needs sample weights that are whole numbers, and ``k=None``: gains that end at a rank are not convex in
    it, so that the most violated ranking is not found rank by rank. Train for ``"ndcg"`` and evaluate ``NDCG(k)``. More
    than two grades of relevance are trained for by `metricwise.RankingSVC`.

    Examples
    --------
    >>> from metricwise.measures import NDCG
    >>> round(NDCG().score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4), NDCG(k=1).score([0, 1], [0.2, 0.7])
    (0.9197, 1.0)
    >>> relevance, scores = [0, 3, 1, 2], [0.1, 0.4, 0.35, 0.8]
    >>> round(NDCG().score(relevance, scores), 4), round(NDCG(gain="exponential").score(relevance, scores), 4)
    (0.9225, 0.8428)
    """

    k: int | None = None
    gain: Literal["linear", "exponential"] = "linear"

    name: ClassVar[str] = "ndcg"
    response: ClassVar[Response] = "scores"

    def __post_init__(self) -> None:
        if self.gain not in ("linear", "exponential"):
            raise ValueError(f"gain must be 'linear' or 'exponential', got {self.gain!r}.")
        if self.k is None:
            return
        if isinstance(self.k, bool) or not isinstance(self.k, Integral) or not 1 <= self.k <= MOST_COUNTED:
            raise ValueError(
                f"k must be a positive integer up to {MOST_COUNTED:g}, the number of ranks that count, or None, got "
                f"{shorten(self.k)}."
            )
        object.__setattr__(self, "k", int(self.k))

    def __repr__(self) -> str:
        gain = "" if self.gain == "linear" else f", gain={self.gain!r}"
        return f"NDCG(k={self.k!r}{gain})"

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the relevance ``y`` (not negative; or -1 and 1, or booleans).

        Parameters
        ----------
        y : array of shape (n_samples,)
            Relevance, not negative: greater is more relevant. Or -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Scores: the greater, the more likely a sample is positive.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The gain as a share of the best possible one; 0 if no sample is relevant.
        """
        gains = self.grade_gain(check_relevance(y, "y"))
        scores = check_finite(response, "scores")
        check_same_length(scores, "scores", gains, "y")
        weights = check_weights(sample_weight, gains)
        _, tied = np.unique(-scores, return_inverse=True)
        total = np.bincount(tied, weights=weights)
        gained = np.diff(self._sum_discounts(np.cumsum(total)), prepend=0.0)
        order = np.argsort(-gains, kind="stable")
        ideal = gains[order] @ np.diff(self._sum_discounts(np.cumsum(weights[order])), prepend=0.0)
        return float(divide(np.bincount(tied, weights=weights * gains), total) @ gained / ideal) if ideal else 0.0

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: all samples, as for the ROC area."""
        return float(n_pos + n_neg)

    def grade_gain(self, relevance: Floats) -> Floats:
        """Return what grades of relevance gain at the first rank.

        Parameters
        ----------
        relevance : array
            Grades of relevance, not negative.

        Returns
        -------
        array
            The relevance r itself, or 2^r - 1 with ``gain="exponential"``.

        Raises
        ------
        ValueError
            If 2^r of a relevance r is too large to add up.
        """
        if self.gain == "linear":
            return relevance
        if np.any(relevance > _LARGEST_EXPONENT):
            raise ValueError(
                f"y has the relevance {relevance.max():g}, and 2^{relevance.max():g} is too large for gain="
                "'exponential': number the grades 0, 1, 2, ..., or set gain='linear'."
            )
        return np.asarray(np.exp2(relevance) - 1.0, dtype=np.float64)

    def weigh_levels(self, levels: Floats, counts: Floats) -> Floats:
        """Return the shares of two-grade losses in that of graded relevance.

        The gain of a relevance r is the sum of what levels l <= r add to it, and the ideal order is the same for all
        levels. So 1 - NDCG is the mean of 1 - NDCG of the relevances [r >= l], weighted by what they gain at best.

        Parameters
        ----------
        levels : array
            The distinct grades of a query, ascending and above zero.
        counts : array
            Number of samples of each grade or a higher one.

        Returns
        -------
        array
            The shares of the levels; they add up to one.

        Examples
        --------
        >>> NDCG().weigh_levels(np.array([1.0, 2.0]), np.array([3.0, 1.0])).round(3)  # (1 + 0.63 + 0.5) : 1
        array([0.681, 0.319])
        """
        best = np.diff(self.grade_gain(levels), prepend=0.0) * self._sum_discounts(counts)
        return np.asarray(best / best.sum(), dtype=np.float64)

    def _sum_discounts(self, ranks: Floats) -> Floats:
        """Return the sums of the discounts of the first ranks that count; ranks may end within one."""
        return sum_discounts(ranks if self.k is None else np.minimum(ranks, float(self.k)))

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the ``i``-th best positive at rank ``k``: the discount of the rank over the best sum."""
        ranks = np.asarray(k, dtype=np.float64) + 0.0 * np.asarray(i)
        counts = True if self.k is None else ranks <= self.k
        return np.where(counts, 1.0 / np.log2(ranks + 1.0), 0.0) / self._sum_discounts(np.array([float(n_pos)]))[0]


def sum_discounts(ranks: Floats) -> Floats:
    """Return the sums of 1 / log2(k + 1) over the ranks k = 1, 2, ... up to given ones, which may end within a rank.

    Examples
    --------
    >>> import numpy as np
    >>> sum_discounts(np.array([0.0, 1.0, 1.5, 3.0])).round(4)
    array([0.    , 1.    , 1.3155, 2.1309])
    """
    listed = int(min(np.ceil(ranks.max(initial=0.0)), _LISTED_RANKS))
    whole = np.arange(listed + 1.0)
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(whole[1:] + 1.0))])
    near: Floats = np.interp(ranks, whole, sums)
    if listed < _LISTED_RANKS:
        return near
    from scipy.special import expi  # measures alone do not load scipy

    # Beyond, the sum is the integral from half a rank before to half a rank after (midpoint rule).
    ends = np.log(np.array([np.maximum(ranks, listed), np.full(ranks.shape, float(listed))]) + 1.5)
    return np.asarray(near + np.log(2.0) * (expi(ends[0]) - expi(ends[1])), dtype=np.float64)


@stored_fields(version=1)
@dataclass(frozen=True)
class ReciprocalRank(_RankGains):
    """One over the rank of the first positive.

    Of samples with equal scores the negatives come first, as in
    ``sklearn.metrics.label_ranking_average_precision_score``: equal scores for all samples rank nothing. With sample
    weights the rank is one plus the weight of the negatives that come before. Without positives it is 0, without
    negatives 1.

    Notes
    -----
    Training needs sample weights that are whole numbers, each for that many copies of a sample.

    Examples
    --------
    >>> from metricwise.measures import ReciprocalRank
    >>> ReciprocalRank().score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.2])
    0.5
    """

    name: ClassVar[str] = "reciprocal_rank"

    def _value(self, groups: ScoreGroups) -> float:
        first = int(np.argmax(groups.positives > 0.0))
        return 1.0 / (1.0 + float(groups.negatives[: first + 1].sum()))

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the ``i``-th best positive at rank ``k``: 1 / k for the first, nothing for the others."""
        return np.where(np.equal(i, 1), np.divide(1.0, k), 0.0)
