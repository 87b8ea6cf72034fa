"""Random numbers that depend on a seed and a count alone (splitmix64), so that a generator has no state to store."""

from typing import Any

import numba as nb
import numpy as np

from metricwise.kernels.compiling import helper, kernel
from metricwise.kernels.pure_python import allow_overflow

FEW_VALUES = 1 << 12  # below, numpy is faster than loading compiled code
STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


def _mixed(state: Any) -> Any:
    """Return a number, or numbers, every bit of which depends on every bit of ``state``."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


mix = allow_overflow(kernel(_mixed))


@helper
def uniform(state):
    """Return a number in [0, 1) for a state."""
    return (mix(state) >> np.uint64(11)) * _UNIT


def shuffle(values: Any, seed: np.uint64) -> None:
    """Put values into a random order, in place; all orders are equally likely, up to rounding to 53 bits."""
    if values.size <= FEW_VALUES:
        _shuffle_few(values, seed)
    else:
        shuffle_many(values, seed)


def _shuffle_few(values: Any, seed: np.uint64) -> None:
    """Put values into the same order by numpy: for few of them, compiling would take far longer."""
    last = np.arange(values.size - 1, 0, -1)
    with np.errstate(over="ignore"):
        states = _mixed(np.uint64(seed)) + STEP * np.arange(1, values.size, dtype=np.uint64)
        chosen = (_mixed(states) >> np.uint64(11)) * _UNIT * (last + 1)
    shuffled = values.tolist()
    for i, j in zip(last.tolist(), chosen.astype(np.int64).tolist(), strict=True):
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    values[:] = shuffled


@allow_overflow
@kernel
def shuffle_many(values, seed):
    """Put values into the order of `shuffle` by compiled code."""
    state = mix(np.uint64(seed))
    for i in range(values.size - 1, 0, -1):
        state += STEP
        j = nb.int64(uniform(state) * (i + 1))  # at most i: the product with 1 - 2^-53 is never rounded up to i + 1
        values[i], values[j] = values[j], values[i]
