"""Counts of samples that orders of thresholds are made from: partly observed, partly expected from the scores.

The order in which thresholds are tested needs no exact counts, since it is fixed before the test: whatever it is, the
guarantee holds. But it decides how often a guarantee is refused. By observed counts alone, the threshold with the
widest margin owes part of it to chance: of all thresholds with a recall of 1 on 40 positives, the one with the best
measure comes first, just below the lowest score among them, and fails on new samples too often. So a part of every
sample counts by its calibrated probability instead, which varies less and tells such thresholds apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, softmax

from metricwise._typing import Floats, Mask
from metricwise.decisions.calibrating import ClassCalibration, fit_class_calibration
from metricwise.decisions.decision import ScoredSamples, Sigmoid
from metricwise.inference.threshold import Candidates

_EXPECTED = 0.75  # share of a sample that counts by its probability
_NEGLIGIBLE = 1e-3  # probability of a class


def smooth_candidates(positive: Mask, scores: Floats, chances: Floats | None = None) -> Candidates:
    """Return all thresholds of samples, with counts that are three quarters expected and one quarter observed.

    Parameters
    ----------
    positive : array of bool
        The truth.
    scores : array
        Scores of any kind.
    chances : array, optional
        Calibrated probabilities of being positive; by default those of a line fitted to the scores (Platt 1999).

    Examples
    --------
    >>> import numpy as np
    >>> candidates = smooth_candidates(np.array([False, True, False, True]), np.array([0.0, 1.0, 2.0, 3.0]))
    >>> candidates.positives.round(2)
    array([0.85, 0.46, 0.54, 0.15])
    """
    observed = Candidates.of(positive, scores)
    chances = _calibrate(positive, scores) if chances is None else chances
    if chances is None:
        return observed
    expected = Candidates.of(np.ones_like(positive), scores, chances).positives
    positives = (1.0 - _EXPECTED) * observed.positives + _EXPECTED * expected
    return replace(observed, positives=positives, negatives=observed.positives + observed.negatives - positives)


def _calibrate(positive: Mask, scores: Floats) -> Floats | None:
    """Return the probabilities of a line fitted to the scores; None if one class has none but 0 and 1."""
    is_finite = np.isfinite(scores)
    known = positive[is_finite]
    if known.all() or not known.any():
        return None
    line = Sigmoid.fit(ScoredSamples(known, scores[is_finite], np.ones(known.size)))
    found: Floats = expit(line.log_odds(scores))
    return found


def smooth_classes(samples: ScoredSamples) -> ScoredSamples:
    """Return samples of several classes, each followed by parts of it that have the classes by their probabilities.

    Parameters
    ----------
    samples : ScoredSamples
        Codes of the classes, a column of scores per class, and weights; probabilities are those of calibrated scores.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> scores = random.normal(size=(100, 3))
    >>> codes = np.argmax(scores + random.gumbel(size=(100, 3)), axis=1)
    >>> found = smooth_classes(ScoredSamples(codes, scores, np.ones(100)))
    >>> np.bincount(codes), np.bincount(found.target, found.weights).round(1)  # other samples, as many of each class
    (array([28, 36, 36]), array([28., 36., 36.]))
    """
    codes, scores, weights = samples
    calibration = ClassCalibration.of(fit_class_calibration(samples))
    chances = softmax(calibration.log_probabilities(scores), axis=1)
    chances[chances < _NEGLIGIBLE] = 0.0
    chances /= chances.sum(axis=1, keepdims=True)
    which, classes = np.nonzero(chances)
    parts = _EXPECTED * weights[which] * chances[which, classes]
    return ScoredSamples(
        np.concatenate([codes, classes]),
        np.concatenate([scores, scores[which]]),
        np.concatenate([(1.0 - _EXPECTED) * weights, parts]),
    )
