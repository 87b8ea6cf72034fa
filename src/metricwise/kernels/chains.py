"""Label vectors drawn from a chain of logistic regressions."""

import math

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
def sample_chain(logits, later, order, seed, first_row, samples, start, stop):
    """Draw label vectors for the rows ``start`` to ``stop``.

    ``logits[i, k]`` is what row i alone gives to the k-th label of the chain, and ``later[j, k]`` what label j adds to
    label k behind it, if it is on. ``samples[i, s, order[k]]`` receives the labels. Every row has random numbers of its
    own, by its number, so that neither threads nor batches change what is drawn.
    """
    n_labels, n_samples = logits.shape[1], samples.shape[1]
    sums = np.empty(n_labels)
    for i in range(start, stop):
        state = _mixed(np.uint64(seed) + _STEP * np.uint64(first_row + i + 1))
        for s in range(n_samples):
            for k in range(n_labels):
                sums[k] = logits[i, k]
            for k in range(n_labels):
                state += _STEP
                uniform = (_mixed(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                on = uniform * (1.0 + math.exp(-sums[k])) < 1.0 if sums[k] > -700.0 else False
                samples[i, s, order[k]] = on
                if on:
                    for rest in range(k + 1, n_labels):
                        sums[rest] += later[k, rest]
