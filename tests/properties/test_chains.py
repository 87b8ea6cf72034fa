"""Label vectors drawn from chains, against the definition with the same random numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from metricwise.kernels.chains import sample_chain

MASK = 2**64 - 1


def mixed(state):
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniforms(seed, row, count):
    """The numbers of a sample between 0 and 1: splitmix64 from a state of its own."""
    step = 0x9E3779B97F4A7C15
    start = mixed((seed + step * (row + 1)) & MASK)
    return [(mixed((start + step * (place + 1)) & MASK) >> 11) / 2**53 for place in range(count)]


def slowly(logits, weights, order, seed, first_row, n_samples):
    """One label after the other: it is on if its number is below 1 / (1 + exp(-score))."""
    n_rows, n_labels = logits.shape
    samples = np.zeros((n_rows, n_samples, n_labels), dtype=np.int8)
    for i in range(n_rows):
        numbers = iter(uniforms(seed, first_row + i, n_samples * n_labels))
        for s in range(n_samples):
            on = []
            for k in range(n_labels):
                score = logits[i, k]
                for j in on:
                    score += weights[j, k]
                with np.errstate(over="ignore"):
                    if next(numbers) * (1.0 + np.exp(-score)) < 1.0:
                        on.append(k)
            samples[i, s, order[on]] = 1
    return samples


def drawn(logits, weights, order, seed, first_row, n_samples, cuts=()):
    samples = np.zeros((len(logits), n_samples, logits.shape[1]), dtype=np.int8)
    edges = [0, *sorted(cuts), len(logits)]
    for start, stop in pairwise(edges):
        sample_chain(logits, weights, order, seed, first_row, samples, start, stop)
    return samples


def chain(rng, n_rows, n_labels, scale, shift):
    logits = rng.normal(shift, scale, (n_rows, n_labels))
    return logits, np.triu(rng.normal(0.0, scale, (n_labels, n_labels)), 1), rng.permutation(n_labels)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31 - 1),
    n_rows=st.integers(1, 4),
    n_labels=st.integers(1, 40),
    scale=st.sampled_from([0.0, 0.1, 1.0, 5.0, 300.0, 1e4]),
    shift=st.sampled_from([0.0, -3.0, 3.0, -8.0, 700.0]),
    first_row=st.integers(0, 2**40),
    cut=st.integers(0, 4),
)
def test_draws_follow_the_definition(seed, n_rows, n_labels, scale, shift, first_row, cut):
    logits, weights, order = chain(np.random.default_rng(seed), n_rows, n_labels, scale, shift)
    given_chain = logits, weights, order, seed, first_row, 20
    np.testing.assert_array_equal(drawn(*given_chain, [min(cut, n_rows)]), slowly(*given_chain))


@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 64, 130])
def test_many_draws_follow_the_definition(n_labels):
    """So many that the first bits of a number often leave a draw open."""
    logits, weights, order = chain(np.random.default_rng(n_labels), 4, n_labels, 0.7, -1.0)
    given_chain = logits, weights, order, 3, 0, 2000 // n_labels + 20
    np.testing.assert_array_equal(drawn(*given_chain), slowly(*given_chain))


def test_scores_at_the_limits():
    """Where the first bits of a number change, on both sides."""
    limits = logit(np.arange(1, 1024) / 1024)
    logits = np.concatenate([np.nextafter(limits, -np.inf), limits, np.nextafter(limits, np.inf)]).reshape(-1, 9)
    given_chain = logits, np.zeros((9, 9)), np.arange(9), 1, 0, 12
    np.testing.assert_array_equal(drawn(*given_chain), slowly(*given_chain))


@pytest.mark.parametrize("size", [800.0, 1e4, 1e200])
def test_scores_that_leave_the_range_of_exponentials_come_back(size):
    """A product of odds would be stuck at zero or infinity."""
    weights = np.zeros((5, 5))
    weights[0, 2:] = [3 * size, -3 * size, size]
    weights[1, 2:] = [-3 * size, 3 * size, size]
    found = drawn(np.array([[size, size, 0.0, 0.0, -3 * size]]), weights, np.arange(5), 0, 0, 400)[0]
    assert found[:, :2].all()
    assert 0.4 < found[:, 2].mean() < 0.6
    assert 0.4 < found[:, 3].mean() < 0.6
    assert not found[:, 4].any()


def test_infinite_scores_are_certain():
    found = drawn(np.array([[np.inf, -np.inf]]), np.zeros((2, 2)), np.arange(2), 0, 0, 4000)[0]
    assert found[:, 0].all()
    assert not found[:, 1].any()


def test_missing_scores_are_off():
    found = drawn(np.array([[np.nan, 50.0]]), np.zeros((2, 2)), np.arange(2), 0, 0, 50)
    assert not found[0, :, 0].any()
    assert found[0, :, 1].all()
