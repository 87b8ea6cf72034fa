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
_FIRST_POWERS = np.ascontiguousarray(_POWERS[:, :2])
_SMALLEST, _LARGEST = np.exp(-_LIMIT), 1.0 - 1e-13
_RECENT = 0.8  # share of the counts kept at a renewal: the learner that gave older probabilities was another
_STEPS, _LONGEST_STEP = 2, 1.0  # of Newton's method at a renewal
_FLATTEST = 1e-3
STEEPEST = 1e6  # slope or intercept; lines of samples stay far below, as each has a weight against it


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
    >>> calibration, log_odds = RunningCalibration.start(1), limit_log_odds(certain)
    >>> for _ in range(20):
    ...     calibration.add(log_odds, outcomes, np.ones(20_000))
    ...     calibration = calibration.renew(1.0)
    >>> bool(abs(calibration(log_odds) - true).max() < 0.03)
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

    def __call__(self, log_odds: Floats) -> Floats:
        """Return calibrated probabilities, given the log-odds of those of the learner: see `limit_log_odds`."""
        return np.asarray(expit(log_odds * self.slopes + self.intercepts))

    def add(self, log_odds: Floats, outcomes: Floats | Integers, weights: Floats) -> None:
        """Count samples, one column per class or label, in place."""
        n_columns, n_bins = self.counts.shape
        bins = ((log_odds + (_LIMIT + _WIDTH / 2)) * (1 / _WIDTH)).astype(np.int64)
        if n_columns == 1:
            cells, each = bins.ravel(), weights
        else:
            cells, each = (bins + n_bins * np.arange(n_columns)).ravel(), np.repeat(weights, n_columns)
        np.add.at(self.counts.reshape(-1), cells, each)
        np.add.at(self.positives.reshape(-1), cells, each * outcomes.ravel())

    def copy(self) -> RunningCalibration:
        """Return counts that can change without these."""
        return RunningCalibration(self.counts.copy(), self.positives.copy(), self.slopes, self.intercepts)

    def renew(self, kept: float) -> RunningCalibration:
        """Return lines after steps of Newton's method towards the largest likelihood, and recent counts."""
        slopes, intercepts = self.slopes, self.intercepts
        for _ in range(_STEPS):
            slopes, intercepts = self._improve(slopes, intercepts)
        if not (np.isfinite(slopes).all() and np.isfinite(intercepts).all()):
            raise ValueError(
                f"the calibration of the stream has counts up to {self.counts.max():g}, too large for finite lines: "
                "divide the sample weights by their mean, and train a new model"
            )
        share = kept * _RECENT
        return RunningCalibration(share * self.counts, share * self.positives, slopes, intercepts)

    def _improve(self, slopes: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
        """Return lines after a step of Newton's method."""
        chances = expit(slopes[:, None] * _CENTRES + intercepts[:, None])
        expected = self.counts * chances
        # Sums of 1, z and z^2 over the bins, z being their log-odds.
        across, along = ((expected - self.positives) @ _FIRST_POWERS).T
        last, mixed, first = ((expected * (1.0 - chances)) @ _POWERS).T
        first, last, along, across = first + 1.0, last + 1.0, along + slopes - 1.0, across + intercepts
        size = first * last - mixed**2
        slopes = slopes - _limit_step((last * along - mixed * across) / size)
        return np.maximum(slopes, _FLATTEST), intercepts - _limit_step((first * across - mixed * along) / size)


def _limit_step(step: Floats) -> Floats:
    return np.minimum(np.maximum(step, -_LONGEST_STEP), _LONGEST_STEP)


def limit_log_odds(probabilities: Floats) -> Floats:
    """Return the log-odds of probabilities, between -30 and 30.

    Examples
    --------
    >>> limit_log_odds(np.array([0.0, 0.5, 1.0])).round(1)
    array([-30. ,   0. ,  29.9])
    """
    chances = np.minimum(np.maximum(probabilities, _SMALLEST), _LARGEST)
    return np.maximum(np.log(chances / (1.0 - chances)), -_LIMIT)
