"""What is gained by training on all samples, judged by what more samples gained before.

Samples out of fold are scored by models that have learnt from a part of the samples, four fifths of them by default;
the model that is kept has learnt from all. Where there was more than one rung, they show how the measure grows:
what is missing to one shrinks like a power of the number of samples, and the power is that of the last two rungs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metricwise._state import stored_fields

Curve = list[tuple[float, float]]  # numbers of samples that models were trained with, and their measure

_STEEPEST = 1.0  # exponent


@stored_fields(version=1)
@dataclass(frozen=True)
class Extrapolation:
    """How a measure of samples out of fold is extrapolated to models of all samples.

    Parameters
    ----------
    left : float
        The share of what is missing to one that will probably be left.
    left_at_best : float
        The share that will be left if the measure grows as fast as it may.

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

    def __call__(self, value: float) -> float:
        """Return a measure as it will probably be with all samples."""
        return 1.0 - self.left * (1.0 - value)

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """Return an interval as it will be with all samples."""
        return self(low), 1.0 - min(self.left, self.left_at_best) * (1.0 - high)


def extrapolate(curves: Sequence[Curve], n_samples: int, guessed: bool) -> Extrapolation:
    """Return how the measure will grow from the samples that models have learnt from to all samples.

    Parameters
    ----------
    curves : sequence of list
        The learning curve of each model.
    n_samples : int
        How many samples the model that is kept learns from.
    guessed : bool
        Whether intervals leave room for the fastest growth where a single rung has shown none.
    """
    growing = [curve for curve in curves if len(curve) > 1]
    learnt = max(curve[-1][0] for curve in growing or curves)
    if not growing:
        return Extrapolation(left_at_best=min(1.0, learnt / n_samples) ** _STEEPEST if guessed else 1.0)
    exponent = float(np.mean([_exponent(*curve[-2:]) for curve in growing]))
    return Extrapolation(min(1.0, (learnt / n_samples) ** exponent))


def _exponent(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the power of the samples by which what is missing to one shrank between two rungs."""
    (few, low), (many, high) = before, after
    if not low < high < 1.0 or many <= few:
        return 0.0
    return float(np.clip(np.log((1.0 - low) / (1.0 - high)) / np.log(many / few), 0.0, _STEEPEST))
