"""Vectors are transferred unchanged, in fewer bytes where they have few distinct values."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.designs.cluster.encoding import (
    DictionaryVector,
    SparseVector,
    count_bytes,
    decode_coefficients,
    encode_coefficients,
    encode_weights,
)

RNG = np.random.default_rng(0)
LABELLING = np.repeat([0.0, -0.125, 0.0, 0.25], [3000, 1000, 5000, 7])


def add_ties(vector):
    """Return a labelling with fractional entries at a few ties, which a random sample of the entries misses."""
    tied = vector.copy()
    tied[RNG.choice(vector.size, size=5, replace=False)] = RNG.random(5)
    return tied


VECTORS = {
    "nothing": np.zeros(0),
    "zeros": np.zeros(50),
    "labelling": LABELLING,
    "shuffled": RNG.permutation(LABELLING),
    "ties": add_ties(RNG.permutation(LABELLING)),
    "all different": RNG.normal(size=4000),
    "half different": np.concatenate([np.zeros(4000), RNG.normal(size=4000)]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_coefficients_are_transferred_unchanged(name):
    sent = encode_coefficients(VECTORS[name])
    np.testing.assert_array_equal(decode_coefficients(sent), VECTORS[name])
    assert count_bytes(sent) <= VECTORS[name].nbytes + 100


@pytest.mark.parametrize("name", ["labelling", "shuffled", "ties"])
def test_labellings_take_one_byte_per_sample(name):
    sent = encode_coefficients(VECTORS[name])
    assert isinstance(sent, DictionaryVector)
    assert count_bytes(sent) < 1.1 * VECTORS[name].size + 200


def test_weights_with_few_nonzeros_are_sent_as_sparse_vectors():
    vector = np.zeros(1000)
    vector[[3, 500]] = 1.0, -2.0
    sent = encode_weights(vector)
    assert isinstance(sent, SparseVector)
    assert (sent.positions.tolist(), sent.values.tolist(), count_bytes(sent)) == ([3, 500], [1.0, -2.0], 32)
    assert isinstance(encode_weights(np.ones(4)), np.ndarray)
