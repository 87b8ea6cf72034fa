"""Smoothed labellings by their definition: shares of mislabelled samples or pairs, without any code of the oracles.

A share is the margin that its sample or pair lacks, divided by the smoothing and clipped to [0, 1]. Any shares prove a
lower bound as long as the weight predicted positive meets the bound of the measure, which `_clip_to_bound` ensures.
"""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats
from metricwise.certifying.slack import Slack
from metricwise.certifying.squares import sums_above
from metricwise.measures.base import RestrictsLabellings
from metricwise.measures.ranking_capabilities import RanksPairs
from metricwise.rounding import LONG_ROUNDING, STEPS, gamma

_HALVINGS = 200


def smoothed_labelling(slack: Slack, scores: Floats, smoothing: float) -> tuple[float, Floats, Floats]:
    """Return a lower bound of the loss of the shares at given scores, their coefficients, and the sizes of these.

    The sizes are sums of absolute terms: every coefficient differs from that of the exact shares by gamma(8 n) times
    its size at most, n being the number of samples.
    """
    if not smoothing > 0.0:
        raise ValueError("the model's witness has no smoothing above zero: train the model again")
    pos, neg = scores[slack.positive], scores[~slack.positive]
    pos_weight, neg_weight = slack.weights[slack.positive], slack.weights[~slack.positive]
    c = np.zeros(scores.size)
    if isinstance(slack.measure, RanksPairs):
        centre = float(neg.mean())  # shares of any scores prove a bound: centred ones lose least to rounding
        pos, neg = pos - centre, neg - centre
        total, sizes = slack.n_pos * slack.n_neg, np.zeros(scores.size)
        missed, missed_size = _partners(neg, neg_weight, pos, smoothing)
        alarms, alarms_size = _partners(-pos, pos_weight, -neg, smoothing)
        c[slack.positive], c[~slack.positive] = -pos_weight * missed / total, neg_weight * alarms / total
        sizes[slack.positive], sizes[~slack.positive] = pos_weight * missed_size, neg_weight * alarms_size
        sizes = np.abs(c) + LONG_ROUNDING * sizes / total
        loss = -float(c[slack.positive].sum())
        return loss - gamma(8 * scores.size + STEPS) * float(sizes[slack.positive].sum()), c, sizes
    # The loss is linear in the shares: where all samples of a class are mislabelled it is the cost of its weight.
    pos_cost = float(slack.loss(0.0, 0.0)) / slack.n_pos
    neg_cost = float(slack.loss(slack.n_pos, slack.n_neg)) / slack.n_neg
    shift = 0.0
    if isinstance(slack.measure, RestrictsLabellings):
        room = slack.measure.predicted_positives(slack.n_pos, slack.n_pos + slack.n_neg) - slack.n_pos
        shift = _find_balancing_shift(pos - slack.u * pos_cost, pos_weight, neg, neg_weight, smoothing, room)
    missed = pos_weight * np.clip((slack.u * pos_cost - pos + shift) / smoothing, 0.0, 1.0)
    alarms = neg_weight * np.clip((slack.u * neg_cost + neg - shift) / smoothing, 0.0, 1.0)
    if isinstance(slack.measure, RestrictsLabellings):
        missed, alarms = _clip_to_bound(missed, alarms, room)
    c[slack.positive], c[~slack.positive] = -missed / slack.u, alarms / slack.u
    return pos_cost * float(missed.sum()) + neg_cost * float(alarms.sum()), c, np.abs(c)


def _partners(values: Floats, weights: Floats, scores: Floats, smoothing: float) -> tuple[Floats, Floats]:
    """Return the sum of weights times clip((1 + value - score) / smoothing, 0, 1) for every score, and its terms' size.

    The smoothing enlarges the rounding errors of sums, which are therefore in extended precision, where there is one.
    """
    values, limits = values.astype(np.longdouble), np.subtract(scores, 1.0, dtype=np.longdouble)
    count, first, _ = sums_above(values, weights, limits)
    full, full_first, _ = sums_above(values, weights, limits + smoothing)
    sums: Floats = (first - full_first - limits * (count - full)) / smoothing + full
    total = float(weights.sum())
    sizes = 2.0 * (float(weights @ np.abs(values)) + total * (np.abs(limits) + 1.0 + smoothing)) / smoothing + total
    return np.clip(sums, 0.0, total).astype(np.float64), sizes.astype(np.float64)


def _find_balancing_shift(
    pos: Floats, pos_weight: Floats, neg: Floats, neg_weight: Floats, smoothing: float, room: float
) -> float:
    """Return the shift at which the weight predicted positive exceeds that of the positives by ``room`` (bisection)."""

    def excess(shift: float) -> float:
        alarms = neg_weight @ np.clip((neg - shift) / smoothing, 0.0, 1.0)
        return float(alarms - pos_weight @ np.clip((shift - pos) / smoothing, 0.0, 1.0)) - room

    if room > 0.0 and excess(0.0) <= 0.0:
        return 0.0
    low = min(float(pos.min()), float(neg.min()) - smoothing)
    high = max(float(pos.max()) + smoothing, float(neg.max()))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def _clip_to_bound(missed: Floats, alarms: Floats, room: float) -> tuple[Floats, Floats]:
    """Return the shares clipped to the bound, which rounding may exceed: at most ``room``, or exactly none if zero."""
    predicted, freed = float(alarms.sum()), float(missed.sum())
    if predicted > freed + room:
        alarms = alarms * ((freed + room) / predicted)
    elif room == 0.0 and freed > predicted:
        missed = missed * (predicted / freed)
    return missed, alarms
