"""Negatives among the sorted positives: how many positives stand above each in the most violated ranking.

The j-th best negative adds to the violation of a ranking, for every positive i that stands below it,

    f(i, i + j - 1) - f(i, i + j) - scale * (s_i - t_j),

where f is the gain by rank. This falls with j, so the best number of positives above a negative never falls with j.
Every second negative is placed between its neighbours of the round before: the rounds take O(n log n) steps in all.
"""

import numpy as np

from metricwise.kernels.compiling import helper, kernel

AVERAGE_PRECISION, BY_RANK, FIRST_POSITIVE = 0, 1, 2
_BLOCK = 1 << 11  # negatives that are placed together
_WIDE = 8  # negatives between two that are placed: with fewer, a search is over before it can end early
_ROOM = 1.0 + 1e-6  # more than rounding: of drops as differences of gains, up to 6e-7 of them at rank 2**28


@helper
def _drop(kind, drops, n_pos, i, j):
    """Return f(i, i + j - 1) - f(i, i + j), of a positive i = 1, ..., n_pos and a negative j = 1, 2, ..."""
    if kind == AVERAGE_PRECISION:
        return i / ((i + j - 1.0) * (i + j) * n_pos)  # one division: they take most of the time
    if kind == BY_RANK:
        return drops[i + j - 2]
    return 1.0 / (j * (j + 1.0)) if i == 1 else 0.0


@helper
def _largest_drop(kind, drops, n_pos, highest, j):
    """Return an upper bound of what any positive below ``highest`` loses by the negative j, rounding included."""
    if kind == AVERAGE_PRECISION and highest + 1 < j:  # the largest of real numbers i is at sqrt(j (j - 1))
        return _ROOM / ((2.0 * np.sqrt(j * (j - 1.0)) + 2.0 * j - 1.0) * n_pos)
    return _ROOM * _drop(kind, drops, n_pos, highest + 1, j)


@helper
def _first_step(n_neg):
    """Return the largest power of two that is no larger than ``n_neg``; 0 if that is 0."""
    step = 1
    while 2 * step <= n_neg:
        step *= 2
    return min(step, n_neg)


@helper
def _place_round(kind, drops, pos, neg, scale, tolerance, above, start, stop, step):
    """Place every second of the negatives at multiples of ``step`` after ``start``, between neighbours placed before.

    0 <= start and stop <= neg.size + 1.
    """
    n_pos, n_neg = pos.size, neg.size
    for j in range(start + step, stop, 2 * step):
        highest = above[j - step]
        place = above[j + step] if j + step <= n_neg else n_pos
        total, best, score = 0.0, 0.0, neg[j - 1]
        if highest == place:
            above[j] = place
            continue
        largest = _largest_drop(kind, drops, n_pos, highest, j)
        falling = j - 1 if kind == AVERAGE_PRECISION and step >= _WIDE else 0  # from there upwards losses fall
        for r in range(place - 1, highest - 1, -1):  # 0 <= r < n_pos, as places are
            distance = scale * (pos[r] - score)
            if distance > largest:
                break  # neither this positive nor one with a higher score is worth passing
            drop = _drop(kind, drops, n_pos, r + 1, j)
            if r < falling and distance > _ROOM * drop:
                break  # the same, since higher positives lose less
            total += drop - distance
            if total > best + tolerance:
                best, place = total, r
        above[j] = place


@kernel
def place_negatives(kind, drops, pos, neg, scale, tolerance):
    """Return the number of positives above every negative in the most violated ranking.

    ``pos`` and ``neg`` are descending scores, and drops[k - 1] = f(k) - f(k + 1) of all ranks k < n if gains depend on
    the rank alone (BY_RANK). Of two places whose violations differ by ``tolerance`` or less the lower is taken.
    """
    n_neg = neg.size
    above = np.zeros(n_neg + 1, np.int64)  # from 1; the 0-th stands above all negatives
    step = _first_step(n_neg)
    # In a round, negatives at multiples of 2 step have been placed. Late rounds are made block by block, so that the
    # scores of a block stay in the cache.
    while step >= _BLOCK:
        _place_round(kind, drops, pos, neg, scale, tolerance, above, 0, n_neg + 1, step)
        step //= 2
    for start in range(0, n_neg + 1, _BLOCK):
        stop, inner = min(start + _BLOCK, n_neg + 1), step
        while inner > 0:
            _place_round(kind, drops, pos, neg, scale, tolerance, above, start, stop, inner)
            inner //= 2
    return above[1:]


@kernel
def count_passing(above, n_pos):
    """Return the number of negatives above every positive, given the numbers of positives above every negative."""
    # Counted rather than merged: which of two sorted lists goes on next is random, and no processor predicts it.
    passing = np.zeros(n_pos, np.int64)
    for j in range(above.size):
        if above[j] < n_pos:  # not negative, as places are
            passing[above[j]] += 1
    total = 0
    for i in range(n_pos):
        total += passing[i]
        passing[i] = total
    return passing


@kernel
def share_partners(ascending, values, weights, partners, tied, scale, out):
    """Write ``scale`` times the number of every sample's partners to ``out``; tied samples have equally many.

    ``ascending`` is the permutation that sorts the samples of a class by their scores, and ``values`` are these scores,
    descending. ``partners`` has an entry for every sample in the order of the values, or as many as its weight.
    """
    n = values.size
    first, first_copy = 0, 0
    while first < n:
        last = first + 1
        while last < n and values[last - 1] - values[last] <= tied:
            last += 1
        if weights is None and last == first + 1:  # most samples: nothing to add up or divide
            out[ascending[n - 1 - first]] = scale * partners[first]
            first, first_copy = last, last
            continue
        last_copy = first_copy
        for k in range(first, last):
            last_copy += 1 if weights is None else int(weights[ascending[n - 1 - k]])
        total = 0
        for copy in range(first_copy, min(last_copy, partners.size)):
            total += partners[copy]
        mean = total / (last_copy - first_copy)
        for k in range(first, last):
            sample = ascending[n - 1 - k]
            out[sample] = scale * mean if weights is None else scale * (weights[sample] * mean)
        first, first_copy = last, last_copy


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
