"""Extrapolate the measure from the fold models to the final model, which is trained on all samples.

Out-of-fold scores come from models trained on a part of the samples, four fifths of them by default. With more than one
rung, the growth of the measure is known: one minus the measure shrinks like a power of the number of samples, and the
exponent is estimated from the last two rungs. Where a time budget ends the rungs early, all samples may be many times
those of the last rung: the measure is then extrapolated a part of the way, and the interval extends from no growth at
all to growth all the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metricwise._state import stored_fields

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
    growing = [curve for curve in curves if len(curve) > 1]
    learnt = max(curve[-1][0] for curve in growing or curves)
    if not growing:
        return Extrapolation(left_at_best=min(1.0, learnt / n_samples) ** _STEEPEST if guessed else 1.0)
    exponent = float(np.mean([_exponent(*curve[-2:]) for curve in growing]))
    near, far = (min(1.0, ratio**exponent) for ratio in (max(learnt / n_samples, 1.0 / _FARTHEST), learnt / n_samples))
    return Extrapolation(near) if near == far else Extrapolation(near, left_at_best=far, left_at_worst=1.0)


def _exponent(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the exponent by which one minus the measure shrank between two rungs."""
    (few, low), (many, high) = before, after
    if not low < high < 1.0 or many <= few:
        return 0.0
    return float(np.clip(np.log((1.0 - low) / (1.0 - high)) / np.log(many / few), 0.0, _STEEPEST))
