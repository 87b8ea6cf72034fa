"""The design effect: how many times wider than for independent samples the variance of a measure is with groups.

Samples of a group are alike, so that 200 groups of 30 tell less than 6000 independent samples. The variance of the
measure if whole groups are drawn, relative to that if samples are drawn, is the design effect (Kish 1965); the samples
are worth their number divided by it. Two things are added to the ratio that resamples show:

- mistakes of whole groups that the given ones happen not to contain: half a mistake that all samples of a group share;
- few groups: the quantiles of Student's distribution.

Of two classes, a thinned posterior is that of one model, without a spread between the models of folds. A few folds of
whole groups say little about that spread, so that its prior would decide: in simulations it made intervals too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, Self

import numpy as np
from scipy.special import stdtrit

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers

_MOST_RESAMPLES, _FEWEST_RESAMPLES = 300, 50
_MOST_DRAWS = 20_000_000  # samples times resamples
_UNSEEN = 0.5  # mistakes that a whole group shares
_LEVEL = 0.95  # the end of an interval of 90 %
_TINY = 1e-12  # weights below it would only make quotients overflow


class Thinnable(Protocol):
    """A posterior that can be that of fewer samples."""

    @property
    def value(self) -> float:
        """The measure."""

    @property
    def n_samples(self) -> float:
        """The weight of the samples."""

    def interval(self, confidence: float = 0.9, n_samples: int | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new samples."""

    def thin(self, factor: float) -> Self:
        """Return the posterior of ``factor`` times fewer samples like these."""


@stored_fields(version=1)
class GroupedPosterior(NamedTuple):
    """The posterior of a measure from samples in groups.

    Attributes
    ----------
    independent : TablePosterior, RankingPosterior or another posterior
        The posterior of as many independent samples as those in groups are worth.
    design_effect : float
        How many samples in groups are worth one independent sample.
    value : float
        The measure of all samples.
    """

    independent: Thinnable
    design_effect: float
    value: float

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return self.design_effect * self.independent.n_samples

    def interval(self, confidence: float = 0.9, n_samples: int | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new samples, in groups like the given ones.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_samples : int, optional
            Number of new samples; by default infinitely many.
        """
        worth = None if n_samples is None else max(1, round(n_samples / self.design_effect))
        low, high = self.independent.interval(confidence, worth)
        return min(low, self.value), max(high, self.value)

    def thin(self, factor: float) -> GroupedPosterior:
        """Return the posterior of ``factor`` times fewer samples like these."""
        return self._replace(independent=self.independent.thin(factor))


def estimate_design_effect(
    value: Callable[[Floats], float], weights: Floats, groups: Integers, codes: Integers, seed: int = 0
) -> float:
    """Return the design effect of groups on a measure, at least 1.

    Parameters
    ----------
    value : callable
        The measure of the samples, given their weights.
    weights : array
        Weights of the samples.
    groups : array of int
        The group of each sample.
    codes : array of int
        The class of each sample.
    seed : int
        Seeds the resamples.

    Examples
    --------
    >>> import numpy as np
    >>> groups = np.repeat(np.arange(100), 20)
    >>> right = np.random.default_rng(0).uniform(size=100)[groups] < 0.7  # of a group, all or none
    >>> accuracy = lambda weights: float(np.average(right, weights=weights))
    >>> 15.0 < estimate_design_effect(accuracy, np.ones(2000), groups, groups % 2) < 25.0
    True
    """
    sizes = np.bincount(groups, weights)
    whole = float(np.sum(sizes**2) / np.sum(sizes))  # if all samples of a group are alike
    n_resamples = int(np.clip(_MOST_DRAWS / weights.size, _FEWEST_RESAMPLES, _MOST_RESAMPLES))
    random = np.random.default_rng((seed, 17))
    by_sample = _variance(value, (random.gamma(weights) for _ in range(n_resamples)))
    by_group = _variance(value, (weights * random.exponential(size=sizes.size)[groups] for _ in range(n_resamples)))
    found = by_group / by_sample if by_sample > 0.0 else whole
    mistakes = max(0.0, 1.0 - value(weights)) * float(np.bincount(codes, weights)[np.unique(codes)].min())
    effect = (mistakes * found + _UNSEEN * whole) / (mistakes + _UNSEEN)
    return max(1.0, effect * small_number_factor(groups, codes))


def _variance(value: Callable[[Floats], float], resamples: Iterable[Floats]) -> float:
    values = [value(np.where(weights > _TINY, weights, 0.0)) for weights in resamples]
    return float(np.nanvar(values))


def small_number_factor(groups: Integers, codes: Integers) -> float:
    """Return how much wider a squared interval is for the groups of the class that has fewest."""
    count = min(np.unique(groups[codes == code]).size for code in np.unique(codes))
    freedom = max(count - 1.0, 1.0)
    ratio = float(stdtrit(freedom, _LEVEL) / stdtrit(np.inf, _LEVEL))
    return ratio**2 * (freedom + 1.0) / freedom
