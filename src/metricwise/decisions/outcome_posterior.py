"""Intervals for a total over new samples, such as a profit, from what each out-of-fold sample earns.

Amounts differ from sample to sample, so that no contingency table says how far a total may move. The samples are drawn
anew instead (a Bayesian bootstrap, Rubin 1981). Deviations from the estimate are then widened twice: for new samples
that are few themselves, and, by Student's quantile, for a spread that is known from few samples. A spread is known the
worse the heavier the tails are: n samples of kurtosis k count as 2 n / (k - 1) degrees of freedom, which makes the
variance of the estimated variance right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.decisions.intervals import interval_around

_DRAWS = 400
_BLOCK = 1_000_000  # values drawn at a time
_MOST_SAMPLES = 20_000  # of which more are kept as groups of neighbours
_LEVEL = 0.95  # the end of an interval of 90 %
_LEAST_KURTOSIS = 0.1  # above one, which is that of two outcomes that are equally frequent
_TINY = 1e-300


@stored_fields(version=1)
class OutcomePosterior(NamedTuple):
    """What out-of-fold samples earn, and what they would earn by constant decisions.

    Attributes
    ----------
    earned : array of shape (n_samples,)
        What each sample earns by its decision.
    constant : array of shape (n_samples, n_decisions)
        What each would earn if all samples had the same decision.
    weights : array of shape (n_samples,)
        Weights of the samples.
    best, stake : float
        The mean of right decisions, and what a wrong decision loses on average: the scale of `value`.

    Examples
    --------
    >>> import numpy as np
    >>> earned = np.tile([10.0, -2.0, 0.0, 0.0], 100)
    >>> constant = np.column_stack([np.tile([10.0, -2.0, -2.0, -2.0], 100), np.zeros(400)])
    >>> posterior = OutcomePosterior(earned, constant, np.ones(400), best=2.5, stake=3.0)
    >>> low, high = posterior.interval(n_samples=400)
    >>> low < posterior.value < high, round(posterior.savings, 2)
    (True, 1.0)
    """

    earned: Floats
    constant: Floats
    weights: Floats
    best: float
    stake: float

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return float(self.weights.sum())

    @property
    def mean(self) -> float:
        """What a sample earns on average."""
        return float(np.average(self.earned, weights=self.weights))

    @property
    def value(self) -> float:
        """The mean on the scale of a measure: 1 if all decisions are right."""
        return float(self._scale(self.mean))

    @property
    def savings(self) -> float:
        """The gain over the better constant decision, as a share of what that earns or costs; NaN if that is zero."""
        constant = np.average(self.constant, axis=0, weights=self.weights)
        return float(compute_savings(np.array([self.mean]), constant[None])[0])

    def thin(self, factor: float) -> OutcomePosterior:
        """Return the posterior of ``factor`` times fewer samples like these."""
        return self._replace(weights=self.weights / factor)

    def interval(self, confidence: float = 0.9, n_samples: float | None = None) -> tuple[float, float]:
        """Return an interval for the value of new samples; it contains that of the given ones.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_samples : float, optional
            Number of new samples; by default infinitely many.
        """
        drawn = self._widen(self._draw_means()[:, 0], self.mean, n_samples)
        return interval_around(self.value, self._scale(drawn), confidence)

    def savings_interval(self, confidence: float = 0.9, n_samples: float | None = None) -> tuple[float, float]:
        """Return an interval for the savings on new samples.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the savings.
        n_samples : float, optional
            Number of new samples; by default infinitely many.
        """
        means = self._draw_means()
        drawn = compute_savings(means[:, 0], means[:, 1:])
        if np.isnan(self.savings) or np.isnan(drawn).all():
            return np.nan, np.nan
        return interval_around(self.savings, self._widen(drawn, self.savings, n_samples), confidence)

    def _scale(self, mean: Floats | float) -> Floats:
        return np.asarray(1.0 - (self.best - mean) / self.stake)

    def _widen(self, drawn: Floats, centre: float, n_samples: float | None) -> Floats:
        """Return drawn values further from the centre, for finitely many new samples and for tails that are heavy."""
        squares = (self.earned - self.mean) ** 2
        variance = float(np.average(squares, weights=self.weights))
        kurtosis = float(np.average(squares**2, weights=self.weights)) / variance**2 if variance > 0.0 else 1.0
        freedom = max(2.0 * self.n_samples / max(kurtosis - 1.0, _LEAST_KURTOSIS), 1.0)
        student = float(stdtrit(freedom, _LEVEL) / stdtrit(np.inf, _LEVEL))
        new = 0.0 if n_samples is None else self.n_samples / n_samples
        return np.asarray(centre + student * np.sqrt(1.0 + new) * (drawn - centre))

    def _draw_means(self) -> Floats:
        """Return drawn means of what is earned and, in further columns, of the constant decisions."""
        random = np.random.default_rng(0)
        columns = np.column_stack([self.earned, self.constant])
        means = np.empty((_DRAWS, columns.shape[1]))
        step = max(1, _BLOCK // self.earned.size)
        for start in range(0, _DRAWS, step):
            drawn = random.standard_gamma(self.weights, size=(min(step, _DRAWS - start), self.earned.size))
            means[start : start + step] = (drawn @ columns) / np.maximum(drawn.sum(axis=1, keepdims=True), _TINY)
        return means


def compute_savings(earned: Floats, constant: Floats) -> Floats:
    """Return the gain over the best of constant decisions, as a share of what it earns or costs; NaN where that is 0.

    If the better constant decision has a cost, this is 1 - cost / cost of that decision.

    Parameters
    ----------
    earned : array of shape (n,)
        What decisions earn.
    constant : array of shape (n, n_decisions)
        What constant decisions earn.

    Examples
    --------
    >>> import numpy as np
    >>> compute_savings(np.array([-20.0, 15.0]), np.array([[-50.0, -80.0], [10.0, 0.0]]))
    array([0.6, 0.5])
    """
    base = constant.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(base == 0.0, np.nan, (earned - base) / np.abs(base))


def summarize_outcomes(
    earned: Floats, constant: Floats, weights: Floats, best: float, stake: float
) -> OutcomePosterior:
    """Return the posterior of samples; if there are many, those that earn about the same are grouped.

    The samples at both ends, which decide about the spread, stay as they are.
    """
    if earned.size > _MOST_SAMPLES:
        order = np.argsort(earned, kind="stable")
        ends = _MOST_SAMPLES // 4
        inner = np.linspace(ends, earned.size - ends, _MOST_SAMPLES // 2, endpoint=False).astype(np.int64)
        starts = np.concatenate([np.arange(ends), np.unique(inner), np.arange(earned.size - ends, earned.size)])
        sums = np.add.reduceat(weights[order], starts)
        earned, constant = (
            (np.add.reduceat((part.T * weights).T[order], starts, axis=0).T / sums).T for part in (earned, constant)
        )
        weights = sums
    return OutcomePosterior(np.ascontiguousarray(earned), np.ascontiguousarray(constant), weights, best, stake)
