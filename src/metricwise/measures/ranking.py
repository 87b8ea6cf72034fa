"""Ranking measures: how well scores rank the positives above the negatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise.measures.base import Response
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
    def fpr_range(self) -> tuple[float, float]:
        """The range of false positive rates that count: all."""
        return (0.0, 1.0)

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the truth ``y`` (0 and 1, -1 and 1, or booleans)."""
        return roc_area(group_by_score(y, response, sample_weight), 0.0, 1.0)

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
        low, high = float(self.min_fpr), float(self.max_fpr)
        if not 0 <= low < high <= 1:
            raise ValueError(f"min_fpr and max_fpr must satisfy 0 <= min_fpr < max_fpr <= 1, got {low!r} and {high!r}.")
        object.__setattr__(self, "min_fpr", low)
        object.__setattr__(self, "max_fpr", high)

    @property
    def fpr_range(self) -> tuple[float, float]:
        """The range of false positive rates that count."""
        return (self.min_fpr, self.max_fpr)

    @property
    def symmetric(self) -> bool:
        """Whether exchanging positives and negatives leaves the area unchanged: that of the whole curve."""
        return self.fpr_range == (0.0, 1.0)

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the truth ``y`` (0 and 1, -1 and 1, or booleans)."""
        area = roc_area(group_by_score(y, response, sample_weight), self.min_fpr, self.max_fpr)
        greatest = self.max_fpr - self.min_fpr
        if not self.standardize:
            return area / greatest
        least = (self.max_fpr**2 - self.min_fpr**2) / 2
        # The difference is (max - min)(1 - (max + min)/2), never zero.
        return 0.5 * (1 + (area - least) / (greatest - least))

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: all samples, as for the whole area."""
        return float(n_pos + n_neg)


def roc_area(groups: ScoreGroups, low: float, high: float) -> float:
    """Return the area under the ROC curve between two false positive rates; NaN with one class only.

    The curve joins the points of successive distinct scores by straight lines, which gives ties one half.
    """
    tp, fp = np.cumsum(groups.positives), np.cumsum(groups.negatives)
    n_pos, n_neg = float(tp[-1]), float(fp[-1])
    if n_pos == 0 or n_neg == 0:
        return math.nan
    # In units of weight rather than rates, so that the area of unweighted samples is exact until the last division.
    start = fp - groups.negatives
    left = np.clip(start, low * n_neg, high * n_neg)
    right = np.clip(fp, low * n_neg, high * n_neg)
    width = right - left
    fraction = np.divide((left + right) / 2 - start, groups.negatives, out=np.zeros_like(width), where=width > 0)
    height = tp - groups.positives + fraction * groups.positives
    return float(width @ height / (n_pos * n_neg))
