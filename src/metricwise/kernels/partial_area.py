"""Positives among the top negatives: how many of these each is placed below, in one walk along both classes."""

import numpy as np

from metricwise.kernels.compiling import kernel


@kernel
def violated_at_top(pos_indices, pos, pos_taken, neg_indices, neg, neg_taken, start, scale, margin, reach, tie, out):
    """Find the most violated placement of every positive among the top negatives; return its scaled loss.

    ``pos`` and ``neg`` are ascending scores, pos_taken[a] is how much of a positive's weight counts, and neg_taken[b]
    how much of a negative's belongs to the top. Weight beyond ``start``, counted from the top, is lost when a positive
    is placed below it. Placing positive i below the top q of weight is worth

        gain(q) = integral from 0 to q of (s(t) - s_i) dt + max(0, q - start),

    s(t) being the score of the negative at weight t. The integrand falls with t but for a step of one at ``start``,
    so gain has at most two peaks: one ahead of ``start``, where negatives become lower than s_i, and one beyond it,
    where they become lower than s_i - 1. out[i] receives -``scale`` times pos_taken[i] times q, out[j]
    ``scale`` times neg_taken[j] times the weight of the positives placed below it.
    """
    n = neg.size
    amount, total = np.zeros(n + 1), np.zeros(n + 1)  # of the top k negatives: weight, and weighted sum of scores
    for k in range(n):
        amount[k + 1] = amount[k] + neg_taken[n - 1 - k]
        total[k + 1] = total[k] + neg_taken[n - 1 - k] * neg[n - 1 - k]
    placed = np.zeros(n + 1)  # weight of the positives below exactly the top k
    loss = 0.0
    near, far = n, n  # both peaks come nearer to the top as the positives rise
    for a in range(pos.size):
        while near > 0 and neg[n - near] <= pos[a] + reach:
            near -= 1
        while far > 0 and neg[n - far] <= pos[a] - margin:
            far -= 1
        k = far
        if amount[near] < start:
            more = amount[far] - amount[near]
            beyond = max(0.0, amount[far] - start)
            # Equal peaks are common at solutions; the nearer one is taken unless the other is clearly higher.
            if total[far] - total[near] - more * pos[a] + beyond <= tie:
                k = near
        placed[k] += pos_taken[a]
        loss += pos_taken[a] * max(0.0, amount[k] - start)
        out[pos_indices[a]] = -scale * pos_taken[a] * amount[k]
    partners = 0.0
    for k in range(n, 0, -1):
        partners += placed[k]
        out[neg_indices[n - k]] = scale * neg_taken[n - k] * partners
    return scale * loss
