"""A 64-bit fingerprint of every sample, equal for equal samples however they are stored."""

from typing import Any

import numpy as np

from metricwise.kernels.compiling import kernel
from metricwise.kernels.pure_python import allow_overflow
from metricwise.kernels.random_numbers import STEP, mix


def _make_scratch() -> tuple[Any, Any]:
    """Return a number and its bits in the same memory, made here as numba compiles long for a view of another type."""
    value = np.empty(1)
    return value, value.view(np.uint64)


def hash_dense(X: Any, samples: Any, seed: np.uint64, out: Any) -> None:
    """Fingerprint the listed samples of a dense matrix; zeros count as absent, so a sparse copy hashes alike."""
    _hash_dense(X, samples, seed, out, *_make_scratch())


@allow_overflow
@kernel
def _hash_dense(X, samples, seed, out, value, bits):
    for k in range(samples.size):
        total = mix(seed + STEP)
        for j in range(X.shape[1]):
            value[0] = X[samples[k], j]
            if value[0] != 0.0:
                total += mix(bits[0] ^ mix(seed + np.uint64(j + 1) * STEP))
        out[k] = mix(total)


def hash_sparse(data: Any, indices: Any, indptr: Any, samples: Any, seed: np.uint64, out: Any) -> None:
    """Fingerprint the listed samples of a matrix in compressed rows (CSR)."""
    _hash_sparse(data, indices, indptr, samples, seed, out, *_make_scratch())


@allow_overflow
@kernel
def _hash_sparse(data, indices, indptr, samples, seed, out, value, bits):
    for k in range(samples.size):
        total = mix(seed + STEP)
        for p in range(indptr[samples[k]], indptr[samples[k] + 1]):
            value[0] = data[p]
            if value[0] != 0.0:
                total += mix(bits[0] ^ mix(seed + np.uint64(indices[p] + 1) * STEP))
        out[k] = mix(total)
