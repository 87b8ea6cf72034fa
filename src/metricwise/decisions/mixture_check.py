"""Check that prior shift explains new scores: that they are those of a mixture of the classes of training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.decisions.calibrating import ClassCalibration
from metricwise.decisions.decision import ScoredSamples

_REPLICATES = 60
_MOST_COMPARED = 1000  # new samples
_SEED = 0


class Mixture(NamedTuple):
    """Out-of-fold samples (codes, scores of each class, weights), two or more folds, and the scores' calibration."""

    samples: ScoredSamples
    folds: Integers
    calibration: ClassCalibration


def is_explained(mixture: Mixture, scores: Floats) -> bool:
    """Return whether new scores can be those of a mixture of the classes.

    The distance of the new scores to the nearest mixture (Kolmogorov-Smirnov, the largest of all classes) is compared
    with those of scores that are drawn from mixtures: it must exceed all of them to count. New scores are those of one
    model, the final one, while each fold has a model of its own. So each draw takes the scores of one fold and is
    compared with the other folds, after its own shares are estimated. The distances then include what differs between
    models, and what the estimate of the shares adapts to.

    Parameters
    ----------
    mixture : Mixture
        Out-of-fold samples.
    scores : array of shape (n_samples, n_classes)
        Scores of the new samples.
    """
    random = np.random.default_rng(_SEED)
    if len(scores) > _MOST_COMPARED:
        scores = scores[random.choice(len(scores), _MOST_COMPARED, replace=False)]
    shares = mixture.calibration.find_shares(mixture.samples, scores)
    everything = np.arange(mixture.folds.size)
    distance = _distance_to_mixture(mixture, everything, scores, shares)
    n_folds = int(mixture.folds.max()) + 1
    for replicate in range(_REPLICATES):
        is_own = mixture.folds == replicate % n_folds
        drawn = _draw(mixture.samples, is_own, shares, len(scores), random)
        own_shares = mixture.calibration.find_shares(mixture.samples, drawn)
        if distance <= _distance_to_mixture(mixture, np.flatnonzero(~is_own), drawn, own_shares):
            return True
    return False


def _draw(samples: ScoredSamples, is_own: Mask, shares: Floats, n_samples: int, random: np.random.Generator) -> Floats:
    """Return scores drawn with given class priors, from one fold where it has the class."""
    counts = random.multinomial(n_samples, shares)
    parts = []
    for code, count in enumerate(counts.tolist()):
        of_class = samples.target == code
        pool = np.flatnonzero(of_class & is_own)
        pool = pool if pool.size else np.flatnonzero(of_class)
        weights = samples.weights[pool]
        parts.append(samples.scores[random.choice(pool, count, p=weights / weights.sum())])
    return np.concatenate(parts)


def _distance_to_mixture(mixture: Mixture, reference: Indices, scores: Floats, shares: Floats) -> float:
    """Return the largest distance of a column of scores to the reference samples, weighted for the shares."""
    codes, weights = mixture.samples.target[reference], mixture.samples.weights[reference]
    counts = np.bincount(codes, weights, shares.size)
    weights = weights * (shares / np.where(counts > 0.0, counts, 1.0))[codes]
    old, new = _columns(mixture.samples.scores[reference]), _columns(scores)
    return max(distribution_distance(*pair, weights) for pair in zip(new.T, old.T, strict=True))


def _columns(scores: Floats) -> Floats:
    """Return a column for each class, free of what is added to all of a sample; of two classes only that of one."""
    centred: Floats = scores - scores.mean(axis=1, keepdims=True)
    return centred if scores.shape[1] > 2 else centred[:, 1:]


def distribution_distance(new: Floats, old: Floats, weights: Floats) -> float:
    """Return the largest difference of two distribution functions (Kolmogorov-Smirnov).

    Parameters
    ----------
    new : array of shape (n_new,)
        Values.
    old : array of shape (n_old,)
        Values to compare them with.
    weights : array of shape (n_old,)
        Weights of the latter.

    Examples
    --------
    >>> import numpy as np
    >>> distribution_distance(np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    0.25
    """
    at = np.concatenate([new, old])
    order = np.argsort(old)
    below = np.concatenate([[0.0], np.cumsum(weights[order])]) / weights.sum()
    of_old = below[np.searchsorted(old[order], at, side="right")]
    of_new = np.searchsorted(np.sort(new), at, side="right") / new.size
    return float(np.abs(of_old - of_new).max())
