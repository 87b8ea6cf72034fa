"""Smoothed labellings: each sample is mislabelled by a share with a quadratic penalty, in closed form.

Scores come with the positives first. A positive is missed by the share clip((pos_margin - s + shift) / smoothing, 0, 1)
and a negative predicted positive by clip((neg_margin + s - shift) / smoothing, 0, 1); ``shift`` is the multiplier of a
bound on the number of samples predicted positive, zero if there is none.
"""

import numpy as np

from metricwise.kernels.compiling import kernel

_MOST_ROUNDS = 200
_BALANCED = 1e-13  # of the weight of all samples


@kernel
def _excess(scores, n_pos, pos_margin, neg_margin, weights, smoothing, shift):
    """Return the weight predicted positive beyond that of the positives, and how fast it falls with ``shift``."""
    excess, slope = 0.0, 0.0
    for i in range(scores.size):
        if i < n_pos:
            share = (pos_margin - scores[i] + shift) / smoothing
        else:
            share = (neg_margin + scores[i] - shift) / smoothing
        weight = weights[i] if weights is not None else 1.0
        if 0.0 < share < 1.0:
            slope += weight / smoothing
        share = min(max(share, 0.0), 1.0)
        excess += -weight * share if i < n_pos else weight * share
    return excess, slope


@kernel
def find_balancing_shift(scores, n_pos, pos_margin, neg_margin, weights, smoothing, room, start):
    """Return the multiplier at which the excess is ``room``, by Newton steps in a shrinking bracket from ``start``.

    The excess falls with the multiplier and is piecewise linear, so that Newton steps end exactly; a step that leaves
    the bracket is replaced by its middle.
    """
    low, high, total = np.inf, -np.inf, 0.0
    for i in range(scores.size):
        least = scores[i] - pos_margin if i < n_pos else scores[i] + neg_margin - smoothing
        low, high = min(low, least), max(high, least + smoothing)
        total += weights[i] if weights is not None else 1.0
    shift = min(max(start, low), high)
    for _ in range(_MOST_ROUNDS):
        excess, slope = _excess(scores, n_pos, pos_margin, neg_margin, weights, smoothing, shift)
        excess -= room
        if abs(excess) <= _BALANCED * total:
            break
        if excess > 0.0:
            low = shift
        else:
            high = shift
        shift = shift + excess / slope if slope > 0.0 else low
        if not low < shift < high:
            shift = 0.5 * (low + high)
        if not low < shift < high:
            break
    return shift


@kernel
def smooth_violation(scores, n_pos, pos_margin, neg_margin, weights, smoothing, room, shift, scale, out):
    """Return the smoothed violation and its quadratic penalty; write its slopes to ``out``.

    ``scale`` is the cost of a unit of score. The multiplier's part stays in the violation: it is zero at the exact
    multiplier, and cancels the first-order error of a rounded one.
    """
    value, held = scale * shift * room, 0.0
    for i in range(scores.size):
        gain = pos_margin - scores[i] + shift if i < n_pos else neg_margin + scores[i] - shift
        share = min(max(gain / smoothing, 0.0), 1.0)
        weight = scale * share * (weights[i] if weights is not None else 1.0)
        value += weight * gain
        held += 0.5 * weight * smoothing * share
        out[i] = -weight if i < n_pos else weight
    return value - held, held
