"""Pairs of a positive and a negative, never listed: one sort of each class and one walk along both.

numpy sorts values as fast as this, but the walk needs the permutation, and a radix sort that carries
the indices along is three times faster than numpy's argsort (measured on 30 thousand to 500 thousand scores).
"""

from typing import Any

import numba as nb
import numpy as np

from metricwise.kernels.compiling import helper, kernel

_DIGIT = 11
_LEVELS = 3
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


def argsort_scores(scores: Any) -> tuple[Any, Any]:
    """Return the permutation that sorts ``scores`` ascending, and the sorted scores."""
    # Allocated here, as numba compiles a function of its own for every kind of array that a kernel creates.
    n = scores.size
    keys, indices = np.empty((2, n), np.uint64), np.empty((2, n), np.int32)
    counts = np.zeros((_LEVELS, 1 << _DIGIT), np.int64)
    _sort_by_digits(np.ascontiguousarray(scores).view(np.uint64), keys, indices, counts)
    return indices[_LEVELS % 2], keys[_LEVELS % 2].view(np.float64)


@kernel
def _sort_by_digits(bits, keys, indices, counts):
    """Sort by a digit of the keys after the other, from one row of keys and indices to the other and back."""
    n = bits.size
    mask = np.uint64((1 << _DIGIT) - 1)
    for i in range(n):
        key = _ordered_key(bits[i])
        keys[0, i] = key
        indices[0, i] = i
        for level in range(_LEVELS):
            counts[level, (key >> np.uint64(_LOWEST + _DIGIT * level)) & mask] += 1
    for level in range(_LEVELS):
        total = 0
        for digit in range(1 << _DIGIT):
            here = counts[level, digit]
            counts[level, digit] = total
            total += here
        shift, old, new = np.uint64(_LOWEST + _DIGIT * level), level % 2, (level + 1) % 2
        for i in range(n):
            digit = (keys[old, i] >> shift) & mask
            at = counts[level, digit]
            counts[level, digit] = at + 1
            keys[new, at] = keys[old, i]
            indices[new, at] = indices[old, i]
    sorted_keys, sorted_indices = keys[_LEVELS % 2], indices[_LEVELS % 2]
    # Runs of keys with equal upper bits are mostly of length one, and long where scores differ by rounding only.
    first = nb.int64(0)
    while first < n:
        last = _end_of_run(sorted_keys, first)
        if last - first > 1:
            shell_sort(sorted_keys, sorted_indices, first, last)
        first = last
    for i in range(n):
        sorted_keys[i] = _bits_of_key(sorted_keys[i])


@helper
def _end_of_run(keys, first):
    """Return the position behind the keys that have the upper bits of the first one."""
    low = np.uint64(_LOWEST)
    last = first + 1
    while last < keys.size and keys[last] >> low == keys[first] >> low:
        last += 1
    return last


@helper
def shell_sort(keys, indices, first, last):
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


def sort_near_margin(scores: Any, start: int, stop: int, sign: float, limit: float) -> tuple[Any, Any]:
    """Return the samples that may be in a violated pair (sign * score above ``limit``), sorted by score."""
    own = scores[start:stop]
    near = np.flatnonzero(own > limit if sign > 0.0 else own < -limit)
    order, values = argsort_scores(own[near])
    return near.astype(np.int32)[order] + np.int32(start), values


@kernel
def violated_by_negatives(pos_indices, pos, neg_indices, neg, weights, scale, margin, out):
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
            weight = weights[pos_indices[a]] if weights is not None else 1.0
            partner_weight += weight
            partner_sum += weight * (pos[a] - 1.0)
            a += 1
        weight = weights[neg_indices[b]] if weights is not None else 1.0
        out[neg_indices[b]] = scale * weight * partner_weight
        hinge += weight * (neg[b] * partner_weight - partner_sum)
        violated += weight * partner_weight
    return scale * hinge, scale * violated


@kernel
def violated_by_positives(pos_indices, pos, neg_indices, neg, weights, scale, margin, out):
    """Write each positive's part of the pairs of `violated_by_negatives` to ``out``, with a minus."""
    # Downwards: each positive's violated partners are the negatives above s_i - margin.
    b, partner_weight = neg.size - 1, 0.0
    for a in range(pos.size - 1, -1, -1):
        while b >= 0 and neg[b] > pos[a] - margin:
            partner_weight += weights[neg_indices[b]] if weights is not None else 1.0
            b -= 1
        out[pos_indices[a]] = -scale * (weights[pos_indices[a]] if weights is not None else 1.0) * partner_weight
