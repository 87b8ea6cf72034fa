r"""Test whether the difference of two shares is below a bound, exactly.

Of two groups, ``kind[i]`` of ``among[i]`` samples are of a kind, independently and with probability :math:`p_i`. The
hypothesis to reject is :math:`p_1 - p_2 \ge d`. The statistic is the observed difference; since its distribution
falls with :math:`p_1` and rises with :math:`p_2`, the hypothesis is hardest to reject where :math:`p_1 = p_2 + d`. Of
these pairs, only those in a confidence interval of :math:`p_2` at a small part of the level are considered, and that
part is added to the p-value (Berger and Boos 1994). The interval is cut into pieces; within each, both probabilities
are replaced by the ends that make the observed difference most likely, so that no value between grid points is missed.

The test is about as powerful as the normal approximation, and its level holds for any number of samples.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, gammaln, xlog1py, xlogy
from scipy.stats import binom

from metricwise._typing import Floats

_PART_FOR_NUISANCE = 0.05  # of the level
_PIECES = 64
_NEGLIGIBLE = 1e-9  # probability of the counts at either end that are not summed but added to the p-value


def difference_p_value(kind: tuple[float, float], among: tuple[float, float], bound: float, level: float) -> float:
    """Return the p-value of the hypothesis that the first share exceeds the second by the bound or more.

    Parameters
    ----------
    kind, among : pairs of float
        Samples of the kind, and of the wider kind, in the two groups.
    bound : float
        The bound on the difference.
    level : float
        The level that the p-value is compared with: a twentieth of it is spent on the interval of the second share, so
        p-values are valid only for the level that they are computed for.

    Examples
    --------
    >>> difference_p_value((80, 82), (100, 100), 0.05, level=0.05) < 0.3
    True
    >>> difference_p_value((800, 820), (1000, 1000), 0.05, level=0.05) < 0.01
    True
    """
    if min(among) <= 0 or kind[0] / among[0] - kind[1] / among[1] >= bound:
        return 1.0
    beta = _PART_FOR_NUISANCE * level
    low, high = _interval(kind[1], among[1], beta)
    low, high = min(low, 1.0 - bound), min(high, 1.0 - bound)
    ends = np.linspace(low, high, _PIECES + 1)
    first, second = ends[:-1] + bound, ends[1:]
    worst = float(np.max(_probability_below(kind, among, first, second)))
    return min(1.0, worst + beta + 4.0 * _NEGLIGIBLE)


def difference_bound(kind: tuple[float, float], among: tuple[float, float], level: float) -> float:
    """Return the least bound, to a thousandth, that the difference of two shares is known to keep at a level.

    Examples
    --------
    >>> difference_bound((80, 80), (100, 100), 0.05) < difference_bound((8, 8), (10, 10), 0.05)
    True
    """
    low, high = 0, 1000
    while high - low > 1:
        middle = (low + high) // 2
        is_kept = difference_p_value(kind, among, middle / 1000, level) <= level
        low, high = (low, middle) if is_kept else (middle, high)
    return high / 1000


def _interval(kind: float, among: float, beta: float) -> tuple[float, float]:
    """Return the interval of a share that holds with probability 1 - beta (Clopper and Pearson 1934)."""
    rest = among - kind
    low = float(betaincinv(kind, rest + 1.0, beta / 2.0)) if kind > 0 else 0.0
    high = float(betaincinv(kind + 1.0, rest, 1.0 - beta / 2.0)) if rest > 0 else 1.0
    return low, high


def _probability_below(kind: tuple[float, float], among: tuple[float, float], first: Floats, second: Floats) -> Floats:
    """Return the probabilities of a difference as small as observed, for pairs of shares."""
    n_first, n_second = among
    counts, probabilities = _likely_counts(n_first, first)
    others, of_others = _likely_counts(n_second, second)
    # x / n_first - y / n_second <= observed, in whole numbers: y >= least.
    observed = kind[0] * n_second - kind[1] * n_first
    least = np.ceil(np.round((counts * n_second - observed) / n_first, 9))
    at_least = np.column_stack([np.cumsum(of_others[:, ::-1], axis=1)[:, ::-1], np.zeros(second.size)]) + _NEGLIGIBLE
    place = np.clip(least - others[0], 0, others.size).astype(np.int64)
    chances = np.where(least <= others[0], 1.0, at_least[:, place])
    values: Floats = np.sum(probabilities * chances, axis=1)
    return values


def _likely_counts(n_samples: float, shares: Floats) -> tuple[Floats, Floats]:
    """Return the counts that are not negligible for any of the shares, and their probabilities (one row per share)."""
    low = max(0.0, float(binom.ppf(_NEGLIGIBLE, n_samples, float(shares.min()))) - 1.0)
    high = min(n_samples, float(binom.isf(_NEGLIGIBLE, n_samples, float(shares.max()))))
    counts = np.arange(low, high + 1.0)
    ways = gammaln(n_samples + 1.0) - gammaln(counts + 1.0) - gammaln(n_samples - counts + 1.0)
    probabilities: Floats = np.exp(
        ways + xlogy(counts, shares[:, None]) + xlog1py(n_samples - counts, -shares[:, None])
    )
    return counts, probabilities
