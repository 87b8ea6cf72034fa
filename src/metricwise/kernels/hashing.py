"""A 64-bit fingerprint of every sample, equal for equal samples however they are stored."""

from typing import Any

import numpy as np

from metricwise.kernels.compiling import kernel
from metricwise.kernels.pure_python import allow_overflow
from metricwise.kernels.random_numbers import STEP, mix

FEW_ENTRIES = 1 << 16
_mix_all: Any = getattr(mix, "py_func", mix)  # of arrays, and not compiled


def _make_scratch() -> tuple[Any, Any]:
    """Return a number and its bits in the same memory, made here as numba compiles long for a view of another type."""
    value = np.empty(1)
    return value, value.view(np.uint64)


def hash_dense(X: Any, samples: Any, seed: np.uint64, out: Any) -> None:
    """Fingerprint the listed samples of a dense matrix; zeros count as absent, so a sparse copy hashes alike."""
    if samples.size * X.shape[1] <= FEW_ENTRIES:
        out[:] = _hash_few(X, samples, seed)
    else:
        _hash_dense(X, samples, seed, out, *_make_scratch())


def _hash_few(X: Any, samples: Any, seed: np.uint64) -> Any:
    """Return the same fingerprints by numpy: for few entries, compiling would take far longer."""
    values = np.ascontiguousarray(X[samples], dtype=np.float64)
    columns = np.arange(1, X.shape[1] + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        parts = _mix_all(values.view(np.uint64) ^ _mix_all(seed + columns * STEP))
        parts[values == 0.0] = 0
        return _mix_all(parts.sum(axis=1, dtype=np.uint64) + _mix_all(seed + STEP))


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
