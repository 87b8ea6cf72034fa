r"""Bets against a guarantee: tests and intervals that stay valid however often one looks.

The method is that of Waudby-Smith and Ramdas (2024). Outcomes are kept or failed, and the guarantee states that each is
kept with probability q or more, whatever happened before. A bet multiplies its stake by :math:`1 + \lambda (q - x)`,
for x = 1 if the outcome is kept and 0 if not, with :math:`0 \le \lambda < 1 / (1 - q)`. Under the guarantee no bet
gains on average, so neither does any mixture of bets: the wealth is a supermartingale that starts at 1, and by Ville's
inequality it ever reaches :math:`1 / \alpha` with probability at most :math:`\alpha`.

The mixture is over sizes and over starting times. Six sizes correspond to six drops of the share, from large to small,
so that one of them is nearly right for whatever drop there is. Of each, a part of the capital starts at every outcome:
bets that lost while the guarantee was kept do not delay the alarm when it no longer is. After n outcomes, a share of
:math:`1 / (1 + \log(n + 1))` of the capital has not been staked yet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, logit

from metricwise._typing import Floats

# By how much the log-odds of a kept outcome drop in the alternatives that the bets are best for.
_DROPS = np.array([1.6, 0.8, 0.4, 0.2, 0.1, 0.05])
# Exponential tilts of the intervals: the best is near sqrt(2 log(1 / alpha) / variance of the sum) of n outcomes.
_TILTS = 4.0 * 0.5 ** np.arange(12)
_RICHEST = 1e200  # far above any 1 / alpha; keeps products finite
LEAST_ALPHA = 1e-12  # of all guarantees together: 1 - alpha keeps digits when it is divided among guarantees and cuts
MOST_OUTCOMES = 2**53  # that are counted exactly in double precision
_HALVINGS = 50
N_BETS = _DROPS.size


def payoffs(required: float) -> Floats:
    """Return what bets against a guarantee multiply their stakes by: row 0 if an outcome fails, row 1 if it is kept.

    In exact arithmetic no bet gains on average: the rounding is downward.

    Parameters
    ----------
    required : float
        The guaranteed probability that an outcome is kept; at 0 or 1 there is nothing to bet on.

    Examples
    --------
    >>> failed, kept = payoffs(0.9)
    >>> bool(np.all(0.9 * kept + 0.1 * failed <= 1.0))
    True
    """
    if not 0.0 < required < 1.0:
        return np.ones((2, N_BETS))
    dropped = logit(required) - _DROPS
    # Ratios of the alternative to the guarantee; expit is exact to a few units in the last place on both sides.
    factors: Floats = np.stack([expit(-dropped) / (1.0 - required), expit(dropped) / required])
    return factors * (1.0 - 16.0 * np.finfo(np.float64).eps)


def unstaked_share(n_outcomes: int) -> float:
    """Return the share of the capital that is not staked after a number of outcomes.

    Examples
    --------
    >>> unstaked_share(0), round(unstaked_share(1000), 3)
    (1.0, 0.126)
    """
    return 1.0 / (1.0 + math.log(n_outcomes + 1.0))


def check_countable(n_seen: int, n_more: int) -> None:
    """Raise a ValueError if more outcomes are too many to be counted with those seen."""
    if n_seen + n_more > MOST_OUTCOMES:
        raise ValueError(
            f"{n_more} outcomes after {n_seen} exceed the {MOST_OUTCOMES:g} that a monitor counts: make a new monitor"
        )


def new_stake(n_outcomes: int) -> float:
    """Return what every bet gets before the next outcome; all bets together get at most what becomes staked."""
    released = unstaked_share(n_outcomes) - unstaked_share(n_outcomes + 1)
    return math.nextafter(released / N_BETS, 0.0)


def settle(stakes: Any, stake: Any, factors: Any) -> Any:
    """Return the stakes of bets after an outcome, which each have got a new stake before it."""
    return np.minimum((stakes + stake) * factors, _RICHEST)


def wealth(stakes: Floats, n_outcomes: int) -> Any:
    """Return the capital after a number of outcomes: the stakes of all bets (last axis), and what is not staked."""
    return stakes.sum(axis=-1) + unstaked_share(n_outcomes)


def lower_limit(count: Any, n_outcomes: Any, alpha: float) -> Floats:
    r"""Return a lower limit of the average probability of an event, valid at all numbers of outcomes at once.

    With probabilities :math:`p_i` of outcomes :math:`x_i`, each given those before,
    :math:`\prod_i e^{d x_i} / (1 - p_i + p_i e^d)` is a martingale for every tilt d. Its denominator is at most
    :math:`(1 - p + p e^d)^n` for their average p, as the logarithm is concave. A mixture over tilts reaches
    :math:`1 / \alpha` with probability at most :math:`\alpha`, so the least p at which it is below is a limit, whether
    or not the probabilities change.

    Parameters
    ----------
    count, n_outcomes : int or array
        How often the event has been seen, and among how many outcomes.
    alpha : float
        Probability that the limit is ever above the average.

    Examples
    --------
    >>> lower_limit([90, 900], [100, 1000], 0.05).round(3).tolist()
    [0.779, 0.866]
    """
    s, n = np.broadcast_arrays(np.asarray(count, np.float64), np.asarray(n_outcomes, np.float64))
    low, high = np.zeros(s.shape), s / np.maximum(n, 1.0)
    wanted = math.log(len(_TILTS) / alpha)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        growth = _TILTS * s[..., None] - n[..., None] * np.log1p(middle[..., None] * np.expm1(_TILTS))
        is_excluded = np.logaddexp.reduce(growth, axis=-1) >= wanted
        low, high = np.where(is_excluded, middle, low), np.where(is_excluded, high, middle)
    return np.asarray(low)


def interval(count: Any, n_outcomes: Any, alpha: float) -> tuple[Floats, Floats]:
    """Return limits of the average probability of an event that hold at all numbers of outcomes at once.

    Parameters
    ----------
    count, n_outcomes : int or array
        How often the event has been seen, and among how many outcomes.
    alpha : float
        Probability that the average is ever outside.

    Examples
    --------
    >>> low, high = interval(900, 1000, 0.05)
    >>> round(float(low), 3), round(float(high), 3)
    (0.864, 0.93)
    """
    rest = np.asarray(n_outcomes) - np.asarray(count)
    return lower_limit(count, n_outcomes, alpha / 2.0), 1.0 - lower_limit(rest, n_outcomes, alpha / 2.0)
