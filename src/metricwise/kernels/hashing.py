"""A 64-bit fingerprint of every row, equal for equal rows however they are stored."""

import numba as nb
import numpy as np

_PRIME_A = np.uint64(0x9E3779B97F4A7C15)
_PRIME_B = np.uint64(0xBF58476D1CE4E5B9)
_PRIME_C = np.uint64(0x94D049BB133111EB)


@nb.njit(cache=True, nogil=True)
def _mix(x):
    """Finaliser of splitmix64: every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * _PRIME_B
    x = (x ^ (x >> np.uint64(27))) * _PRIME_C
    return x ^ (x >> np.uint64(31))


@nb.njit(cache=True, nogil=True)
def hash_dense(X, rows, seed, out):
    """Fingerprint the listed rows of a dense matrix; zeros count as absent, so a sparse copy hashes alike."""
    value = np.empty(1)
    bits = value.view(np.uint64)
    for k in range(rows.size):
        total = _mix(seed + _PRIME_A)
        for j in range(X.shape[1]):
            value[0] = X[rows[k], j]
            if value[0] != 0.0:
                total += _mix(bits[0] ^ _mix(seed + np.uint64(j + 1) * _PRIME_A))
        out[k] = _mix(total)


@nb.njit(cache=True, nogil=True)
def hash_sparse(data, indices, indptr, rows, seed, out):
    """Fingerprint the listed rows of a matrix in compressed rows."""
    value = np.empty(1)
    bits = value.view(np.uint64)
    for k in range(rows.size):
        total = _mix(seed + _PRIME_A)
        for p in range(indptr[rows[k]], indptr[rows[k] + 1]):
            value[0] = data[p]
            if value[0] != 0.0:
                total += _mix(bits[0] ^ _mix(seed + np.uint64(indices[p] + 1) * _PRIME_A))
        out[k] = _mix(total)
