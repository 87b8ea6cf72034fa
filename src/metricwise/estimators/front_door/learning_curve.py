"""What is gained by training on all rows, judged by what more rows gained before.

Rows out of fold are scored by models that have learnt from a part of the rows, four fifths of them by default; the
model that is kept has learnt from all. Where a race had several heats, candidates have shown how the measure grows:
what is missing to one shrinks like a power of the number of rows, and the power is that of the last two heats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise.estimators.front_door.race import Runner

_STEEPEST = 1.0  # exponent


@dataclass(frozen=True)
class Carried:
    """How a measure of rows out of fold is carried on to models of all rows.

    Parameters
    ----------
    left : float
        The share of what is missing to one that will be left.

    Examples
    --------
    >>> round(Carried(0.9)(0.8), 3)
    0.82
    """

    left: float = 1.0

    def __call__(self, value: float) -> float:
        """Return a measure as it will be with all rows."""
        return 1.0 - self.left * (1.0 - value)


def carried_on(runners: list[Runner], n_rows: int) -> Carried:
    """Return how the measure will grow from the rows that the runners' models have learnt from to all rows.

    Parameters
    ----------
    runners : list
        Those that are averaged, and other finalists.
    n_rows : int
        How many rows the model that is kept learns from.
    """
    curves = [one.curve for one in runners if len(one.curve) > 1]
    if not curves:
        return Carried()
    exponent = float(np.mean([_exponent(*curve[-2:]) for curve in curves]))
    learnt = max(curve[-1][0] for curve in curves)
    return Carried(min(1.0, (learnt / n_rows) ** exponent))


def _exponent(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the power of the rows by which what is missing to one shrank between two heats."""
    (few, low), (many, high) = before, after
    if not low < high < 1.0 or many <= few:
        return 0.0
    return float(np.clip(np.log((1.0 - low) / (1.0 - high)) / np.log(many / few), 0.0, _STEEPEST))
