"""Negatives among the sorted positives: how many positives stand above each in the most violated ranking.

The j-th best negative adds to the violation of a ranking, for every positive i that stands below it,

    f(i, i + j - 1) - f(i, i + j) - scale * (s_i - t_j),

where f is the gain by rank. This falls with j, so the best number of positives above a negative never falls with j.
Every second negative is placed between its neighbours of the round before: the rounds take O(n log n) steps in all.
"""

import numpy as np

from metricwise.kernels.compiling import helper, kernel

AVERAGE_PRECISION, BY_RANK, FIRST_POSITIVE = 0, 1, 2


@helper
def _drop(kind, drops, n_pos, i, j):
    """Return f(i, i + j - 1) - f(i, i + j), of a positive i = 1, ..., n_pos and a negative j = 1, 2, ..."""
    if kind == AVERAGE_PRECISION:
        return i / ((i + j - 1.0) * (i + j)) / n_pos
    if kind == BY_RANK:
        return drops[i + j - 2]
    return 1.0 / (j * (j + 1.0)) if i == 1 else 0.0


@helper
def _first_step(n_neg):
    """Return the largest power of two that is no larger than ``n_neg``; 0 if that is 0."""
    step = 1
    while 2 * step <= n_neg:
        step *= 2
    return min(step, n_neg)


@kernel
def place_negatives(kind, drops, pos, neg, scale, tolerance):
    """Return the number of positives above every negative in the most violated ranking.

    ``pos`` and ``neg`` are descending scores, and drops[k - 1] = f(k) - f(k + 1) of all ranks k < n if gains depend on
    the rank alone (BY_RANK). Of two places whose violations differ by ``tolerance`` or less the lower is taken.
    """
    n_pos, n_neg = pos.size, neg.size
    above = np.zeros(n_neg + 1, np.int64)  # from 1; the 0-th stands above all negatives
    step = _first_step(n_neg)
    while step > 0:
        # Negatives at multiples of 2 step have been placed.
        for j in range(step, n_neg + 1, 2 * step):
            highest = above[j - step]
            place = above[j + step] if j + step <= n_neg else n_pos
            total, best, score = 0.0, 0.0, neg[j - 1]
            for r in range(place - 1, highest - 1, -1):  # 0 <= r < n_pos, as places are
                total += _drop(kind, drops, n_pos, r + 1, j) - scale * (pos[r] - score)
                if total > best + tolerance:
                    best, place = total, r
            above[j] = place
        step //= 2
    return above[1:]


@kernel
def place_between(starts, ends, first, totals, tolerance, places):
    """Write the best of every negative's places, as `place_negatives` chooses it, to ``places``.

    The terms totals[starts[m]:ends[m]] of the m-th negative are those of the positives first[m], first[m] + 1, ... that
    may stand below it, counted from 0.
    """
    for m in range(starts.size):
        low, high = max(starts[m], 0), min(ends[m], totals.size)
        total, best, place = 0.0, 0.0, high
        for t in range(high - 1, low - 1, -1):
            total += totals[t]
            if total > best + tolerance:
                best, place = total, t
        places[m] = first[m] + place - low
