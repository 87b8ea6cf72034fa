"""Extrapolate the measure from the fold models to the final model, which is trained on all samples.

Out-of-fold scores come from models trained on a part of the samples, four fifths of them by default. With more than one
rung, the growth of the measure is known: one minus the measure shrinks like a power of the number of samples, and the
exponent is estimated from the last two rungs. Where a time budget ends the rungs early, all samples may be many times
those of the last rung: the measure is then extrapolated a part of the way, and the interval extends from no growth at
all to growth all the way.

With a single rung, training scores show what is left to learn: models are as much too good on the samples that they
were trained on as they are too poor, on new samples, beside a model of infinitely many (Akaike 1974). The estimate
stays that of the fold models, and the interval extends to the growth that this allows. Models that memorise their
samples grow less.

References
----------
Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on Automatic Control 19(6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise.decisions.design_effect import Thinnable

Curve = list[tuple[float, float]]  # numbers of samples that models were trained with, and their measure

_STEEPEST = 1.0  # exponent
_FARTHEST = 4.0  # ratio of numbers of samples up to which the measure is extrapolated, the growth from rung to rung


@stored_fields(version=2)
@dataclass(frozen=True)
class Extrapolation:
    """Extrapolates an out-of-fold measure to models of all samples.

    Parameters
    ----------
    left : float
        Expected ratio of one minus the measure with all samples to that of the fold models.
    left_at_best : float
        The same ratio if the measure grows as fast as possible.
    left_at_worst : float
        The same ratio if the measure grows least.

    Examples
    --------
    >>> round(Extrapolation(0.9)(0.8), 3)
    0.82
    >>> low, high = Extrapolation(1.0, 0.8).interval(0.7, 0.9)
    >>> round(low, 3), round(high, 3)
    (0.7, 0.92)
    """

    left: float = 1.0
    left_at_best: float = 1.0
    left_at_worst: float = 0.0

    def __call__(self, value: float) -> float:
        """Return the measure that is expected with all samples."""
        return 1.0 - self.left * (1.0 - value)

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval that is expected with all samples."""
        return 1.0 - max(self.left, self.left_at_worst) * (1.0 - low), 1.0 - min(self.left, self.left_at_best) * (
            1.0 - high
        )


def extrapolate(curves: Sequence[Curve], n_samples: int, guessed: bool) -> Extrapolation:
    """Return the extrapolation from the samples that models were trained on to all samples.

    Parameters
    ----------
    curves : sequence of list
        The learning curve of each model.
    n_samples : int
        Number of samples of the final model.
    guessed : bool
        Whether intervals allow for the fastest growth where a single rung shows none.
    """
    growing = _select_growing(curves)
    learnt = max(curve[-1][0] for curve in growing or curves)
    if not growing:
        return Extrapolation(left_at_best=min(1.0, learnt / n_samples) ** _STEEPEST if guessed else 1.0)
    exponent = float(np.mean([_exponent(*curve[-2:]) for curve in growing]))
    near, far = (min(1.0, ratio**exponent) for ratio in (max(learnt / n_samples, 1.0 / _FARTHEST), learnt / n_samples))
    return Extrapolation(near) if near == far else Extrapolation(near, left_at_best=far, left_at_worst=1.0)


def shows_growth(curves: Sequence[Curve]) -> bool:
    """Return whether a learning curve has more than one rung."""
    return bool(_select_growing(curves))


def _select_growing(curves: Sequence[Curve]) -> list[Curve]:
    return [curve for curve in curves if len(curve) > 1]


def bound_growth(trained: float, unseen: float, share: float) -> Extrapolation:
    """Return the extrapolation whose interval extends to the growth that training scores allow.

    Parameters
    ----------
    trained, unseen : float
        The measure of the fold models, of samples that they were trained on and of the same samples out of fold.
    share : float
        Samples that the fold models were trained on, as a share of those of the final model.

    Examples
    --------
    >>> low, high = bound_growth(trained=0.9, unseen=0.7, share=0.8).interval(0.65, 0.75)
    >>> round(low, 3), round(high, 3)
    (0.65, 0.767)
    """
    left_to_learn = 0.5 * max(0.0, trained - unseen)
    grown = left_to_learn * max(0.0, 1.0 - share)
    return Extrapolation(left_at_best=1.0 - grown / (1.0 - unseen) if unseen < 1.0 else 1.0)


@stored_fields(version=1)
class FinalPosterior(NamedTuple):
    """The posterior of the final model's measure, from that of the fold models.

    Attributes
    ----------
    of_folds : ConfusionPosterior, LabelPosterior or another posterior
        The posterior of the fold models' measure.
    extrapolation : Extrapolation
        Extrapolates from the fold models to the final model.
    """

    of_folds: Thinnable
    extrapolation: Extrapolation

    @property
    def value(self) -> float:
        """The measure that is expected of the final model."""
        return self.extrapolation(self.of_folds.value)

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return self.of_folds.n_samples

    def interval(self, confidence: float = 0.9, n_samples: int | None = None) -> tuple[float, float]:
        """Return an interval for the final model's measure of new samples.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_samples : int, optional
            Number of new samples; by default infinitely many.
        """
        return self.extrapolation.interval(*self.of_folds.interval(confidence, n_samples))

    def thin(self, factor: float) -> FinalPosterior:
        """Return the posterior of ``factor`` times fewer samples like these."""
        return self._replace(of_folds=self.of_folds.thin(factor))


def _exponent(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the exponent by which one minus the measure shrank between two rungs."""
    (few, low), (many, high) = before, after
    if not low < high < 1.0 or many <= few:
        return 0.0
    return float(np.clip(np.log((1.0 - low) / (1.0 - high)) / np.log(many / few), 0.0, _STEEPEST))
