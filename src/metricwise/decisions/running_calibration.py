"""A line through the log-odds of a stream's probabilities that follows how often they come true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers

_LIMIT, _WIDTH = 30.0, 0.5  # of the log-odds that are told apart, and of their bins
_CENTRES = np.arange(-_LIMIT, _LIMIT + _WIDTH / 2, _WIDTH)
_POWERS = np.column_stack([np.ones_like(_CENTRES), _CENTRES, _CENTRES**2])
_SMALLEST = np.exp(-_LIMIT)
_RECENT = 0.8  # share of the counts kept at a renewal: the learner that gave older probabilities was another
_LONGEST_STEP = 1.0
_FLATTEST = 1e-3


@stored_fields(version=1)
@dataclass(frozen=True)
class RunningCalibration:
    """Probabilities of a learner counted by their log-odds, and lines that make them come true as often as they say.

    Attributes
    ----------
    counts, positives : arrays of shape (n_columns, n_bins)
        Weights of the samples by log-odds, of all and of those that have the class or label.
    slopes, intercepts : arrays of shape (n_columns,)
        The line of every column: of largest likelihood, drawn to slope 1 and intercept 0 by a sample's weight.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> true = random.beta(1.0, 3.0, size=(20_000, 1))
    >>> outcomes = random.random(true.shape) < true
    >>> certain = 1 / (1 + (1 / true - 1) ** 3)  # log-odds three times too large
    >>> calibration = RunningCalibration.start(1)
    >>> for _ in range(20):
    ...     calibration.add(certain, outcomes, np.ones(20_000))
    ...     calibration = calibration.renew(1.0)
    >>> bool(abs(calibration(certain) - true).max() < 0.03)
    True
    """

    counts: Floats
    positives: Floats
    slopes: Floats
    intercepts: Floats

    @classmethod
    def start(cls, n_columns: int) -> RunningCalibration:
        """Return the calibration before the first sample, which changes nothing."""
        shape = (n_columns, _CENTRES.size)
        return cls(np.zeros(shape), np.zeros(shape), np.ones(n_columns), np.zeros(n_columns))

    def __call__(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities."""
        return np.asarray(expit(_limited_log_odds(probabilities) * self.slopes + self.intercepts))

    def add(self, probabilities: Floats, outcomes: Floats | Integers, weights: Floats) -> None:
        """Count samples, one column per class or label, in place."""
        n_columns, n_bins = self.counts.shape
        bins = ((_limited_log_odds(probabilities) + (_LIMIT + _WIDTH / 2)) * (1 / _WIDTH)).astype(np.int64)
        cells = (bins + n_bins * np.arange(n_columns)).ravel()
        each = weights if n_columns == 1 else np.repeat(weights, n_columns)
        np.add.at(self.counts.reshape(-1), cells, each)
        np.add.at(self.positives.reshape(-1), cells, each * outcomes.ravel())

    def copy(self) -> RunningCalibration:
        """Return counts that can change without these."""
        return RunningCalibration(self.counts.copy(), self.positives.copy(), self.slopes, self.intercepts)

    def renew(self, kept: float) -> RunningCalibration:
        """Return lines after a step of Newton's method towards the largest likelihood, and recent counts."""
        chances = expit(self.slopes[:, None] * _CENTRES + self.intercepts[:, None])
        expected = self.counts * chances
        # Sums of 1, z and z^2 over the bins, z being their log-odds.
        across, along = ((expected - self.positives) @ _POWERS[:, :2]).T
        last, mixed, first = ((expected * (1.0 - chances)) @ _POWERS).T
        first, last, along, across = first + 1.0, last + 1.0, along + self.slopes - 1.0, across + self.intercepts
        size = first * last - mixed**2
        slopes = self.slopes - np.clip((last * along - mixed * across) / size, -_LONGEST_STEP, _LONGEST_STEP)
        intercepts = self.intercepts - np.clip((first * across - mixed * along) / size, -_LONGEST_STEP, _LONGEST_STEP)
        share = kept * _RECENT
        return RunningCalibration(
            share * self.counts, share * self.positives, np.maximum(slopes, _FLATTEST), intercepts
        )


def _limited_log_odds(probabilities: Floats) -> Floats:
    odds = np.clip(probabilities, _SMALLEST, 1.0 - 1e-13)
    return np.maximum(np.log(odds / (1.0 - odds)), -_LIMIT)
