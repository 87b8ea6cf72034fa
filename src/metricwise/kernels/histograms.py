"""Histograms of scores, one per class.

A score is a mixture of two vectors, p a + q b, as it is along a line. Bins are given by the ascending edges between
them; a bin includes its lower edge. Sums are kept in whole units, so that they do not depend on the order in which
samples, or parts of them, are added up.
"""

import numpy as np

from metricwise.kernels.compiling import kernel


@kernel
def _first_edges(edges, cells):
    """Return, for every cell of an even grid over the edges, how many edges are at or below its lower end."""
    first = np.empty(cells + 1, np.int64)
    if edges.size == 0:
        first[:] = 0
        return first
    step = (edges[-1] - edges[0]) / cells
    at = 0
    for cell in range(cells + 1):
        low = edges[0] + cell * step
        while at < edges.size and edges[at] <= low:
            at += 1
        first[cell] = at
    return first


@kernel(inline="always")
def _bin_of(score, edges, first, cells, per_score):
    """Return the number of edges at or below a score, by bisection between the edges of its cell and neighbours."""
    if edges.size == 0 or not score >= edges[0]:  # NaN as well, which has no cell
        return 0
    if score >= edges[-1]:
        return edges.size
    low, high = 0, edges.size
    if per_score > 0.0:
        cell = min(int((score - edges[0]) * per_score), cells - 1)
        low, high = first[max(cell - 1, 0)], first[min(cell + 2, cells)]
    while low < high:
        middle = (low + high) // 2
        if edges[middle] <= score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _cells_per_score(edges, cells):
    """Return the number of cells per unit of score; 0 where the edges are too close together for a grid."""
    width = edges[-1] - edges[0] if edges.size else 0.0
    return cells / width if cells * 1e-290 < width < 1e290 else 0.0


@kernel
def count_scores(a, b, p, q, of_class, edges, class_number, a_units, b_units, counts, low, high, a_sums, b_sums):
    """Add the samples of a class to its bins: how many, least and greatest score, and the sums of a and b.

    ``a_units`` and ``b_units`` are the units per 1.0.
    """
    cells = 2 * (edges.size + 1)
    first, per_score = _first_edges(edges, cells), _cells_per_score(edges, cells)
    for i in range(a.size):
        if of_class[i] != class_number:
            continue
        score = p * a[i] + q * b[i]
        k = _bin_of(score, edges, first, cells, per_score)
        counts[k] += 1
        low[k] = min(low[k], score)
        high[k] = max(high[k], score)
        a_sums[k] += np.int64(np.rint(a[i] * a_units))
        b_sums[k] += np.int64(np.rint(b[i] * b_units))


@kernel
def spread_over_samples(a, b, p, q, of_class, edges, class_number, by_bin, out):
    """Write to ``out`` the value of its bin for every sample of a class."""
    cells = 2 * (edges.size + 1)
    first, per_score = _first_edges(edges, cells), _cells_per_score(edges, cells)
    for i in range(a.size):
        if of_class[i] == class_number:
            out[i] = by_bin[_bin_of(p * a[i] + q * b[i], edges, first, cells, per_score)]
