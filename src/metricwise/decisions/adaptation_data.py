"""What a model stores to be adapted to other shares of the classes: some of its out-of-fold samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Indices, Integers

_MOST_PER_CLASS = 1000
_PARTS = 5


@stored_fields(version=1)
@dataclass(frozen=True)
class AdaptationData:
    """Out-of-fold samples from which thresholds are chosen again for other shares of the classes.

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
    """

    codes: Integers
    scores: Floats
    weights: Floats
    sizes: Integers
    moved: float | Floats = 0.0
    is_assigned: bool = False

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
        kept = np.sort(np.concatenate([_spread(codes == code, code, scores, weights) for code in range(n_classes)]))
        whole, part = np.bincount(codes, weights, n_classes), np.bincount(codes[kept], weights[kept], n_classes)
        fold = np.repeat(np.arange(len(sizes)), sizes)
        counts = np.bincount(fold[kept], minlength=len(sizes)) if len(sizes) else np.zeros(0)
        scaled = weights[kept] * (whole / part)[codes[kept]]
        return cls(codes[kept].astype(np.int64), scores[kept], scaled, counts.astype(np.int64), moved)

    @property
    def prior(self) -> Floats:
        """The shares of the classes in training."""
        counts = np.bincount(self.codes, self.weights)
        return np.asarray(counts / counts.sum())

    @property
    def folds(self) -> Integers:
        """The fold of each sample; without folds, parts that are interleaved."""
        if not self.sizes.size:
            return np.arange(self.codes.size) % _PARTS
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def assign(self) -> AdaptationData:
        """Return the data of a model whose threshold a user has replaced."""
        return replace(self, is_assigned=True)


def _spread(has_class: Any, code: int, scores: Floats, weights: Floats) -> Indices:
    """Return samples of a class with weight, evenly spaced in the order of the score that speaks for the class."""
    own = np.flatnonzero(has_class & (weights > 0.0))
    if own.size <= _MOST_PER_CLASS:
        return own
    column = scores[own] if scores.ndim == 1 else scores[own, code]
    places = ((np.arange(_MOST_PER_CLASS) + 0.5) * own.size / _MOST_PER_CLASS).astype(np.int64)
    return np.asarray(own[np.argsort(column, kind="stable")[places]])
