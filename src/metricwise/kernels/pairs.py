"""Pairs of a positive and a negative, never listed: one sort of each class and one walk along both.

numpy sorts values as fast as this, but the walk needs the permutation, and a radix sort that carries
the indices along is three times faster than numpy's argsort (measured on 30 thousand to 500 thousand scores).
"""

import numba as nb
import numpy as np

from metricwise.kernels.compiling import helper

_DIGIT = 11
_LOWEST = 31  # the radix passes order the upper 33 bits of a key; an insertion pass settles the rest


@helper
def _ordered_key(bits):
    """Map the bits of a float to an unsigned integer with the same order."""
    if bits >> np.uint64(63):
        return ~bits
    return bits | np.uint64(1 << 63)


@helper
def _bits_of_key(key):
    """Undo `_ordered_key`."""
    if key >> np.uint64(63):
        return key ^ np.uint64(1 << 63)
    return ~key


@nb.njit(cache=True, nogil=True)
def argsort_scores(scores):
    """Return the permutation that sorts ``scores`` ascending, and the sorted scores."""
    n = scores.size
    bits = scores.view(np.uint64)
    keys, other_keys = np.empty(n, np.uint64), np.empty(n, np.uint64)
    indices, other_indices = np.empty(n, np.int32), np.empty(n, np.int32)
    counts = np.zeros((3, 1 << _DIGIT), np.int64)
    mask = np.uint64((1 << _DIGIT) - 1)
    for i in range(n):
        key = _ordered_key(bits[i])
        keys[i] = key
        indices[i] = i
        for level in range(3):
            counts[level, (key >> np.uint64(_LOWEST + _DIGIT * level)) & mask] += 1
    for level in range(3):
        total = 0
        for digit in range(1 << _DIGIT):
            here = counts[level, digit]
            counts[level, digit] = total
            total += here
        shift = np.uint64(_LOWEST + _DIGIT * level)
        for i in range(n):
            digit = (keys[i] >> shift) & mask
            at = counts[level, digit]
            counts[level, digit] = at + 1
            other_keys[at] = keys[i]
            other_indices[at] = indices[i]
        keys, other_keys = other_keys, keys
        indices, other_indices = other_indices, indices
    _settle(keys, indices)
    for i in range(n):
        keys[i] = _bits_of_key(keys[i])
    return indices, keys.view(np.float64)


@helper
def _settle(keys, indices):
    """Sort the runs of keys with equal upper bits: mostly of length one, long where scores differ by rounding only."""
    low = np.uint64(_LOWEST)
    first = nb.int64(0)
    while first < keys.size:
        last = first + 1
        head = keys[first] >> low
        while last < keys.size and keys[last] >> low == head:
            last += 1
        if last - first > 1:
            _shell_sort(keys, indices, first, last)
        first = last


@helper
def _shell_sort(keys, indices, first, last):
    """Sort a run in place by insertion with shrinking gaps, which is far from quadratic on long runs."""
    gap = 1
    while gap < (last - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, last):
            key, row, j = keys[i], indices[i], i - gap
            while j >= first and keys[j] > key:
                keys[j + gap] = keys[j]
                indices[j + gap] = indices[j]
                j -= gap
            keys[j + gap] = key
            indices[j + gap] = row
        gap //= 3


@nb.njit(cache=True, nogil=True)
def sort_near_margin(scores, start, stop, sign, limit):
    """Return the samples that may be in a violated pair (sign * score above ``limit``), sorted by score."""
    indices = np.empty(stop - start, np.int32)
    count = 0
    for i in range(start, stop):
        indices[count] = i
        count += sign * scores[i] > limit
    indices = indices[:count]
    order, values = argsort_scores(scores[indices])
    return indices[order], values


@nb.njit(cache=True, nogil=True)
def violated_by_negatives(pos_indices, pos, neg_indices, neg, weights, weighted, scale, margin, out):
    """Sum the hinge losses and the weight of the violated pairs; write each negative's part of them to ``out``.

    ``pos`` and ``neg`` are the sorted scores of the samples that matter. The hinge loss of a pair is 1 - (s_i - s_j);
    ``margin`` is one, or a little less. out[j] receives ``scale`` times the sample's weight times the weight of its
    violated partners. Returns the scaled hinge sum and the scaled weight of violated pairs.
    """
    hinge, violated = 0.0, 0.0
    # Upwards: each negative's violated partners are the positives with s_i - margin < s_j.
    a, partner_weight, partner_sum = 0, 0.0, 0.0
    for b in range(neg.size):
        while a < pos.size and pos[a] - margin < neg[b]:
            weight = weights[pos_indices[a]] if weighted else 1.0
            partner_weight += weight
            partner_sum += weight * (pos[a] - 1.0)
            a += 1
        weight = weights[neg_indices[b]] if weighted else 1.0
        out[neg_indices[b]] = scale * weight * partner_weight
        hinge += weight * (neg[b] * partner_weight - partner_sum)
        violated += weight * partner_weight
    return scale * hinge, scale * violated


@nb.njit(cache=True, nogil=True)
def violated_by_positives(pos_indices, pos, neg_indices, neg, weights, weighted, scale, margin, out):
    """Write each positive's part of the pairs of `violated_by_negatives` to ``out``, with a minus."""
    # Downwards: each positive's violated partners are the negatives above s_i - margin.
    b, partner_weight = neg.size - 1, 0.0
    for a in range(pos.size - 1, -1, -1):
        while b >= 0 and neg[b] > pos[a] - margin:
            partner_weight += weights[neg_indices[b]] if weighted else 1.0
            b -= 1
        out[pos_indices[a]] = -scale * (weights[pos_indices[a]] if weighted else 1.0) * partner_weight
