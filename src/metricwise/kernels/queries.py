"""The most violated rankings of many queries, each with one list of positives and negatives per level of relevance.

The samples of a query are contiguous. Its lists share one sort; in the list of a level, the samples of that grade or a
higher one are the positives.
"""

import numpy as np

from metricwise.kernels.compiling import helper, kernel
from metricwise.kernels.pairs import shell_sort
from metricwise.kernels.rank_gains import AVERAGE_PRECISION, BY_RANK, place_negatives


@kernel
def sort_short_queries(starts, longest, keys, order):
    """Sort the keys of every query of at most ``longest`` samples in place, ascending, and their positions with them.

    ``starts`` rises from 0 to the number of keys.
    """
    for q in range(starts.size - 1):
        first, end = starts[q], starts[q + 1]
        if end - first <= longest:
            shell_sort(keys, order, first, end)


@helper
def _gain(kind, discounts, best, n_pos, i, k):
    """Return f(i, k), the gain of the i-th best positive at rank k."""
    if kind == AVERAGE_PRECISION:
        return i / (k * float(n_pos))
    if kind == BY_RANK:
        return discounts[k - 1] / best
    return 1.0 / k if i == 1 else 0.0


@helper
def _add_shares(scores, samples, size, partners, factor, tied, out):
    """Add ``factor`` times its partners to the coefficient of every sample; neighbours tied in score share them."""
    first = 0
    while first < size:
        end, total = first + 1, float(partners[first])
        while end < size and scores[end - 1] - scores[end] <= tied:
            total += partners[end]
            end += 1
        for t in range(first, end):
            out[samples[t]] += factor * (total / (end - first))
        first = end


@kernel
def violate_lists(
    kind, discounts, starts, grades, queries, levels, shares, keys, order, tied, margin, drops, values, samples, out
):
    """Add up the coefficients of the most violated rankings of all lists in ``out``; return their mean loss.

    Parameters
    ----------
    kind : int
        The gains: AVERAGE_PRECISION, BY_RANK (discounts over the best sum) or FIRST_POSITIVE.
    discounts : array
        Of all ranks, for BY_RANK; as many as the longest query has samples, at least.
    starts : array of int
        The first sample of every query, and the number of samples.
    grades : array of int
        Of the samples.
    queries, levels, shares : arrays
        The query of every list, the lowest grade of its positives, and its share in the mean; all lists have positives
        and negatives.
    keys, order : arrays
        Negated scores, sorted within every query, and the samples in that order.
    tied, margin : float
        Of the largest score of a query, or of one if that is more for the margin: scores that are tied, and violations
        that are equal, differ by no more.
    drops, values, samples : arrays
        Room for the longest query; of ``values`` and ``samples`` two rows.
    """
    mean_loss = 0.0
    for m in range(queries.size):
        first, end, level = starts[queries[m]], starts[queries[m] + 1], levels[m]
        n_pos = n_neg = 0
        for t in range(first, end):
            sample = order[t]
            if grades[sample] >= level:
                values[0, n_pos], samples[0, n_pos] = -keys[t], sample
                n_pos += 1
            else:
                values[1, n_neg], samples[1, n_neg] = -keys[t], sample
                n_neg += 1
        best = 1.0
        if kind == BY_RANK:
            best = 0.0
            for k in range(n_pos):
                best += discounts[k]
            for k in range(n_pos + n_neg - 1):
                drops[k] = discounts[k] / best - discounts[k + 1] / best
        pos, neg, scale = values[0, :n_pos], values[1, :n_neg], 1.0 / (float(n_pos) * float(n_neg))
        largest = max(-keys[first], keys[end - 1])
        above = place_negatives(kind, drops, pos, neg, scale, margin * max(largest, 1.0) / n_neg)
        passed = np.empty(n_pos, np.int64)
        loss, before = 0.0, 0
        for i in range(1, n_pos + 1):
            while before < n_neg and above[before] < i:
                before += 1
            passed[i - 1] = before
            loss += _gain(kind, discounts, best, n_pos, i, i) - _gain(kind, discounts, best, n_pos, i, i + before)
        for j in range(n_neg):
            above[j] = n_pos - above[j]  # from here on the positives below a negative
        _add_shares(pos, samples[0], n_pos, passed, -shares[m] * scale, tied * largest, out)
        _add_shares(neg, samples[1], n_neg, above, shares[m] * scale, tied * largest, out)
        mean_loss += shares[m] * loss
    return mean_loss
