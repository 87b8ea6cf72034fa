"""Products of a data matrix with a vector, over a list of its samples.

Every function takes a list of samples, so that one matrix serves the whole problem, a fold of it or a
subsample, and a range ``start, stop``, so that several threads can share the work; none of them holds the interpreter
lock. Where rows are contiguous, ``order`` lists the positions in ``samples`` in the order of memory, and the range is
one of ``order``: a list with the positives first would read the memory twice and leave half of what it loads unused.
Sums may be reassociated, which lets the compiler use vector registers, but equal samples always get equal scores,
because a sample is summed in the same order at any position.

Positions are unsigned in the sparse kernels: for signed ones every access would first check for a position counted
from the end, which costs more than half of the time. `metricwise.designs.make_design` has checked those of the matrix.
"""

import numpy as np

from metricwise.kernels.compiling import kernel

# No "nnan" or "ninf": inputs are checked once, but intermediate values must keep their meaning.
_REASSOCIATE = {"reassoc", "contract", "nsz"}


@kernel(fastmath=_REASSOCIATE)
def dense_scores(X, samples, order, w, offset, out, start, stop):
    """out[k] = X[samples[k]] . w + offset, rows contiguous in memory."""
    for i in range(start, stop):
        k = order[i]
        row = X[samples[k]]
        total = 0.0
        for j in range(row.size):
            total += row[j] * w[j]
        out[k] = total + offset


@kernel(fastmath=_REASSOCIATE)
def dense_combine(X, samples, order, c, out, start, stop):
    """out += sum over k of c[k] X[samples[k]], rows contiguous in memory; samples with c = 0 are not read."""
    for i in range(start, stop):
        k = order[i]
        factor = c[k]
        if factor != 0.0:
            row = X[samples[k]]
            for j in range(row.size):
                out[j] += factor * row[j]


@kernel(fastmath=_REASSOCIATE)
def columns_scores(X, w, out, start, stop):
    """out[i] = X[i] . w for the samples start..stop of a matrix whose columns are contiguous."""
    block = 2048  # the slice of out stays in the first-level cache while the columns stream by
    n_columns = X.shape[1]
    fours = n_columns - n_columns % 4  # four columns at a time: a fourth of the reads and writes of out
    for first in range(start, stop, block):
        part = out[first : min(first + block, stop)]
        last = first + part.size
        part[:] = 0.0
        for j in range(0, fours, 4):
            w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
            x0, x1, x2, x3 = X[first:last, j], X[first:last, j + 1], X[first:last, j + 2], X[first:last, j + 3]
            for i in range(part.size):
                part[i] += (w0 * x0[i] + w1 * x1[i]) + (w2 * x2[i] + w3 * x3[i])
        for j in range(fours, n_columns):
            w0, x0 = w[j], X[first:last, j]
            for i in range(part.size):
                part[i] += w0 * x0[i]


@kernel(fastmath=_REASSOCIATE)
def columns_combine(X, c, out, start, stop):
    """out[j] = X[:, j] . c for the columns start..stop of a matrix whose columns are contiguous."""
    for j in range(start, stop):
        column = X[:, j]
        total = 0.0
        for i in range(column.size):
            total += column[i] * c[i]
        out[j] = total


@kernel
def columns_scores_of_subset(X, samples, w, out, start, stop):
    """out[k] = X[samples[k]] . w for a subset much smaller than the matrix, whose columns are contiguous."""
    block = 2048
    for first in range(start, stop, block):
        last = min(first + block, stop)
        out[first:last] = 0.0
        for j in range(X.shape[1]):
            factor = w[j]
            if factor != 0.0:
                for k in range(first, last):
                    out[k] += factor * X[samples[k], j]


@kernel
def columns_combine_of_subset(X, samples, c, out, start, stop):
    """out[j] = sum over k of c[k] X[samples[k], j] for a subset, columns contiguous."""
    for j in range(start, stop):
        total = 0.0
        for k in range(samples.size):
            total += X[samples[k], j] * c[k]
        out[j] = total


@kernel(fastmath=_REASSOCIATE)
def sparse_scores(data, indices, indptr, samples, order, w, offset, out, start, stop):
    """out[k] = X[samples[k]] . w + offset for a matrix in compressed rows (CSR)."""
    for i in range(start, stop):
        k = order[i]
        total = 0.0
        for p in range(np.uint64(indptr[samples[k]]), np.uint64(indptr[samples[k] + 1])):
            total += data[p] * w[np.uint64(indices[p])]
        out[k] = total + offset


@kernel
def sparse_combine(data, indices, indptr, samples, order, c, out, start, stop):
    """out += sum over k of c[k] X[samples[k]] for a matrix in compressed rows (CSR)."""
    for i in range(start, stop):
        k = order[i]
        factor = c[k]
        if factor != 0.0:
            for p in range(np.uint64(indptr[samples[k]]), np.uint64(indptr[samples[k] + 1])):
                out[np.uint64(indices[p])] += factor * data[p]
