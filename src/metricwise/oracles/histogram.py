"""Bounds of a measure's slack from histograms of the scores; they meet as bins get finer.

The slack R is convex in the scores, and does not change if samples of a class exchange theirs. So it is greater the
more spread out the scores of a class are (it is Schur-convex). For a bin, the number of samples of a class, their
least and greatest score and the sum of their scores are known, and two arrangements bound all others:

- every sample has the mean score: the average over all exchanges, so that R is no larger than it is;
- as many samples as possible have the greatest score, the others the least, and one what is left of the sum: no other
  scores with that sum are spread further, so that R is no smaller than it is.

Both are problems of few samples with whole weights, for the usual oracles. The bounds differ in bins where the
coefficients of the most violated labelling change, by a part of their width: with B bins that is about 1 / B^2.

The labelling of the means is a labelling (or an average of some with the same table) of the samples, too: those of a
bin are changed alike. Its plane is therefore an exact cut, whatever the bins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Mask
from metricwise.measures.base import Measure
from metricwise.oracles.base import BoundsSlack, Labelling
from metricwise.oracles.factory import make_oracle


class ClassScores(NamedTuple):
    """Number, mean, least and greatest score of a class's samples in each bin; empty bins have a count of 0."""

    counts: Floats
    means: Floats
    low: Floats
    high: Floats

    @property
    def filled(self) -> Mask:
        return self.counts > 0.0

    @property
    def width(self) -> Floats:
        return np.where(self.filled, self.high - self.low, 0.0)


class Bracket(NamedTuple):
    """The slack between two bounds, and a labelling.

    Attributes
    ----------
    lower, upper : float
        Bounds of the slack.
    labelling : Labelling
        The most violated labelling of the means.
    by_bin : tuple of two arrays
        Its coefficient for a sample of every bin, for the positives and for the negatives.
    changes : tuple of two arrays
        How far the coefficients of samples change from bin to bin, one less than there are bins.
    """

    lower: float
    upper: float
    labelling: Labelling
    by_bin: tuple[Floats, Floats]
    changes: tuple[Floats, Floats]

    @property
    def error(self) -> float:
        return self.upper - self.lower


def bracket_slack(measure: Measure, pos: ClassScores, neg: ClassScores, rounding: float = 0.0) -> Bracket:
    """Bound the slack of a measure, and find a labelling that reaches the lower bound.

    Parameters
    ----------
    measure : Measure
        Must have a fast oracle (`metricwise.oracles.factory.has_fast_oracle`).
    pos, neg : ClassScores
        The classes.
    rounding : float
        Largest error of the means.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> pos = ClassScores(np.array([1.0, 3.0]), np.array([-1.0, 2.0]), np.array([-1.0, 1.0]), np.array([-1.0, 3.0]))
    >>> neg = ClassScores(np.array([6.0]), np.array([-2.0]), np.array([-3.0]), np.array([0.5]))
    >>> bracket = bracket_slack(FBeta(), pos, neg)
    >>> slack = make_oracle(FBeta(), 4, 6).violate(np.array([-1, 1, 2, 3, -3, -3, -3, -2, -1.5, 0.5])).value
    >>> bracket.lower <= slack <= bracket.upper
    True
    """
    labelling, by_bin = _find_violated(measure, _means(pos), _means(neg))
    total = sum(float(np.abs(c) @ bins.counts) for c, bins in zip(by_bin, (pos, neg), strict=True))
    lower = max(labelling.value - rounding * total, 0.0)
    if not (pos.width.any() or neg.width.any()):
        exact, _ = _find_violated(measure, _means(pos), _means(neg), exact=True)
        return Bracket(labelling.value, max(exact.value, labelling.value), labelling, by_bin, _changes(by_bin))
    # The slack falls with the scores of positives and rises with those of negatives.
    spread, spread_by_bin = _find_violated(measure, _spread(pos, -rounding), _spread(neg, rounding), exact=True)
    first, second = _changes(by_bin), _changes(spread_by_bin)
    changes = first[0] + second[0], first[1] + second[1]
    return Bracket(lower, max(spread.value, labelling.value), labelling, by_bin, changes)


class _Representatives(NamedTuple):
    """Weighted samples that represent those of a class: scores, weights, bins, and the counts of all bins."""

    scores: Floats
    weights: Floats
    bins: NDArray[np.int64]
    counts: Floats


def _means(bins: ClassScores) -> _Representatives:
    where = np.flatnonzero(bins.filled)
    means = np.clip(bins.means[where], bins.low[where], bins.high[where])
    return _Representatives(means, bins.counts[where], where, bins.counts)


def _spread(bins: ClassScores, shift: float) -> _Representatives:
    """Return the samples spread out as far as their number, their sum and their range allow."""
    where = np.flatnonzero(bins.filled)
    count, low, high = bins.counts[where], bins.low[where], bins.high[where]
    width = high - low
    above = count * (np.clip(bins.means[where] + shift, low, high) - low)  # the sum, from the lower end on
    at_top = np.floor(np.divide(above, width, out=np.zeros_like(width), where=width > 0.0))
    at_top = np.where(width > 0.0, np.clip(at_top, 0.0, count - 1.0), 0.0)
    between = low + np.clip(above - at_top * width, 0.0, width)
    scores = np.concatenate([high, between, low])
    weights = np.concatenate([at_top, np.ones_like(count), count - at_top - 1.0])
    kept = weights > 0.0
    return _Representatives(scores[kept], weights[kept], np.tile(where, 3)[kept], bins.counts)


def _find_violated(
    measure: Measure, pos: _Representatives, neg: _Representatives, *, exact: bool = False
) -> tuple[Labelling, tuple[Floats, Floats]]:
    """Return the most violated labelling, and its coefficient for a sample of every bin.

    If ``exact``, samples within rounding of the margin count as violated, so that the value is the largest one.
    """
    weights = np.concatenate([pos.weights, neg.weights])
    oracle = make_oracle(measure, pos.scores.size, neg.scores.size, weights)
    if exact and isinstance(oracle, BoundsSlack):
        oracle = oracle.exact()
    labelling = oracle.violate(np.concatenate([pos.scores, neg.scores]))
    coefficients = labelling.coefficients()
    of_pos = _by_bin(pos, coefficients[: pos.scores.size])
    return labelling, (of_pos, _by_bin(neg, coefficients[pos.scores.size :]))


def _by_bin(samples: _Representatives, coefficients: Floats) -> Floats:
    """Return the mean coefficient of the samples of every bin; bins without samples have that of the bin before."""
    total = np.bincount(samples.bins, weights=coefficients, minlength=samples.counts.size)
    filled = samples.counts > 0.0
    before = np.maximum.accumulate(np.where(filled, np.arange(filled.size), np.argmax(filled)))
    mean: Floats = np.divide(total, samples.counts, out=np.zeros_like(total), where=filled)[before]
    return mean


def _changes(by_bin: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.abs(np.diff(by_bin[0])), np.abs(np.diff(by_bin[1]))


def refine_edges(bins: ClassScores, changes: Floats, n_bins: int) -> Floats:
    """Return the edges of bins that bring the two bounds of the slack closer.

    Half of the edges are placed where samples are: bins of width w and m samples can be wrong by about m w, which is
    the same everywhere if there are edges in proportion to the root of the density. The others are placed where the
    coefficients of the labelling change; the error of a bin there is in proportion to change, samples and width, and
    the sum over bins is least with edges in proportion to the cube root.

    Parameters
    ----------
    bins : ClassScores
        A histogram of the same scores, or of similar ones.
    changes : array
        How far the coefficients of samples change from bin to bin.
    n_bins : int
        Largest number of bins.
    """
    where = np.flatnonzero(bins.filled)
    count, low, high = bins.counts[where], bins.low[where], bins.high[where]
    # Intervals of scores: bins and the gaps between them in turn. A gap separates samples that would share a bin.
    ends = np.column_stack([low, high]).ravel()
    width = np.diff(ends)
    counts_between = np.empty(width.size)
    counts_between[::2], counts_between[1::2] = count, np.minimum(count[1:], count[:-1])
    steps = np.concatenate([[0.0], np.cumsum(changes)])[where]
    change = np.zeros(width.size)
    change[1::2] = np.diff(steps)
    change[::2] += np.append(change[1::2], 0.0) + np.append(0.0, change[1::2])
    parts = _shares(np.sqrt(counts_between * width)) + _shares(np.cbrt(change * counts_between * width))
    reach = np.concatenate([[0.0], np.cumsum(parts)])
    if reach[-1] <= 0.0:  # every bin holds equal scores
        return np.array(0.5 * (high[:-1] + low[1:]))[: n_bins - 1]
    edges: Floats = np.unique(np.interp(np.linspace(0.0, reach[-1], n_bins + 1)[1:-1], reach, ends))
    return edges


def _shares(parts: Floats) -> Floats:
    total = float(parts.sum())
    return parts / total if total > 0.0 else parts
