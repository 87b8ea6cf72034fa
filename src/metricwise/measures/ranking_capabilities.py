"""What measures of rankings may state of themselves: which pairs count, and gains by rank."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from metricwise._typing import Floats
from metricwise.measures.base import RestrictsLabellings


class RocRegion(NamedTuple):
    """The region of the ROC curve's unit square that counts: false positive rates in a range, recall from a least one.

    Parameters
    ----------
    min_fpr, max_fpr : float, default=0.0 and 1.0
        Range of false positive rates.
    min_tpr : float, default=0.0
        Smallest true positive rate.

    Examples
    --------
    >>> RocRegion(max_fpr=0.25, min_tpr=0.5).largest_area
    0.125
    """

    min_fpr: float = 0.0
    max_fpr: float = 1.0
    min_tpr: float = 0.0

    @property
    def width(self) -> float:
        """The range of false positive rates: the share of the negatives that count."""
        return self.max_fpr - self.min_fpr

    @property
    def height(self) -> float:
        """The range of true positive rates: the share of the positives that count."""
        return 1.0 - self.min_tpr

    @property
    def largest_area(self) -> float:
        """The area under the curve of a perfect ranking."""
        return self.width * self.height

    @property
    def is_symmetric(self) -> bool:
        """Whether exchanging positives and negatives, which turns the square over, leaves the region unchanged."""
        return self.min_fpr == 0.0 and math.isclose(self.max_fpr, self.height, rel_tol=1e-12)


@runtime_checkable
class RanksPairs(Protocol):
    """A ranking measure: an average over pairs of a positive and a negative, in a region of the ROC curve's square.

    Examples
    --------
    >>> from metricwise import FBeta, RocAuc
    >>> from metricwise.measures import RanksPairs
    >>> isinstance(RocAuc(), RanksPairs), isinstance(FBeta(), RanksPairs)
    (True, False)
    """

    @property
    def roc_region(self) -> RocRegion:
        """The region of the ROC curve's unit square whose area is measured."""
        ...


@runtime_checkable
class GainsByRank(Protocol):
    """A ranking measure that adds up gains of the positives: f(i, k) of the i-th best of them at rank k >= i of all.

    ``rank_gain`` returns f of arrays of i and k. The gains of a perfect ranking, f(i, i), add up to one. Training needs
    two properties more, and checks them unless they are proved:

    - f(i, k) is not negative and does not rise with k;
    - it is convex in k: what is lost by one rank more, f(i, k) - f(i, k + 1), does not rise with k either.

    Then the best number of positives above the j-th best negative never falls with j.

    Examples
    --------
    >>> from metricwise import AveragePrecision, RocAuc
    >>> from metricwise.measures import GainsByRank
    >>> isinstance(AveragePrecision(), GainsByRank), isinstance(RocAuc(), GainsByRank)
    (True, False)
    """

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the i-th best positive at rank k.

        Parameters
        ----------
        i : int or array
            Position among the positives, from 1.
        k : int or array
            Rank among all samples, at least i.
        n_pos : int
            Number of positives.

        Returns
        -------
        float or array
            The gains f(i, k).
        """
        ...


@runtime_checkable
class GradesRelevance(Protocol):
    """A measure of gains by rank that also takes graded relevance, not negative, of which 0 gains nothing.

    Its loss is then a mean of losses of two grades: for each level, samples of that grade or a higher one are the
    positives. ``weigh_levels`` returns the shares of the levels, given the distinct grades above zero, ascending, and
    the number of samples of each or a higher one.

    Examples
    --------
    >>> from metricwise import AveragePrecision, NDCG
    >>> from metricwise.measures import GradesRelevance
    >>> isinstance(NDCG(), GradesRelevance), isinstance(AveragePrecision(), GradesRelevance)
    (True, False)
    """

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the i-th best positive of two grades at rank k.

        Parameters
        ----------
        i : int or array
            Position among the positives, from 1.
        k : int or array
            Rank among all samples, at least i.
        n_pos : int
            Number of positives.

        Returns
        -------
        float or array
            The gains f(i, k).
        """
        ...

    def weigh_levels(self, levels: Floats, counts: Floats) -> Floats:
        """Return the shares of two-grade losses in that of graded relevance.

        Parameters
        ----------
        levels : array
            Distinct grades of a query, ascending and above zero.
        counts : array
            Number of samples of each grade or a higher one.

        Returns
        -------
        array
            Shares of the levels; they add up to one.
        """
        ...


Ranks = RanksPairs | GainsByRank  # the value depends on the order of the scores alone, and no sample has a label


def find_roc_region(measure: object) -> RocRegion | None:
    """Return the region of the ROC curve's square in which training swaps pairs; None unless a measure ranks.

    Examples
    --------
    >>> from metricwise import AveragePrecision, FBeta, PartialAuc
    >>> find_roc_region(PartialAuc(0.0, 0.1))
    RocRegion(min_fpr=0.0, max_fpr=0.1, min_tpr=0.0)
    >>> find_roc_region(AveragePrecision()) == RocRegion(), find_roc_region(FBeta())
    (True, None)
    """
    if isinstance(measure, GainsByRank):
        return RocRegion()
    return measure.roc_region if isinstance(measure, RanksPairs) else None


def loss_size(measure: Any, n_pos: float, n_neg: float) -> float:
    """Return the sum of the absolute terms of the largest loss 1 - measure, which rounding errors are relative to.

    Most losses are at most one. Those of correlations reach two, where all labels are wrong. The loss of a ranking is a
    difference of weights up to both ends of the range of false positive rates, divided by the width of the range; that
    of gains is the difference of their best sum, which is one, and another.

    Examples
    --------
    >>> from metricwise import MCC, FBeta, PartialAuc
    >>> loss_size(FBeta(), 2.0, 3.0), loss_size(MCC(), 2.0, 3.0), loss_size(PartialAuc(0.25, 0.5), 2.0, 3.0)
    (1.0, 2.0, 2.0)
    """
    if isinstance(measure, RanksPairs):
        return measure.roc_region.max_fpr / measure.roc_region.width
    if isinstance(measure, GainsByRank):
        return 2.0
    if isinstance(measure, RestrictsLabellings):
        return 1.0
    tp, fp = np.array([0.0, 0.0, n_pos, n_pos]), np.array([0.0, n_neg, 0.0, n_neg])
    values = np.asarray(measure.value(tp, fp, n_pos - tp, n_neg - fp), dtype=np.float64)
    return float(np.max(np.abs(1.0 - values), initial=1.0))
