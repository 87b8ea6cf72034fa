"""Squared hinge losses of pairs of a positive and a negative, never listed.

Both classes come sorted by ascending scores. Two lists of counts then describe the pairs with a margin below one:
each negative's partners are the first positives, each positive's partners the last negatives. No count exceeds the size
of the other class, which keeps the walks along them within their arrays.
"""

from metricwise.kernels.compiling import kernel


@kernel
def count_partners(pos, neg, first_pos, last_neg):
    """Count the partners: of negative b the positives before ``first_pos[b]``, of positive a the last ones."""
    a = 0
    for b in range(neg.size):
        while a < pos.size and pos[a] - neg[b] < 1.0:
            a += 1
        first_pos[b] = a
    b = neg.size
    for a in range(pos.size - 1, -1, -1):
        while b > 0 and pos[a] - neg[b - 1] < 1.0:
            b -= 1
        last_neg[a] = neg.size - b


@kernel
def squares_by_negatives(pos_indices, pos, neg_indices, neg, first_pos, weights, scale, out):
    """Sum the squared losses, 1 - (s_i - s_j), and write each negative's slope to ``out``; return both sums, scaled.

    The second one is the sum of the losses themselves. Scores are taken relative to the lowest positive, so that sums
    of squares lose nothing where all scores are far from zero.
    """
    squares, losses = 0.0, 0.0
    base = pos[0] if pos.size else 0.0
    a, weight_sum, score_sum, square_sum = 0, 0.0, 0.0, 0.0
    for b in range(neg.size):
        while a < first_pos[b]:
            weight, score = (weights[pos_indices[a]] if weights is not None else 1.0), pos[a] - base
            weight_sum += weight
            score_sum += weight * score
            square_sum += weight * score * score
            a += 1
        weight, reach = (weights[neg_indices[b]] if weights is not None else 1.0), 1.0 + neg[b] - base
        loss = weight_sum * reach - score_sum
        losses += weight * loss
        square = weight_sum * reach * reach - 2.0 * reach * score_sum + square_sum
        squares += weight * square if not square < 0.0 else 0.0
        out[neg_indices[b]] = 2.0 * scale * weight * loss
    return scale * squares, scale * losses


@kernel
def slopes_of_positives(pos_indices, pos, neg_indices, neg, last_neg, weights, scale, out):
    """Write the slope of each positive to ``out``."""
    base = neg[neg.size - 1] if neg.size else 0.0
    b, weight_sum, score_sum = neg.size, 0.0, 0.0
    for a in range(pos.size - 1, -1, -1):
        while neg.size - b < last_neg[a]:
            b -= 1
            weight = weights[neg_indices[b]] if weights is not None else 1.0
            weight_sum += weight
            score_sum += weight * (neg[b] - base)
        weight = weights[pos_indices[a]] if weights is not None else 1.0
        out[pos_indices[a]] = -2.0 * scale * weight * (weight_sum * (1.0 - pos[a] + base) + score_sum)


@kernel
def curvature_of_negatives(pos_indices, neg_indices, first_pos, weights, scale, direction, out):
    """Write each negative's part of the Hessian times a direction of the scores to ``out``."""
    a, weight_sum, direction_sum = 0, 0.0, 0.0
    for b in range(neg_indices.size):
        while a < first_pos[b]:
            weight = weights[pos_indices[a]] if weights is not None else 1.0
            weight_sum += weight
            direction_sum += weight * direction[pos_indices[a]]
            a += 1
        weight = weights[neg_indices[b]] if weights is not None else 1.0
        out[neg_indices[b]] = 2.0 * scale * weight * (weight_sum * direction[neg_indices[b]] - direction_sum)


@kernel
def curvature_of_positives(pos_indices, neg_indices, last_neg, weights, scale, direction, out):
    """Write each positive's part of the Hessian times a direction of the scores to ``out``."""
    b, weight_sum, direction_sum = neg_indices.size, 0.0, 0.0
    for a in range(pos_indices.size - 1, -1, -1):
        while neg_indices.size - b < last_neg[a]:
            b -= 1
            weight = weights[neg_indices[b]] if weights is not None else 1.0
            weight_sum += weight
            direction_sum += weight * direction[neg_indices[b]]
        weight = weights[pos_indices[a]] if weights is not None else 1.0
        out[pos_indices[a]] = 2.0 * scale * weight * (weight_sum * direction[pos_indices[a]] - direction_sum)
