"""Label vectors drawn from a chain of logistic regressions."""

import numpy as np
from scipy.special import logit

from metricwise.kernels.compiling import kernel
from metricwise.kernels.pure_python import allow_overflow
from metricwise.kernels.random_numbers import STEP, mix

_ONE = np.uint64(1)  # indices of labels are unsigned: signed ones might count from the end, which hinders vector code

# A label is on if its random number u is below its probability, that is, if its score exceeds logit(u). The first bits
# of u give two limits between which logit(u) lies, which settles all but one draw in a thousand without an
# exponential.
_BITS = 10
_LIMITS = logit(np.arange(2**_BITS + 1) / 2**_BITS)
_AFTER_BITS = np.uint64(64 - _BITS)


@kernel
def _is_on(number, score):
    """Return whether a random number is below the probability of a score that exceeds the lower of its limits."""
    if score > _LIMITS[(number >> _AFTER_BITS) + _ONE]:
        return True
    uniform = np.int64(number >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return uniform * (1.0 + np.exp(-score)) < 1.0


@allow_overflow
@kernel
def sample_chain(logits, weights, order, seed, first_sample, samples, start, stop):
    """Draw label vectors for the samples ``start`` to ``stop``.

    ``logits[i, k]`` is the score of the k-th label of the chain for sample i if no label before is on, and
    ``weights[j, k]`` what label j before it adds if it is. ``samples[i, s, order[k]]``, zero before, becomes 1 where
    the label is on. The random numbers of a sample are derived from its number, so that neither threads nor batches
    change what is drawn.

    Only labels that are on cost more than a comparison, as only they change the scores of those after them. Scores are
    sums, not products of odds, which could overflow.
    """
    n_labels, n_samples = np.uint64(logits.shape[1]), samples.shape[1]
    numbers = np.empty(n_labels, np.uint64)
    scores, limits = np.zeros(n_labels + _ONE), np.empty(n_labels + _ONE)
    limits[n_labels] = -np.inf  # ends the search for the next label, as the score behind the last one stays zero
    for i in range(start, stop):
        state = mix(np.uint64(seed) + STEP * np.uint64(first_sample + i + 1))
        for s in range(n_samples):
            for label in range(n_labels):
                state += STEP
                numbers[label] = mix(state)
                limits[label] = _LIMITS[numbers[label] >> _AFTER_BITS]
                scores[label] = logits[i, label]
            k = np.uint64(0)
            while True:
                while scores[k] <= limits[k]:
                    k += _ONE
                if k == n_labels:
                    break
                if _is_on(numbers[k], scores[k]):
                    samples[i, s, order[k]] = 1
                    for later in range(k + _ONE, n_labels):
                        scores[later] += weights[k, later]
                k += _ONE
