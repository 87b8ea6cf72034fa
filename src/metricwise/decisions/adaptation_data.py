"""What a model stores to be adapted to other class priors: some of its out-of-fold samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Indices, Integers

_MOST_PER_CLASS, _LEAST_PER_CLASS = 1000, 10
_MOST_SCORES = 1_000_000  # of all samples and classes
_PARTS = 5


@stored_fields(version=2)
@dataclass(frozen=True)
class AdaptationData:
    """Out-of-fold samples from which thresholds are chosen again for other class priors.

    Attributes
    ----------
    codes : array of int of shape (n_samples,)
        The classes: of two, 1 is the positive one.
    scores : array of shape (n_samples,) or (n_samples, n_classes)
        Scores of the fold models, as the final model gives them.
    weights : array of shape (n_samples,)
        Weights, so that every class weighs as much as in training.
    sizes : array of int of shape (n_folds,)
        Numbers of samples of the folds, in the order of the samples; empty if there were no folds.
    moved : float or array of shape (n_classes,)
        By how much the final model's threshold exceeds that of the fold models.
    is_assigned : bool
        Whether a user has replaced the threshold since.
    design_effect : float
        How many samples are worth one independent sample, because of the groups of training; 1 without groups.
    """

    codes: Integers
    scores: Floats
    weights: Floats
    sizes: Integers
    moved: float | Floats = 0.0
    is_assigned: bool = False
    design_effect: float = 1.0

    @classmethod
    def of(
        cls, codes: Integers, scores: Floats, weights: Floats, sizes: Any = (), moved: float | Floats = 0.0
    ) -> AdaptationData:
        """Return the samples, or of many some of each class, evenly spaced in the order of their scores.

        Examples
        --------
        >>> import numpy as np
        >>> scores = np.arange(5000.0)
        >>> data = AdaptationData.of((scores > 4900).astype(int), scores, np.ones(5000), sizes=[2500, 2500])
        >>> data.codes.size, data.sizes.tolist(), data.prior.round(4).tolist()
        (1099, [510, 589], [0.9802, 0.0198])
        """
        n_classes = int(codes.max()) + 1
        most = _most_per_class(n_classes)
        chosen = [_spread(codes == code, code, scores, weights, most) for code in range(n_classes)]
        kept = np.sort(np.concatenate(chosen))
        whole, part = np.bincount(codes, weights, n_classes), np.bincount(codes[kept], weights[kept], n_classes)
        fold = np.repeat(np.arange(len(sizes)), sizes)
        counts = np.bincount(fold[kept], minlength=len(sizes)) if len(sizes) else np.zeros(0)
        scaled = weights[kept] * (whole / part)[codes[kept]]
        return cls(codes[kept].astype(np.int64), scores[kept], scaled, counts.astype(np.int64), moved)

    @property
    def prior(self) -> Floats:
        """The class priors in training."""
        counts = np.bincount(self.codes, self.weights)
        return np.asarray(counts / counts.sum())

    @property
    def folds(self) -> Integers:
        """The fold of each sample; interleaved parts if there are no folds, or a single one."""
        if np.count_nonzero(self.sizes) < 2:
            return np.arange(self.codes.size) % _PARTS
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def assign(self) -> AdaptationData:
        """Return the data of a model whose threshold a user has replaced."""
        return replace(self, is_assigned=True)


def _most_per_class(n_classes: int) -> int:
    """Return how many samples of a class are stored: each has a score for every class, so that many classes get few.

    Examples
    --------
    >>> _most_per_class(2), _most_per_class(100), _most_per_class(5000)
    (1000, 100, 10)
    """
    return max(_LEAST_PER_CLASS, min(_MOST_PER_CLASS, _MOST_SCORES // n_classes**2))


def _spread(has_class: Any, code: int, scores: Floats, weights: Floats, most: int) -> Indices:
    """Return samples of a class with weight, evenly spaced in the order of the score that speaks for the class."""
    own = np.flatnonzero(has_class & (weights > 0.0))
    if own.size <= most:
        return own
    column = scores[own] if scores.ndim == 1 else scores[own, code]
    places = ((np.arange(most) + 0.5) * own.size / most).astype(np.int64)
    return np.asarray(own[np.argsort(column, kind="stable")[places]])
