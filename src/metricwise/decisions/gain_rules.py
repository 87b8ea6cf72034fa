"""Rules of greatest expected gain: of a sample with probabilities p, the class j of greatest sum_i p_i G_ij.

For a matrix G of gains (true class, predicted class) no other rule has a greater sum of G times the confusion matrix:
this is the linear subproblem that measures of the confusion matrix are maximised by (Narasimhan et al. 2015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers
from metricwise.decisions.decision import Calibration, Decision, Probe

_DIGITS = 9  # decimal places of scores: rounding errors of products must not change the draw of a sample


class GainRule(NamedTuple):
    """A matrix of gains, and the confusion matrix (of shares) that its decisions have."""

    gains: Floats
    matrix: Floats


@dataclass(frozen=True)
class KnownSamples:
    """Samples on which rules are evaluated.

    Attributes
    ----------
    chances : array of shape (n_samples, n_classes)
        Probabilities of the classes, by which rules decide.
    truth : array of shape (n_samples, n_classes)
        How much of a sample counts as of each class, times its weight; all add up to one. These are true labels,
        probabilities, or a mean of both.
    """

    chances: Floats
    truth: Floats

    @classmethod
    def of(cls, chances: Floats, truth: Floats, weights: Floats) -> KnownSamples:
        """Return samples with weights."""
        return cls(chances, truth * (weights / weights.sum())[:, None])

    @property
    def shares(self) -> Floats:
        """The shares of the classes."""
        return np.asarray(self.truth.sum(axis=0))

    def respond(self, gains: Floats) -> GainRule:
        """Return the rule of greatest expected gain.

        Examples
        --------
        >>> import numpy as np
        >>> chances = np.array([[0.6, 0.4], [0.8, 0.2]])
        >>> KnownSamples.of(chances, chances, np.ones(2)).respond(np.diag([1.0, 2.0])).matrix
        array([[0.4, 0.3],
               [0.1, 0.2]])
        """
        return GainRule(gains, self.count(np.argmax(self.chances @ gains, axis=1)))

    def count(self, predicted: Integers) -> Floats:
        """Return the confusion matrix of predicted classes."""
        n_samples, n_classes = self.chances.shape
        columns = csr_array((np.ones(n_samples), predicted, np.arange(n_samples + 1)), (n_samples, n_classes))
        return np.asarray((columns.T @ self.truth).T)


def expected_gains(calibrated: Floats, gains: Floats) -> Floats:
    """Return the expected gain of predicting each class, given log-probabilities up to a constant per sample."""
    return np.asarray(softmax(calibrated, axis=1) @ gains)


@stored_fields(version=1)
@dataclass(frozen=True)
class GainDecision(Decision):
    """Predicts the class of greatest expected gain under calibrated probabilities.

    Several matrices of gains are a randomised mixture: every sample is decided by one of them. Which one follows from
    its scores and the seed, so that a sample has the same label in every batch.

    Attributes
    ----------
    gains : array of shape (n_rules, n_classes, n_classes)
        One row per true class, one column per predicted class.
    shares : array of shape (n_rules,)
        Probabilities of the matrices.
    seed : int
        Seeds the draw.
    shortfall : float
        By how much the measure of the best single rule falls short of that of the mixture, on out-of-fold samples.
    floor : array of shape (n_classes,) or None
        What scores are raised to before they are calibrated; None if they are not.
    """

    gains: Floats | None = None
    shares: Floats | None = None
    seed: int = 0
    shortfall: float = 0.0
    floor: Floats | None = None

    adapts_to_priors: ClassVar[bool] = False  # the gains were chosen for the shares of training

    def calibrate(self, calibration: Calibration) -> Decision:
        """Return the decision of a model whose probabilities a calibration makes of scores."""
        return replace(self, link=calibration)

    def shift_to_final(self, probe: Probe) -> Decision:
        """Return the decision unchanged, as other decisions about several classes stay."""
        return self

    def margins(self, scores: Floats) -> Floats:
        """Return the expected gain of predicting each class, by the rule that is drawn for each sample."""
        assert self.gains is not None and self.shares is not None
        raised = scores if self.floor is None else np.maximum(scores, self.floor)
        calibrated = self.calibration(raised) - self.threshold
        if len(self.gains) == 1:
            return expected_gains(calibrated, self.gains[0])
        drawn = draw_rules(scores, self.shares, self.seed)
        margins: Floats = np.empty_like(calibrated)
        for number, gains in enumerate(self.gains):
            margins[drawn == number] = expected_gains(calibrated[drawn == number], gains)
        return margins


def draw_rules(scores: Floats, shares: Floats, seed: int) -> Integers:
    """Return the number of a rule for each sample, drawn by shares; equal scores have the same.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.random.default_rng(0).normal(size=(10_000, 3))
    >>> drawn = draw_rules(scores, np.array([0.25, 0.75]), seed=1)
    >>> bool(0.24 < np.mean(drawn == 0) < 0.26), bool(np.all(drawn[:10] == draw_rules(scores[:10], [0.25, 0.75], 1)))
    (True, True)
    """
    rounded = np.round(scores, _DIGITS) + 0.0  # without a negative zero
    mixed = np.full(len(scores), np.uint64(seed))
    for column in rounded.T:
        mixed = _mix(mixed ^ np.ascontiguousarray(column).view(np.uint64))
    uniform = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
    last = np.asarray(shares).size - 1
    drawn: Any = np.minimum(np.searchsorted(np.cumsum(shares), uniform, side="right"), last)
    return np.asarray(drawn, dtype=np.int64)


def _mix(values: Any) -> Any:
    """Return the finalised hash of 64-bit numbers (splitmix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
