"""The slack of a measure made smooth (Nesterov 2005; Zhang, Saha and Vishwanathan 2012).

The slack R(s) is a maximum over labellings, hence over their convex combinations. Where shares q in [0, 1], one per
sample or pair, describe these, and the loss is linear in them, a quadratic prox-term smooths the maximum:

    R_m(s) = max over q of  D(q) + c(q) . s - m d(q),    d(q) = 1/2 sum of weights q^2

Its maximiser is unique, so R_m has the slopes c(q), which change by at most 1/m per unit of score, and

    R_m(s) <= R(s) <= R_m(s) + m max d.

D(q) + c(q) . s is a cut as any labelling's is, which makes q a dual solution. Scores come with the positives first; the
smoothing m is in units of scores. The maximisers have closed forms:

error rates
    each sample independently: the hinge loss with a rounded corner of width m (`SmoothedSamples`);
break-even point, recall at k with k not below the number of positives
    samples within a bound on the number predicted positive, which adds one multiplier (`SmoothedSamples`);
area under the ROC curve
    each pair independently: a rounded hinge is the difference of two squared ones, over 2 m, and sums of squared hinges
    over all pairs cost a sort (`SmoothedPairs`).

Other measures are left to cutting planes. The loss of F, Jaccard and the means of rates depends on the shares through
a table in a way that is not linear, nor concave, so their convex combinations have no short description: a smooth
maximum would visit all n+ n- tables at every step, where the most violated labelling takes a sort. The same is true of
precision at k below the number of positives. Parts of the ROC curve tie the pairs together by the order of the
negatives. So do gains by rank (average precision, NDCG): what a swapped pair costs depends on the ranks, and so on all
other pairs. With two positives and a negative, average precision loses 1/6 if the negative passes either positive, and
5/12, not 2/6, if it passes both.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from metricwise._typing import Floats
from metricwise.kernels import selection, shares
from metricwise.measures import PRBEP, Accuracy, BalancedAccuracy, Measure, RecallAtK, RocAuc
from metricwise.measures.base import HasViolatedLabelling, RestrictsLabellings
from metricwise.measures.ranking_capabilities import RanksPairs
from metricwise.measures.rate_capabilities import RatioOfRates
from metricwise.oracles.base import Classes
from metricwise.oracles.smooth import SquaredPairHinge
from metricwise.rounding import LONG_ROUNDING, STEPS, gamma

_TINY = np.finfo(np.float64).tiny


class LinearInShares(ABC):  # noqa: B024 - measures are registered with it, not derived from it
    """Measures whose loss is linear in the shares of mislabelled samples or pairs.

    A ratio that does not depend on the table's sums is one; whether a measure at k is one depends on k, too, which
    `make_smoothed_slack` checks when the samples are known.
    """


for _measure in (Accuracy, BalancedAccuracy, PRBEP, RecallAtK, RocAuc):
    LinearInShares.register(_measure)


@dataclass(frozen=True)
class SmoothedAt:
    """The smoothed slack at certain scores.

    Parameters
    ----------
    value : float
        R_m.
    slopes : array
        The derivative by every score, c(q).
    prox_term : float
        m d(q): value plus this is the violation D(q) + c(q) . s.
    """

    value: float
    slopes: Floats
    prox_term: float

    def slope(self, direction: Floats) -> float:
        """Return the derivative along a direction."""
        return float(selection.dot(self.slopes, direction))


class SharesBound(NamedTuple):
    """What computed slopes prove of the shares that they are rounded from.

    Parameters
    ----------
    loss : float
        A lower bound of the shares' loss D(q).
    sizes : array
        Every slope differs from c(q) by at most gamma(8 n) times its size, n being the number of samples.
    """

    loss: float
    sizes: Floats


class SmoothedSlack(Protocol):
    """R_m for any smoothing m > 0."""

    def at(self, scores: Floats, smoothing: float) -> SmoothedAt: ...

    def bound_shares(self, at: SmoothedAt, scores: Floats, smoothing: float) -> SharesBound:
        """Return what the slopes at given scores prove."""
        ...


class SmoothedSamples:
    """Shares of samples, within a bound on the weight predicted positive if there is one.

    Parameters
    ----------
    classes : Classes
        The samples.
    mistakes : float
        u, one over the weight of a unit of score.
    pos_cost, neg_cost : float
        Loss of mislabelling a unit of weight of each class.
    room : float, optional
        By how much the weight predicted positive may exceed that of the positives; None for any.
    """

    def __init__(
        self, classes: Classes, mistakes: float, pos_cost: float, neg_cost: float, room: float | None = None
    ) -> None:
        self._classes, self._scale, self._room = classes, 1.0 / mistakes, room
        self._margins = mistakes * pos_cost, mistakes * neg_cost

    def at(self, scores: Floats, smoothing: float) -> SmoothedAt:
        classes = self._classes
        arguments = scores, classes.n_pos, *self._margins, classes.weights, smoothing
        slopes = np.empty(scores.size)
        room, shift = self._room or 0.0, self._multiplier(arguments)
        value, held = shares.smooth_violation(*arguments, room, shift, self._scale, slopes)
        return SmoothedAt(value, slopes, held)

    def bound_shares(self, at: SmoothedAt, scores: Floats, smoothing: float) -> SharesBound:
        """Return what the slopes at given scores prove: any shares do, if they keep to the bound on their sum.

        Shares that miss it are scaled until they meet it, which changes their slopes by the same factor.
        """
        n_pos, sizes = self._classes.n_pos, np.abs(at.slopes)
        relative = gamma(8 * scores.size)
        missed, alarms = float(sizes[:n_pos].sum()), float(sizes[n_pos:].sum())
        if self._room is not None:
            allowed = missed + self._scale * self._room
            excess, shortage = max(alarms - allowed, 0.0), max(missed - alarms, 0.0) if self._room == 0.0 else 0.0
            sizes[n_pos:] *= 1.0 + excess / max(relative * alarms, _TINY)
            sizes[:n_pos] *= 1.0 + shortage / max(relative * missed, _TINY)
            missed -= shortage
        loss = self._margins[0] * missed + self._margins[1] * alarms
        return SharesBound(loss - gamma(8 * scores.size + STEPS) * abs(loss), sizes)

    def _multiplier(self, arguments: tuple[Any, ...]) -> float:
        if self._room is None:
            return 0.0
        shift = float(shares.find_balancing_shift(*arguments, self._room, 0.0))
        # With room for more samples than there are positives the bound is one-sided.
        return shift if self._room == 0.0 else max(shift, 0.0)


class SmoothedPairs:
    """Shares of all pairs of a positive and a negative."""

    def __init__(self, classes: Classes) -> None:
        self._classes, self._squares = classes, SquaredPairHinge(classes)

    def at(self, scores: Floats, smoothing: float) -> SmoothedAt:
        nearer = scores.copy()
        nearer[: self._classes.n_pos] += smoothing  # a margin of 1 - m is one of 1 for positives moved up by m
        outer, inner = self._squares.at(scores), self._squares.at(nearer)
        value = (outer.value - inner.value) / (2.0 * smoothing)
        slopes = (outer.slopes - inner.slopes) / (2.0 * smoothing)
        # The slopes of squares are twice the losses: pairs beyond the corner lose so much more than half of it.
        beyond = -0.5 * float(inner.slopes[: self._classes.n_pos].sum())
        return SmoothedAt(value, slopes, max(value - beyond, 0.0))

    def bound_shares(self, at: SmoothedAt, scores: Floats, smoothing: float) -> SharesBound:
        """Return what the slopes at given scores prove, from their differences to more accurate ones.

        Slopes are differences of sums, divided by the smoothing, which enlarges their rounding errors.
        """
        n_pos, weights = self._classes.n_pos, self._classes.weights
        weights = np.ones(scores.size) if weights is None else weights
        pos, neg = (scores[:n_pos], weights[:n_pos]), (scores[n_pos:], weights[n_pos:])
        missed, missed_sizes = _share_partners(pos[0], *neg, smoothing)
        alarms, alarms_sizes = _share_partners(-neg[0], -pos[0], pos[1], smoothing)
        shares = weights / (self._classes.pos_weight * self._classes.neg_weight)
        accurate = shares * np.concatenate([-missed, alarms])
        errors = np.abs(at.slopes - accurate) + gamma(STEPS) * np.abs(accurate)
        errors += gamma(8 * scores.size + STEPS) * LONG_ROUNDING * shares * np.concatenate([missed_sizes, alarms_sizes])
        # Every pair has as much of the loss as of the slope of its positive.
        loss = -float(at.slopes[:n_pos].sum()) - float(errors[:n_pos].sum())
        loss -= gamma(scores.size + STEPS) * abs(loss)
        return SharesBound(loss, np.abs(at.slopes) + errors / gamma(8 * scores.size))


def _share_partners(scores: Floats, partners: Floats, weights: Floats, smoothing: float) -> tuple[Floats, Floats]:
    """Return the sum of weights times clip((1 + partner - score) / smoothing, 0, 1) for every score, and its terms.

    Sums are accumulated in extended precision, where the machine has one. The terms are a bound of their absolute sum.
    """
    order = np.argsort(-partners)
    values = partners[order].astype(np.longdouble)
    limits = scores.astype(np.longdouble) - 1.0
    counts, sums = (
        np.concatenate([np.zeros(1, np.longdouble), np.cumsum(part)])
        for part in (weights[order].astype(np.longdouble), weights[order] * values)
    )
    some, full = (np.searchsorted(-values, -limit, "left") for limit in (limits, limits + smoothing))
    shared = (sums[some] - sums[full] - limits * (counts[some] - counts[full])) / smoothing + counts[full]
    total = float(weights.sum())
    terms = 2.0 * (float(weights @ np.abs(partners)) + total * (np.abs(scores) + 2.0 + smoothing)) / smoothing + total
    return shared.astype(np.float64), terms


def make_smoothed_slack(
    measure: Measure, n_pos: int, n_neg: int, weights: Floats | None = None, *, threads: int = 1
) -> SmoothedSlack:
    """Return the smoothed slack of a measure for ``n_pos`` positive samples followed by ``n_neg`` negative ones.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import RocAuc
    >>> slack = make_smoothed_slack(RocAuc(), n_pos=1, n_neg=1)
    >>> at = slack.at(np.array([0.0, 0.0]), smoothing=0.5)
    >>> at.value, at.prox_term  # one pair without a margin: a loss of one, less half of the smoothing
    (0.75, 0.25)
    """
    if not isinstance(measure, LinearInShares):
        raise TypeError(
            f"the loss of {measure!r} is not linear in shares of samples or pairs: it has no smoothed slack"
        )
    classes = Classes(n_pos, n_neg, weights, threads)
    if isinstance(measure, RanksPairs):
        return SmoothedPairs(classes)
    total_pos, total_neg = classes.pos_weight, classes.neg_weight
    assert isinstance(measure, HasViolatedLabelling)
    mistakes = float(measure.mistakes_per_loss(total_pos, total_neg))
    if isinstance(measure, RatioOfRates):
        _, of_tpr, of_tnr, whole, _, _ = measure.ratio(total_neg / total_pos)
        return SmoothedSamples(classes, mistakes, of_tpr / (whole * total_pos), of_tnr / (whole * total_neg))
    assert isinstance(measure, RestrictsLabellings)
    size = float(measure.predicted_positives(total_pos, total_pos + total_neg))
    if size < total_pos:
        raise TypeError(
            f"{measure!r} asks for {size:g} samples, fewer than the {total_pos:g} positives: its loss is then a ratio, "
            "which has no smoothed slack. Train MultivariateSVC for it, or choose a larger k"
        )
    return SmoothedSamples(classes, mistakes, 1.0 / total_pos, 0.0, room=size - total_pos)
