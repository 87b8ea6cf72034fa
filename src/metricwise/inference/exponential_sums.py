"""One over a number as a short sum of exponentials, with a proven bound of the error.

The expected F-measure needs E[T / (a S + c)] for sums S of independent labels. Under the integral

    1 / x = integral of exp(-x v) over v > 0

the expectation becomes a product over the labels, for every v. With v = exp(u), the trapezoidal rule of step h
is very accurate: by Poisson's summation formula its relative error is, for any x, at most

    2 * (|Gamma(1 + 2 pi i / h)| + |Gamma(1 + 4 pi i / h)| + ...),    |Gamma(1 + i y)|^2 = pi y / sinh(pi y),

which is below 1e-16 for h = 1/4. Two tails are cut. Large v matter least for large x, so the part that is left out is
largest at the smallest x, one. For small v the exponential is nearly a straight line: infinitely many nodes are merged
into one at their centre of gravity, which costs at most x^3 / 2 times their second central moment, relative to 1 / x.
The number of nodes grows with the logarithm of the largest x only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats


class ExponentialSum(NamedTuple):
    """1 / x is the sum of ``weights`` times exp(-x ``nodes``), up to a factor of at most 1 +- ``error``.

    Nodes are in descending order.
    """

    nodes: Floats
    weights: Floats
    error: float


@lru_cache(maxsize=64)
def approximate_reciprocal(largest: float, tolerance: float) -> ExponentialSum:
    """Return a sum of exponentials for 1 / x, for all x from 1 to ``largest``, with an error of at most ``tolerance``.

    Parameters
    ----------
    largest : float
        Upper end of the range of x, at least one.
    tolerance : float
        Largest relative error, between 1e-16 and 0.1.

    Examples
    --------
    >>> import numpy as np
    >>> rule = approximate_reciprocal(1000.0, 1e-3)
    >>> rule.nodes.size
    13
    >>> bool(abs(rule.weights @ np.exp(-37.0 * rule.nodes) * 37.0 - 1.0) < rule.error < 1e-3)
    True
    """
    part = tolerance / 3.0
    step = 1.5
    while (spacing := _spacing_error(step)) > part:
        step *= 0.99
    # All moments of the merged nodes are geometric series, in units of the smallest node that is kept.
    ratio = math.exp(-step)
    mass = step * ratio / (1.0 - ratio)
    centre = ratio / (1.0 + ratio)
    spread = step * ratio**3 / (1.0 - ratio**3) - mass * centre**2
    smallest = (2.0 * part / spread) ** (1.0 / 3.0) / largest
    merging = 0.5 * spread * (smallest * largest) ** 3
    # The tail on the right is summed up to v = 800, beyond which exp(-v) underflows.
    ladder = smallest * np.exp(step * np.arange(math.ceil(math.log(800.0 / smallest) / step)))
    tails = np.cumsum((step * ladder * np.exp(-ladder))[::-1])[::-1]
    kept = int(np.argmax((tails <= part) & (ladder > 1.0)))
    nodes = np.append(ladder[:kept][::-1], smallest * centre)
    weights = np.append(step * ladder[:kept][::-1], smallest * mass)
    nodes.flags.writeable = weights.flags.writeable = False
    return ExponentialSum(nodes, weights, float(spacing + merging + tails[kept]))


def _spacing_error(step: float) -> float:
    """Return the relative error of the trapezoidal rule with infinitely many nodes."""
    total = 0.0
    for harmonic in range(1, 9):  # each is below 0.002 times the one before, for steps of at most 1.5
        y = 2.0 * math.pi * harmonic / step
        total += 2.0 * math.sqrt(2.0 * math.pi * y / -math.expm1(-2.0 * math.pi * y)) * math.exp(-0.5 * math.pi * y)
    return total
