"""Intervals for a ranking measure on new samples, from the scores of samples that the model has not seen.

Three things make such intervals too narrow when positives are few and nearly all of them are ranked well:

- resamples contain no sample that is more extreme than the given ones, so half a sample of the minority class is
  added, ranked anywhere below the worst of its class;
- few samples need the quantiles of Student's distribution, on the scale of log-odds;
- new samples may be few themselves, so they are drawn, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.decisions.intervals import middle_part
from metricwise.measures.base import CountsTopSamples, Measure

_RESAMPLES = 200
_FEWEST_DRAWS = 20  # with both classes, below which quantiles are meaningless
_TINY = 1e-12  # weights below it would only make quotients overflow
_OUTLIER_WEIGHT = 0.5  # samples that the added extreme sample counts for
_SINGLE = 500  # samples of a class that are kept as they are, at either end of its scores
_COARSENING = 1.01  # growth of the groups in which the others are kept


def rarer_weight(positive: Mask, weights: Floats) -> float:
    """Return the weight of the rarer class.

    Examples
    --------
    >>> import numpy as np
    >>> rarer_weight(np.array([True, True, False]), np.array([2.0, 1.0, 1.0]))
    1.0
    """
    positives = float(weights[positive].sum())
    return min(positives, float(weights.sum()) - positives)


@stored_fields(version=1)
class RankingPosterior(NamedTuple):
    """A ranking measure, and the out-of-fold samples that it is estimated from.

    Attributes
    ----------
    measure : Measure
        The ranking measure.
    positive : array of bool
        Whether each sample is positive.
    scores : array
        Scores by models that have not seen the samples.
    weights : array
        Weights of the samples.

    See Also
    --------
    metricwise.decisions.intervals.TablePosterior : The same for measures of a contingency table.
    """

    measure: Measure
    positive: Mask
    scores: Floats
    weights: Floats

    @property
    def n_samples(self) -> float:
        """The weight of all samples."""
        return float(self.weights.sum())

    @property
    def value(self) -> float:
        """The measure of the samples."""
        return float(self.measure.score(self.positive, self.scores, self.weights))

    def thin(self, factor: float) -> RankingPosterior:
        """Return the posterior of ``factor`` times fewer samples like these."""
        measure = self.measure
        if isinstance(measure, CountsTopSamples):  # a number of samples becomes a share of them
            measure = measure.relative_to(float(self.weights[self.positive].sum()))
        return self._replace(measure=measure, weights=self.weights / factor)

    def interval(self, confidence: float = 0.9, n_samples: float | None = None) -> tuple[float, float]:
        """Return an interval for the measure of new samples, by resamples and by Student's distribution.

        Parameters
        ----------
        confidence : float
            Probability that the interval holds the value.
        n_samples : float, optional
            Number of new samples; by default infinitely many.

        Examples
        --------
        >>> import numpy as np
        >>> from metricwise.measures import RocAuc
        >>> truth = np.arange(1000) % 20 == 0
        >>> scores = np.random.default_rng(0).normal(size=1000) + 3.0 * truth
        >>> posterior = RankingPosterior(RocAuc(), truth, scores, np.ones(1000))
        >>> few, many = posterior.interval(n_samples=100), posterior.interval()
        >>> few[0] < many[0] < posterior.value < many[1] < few[1] <= 1.0
        True
        """
        value, total = self.value, float(self.weights.sum())
        share = 1.0 if n_samples is None else 1.0 + total / n_samples  # of the variance of the given samples
        deviation = float(np.nanstd(self._draw_values(None)))
        low, high = _student_interval(
            value, deviation * np.sqrt(share), share, rarer_weight(self.positive, self.weights), confidence
        )
        ratio = None if n_samples is None else n_samples / total
        usual, with_outlier = self._draw_values(ratio), self._draw_values(ratio, self._draw_outliers())
        if min(usual.size, with_outlier.size) >= _FEWEST_DRAWS:
            low = min(low, middle_part(with_outlier, confidence)[0])
            high = max(high, middle_part(usual, confidence)[1])
        return max(low, 0.0), min(high, 1.0)

    @property
    def _positives_are_rare(self) -> bool:
        return bool(self.weights[self.positive].sum() <= 0.5 * self.weights.sum())

    def _draw_values(self, ratio: float | None, outliers: Floats | None = None) -> Floats:
        """Return the measure with weights drawn anew, and drawn again for ``ratio`` times as many new samples.

        Each resample gets one of the ``outliers``, if given. Resamples that lack a class are dropped.
        """
        random, values = np.random.default_rng(0), []
        for number in range(_RESAMPLES):
            samples = self if outliers is None else self._add_sample(float(outliers[number]))
            drawn = random.gamma(samples.weights)
            if ratio is not None:  # new samples are counted: few of them may contain none like the worst given one
                drawn = random.poisson(ratio * drawn).astype(np.float64)
            drawn[drawn <= _TINY] = 0.0
            if np.any(drawn[samples.positive]) and np.any(drawn[~samples.positive]):
                values.append(self.measure.score(samples.positive, samples.scores, drawn))
        return np.array(values, dtype=np.float64)

    def _add_sample(self, score: float) -> RankingPosterior:
        return self._replace(
            positive=np.append(self.positive, self._positives_are_rare),
            scores=np.append(self.scores, score),
            weights=np.append(self.weights, _OUTLIER_WEIGHT),
        )

    def _draw_outliers(self) -> Floats:
        """Return scores of minority samples that are ranked below all given ones."""
        rare = self._positives_are_rare
        up = 1.0 if rare else -1.0  # the direction of better scores for the minority class
        own = self.positive == rare
        return up * _below(up * self.scores[own], up * self.scores[~own], self.weights[~own])


def summarize_scores(measure: Measure, positive: Mask, scores: Floats, weights: Floats) -> RankingPosterior:
    """Return the posterior of samples; if there are many, those between the ends of a class's scores are grouped.

    The ends matter: an area of 0.9999 is decided by the best negatives and the worst positives.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import RocAuc
    >>> truth = np.arange(100_000) % 10 == 0
    >>> scores = np.random.default_rng(0).normal(size=100_000) + truth
    >>> posterior = summarize_scores(RocAuc(), truth, scores, np.ones(100_000))
    >>> bool(posterior.scores.size < 5000 and abs(posterior.value - RocAuc().score(truth, scores)) < 1e-4)
    True
    """
    parts = [_group_neighbours(np.flatnonzero(positive == kind), scores, weights) for kind in (True, False)]
    samples = np.concatenate([part for part, _ in parts])
    return RankingPosterior(measure, positive[samples], scores[samples], np.concatenate([sums for _, sums in parts]))


def _group_neighbours(samples: NDArray[np.int64], scores: Floats, weights: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return samples that represent groups of neighbours by score, with the weights of the groups."""
    order = samples[np.argsort(scores[samples], kind="stable")]
    half = np.arange(_SINGLE, dtype=np.float64)
    steps = int(np.log(max(order.size / 2.0 / _SINGLE, 1.0)) / np.log(_COARSENING))
    half = np.append(half, _SINGLE * _COARSENING ** np.arange(steps + 1))
    half = half[half <= order.size // 2].astype(np.int64)
    starts = np.unique(np.concatenate([half, order.size - half]))
    starts = starts[starts < order.size]
    middles = (starts + np.append(starts[1:], order.size)) // 2
    return order[middles], np.add.reduceat(weights[order], starts)


def _below(own: Floats, others: Floats, weights: Floats) -> Floats:
    """Return scores lower than all own ones, such that the weight of the others above them is log-uniform."""
    order = np.argsort(-others, kind="stable")
    above = np.cumsum(weights[order])
    worse = float(weights[others >= own.min()].sum())
    least = min(max(worse, float(above[0])), float(above[-1]))
    random = np.random.default_rng(1)
    targets = np.exp(random.uniform(np.log(least), np.log(above[-1]), _RESAMPLES))
    at = order[np.minimum(np.searchsorted(above, targets), order.size - 1)]
    lower: Floats = np.minimum(np.nextafter(others[at], -np.inf), own.min())
    return lower


def _student_interval(
    value: float, deviation: float, share: float, rare: float, confidence: float
) -> tuple[float, float]:
    """Return an interval that is symmetric on the scale of log-odds, with Student's quantiles."""
    if deviation <= 0.0 or not 0.0 < value < 1.0:
        # All pairs are ranked correctly, or none: the exact bound for equal outcomes.
        room = 1.0 - float((1.0 - confidence) ** (share / max(rare, 1.0)))
        return max(value - room, 0.0), min(value + room, 1.0)
    reach = float(stdtrit(max(rare - 1.0, 1.0), (1.0 + confidence) / 2.0)) * deviation / (value * (1.0 - value))
    centre = float(logit(value))
    return float(expit(centre - reach)), float(expit(centre + reach))
