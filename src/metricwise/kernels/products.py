"""Products of a data matrix with a vector, over a list of its rows.

Every function takes the rows ``rows[start:stop]`` of the matrix, so that one matrix serves the whole problem, a fold
of it or a sample, and so that several threads can share the work; none of them holds the interpreter lock. Sums may be
reassociated (that is what lets the compiler use vector registers), but equal rows always get equal scores, because a
row is summed in the same order wherever it stands.
"""

import numba as nb

# No "nnan" or "ninf": inputs are checked once, but intermediate values must keep their meaning.
_REASSOCIATE = {"reassoc", "contract", "nsz"}


@nb.njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def dense_scores(X, rows, w, offset, out, start, stop):
    """out[k] = X[rows[k]] . w + offset, rows contiguous in memory."""
    n_features = X.shape[1]
    for k in range(start, stop):
        row = X[rows[k]]
        total = 0.0
        for j in range(n_features):
            total += row[j] * w[j]
        out[k] = total + offset


@nb.njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def dense_combine(X, rows, c, out, start, stop):
    """out += sum over k of c[k] X[rows[k]], rows contiguous in memory; rows with c = 0 are not read."""
    n_features = X.shape[1]
    for k in range(start, stop):
        factor = c[k]
        if factor != 0.0:
            row = X[rows[k]]
            for j in range(n_features):
                out[j] += factor * row[j]


@nb.njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def columns_scores(X, w, out, start, stop):
    """out[i] = X[i] . w for the rows start..stop of a matrix whose columns are contiguous."""
    block = 2048  # the slice of out stays in the first-level cache while the columns stream by
    for first in range(start, stop, block):
        last = min(first + block, stop)
        out[first:last] = 0.0
        for j in range(X.shape[1]):
            factor = w[j]
            if factor != 0.0:
                for i in range(first, last):
                    out[i] += factor * X[i, j]


@nb.njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def columns_combine(X, c, out, start, stop):
    """out[j] = X[:, j] . c for the columns start..stop of a matrix whose columns are contiguous."""
    n_rows = X.shape[0]
    for j in range(start, stop):
        total = 0.0
        for i in range(n_rows):
            total += X[i, j] * c[i]
        out[j] = total


@nb.njit(cache=True, nogil=True)
def columns_scores_of_rows(X, rows, w, out, start, stop):
    """As `columns_scores`, but only for the listed rows: for samples much smaller than the matrix."""
    block = 2048
    for first in range(start, stop, block):
        last = min(first + block, stop)
        out[first:last] = 0.0
        for j in range(X.shape[1]):
            factor = w[j]
            if factor != 0.0:
                for k in range(first, last):
                    out[k] += factor * X[rows[k], j]


@nb.njit(cache=True, nogil=True)
def columns_combine_of_rows(X, rows, c, out, start, stop):
    """As `columns_combine`, but only over the listed rows."""
    for j in range(start, stop):
        total = 0.0
        for k in range(rows.size):
            total += X[rows[k], j] * c[k]
        out[j] = total


@nb.njit(cache=True, nogil=True)
def sparse_scores(data, indices, indptr, rows, w, offset, out, start, stop):
    """out[k] = X[rows[k]] . w + offset for a matrix in compressed rows."""
    for k in range(start, stop):
        total = 0.0
        for p in range(indptr[rows[k]], indptr[rows[k] + 1]):
            total += data[p] * w[indices[p]]
        out[k] = total + offset


@nb.njit(cache=True, nogil=True)
def sparse_combine(data, indices, indptr, rows, c, out, start, stop):
    """out += sum over k of c[k] X[rows[k]] for a matrix in compressed rows."""
    for k in range(start, stop):
        factor = c[k]
        if factor != 0.0:
            for p in range(indptr[rows[k]], indptr[rows[k] + 1]):
                out[indices[p]] += factor * data[p]
