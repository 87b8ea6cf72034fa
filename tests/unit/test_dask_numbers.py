"""Vectors arrive as they were sent, in fewer bytes where they have few different entries."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.designs.cluster.numbers import FewEntries, FewValues, by_entries, by_values, in_full, n_bytes

RNG = np.random.default_rng(0)
LABELLING = np.repeat([0.0, -0.125, 0.0, 0.25], [3000, 1000, 5000, 7])


def with_ties(vector):
    """A labelling that takes a share of some samples, which no sample of the entries shows."""
    tied = vector.copy()
    tied[RNG.choice(vector.size, size=5, replace=False)] = RNG.random(5)
    return tied


VECTORS = {
    "nothing": np.zeros(0),
    "zeros": np.zeros(50),
    "labelling": LABELLING,
    "shuffled": RNG.permutation(LABELLING),
    "ties": with_ties(RNG.permutation(LABELLING)),
    "all different": RNG.normal(size=4000),
    "half different": np.concatenate([np.zeros(4000), RNG.normal(size=4000)]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_coefficients_arrive_as_they_were(name):
    sent = by_values(VECTORS[name])
    np.testing.assert_array_equal(in_full(sent), VECTORS[name])
    assert n_bytes([sent]) <= VECTORS[name].nbytes + 100


@pytest.mark.parametrize("name", ["labelling", "shuffled", "ties"])
def test_labellings_travel_in_one_byte_a_row(name):
    sent = by_values(VECTORS[name])
    assert isinstance(sent, FewValues)
    assert n_bytes([sent]) < 1.1 * VECTORS[name].size + 200


def test_long_vectors_of_few_entries_travel_by_their_entries():
    vector = np.zeros(1000)
    vector[[3, 500]] = 1.0, -2.0
    sent = by_entries(vector)
    assert isinstance(sent, FewEntries)
    assert (sent.where.tolist(), sent.values.tolist(), n_bytes([sent])) == ([3, 500], [1.0, -2.0], 32)
    assert isinstance(by_entries(np.ones(4)), np.ndarray)
