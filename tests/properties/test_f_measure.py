"""Label sets with the largest expected F-measure, against enumeration of all label sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from metricwise.inference import (
    expected_f_labels,
    gfm,
    gfm_from_samples,
    gfm_threshold,
    hamming,
    lewis,
    meuf,
    meuf_approx,
    multinomial,
)
from metricwise.inference.exponential_sums import approximate_reciprocal
from tests.properties.expected_f import (
    compute_f1_prefix_values,
    compute_f_beta,
    compute_prefix_values,
    compute_product_distribution,
    list_sets,
    summarise_joint,
)

USUAL = settings(max_examples=120, deadline=None)
betas = st.sampled_from([0.1, 0.5, 1.0, np.sqrt(2.0), 2.0, 3.7])
probability = st.sampled_from([0.0, 1.0, 0.5, 0.25, 1e-300, 1e-12, 1.0 - 1e-12]) | st.floats(0.0, 1.0)
close = dict(rtol=1e-12, atol=1e-13)


@st.composite
def joint_distributions(draw, most=6):
    """Return every set of up to six labels with a probability, many of which may be zero."""
    m = draw(st.integers(1, most))
    weight = st.sampled_from([0.0, 0.0, 1.0]) | st.floats(1e-3, 1.0)
    weights = np.array(draw(st.lists(weight, min_size=2**m, max_size=2**m)))
    weights[draw(st.integers(0, 2**m - 1))] += 0.5
    return list_sets(m), weights / weights.sum()


@st.composite
def marginals(draw, least=1, most=8):
    return np.array(draw(st.lists(probability, min_size=least, max_size=most)))


def assert_optimal(found, candidates, values):
    """Check that the labels are a candidate with the expected value they claim, and that none has more."""
    assert found.labels.dtype == np.int8
    np.testing.assert_allclose(found.expected, values.max(), **close)
    chosen = np.flatnonzero((candidates == found.labels).all(axis=1))
    np.testing.assert_allclose(values[chosen].max(), found.expected, **close)


def list_top_sets(order):
    """Return the first 0, 1, ..., m labels of an order."""
    return np.array([np.isin(np.arange(len(order)), order[:k]) for k in range(len(order) + 1)]).astype(np.int64)


@USUAL
@given(joint_distributions(), betas)
def test_gfm_is_optimal_for_any_distribution(distribution, beta):
    sets, probabilities = distribution
    P, p_zero = summarise_joint(sets, probabilities)
    values = probabilities @ compute_f_beta(sets, sets, beta)
    assert_optimal(gfm(P, p_zero, beta=beta, return_expected=True), sets, values)
    candidates = list_top_sets(np.argsort(-P.sum(axis=1), kind="stable"))
    ordered = gfm_threshold(P, p_zero, beta=beta, return_expected=True)
    assert_optimal(ordered, candidates, probabilities @ compute_f_beta(sets, candidates, beta))


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_gfm_is_optimal_for_ten_labels(seed, beta):
    rng = np.random.default_rng(seed)
    sets = list_sets(10)
    probabilities = rng.gamma(0.05, size=len(sets))
    probabilities /= probabilities.sum()
    values = probabilities @ compute_f_beta(sets, sets, beta)
    assert_optimal(gfm(*summarise_joint(sets, probabilities), beta=beta, return_expected=True), sets, values)


@USUAL
@given(st.integers(1, 7), st.integers(1, 12), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1), betas)
def test_gfm_from_samples_is_optimal_on_the_samples(m, n_drawn, share, seed, beta):
    samples = (np.random.default_rng(seed).random((n_drawn, m)) < share).astype(int)
    candidates = list_sets(m)
    values = compute_f_beta(samples, candidates, beta).mean(axis=0)
    found = gfm_from_samples(samples, beta=beta, return_expected=True)
    assert_optimal(found, candidates, values)
    P, p_zero = summarise_joint(samples, np.full(n_drawn, 1.0 / n_drawn))
    np.testing.assert_allclose(gfm(P, p_zero, beta=beta, return_expected=True).expected, found.expected, **close)
    ordered = gfm_from_samples(samples, beta=beta, ordered=True, return_expected=True)
    tops = list_top_sets(np.argsort(-samples.sum(axis=0), kind="stable"))
    assert_optimal(ordered, tops, compute_f_beta(samples, tops, beta).mean(axis=0))
    assert ordered.expected <= found.expected + 1e-12


@USUAL
@given(marginals(), betas)
def test_meuf_is_optimal_for_independent_labels(p, beta):
    sets, probabilities = list_sets(len(p)), compute_product_distribution(p)
    values = probabilities @ compute_f_beta(sets, sets, beta)
    found = meuf(p, beta=beta, return_expected=True)
    assert_optimal(found, sets, values)
    joint = gfm(*summarise_joint(sets, probabilities), beta=beta, return_expected=True)
    np.testing.assert_allclose(joint.expected, found.expected, **close)
    details = expected_f_labels(p, beta=beta, return_details=True)
    np.testing.assert_array_equal(details.labels, found.labels)
    assert abs(details.expected - values.max()) <= details.error
    assert np.all(details.labels[p > details.threshold] == 1)
    assert np.all(details.labels[p < details.threshold] == 0)


@USUAL
@given(marginals(), betas, st.floats(1e-12, 0.1))
def test_meuf_approx_keeps_its_tolerance(p, beta, tolerance):
    sets = list_sets(len(p))
    values = compute_product_distribution(p) @ compute_f_beta(sets, sets, beta)
    found = meuf_approx(p, beta=beta, tolerance=tolerance, return_expected=True)
    value = values[(sets == found.labels).all(axis=1)][0]
    assert abs(found.expected - value) <= tolerance * value + 1e-13
    assert value >= values.max() * (1.0 - 2.0 * tolerance) - 2e-12


@USUAL
@given(marginals(), betas)
def test_lewis_is_optimal_for_the_ratio_of_expectations(p, beta):
    sets, probabilities = list_sets(len(p)), compute_product_distribution(p)
    square = beta * beta
    below = square * p.sum() + sets.sum(axis=1)
    ratios = np.where(sets.any(axis=1), (1.0 + square) * (sets @ p) / np.maximum(below, 1e-300), np.prod(1.0 - p))
    found = lewis(p, beta=beta, return_expected=True)
    mine = (sets == found.labels).all(axis=1)
    np.testing.assert_allclose(ratios[mine][0], ratios.max(), **close)
    np.testing.assert_allclose(found.expected, (probabilities @ compute_f_beta(sets, sets[mine], beta))[0], **close)


@USUAL
@given(marginals(), betas)
def test_hamming_has_the_smallest_expected_hamming_loss(p, beta):
    sets, probabilities = list_sets(len(p)), compute_product_distribution(p)
    losses = probabilities @ (sets[:, None, :] != sets[None, :, :]).sum(axis=2)
    found = hamming(p, beta=beta, return_expected=True)
    mine = (sets == found.labels).all(axis=1)
    np.testing.assert_allclose(losses[mine][0], losses.min(), **close)
    np.testing.assert_array_equal(found.labels == 1, p >= 0.5)
    np.testing.assert_allclose(found.expected, (probabilities @ compute_f_beta(sets, sets[mine], beta))[0], **close)


@USUAL
@given(st.lists(st.sampled_from([0.0, 1.0]) | st.floats(1e-3, 1.0), min_size=1, max_size=8), betas, st.booleans())
def test_multinomial_is_optimal_for_exclusive_labels(weights, beta, empty_too):
    weights = np.array(weights) + (0.0 if np.any(weights) else 1.0)
    p = weights / weights.sum() * (0.7 if empty_too else 1.0)
    m = len(p)
    truth = np.vstack([np.eye(m, dtype=int), np.zeros((1, m), int)])
    probabilities = np.append(p, 1.0 - p.sum())
    candidates = list_sets(m)
    found = multinomial(p, beta=beta, return_expected=True)
    assert_optimal(found, candidates, probabilities @ compute_f_beta(truth, candidates, beta))
    if not empty_too:  # Theorem 2.2, for F-beta: the first k whose sum is at least (beta^2 + k) times the next
        descending = np.append(np.sort(p)[::-1], 0.0)
        held = np.cumsum(descending)
        rule = next(k for k in range(1, m + 1) if held[k - 1] >= (beta * beta + k) * descending[k] * (1 - 1e-11))
        assert found.labels.sum() == rule


@pytest.mark.parametrize("beta", [0.05, 0.5, 1.0, 1.3, 20.0])
@pytest.mark.parametrize("m", [30, 120])
def test_meuf_of_many_labels_equals_the_recursion(m, beta):
    rng = np.random.default_rng(m)
    for p in (rng.random(m), rng.beta(0.2, 3.0, m), rng.beta(3.0, 0.2, m), np.full(m, 0.02), rng.random(m) * 1e-9):
        values = compute_prefix_values(np.sort(p)[::-1], beta)
        found = meuf(p, beta=beta, return_expected=True)
        np.testing.assert_allclose(found.expected, float(values.max()), rtol=1e-13)
        np.testing.assert_allclose(float(values[found.labels.sum()]), float(values.max()), rtol=1e-11)


SHAPES = {
    "uniform": lambda rng, m: rng.random(m),
    "tiny": lambda rng, m: rng.random(m) * 1e-4,
    "rare": lambda rng, m: rng.beta(0.05, 2.0, m),
    "near one": lambda rng, m: 1.0 - rng.random(m) * 1e-5,
    "equal": lambda rng, m: np.full(m, 0.03),
    "mixed": lambda rng, m: np.where(rng.random(m) < 0.02, 1.0 - 1e-7 * rng.random(m), 1e-6 * rng.random(m)),
    "certain": lambda rng, m: (rng.random(m) < 0.3).astype(float),
    "one of many": lambda rng, m: np.append(0.9, np.full(m - 1, 1e-8)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("m", [1, 700, 3000])
def test_the_error_of_long_vectors_is_bounded(m, shape):
    p = SHAPES[shape](np.random.default_rng(m), m)
    values = compute_f1_prefix_values(np.sort(p)[::-1])
    found = expected_f_labels(p, return_details=True)
    assert found.error < 1e-11
    assert abs(float(values[found.labels.sum()]) - found.expected) <= found.error
    assert float(values.max()) <= found.expected + found.error


@USUAL
@given(st.floats(0.0, 16.0), st.floats(-12.0, -1.0))
def test_the_error_of_exponential_sums_is_bounded(decades, exponent):
    largest = 10.0**decades
    rule = approximate_reciprocal(largest, 10.0**exponent)
    assert rule.error <= 10.0**exponent
    x = np.exp(np.linspace(0.0, np.log(largest), 301))
    errors = np.abs(x * (np.exp(-np.outer(x, rule.nodes)) @ rule.weights) - 1.0)
    assert errors.max() <= rule.error + 1e-13


@pytest.mark.parametrize("ordered", [False, True])
def test_a_batch_equals_its_instances(ordered):
    rng = np.random.default_rng(3)
    p = np.vstack([rng.random((40, 6)), rng.beta(0.2, 1.0, (40, 6)), np.zeros((1, 6)), np.ones((1, 6))])
    for function in (meuf, meuf_approx, lewis, hamming):
        together = function(p, beta=1.5, return_expected=True)
        for instance, labels, expected in zip(p, *together, strict=True):
            alone = function(instance, beta=1.5, return_expected=True)
            np.testing.assert_array_equal(alone.labels, labels)
            assert alone.expected == expected
        np.testing.assert_array_equal(function(p, beta=1.5), together.labels)
    shares = p / np.maximum(p.sum(axis=1, keepdims=True), 1.0)
    np.testing.assert_array_equal(multinomial(shares), [multinomial(instance) for instance in shares])
    samples = rng.random((len(p), 25, 6)) < p[:, None, :]
    summaries = [summarise_joint(part.astype(int), np.full(25, 0.04)) for part in samples]
    function = gfm_threshold if ordered else gfm
    from_joint = function(
        np.array([P for P, _ in summaries]), np.array([zero for _, zero in summaries]), return_expected=True
    )
    from_samples = gfm_from_samples(samples, ordered=ordered, return_expected=True)
    np.testing.assert_allclose(from_joint.expected, from_samples.expected, **close)
    for instance, (P, zero) in enumerate(summaries):
        np.testing.assert_array_equal(function(P, zero), from_joint.labels[instance])
        np.testing.assert_array_equal(
            gfm_from_samples(samples[instance], ordered=ordered), from_samples.labels[instance]
        )


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_sparse_samples_equal_dense_ones(dtype, ordered):
    rng = np.random.default_rng(8)
    samples = (rng.random((30, 50, 40)) < rng.beta(0.3, 2.0, (30, 1, 40))).astype(dtype)
    dense = gfm_from_samples(samples, ordered=ordered, return_expected=True)
    sparse = gfm_from_samples([sp.csr_array(part) for part in samples], ordered=ordered, return_expected=True)
    np.testing.assert_array_equal(dense.labels, sparse.labels)
    np.testing.assert_array_equal(dense.expected, sparse.expected)
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        single = gfm_from_samples(kind(samples[0]), ordered=ordered, return_expected=True)
        np.testing.assert_array_equal(dense.labels[0], single.labels)
        assert dense.expected[0] == single.expected
