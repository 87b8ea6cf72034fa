"""Random numbers that depend on a seed and a count alone (splitmix64), so that a generator has no state to store."""

import numba as nb
import numpy as np

from metricwise.kernels.compiling import helper, kernel
from metricwise.kernels.pure_python import allow_overflow

STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@allow_overflow
@kernel
def mix(state):
    """Return a number every bit of which depends on every bit of ``state``."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


@helper
def uniform(state):
    """Return a number in [0, 1) for a state."""
    return (mix(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@allow_overflow
@kernel
def shuffle(values, seed):
    """Put values into a random order, in place; all orders are equally likely, up to rounding to 53 bits."""
    state = mix(np.uint64(seed))
    for i in range(values.size - 1, 0, -1):
        state += STEP
        j = nb.int64(uniform(state) * (i + 1))  # at most i: the product with 1 - 2^-53 is never rounded up to i + 1
        values[i], values[j] = values[j], values[i]
