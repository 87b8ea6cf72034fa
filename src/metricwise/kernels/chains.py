"""Label vectors drawn from a chain of logistic regressions."""

import numba as nb
import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@nb.njit(cache=True, nogil=True)
def _mixed(state):
    """A well-mixed number for every state (splitmix64)."""
    z = (state ^ (state >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@nb.njit(cache=True, nogil=True)
def sample_chain(odds, factors, order, seed, first_row, samples, start, stop):
    """Draw label vectors for the rows ``start`` to ``stop``.

    ``odds[i, k]`` are the odds against the k-th label of the chain for row i if no label before is on, and
    ``factors[j, k]`` what they are multiplied by if label j before it is. So no draw takes an exponential.
    ``samples[i, s, order[k]]`` receives the labels. Every row has random numbers of its own, by its number, so that
    neither threads nor batches change what is drawn.
    """
    n_labels, n_samples = odds.shape[1], samples.shape[1]
    against = np.empty(n_labels)
    for i in range(start, stop):
        state = _mixed(np.uint64(seed) + _STEP * np.uint64(first_row + i + 1))
        for s in range(n_samples):
            for k in range(n_labels):
                against[k] = odds[i, k]
            for k in range(n_labels):
                state += _STEP
                uniform = (_mixed(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                on = uniform * (1.0 + against[k]) < 1.0
                samples[i, s, order[k]] = on
                if on:
                    for rest in range(k + 1, n_labels):
                        against[rest] *= factors[k, rest]
