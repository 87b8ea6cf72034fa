"""Label vectors sampled from chains, against the definition with the same random numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from metricwise.kernels.chains import sample_chain

MASK = 2**64 - 1


def mix_bits(state):
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draw_uniforms(seed, sample, count):
    """Return the uniform random numbers of a sample: splitmix64 with one state per sample."""
    step = 0x9E3779B97F4A7C15
    start = mix_bits((seed + step * (sample + 1)) & MASK)
    return [(mix_bits((start + step * (position + 1)) & MASK) >> 11) / 2**53 for position in range(count)]


def sample_by_definition(logits, weights, order, seed, first_sample, n_samples):
    """Return samples drawn label by label: a label is 1 if its number is below 1 / (1 + exp(-score))."""
    n_instances, n_labels = logits.shape
    samples = np.zeros((n_instances, n_samples, n_labels), dtype=np.int8)
    for i in range(n_instances):
        numbers = iter(draw_uniforms(seed, first_sample + i, n_samples * n_labels))
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


def sample_by_kernel(logits, weights, order, seed, first_sample, n_samples, cuts=()):
    samples = np.zeros((len(logits), n_samples, logits.shape[1]), dtype=np.int8)
    edges = [0, *sorted(cuts), len(logits)]
    for start, stop in pairwise(edges):
        sample_chain(logits, weights, order, seed, first_sample, samples, start, stop)
    return samples


def make_chain(rng, n_instances, n_labels, scale, shift):
    logits = rng.normal(shift, scale, (n_instances, n_labels))
    return logits, np.triu(rng.normal(0.0, scale, (n_labels, n_labels)), 1), rng.permutation(n_labels)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31 - 1),
    n_instances=st.integers(1, 4),
    n_labels=st.integers(1, 40),
    scale=st.sampled_from([0.0, 0.1, 1.0, 5.0, 300.0, 1e4]),
    shift=st.sampled_from([0.0, -3.0, 3.0, -8.0, 700.0]),
    first_sample=st.integers(0, 2**40),
    cut=st.integers(0, 4),
)
def test_samples_follow_the_definition(seed, n_instances, n_labels, scale, shift, first_sample, cut):
    logits, weights, order = make_chain(np.random.default_rng(seed), n_instances, n_labels, scale, shift)
    given_chain = logits, weights, order, seed, first_sample, 20
    np.testing.assert_array_equal(
        sample_by_kernel(*given_chain, [min(cut, n_instances)]), sample_by_definition(*given_chain)
    )


@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 64, 130])
def test_many_samples_follow_the_definition(n_labels):
    """There are so many that the first bits of a number often do not decide a label."""
    logits, weights, order = make_chain(np.random.default_rng(n_labels), 4, n_labels, 0.7, -1.0)
    given_chain = logits, weights, order, 3, 0, 2000 // n_labels + 20
    np.testing.assert_array_equal(sample_by_kernel(*given_chain), sample_by_definition(*given_chain))


def test_scores_at_rounding_limits_follow_the_definition():
    """Scores lie on both sides of the values where the first bits of a number change."""
    limits = logit(np.arange(1, 1024) / 1024)
    logits = np.concatenate([np.nextafter(limits, -np.inf), limits, np.nextafter(limits, np.inf)]).reshape(-1, 9)
    given_chain = logits, np.zeros((9, 9)), np.arange(9), 1, 0, 12
    np.testing.assert_array_equal(sample_by_kernel(*given_chain), sample_by_definition(*given_chain))


@pytest.mark.parametrize("size", [800.0, 1e4, 1e200])
def test_overflowing_exponentials_are_recovered(size):
    """A product of odds would be stuck at zero or infinity."""
    weights = np.zeros((5, 5))
    weights[0, 2:] = [3 * size, -3 * size, size]
    weights[1, 2:] = [-3 * size, 3 * size, size]
    found = sample_by_kernel(np.array([[size, size, 0.0, 0.0, -3 * size]]), weights, np.arange(5), 0, 0, 400)[0]
    assert found[:, :2].all()
    assert 0.4 < found[:, 2].mean() < 0.6
    assert 0.4 < found[:, 3].mean() < 0.6
    assert not found[:, 4].any()


def test_infinite_scores_give_certain_labels():
    found = sample_by_kernel(np.array([[np.inf, -np.inf]]), np.zeros((2, 2)), np.arange(2), 0, 0, 4000)[0]
    assert found[:, 0].all()
    assert not found[:, 1].any()


def test_nan_scores_give_the_label_zero():
    found = sample_by_kernel(np.array([[np.nan, 50.0]]), np.zeros((2, 2)), np.arange(2), 0, 0, 50)
    assert not found[0, :, 0].any()
    assert found[0, :, 1].all()
