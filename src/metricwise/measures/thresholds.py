"""Samples grouped by score: no threshold separates samples with equal scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats
from metricwise.measures.checks import check_scores


class ScoreGroups(NamedTuple):
    """The weight of the positives and of the negatives at each distinct score, greatest score first."""

    positives: Floats
    negatives: Floats


def group_by_score(y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> ScoreGroups:
    """Return the weights of positives and negatives at each distinct score; the input is checked.

    Examples
    --------
    >>> from metricwise.measures.thresholds import group_by_score
    >>> group_by_score([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    ScoreGroups(positives=array([1., 1., 0.]), negatives=array([0., 1., 1.]))
    """
    truth, real, weight = check_scores(y, scores, sample_weight)
    _, group = np.unique(-real, return_inverse=True)
    positives = np.bincount(group, weights=weight * truth)
    negatives = np.bincount(group, weights=weight * ~truth)
    return ScoreGroups(positives.astype(np.float64), negatives.astype(np.float64))
