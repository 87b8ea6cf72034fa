"""Ranking measures: how well scores rank the positives above the negatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise.measures.base import Response
from metricwise.measures.checks import NARROWEST_RATES, as_real
from metricwise.measures.ranking_capabilities import RocRegion
from metricwise.measures.thresholds import ScoreGroups, group_by_score


@stored_fields(version=1)
@dataclass(frozen=True)
class RocAuc:
    """The area under the ROC curve: the share of pairs of a positive and a negative that are ranked correctly.

    Ties count one half. With one class only there are no pairs, and the measure is NaN, as in scikit-learn.

    Examples
    --------
    >>> from metricwise.measures import RocAuc
    >>> RocAuc().score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """

    name: ClassVar[str] = "roc_auc"
    response: ClassVar[Response] = "scores"
    symmetric: ClassVar[bool] = True

    @property
    def roc_region(self) -> RocRegion:
        """The region of the ROC curve's square that counts: all of it."""
        return RocRegion()

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
            The area; NaN if all samples are of one class.
        """
        return roc_area(group_by_score(y, response, sample_weight), self.roc_region)

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: all samples."""
        return float(n_pos + n_neg)


@stored_fields(version=1)
@dataclass(frozen=True)
class PartialAuc:
    """The area under a part of the ROC curve, between two false positive rates.

    With one class only, the measure is NaN, as in scikit-learn.

    Parameters
    ----------
    min_fpr : float, default=0.0
        Where the part begins; at least 0.
    max_fpr : float, default=0.1
        Where the part ends; above ``min_fpr`` and at most 1.
    standardize : bool, default=True
        Rescale the area so that random scores have 0.5 and perfect ones 1 (McClish 1989):
        (1 + (area - least) / (greatest - least)) / 2 with least = (max_fpr^2 - min_fpr^2) / 2, the area under the
        diagonal, and greatest = max_fpr - min_fpr. With ``min_fpr=0`` this is
        ``sklearn.metrics.roc_auc_score(max_fpr=...)``. If False, the area is divided by max_fpr - min_fpr.

    Notes
    -----
    Training does not depend on ``standardize``: its loss D is always 1 minus the area divided by max_fpr - min_fpr, and
    it is D that a certificate bounds. The loss of the rescaled area is D / (2 - min_fpr - max_fpr), which is no larger
    than D unless min_fpr + max_fpr exceeds 1.

    Examples
    --------
    >>> from metricwise.measures import PartialAuc
    >>> PartialAuc(max_fpr=0.5, standardize=False).score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """

    min_fpr: float = 0.0
    max_fpr: float = 0.1
    standardize: bool = True

    name: ClassVar[str] = "partial_roc_auc"
    response: ClassVar[Response] = "scores"

    def __post_init__(self) -> None:
        low, high = as_real(self.min_fpr, "min_fpr"), as_real(self.max_fpr, "max_fpr")
        if not 0 <= low < high <= 1:
            raise ValueError(f"min_fpr and max_fpr must satisfy 0 <= min_fpr < max_fpr <= 1, got {low!r} and {high!r}.")
        if high - low < NARROWEST_RATES:
            raise ValueError(
                f"min_fpr={low!r} and max_fpr={high!r} are closer than {NARROWEST_RATES:g}, where rounding decides the "
                "area between them: choose rates that are further apart."
            )
        object.__setattr__(self, "min_fpr", low)
        object.__setattr__(self, "max_fpr", high)

    @property
    def roc_region(self) -> RocRegion:
        """The region of the ROC curve's square that counts: a range of false positive rates."""
        return RocRegion(self.min_fpr, self.max_fpr)

    @property
    def symmetric(self) -> bool:
        """Whether exchanging positives and negatives leaves the area unchanged: that of the whole curve."""
        return self.roc_region.is_symmetric

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
            The area, rescaled as ``standardize`` says; NaN if all samples are of one class.
        """
        area = roc_area(group_by_score(y, response, sample_weight), self.roc_region)
        greatest = self.roc_region.width
        if not self.standardize:
            return area / greatest
        least = (self.max_fpr**2 - self.min_fpr**2) / 2
        # The difference is (max - min)(1 - (max + min)/2), never zero.
        return 0.5 * (1 + (area - least) / (greatest - least))

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: all samples, as for the whole area."""
        return float(n_pos + n_neg)


@stored_fields(version=1)
@dataclass(frozen=True)
class TwoWayPartialAuc:
    """The area under the ROC curve where the false positive rate is small and the true positive rate is large.

    The area above the true positive rate ``min_tpr`` and up to the false positive rate ``max_fpr``, divided by its
    largest value max_fpr (1 - min_tpr), so that the best value is 1 (Yang et al. 2019). In terms of pairs, it is the
    share that is ranked correctly of the pairs of the lowest-scored positives, 1 - min_tpr of their weight, and the
    highest-scored negatives, max_fpr of their weight. A sample at a border counts in part, so that few samples never
    leave the region empty.

    The curve is straight between tied scores, as for `PartialAuc`: with all scores tied it is the diagonal, whose area
    in the region is zero unless max_fpr exceeds min_tpr. With one class only, the measure is NaN.

    Parameters
    ----------
    max_fpr : float, default=0.5
        The largest false positive rate that counts; above 0 and at most 1.
    min_tpr : float, default=0.5
        The smallest true positive rate that counts; at least 0 and below 1. With 0 the measure is
        ``PartialAuc(0, max_fpr, standardize=False)``, and with ``max_fpr=1``, too, the area under the whole curve.

    Notes
    -----
    Training minimises the mean hinge loss of the same pairs, an upper bound of 1 minus the measure. Against whatever
    negatives, the loss of a positive rises as its score falls, and against whatever positives, the loss of a negative
    rises with its score. So the lowest positives and the highest negatives are those subsets of their weights whose
    mean loss is largest. A maximum of convex functions is convex, and this one takes a sort of each class.

    References
    ----------
    .. [1] H. Yang, K. Lu, X. Lyu and F. Hu (2019). Two-way partial AUC and its properties. *Statistical Methods in
       Medical Research* 28, 184-195.

    Examples
    --------
    >>> from metricwise.measures import TwoWayPartialAuc
    >>> y, scores = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.4, 0.5, 0.7, 0.8]
    >>> TwoWayPartialAuc(max_fpr=0.5, min_tpr=0.5).score(y, scores)  # positives 0.4 and 0.5, negatives 0.6 and 0.3
    0.5
    """

    max_fpr: float = 0.5
    min_tpr: float = 0.5

    name: ClassVar[str] = "two_way_partial_auc"
    response: ClassVar[Response] = "scores"

    def __post_init__(self) -> None:
        most, least = as_real(self.max_fpr, "max_fpr"), as_real(self.min_tpr, "min_tpr")
        if not 0 < most <= 1:
            raise ValueError(f"max_fpr must be above 0 and at most 1, got {most!r}: choose a rate such as 0.3.")
        if not 0 <= least < 1:
            raise ValueError(f"min_tpr must be at least 0 and below 1, got {least!r}: choose a rate such as 0.7.")
        if min(most, 1.0 - least) < NARROWEST_RATES:
            raise ValueError(
                f"max_fpr={most!r} and min_tpr={least!r} leave less than {NARROWEST_RATES:g} on one side of the area, "
                "where rounding decides it: choose a greater max_fpr or a smaller min_tpr."
            )
        object.__setattr__(self, "max_fpr", most)
        object.__setattr__(self, "min_tpr", least)

    @property
    def roc_region(self) -> RocRegion:
        """The region of the ROC curve's square that counts: its upper left corner."""
        return RocRegion(max_fpr=self.max_fpr, min_tpr=self.min_tpr)

    @property
    def symmetric(self) -> bool:
        """Whether exchanging positives and negatives leaves the area unchanged: where max_fpr + min_tpr is 1."""
        return self.roc_region.is_symmetric

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
            The area as a share of the largest; NaN if all samples are of one class.
        """
        area = roc_area(group_by_score(y, response, sample_weight), self.roc_region)
        return area / self.roc_region.width / self.roc_region.height

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: all samples, as for the whole area."""
        return float(n_pos + n_neg)


def roc_area(groups: ScoreGroups, region: RocRegion) -> float:
    """Return the area between the ROC curve and the lower border of a region; NaN with one class only.

    The curve joins the points of successive distinct scores by straight lines, which gives ties one half.
    """
    tp, fp = np.cumsum(groups.positives), np.cumsum(groups.negatives)
    n_pos, n_neg = float(tp[-1]), float(fp[-1])
    if n_pos == 0 or n_neg == 0:
        return math.nan
    # In units of weight rather than rates, so that the area of unweighted samples is exact until the last division.
    low, high, floor = region.min_fpr * n_neg, region.max_fpr * n_neg, region.min_tpr * n_pos
    start, base = fp - groups.negatives, tp - groups.positives
    # How much of a group lies below the border: all of it or nothing where the curve is level.
    level = np.where(base < floor, 1.0, 0.0)
    below = np.clip(np.divide(floor - base, groups.positives, out=level, where=groups.positives > 0), 0.0, 1.0)
    left = np.clip(start + below * groups.negatives, low, high)
    right = np.clip(fp, low, high)
    width = right - left
    fraction = np.divide((left + right) / 2 - start, groups.negatives, out=np.zeros_like(width), where=width > 0)
    height = base + fraction * groups.positives - floor
    return float(width @ height / (n_pos * n_neg))
