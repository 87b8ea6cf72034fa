"""Labellings given by a cut in the order of each class: which samples they change, and by how much.

Scores come with the positives first. A labelling misses the positives whose score is below ``pos_low`` and predicts
positive the negatives whose score is above ``neg_high``. Samples on the cut, between its low and its high end, are
changed by a share: among samples with equal scores every choice is equally violated, and their average is the one that
does not depend on the order of the samples, nor on the last digits of their scores.
"""

import numpy as np

from metricwise.kernels.compiling import helper, kernel


@kernel
def gather_below(scores, start, stop, sign, ceiling, out):
    """Copy the scores times ``sign`` (1 or -1) that are below ``ceiling`` to ``out`` and return how many there are."""
    count = 0
    for i in range(start, stop):
        score = sign * scores[i]
        out[count] = score
        count += score < ceiling
    return count


@kernel
def prefix_sums(values, weights, total, missing, scale, weight_out, sum_out):
    """Cumulate the weight predicted positive and the scaled score as more of a sorted class is mislabelled.

    ``missing`` is whether mislabelled samples leave the ``total`` weight (positives; filled downwards) or add to
    nothing (negatives; filled upwards).
    """
    n = values.size
    at, direction = (n, -1) if missing else (0, 1)
    start, sign = (total, -1.0) if missing else (0.0, 1.0)
    weight_out[at] = start
    sum_out[at] = 0.0
    taken, score = 0.0, 0.0
    for k in range(n):
        weight = weights[k] if weights is not None else 1.0
        taken += weight
        score -= weight * values[k]
        at += direction
        weight_out[at] = start + sign * taken
        sum_out[at] = scale * score
    if weights is not None:  # the whole class is taken: sums of weights must not leave a remainder of rounding errors
        weight_out[at] = total - start


@helper
def _share_missed(score, low, high, share):
    """Return the share of a positive that a labelling misses. No branches, as the side of a cut is random."""
    return 1.0 if score < low else (share if score <= high else 0.0)


@helper
def _share_alarmed(score, low, high, share):
    """Return the share of a negative that a labelling predicts positive."""
    return 1.0 if score > high else (share if score >= low else 0.0)


@kernel
def labelling_coefficients(
    scores, n_pos, pos_low, pos_high, pos_share, neg_low, neg_high, neg_share, weights, scale, out
):
    """out[i] = (y'_i - y_i) / 2 times the sample's weight and ``scale``."""
    for i in range(n_pos):
        out[i] = -scale * _share_missed(scores[i], pos_low, pos_high, pos_share)
    for i in range(n_pos, scores.size):
        out[i] = scale * _share_alarmed(scores[i], neg_low, neg_high, neg_share)
    if weights is not None:
        for i in range(scores.size):
            out[i] *= weights[i]


@kernel(fastmath={"reassoc", "contract"})
def labelling_slope(
    scores, direction, n_pos, pos_low, pos_high, pos_share, neg_low, neg_high, neg_share, weights, scale
):
    """Return the product of `labelling_coefficients` with ``direction``, without storing them."""
    missed, alarmed = 0.0, 0.0
    if weights is not None:
        for i in range(n_pos):
            missed += _share_missed(scores[i], pos_low, pos_high, pos_share) * direction[i] * weights[i]
        for i in range(n_pos, scores.size):
            alarmed += _share_alarmed(scores[i], neg_low, neg_high, neg_share) * direction[i] * weights[i]
    else:
        for i in range(n_pos):
            missed += _share_missed(scores[i], pos_low, pos_high, pos_share) * direction[i]
        for i in range(n_pos, scores.size):
            alarmed += _share_alarmed(scores[i], neg_low, neg_high, neg_share) * direction[i]
    return scale * (alarmed - missed)


@kernel(fastmath={"reassoc", "contract"})
def dot(a, b):
    """Return the inner product, on this thread: for long vectors BLAS would wake threads that disturb our own."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def independent_violations(scores, n_pos, pos_cost, neg_cost, pos_cut, neg_cut, weights, scale):
    """Return value, missed and false positive weight of the most violated labelling, for a loss that adds up.

    A missed positive costs ``pos_cost`` per unit of weight, and is chosen when its score is below ``pos_cut``, where
    that exceeds its scaled score.
    """
    value, missed, alarms = 0.0, 0.0, 0.0
    for i in range(scores.size):
        weight = weights[i] if weights is not None else 1.0
        if i < n_pos:
            if scores[i] < pos_cut:
                value += weight * (pos_cost - scale * scores[i])
                missed += weight
        elif scores[i] > neg_cut:
            value += weight * (neg_cost + scale * scores[i])
            alarms += weight
    return value, missed, alarms


@helper
def _take(keys, weights, amount):
    """Take ``amount`` of weight off the front: the sample where it ends, what is left of it, and the sum taken.

    Every round uses up either the amount or a sample exactly, as the smaller of two finite numbers is taken off both.
    """
    row, total = 0, 0.0
    rest = (weights[0] if weights is not None else 1.0) if keys.size else 0.0
    while amount > 0.0 and row < keys.size:
        step = min(amount, rest)
        total += step * keys[row]
        amount -= step
        rest -= step
        if rest <= 0.0:
            row += 1
            if row < keys.size:
                rest = weights[row] if weights is not None else 1.0
    return row, rest, total


@kernel
def weight_below(keys, weights, limit):
    """Return the weight of the ascending keys below ``limit``."""
    count, total = np.searchsorted(keys, limit), 0.0
    if weights is None:
        return float(count)
    for k in range(count):
        total += weights[k]
    return total


@kernel
def exchange(pos, pos_weight, neg, neg_weight, missed, alarms, cost, scale):
    """Give up true for false positives, weight for weight, as long as that gains.

    ``pos`` holds the positives' scores ascending, ``neg`` the negatives' negated scores ascending (best first). From
    the labelling with the given weights of missed and of false positives, weight is exchanged between the worst
    positive still predicted positive and the best negative not yet predicted so. Each unit gains
    cost + scale (s_neg - s_pos), which only falls, so stopping at the first exchange without gain is exact. Returns
    the score part of the objective, the weight of missed positives and of false positives.
    """
    i, pos_rest, pos_sum = _take(pos, pos_weight, missed)
    j, neg_rest, neg_sum = _take(neg, neg_weight, alarms)
    total = pos_sum + neg_sum
    while i < pos.size and j < neg.size and cost - scale * (neg[j] + pos[i]) > 0.0:
        step = min(pos_rest, neg_rest)
        total += step * (neg[j] + pos[i])
        missed += step
        alarms += step
        pos_rest -= step
        neg_rest -= step
        if pos_rest <= 0.0:
            i += 1
            if i < pos.size:
                pos_rest = pos_weight[i] if pos_weight is not None else 1.0
        if neg_rest <= 0.0:
            j += 1
            if j < neg.size:
                neg_rest = neg_weight[j] if neg_weight is not None else 1.0
    return -scale * total, missed, alarms


@kernel
def score_part(pos, pos_weight, neg, neg_weight, missed, alarms, scale):
    """Return the score part of the objective for given weights of missed and of false positives."""
    pos_sum = _take(pos, pos_weight, missed)[2]
    neg_sum = _take(neg, neg_weight, alarms)[2]
    return -scale * (pos_sum + neg_sum)
