"""Label sets with the largest expected F-measure: closed forms, many labels, extreme settings, bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom

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

OF_MARGINALS = [meuf, meuf_approx, lewis, hamming, multinomial, expected_f_labels]


def compute_leave_one_out(p, i):
    """Return the distribution of the number of ones among all labels but one."""
    distribution = np.zeros(len(p))
    distribution[0] = 1.0
    for j, probability in enumerate(p):
        if j != i:
            distribution[1:] = distribution[1:] * (1.0 - probability) + distribution[:-1] * probability
            distribution[0] *= 1.0 - probability
    return distribution


# -------------------------------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_equal_marginals_give_the_binomial_closed_form(beta):
    m, probability = 1000, 0.013
    s, k = np.arange(m + 1), np.arange(1, m + 1)[:, None]
    square = beta * beta
    # Given s ones among m equally probable labels, k of them hold k s / m on average.
    values = (binom.pmf(s, m, probability) * (1 + square) * k * s / m / (square * s + k)).sum(axis=1)
    found = meuf(np.full(m, probability), beta=beta, return_expected=True)
    np.testing.assert_allclose(found.expected, max(values.max(), (1 - probability) ** m), rtol=1e-12)
    long = expected_f_labels(np.full(m, probability), beta=beta, return_details=True)
    assert abs(long.expected - found.expected) <= long.error


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_exchangeable_labels_give_the_closed_form(beta):
    m, rng = 1000, np.random.default_rng(1)
    of_size = rng.gamma(0.02, size=m + 1)
    of_size /= of_size.sum()
    s, k = np.arange(1, m + 1), np.arange(1, m + 1)[:, None]
    square = beta * beta
    values = (of_size[1:] * (1 + square) * k * s / m / (square * s + k)).sum(axis=1)
    P = np.tile(of_size[1:] * s / m, (m, 1))
    for function in (gfm, gfm_threshold):
        labels, expected = function(P, of_size[0], beta=beta, return_expected=True)
        np.testing.assert_allclose(expected, max(values.max(), of_size[0]), rtol=1e-12)
        count = int(labels.sum())
        np.testing.assert_array_equal(labels, np.arange(m) < count)  # ties are broken by position


def test_joint_and_independent_rules_agree_on_a_thousand_labels():
    kinds = np.array([0.0, 1.0, 0.5, 1e-3, 0.02, 1.0 - 1e-9])
    m = 1000
    p = kinds[np.random.default_rng(2).choice(6, m, p=[0.1, 0.01, 0.09, 0.5, 0.29, 0.01])]
    P = np.empty((m, m))
    for kind in kinds:
        P[p == kind] = kind * compute_leave_one_out(p, int(np.argmax(p == kind)))[:m]
    p_zero = float(np.prod(1.0 - p))
    for beta in (0.5, 1.0, 2.0):
        independent = meuf(p, beta=beta, return_expected=True)
        for function in (gfm, gfm_threshold):
            joint = function(P, p_zero, beta=beta, return_expected=True)
            np.testing.assert_allclose(joint.expected, independent.expected, rtol=1e-12)
            np.testing.assert_array_equal(joint.labels, independent.labels)


@pytest.mark.parametrize("square", [Fraction(1, 9), Fraction(1), Fraction(4)])
def test_expected_f_equals_exact_arithmetic(square):
    m = 20
    p = [Fraction(m - i, m + 3) ** 2 for i in range(m)]

    def count_ones(probabilities):
        distribution = [Fraction(1)]
        for c in probabilities:
            distribution = [a * (1 - c) + b * c for a, b in zip([*distribution, 0], [0, *distribution], strict=True)]
        return distribution

    values = [count_ones(p)[0]]
    for k in range(1, m + 1):
        inside, outside = count_ones(p[:k]), count_ones(p[k:])
        terms = (
            a * b * (1 + square) * t / (square * (t + r) + k)
            for t, a in enumerate(inside)
            for r, b in enumerate(outside)
        )
        values.append(sum(terms))
    found = meuf(np.array(p, dtype=float), beta=float(square) ** 0.5, return_expected=True)
    assert found.labels.sum() == values.index(max(values))
    np.testing.assert_allclose(found.expected, float(max(values)), rtol=1e-14)


@pytest.mark.parametrize("m", [1, 2, 1000])
def test_certain_labels_are_predicted(m):
    truth = (np.arange(m) % 3 == 0).astype(float)
    for p in (truth, np.zeros(m), np.ones(m)):
        for function in (meuf, meuf_approx, lewis, hamming):
            labels, expected = function(p, return_expected=True)
            np.testing.assert_array_equal(labels, p)
            np.testing.assert_allclose(expected, 1.0, rtol=1e-3 if function is meuf_approx else 1e-12)
        found = expected_f_labels(p, return_details=True)
        np.testing.assert_array_equal(found.labels, p)
        np.testing.assert_array_equal(found.labels == 1, p > found.threshold)
        np.testing.assert_array_equal(gfm_from_samples(np.tile(p, (3, 1))), p)


def test_ties_select_the_smallest_set():
    assert meuf(np.array([0.5])).tolist() == [0]
    assert gfm(np.array([[0.5]]), 0.5).tolist() == [0]
    assert multinomial(np.array([0.5, 0.25, 0.25])).tolist() == [1, 0, 0]
    assert gfm_from_samples(np.array([[1, 0], [0, 1]])).tolist() == [1, 1]  # 2/3 instead of 1/2
    # Three labels are as good as four here, and labels 1 and 3 are tied: the first of them is selected.
    samples = np.array([[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 1, 0], [1, 0, 0, 0, 1]])
    labels, expected = gfm_from_samples(samples, return_expected=True)
    assert labels.tolist() == [1, 1, 0, 0, 1] and expected == pytest.approx((1 / 2 + 1 / 2 + 2 / 5 + 0 + 4 / 5) / 5)


@pytest.mark.parametrize("beta", [1e-200, 1e-6, 1e6, 1e200])
def test_extreme_beta_selects_one_label_or_all(beta):
    p = np.array([0.6, 0.5, 0.2])
    labels, expected = meuf(p, beta=beta, return_expected=True)
    # Precision alone is best with one label; recall alone is best with all, and an empty truth gives none.
    if beta < 1:
        assert labels.tolist() == [1, 0, 0] and expected == pytest.approx(0.6)
    else:
        assert labels.tolist() == [1, 1, 1] and expected == pytest.approx(1.0 - 0.4 * 0.5 * 0.8)


# -------------------------------------------------------------------------------------------------------- long vectors


def test_a_million_labels_have_the_threshold_of_half_the_measure():
    p = np.random.default_rng(0).random(1_000_000) ** 5
    found = expected_f_labels(p, return_details=True)
    assert found.error < 1e-9
    # With so many labels the best threshold is half the measure, up to random errors.
    assert found.threshold == pytest.approx(found.expected / 2, abs=1e-5)
    np.testing.assert_array_equal(found.labels == 1, p > found.threshold)
    chosen = p[found.labels == 1]
    assert found.expected == pytest.approx(2 * chosen.sum() / (p.sum() + chosen.size), abs=1e-5)
    np.testing.assert_array_equal(expected_f_labels(p), found.labels)


def test_long_vectors_give_the_same_result_in_parts_and_at_once():
    p = np.random.default_rng(1).beta(0.1, 3.0, 200_000)
    found, whole = expected_f_labels(p, beta=0.7, return_details=True), meuf(p, beta=0.7, return_expected=True)
    np.testing.assert_allclose(found.expected, whole.expected, rtol=1e-12)
    assert abs(int(found.labels.sum()) - int(whole.labels.sum())) <= 2


def test_the_result_does_not_depend_on_the_number_of_threads(monkeypatch):
    p = np.random.default_rng(2).random(100_000) ** 3
    found = {}
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found[threads] = (expected_f_labels(p, return_details=True), meuf(p.reshape(1000, 100), return_expected=True))
    for threads in ("2", "7"):
        assert found[threads][0].expected == found["1"][0].expected
        np.testing.assert_array_equal(found[threads][1].expected, found["1"][1].expected)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_threshold_gives_the_labels(beta):
    for high in (0.6, 0.9, 1.0):
        for low in (0.05, 0.2, 0.3, 0.4, 0.5):
            for few, many in [(1, 2), (1, 30), (3, 4), (5, 20), (40, 3)]:
                p = np.append(np.full(many, low), np.full(few, high))
                found = expected_f_labels(p, beta=beta, return_details=True)
                np.testing.assert_array_equal(found.labels == 1, p > found.threshold)


# --------------------------------------------------------------------------------------------------- shapes and types


def test_output_shapes_and_types():
    p = np.array([[0.7, 0.2], [0.1, 0.3], [0.5, 0.5]])
    for function in (meuf, meuf_approx, lewis, hamming):
        for given in (p, p.astype(np.float32), p.tolist(), np.asfortranarray(p), p[::-1][::-1]):
            labels, expected = function(given, return_expected=True)
            assert labels.shape == p.shape and labels.dtype == np.int8 and expected.shape == (3,)
        assert isinstance(function(p[0], return_expected=True).expected, float)
        assert function(np.empty((0, 4))).shape == (0, 4)
    assert multinomial(np.empty((0, 4))).shape == (0, 4)
    assert gfm(np.empty((0, 4, 4)), np.empty(0)).shape == (0, 4)
    assert gfm_from_samples(np.empty((0, 5, 4), int)).shape == (0, 4)


def test_input_is_not_changed():
    rng = np.random.default_rng(5)
    p = rng.random((4, 6))
    samples = (rng.random((9, 6)) < 0.4).astype(np.int8)
    sparse = sp.csr_array(samples)
    sparse.data[0] = 0  # an explicit zero
    originals = [p.copy(), samples.copy(), sparse.copy()]
    meuf(p)
    gfm_from_samples(samples)
    gfm_from_samples(sparse)
    np.testing.assert_array_equal(p, originals[0])
    np.testing.assert_array_equal(samples, originals[1])
    assert sparse.nnz == originals[2].nnz
    as_dense = gfm_from_samples(sparse.toarray(), return_expected=True)
    assert gfm_from_samples(sparse, return_expected=True).expected == as_dense.expected
    assert gfm_from_samples(samples, return_expected=True).expected != as_dense.expected


def test_sparse_instances_may_differ_in_their_number_of_samples():
    rng = np.random.default_rng(6)
    batch = [sp.csr_array(rng.random((n_drawn, 20_000)) < 1e-4) for n_drawn in (3, 50, 11)]
    together = gfm_from_samples(batch, return_expected=True)
    for instance, part in enumerate(batch):
        alone = gfm_from_samples(part.toarray(), return_expected=True)
        np.testing.assert_array_equal(together.labels[instance], alone.labels)
        assert together.expected[instance] == alone.expected


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("function", OF_MARGINALS)
@pytest.mark.parametrize("value", [-0.1, 1.2, np.nan, np.inf])
def test_invalid_probabilities_are_located(function, value):
    p = np.full(5, 0.1)
    p[3] = value
    location = r"p\[3\] \(sample 3\)" if function is expected_f_labels else r"p\[3\] \(label 3\)"
    with pytest.raises(ValueError, match=location + f" is {value}"):
        function(p)
    if function is not expected_f_labels:
        with pytest.raises(ValueError, match=r"p\[1, 3\] \(instance 1, label 3\)"):
            function(np.array([np.full(5, 0.1), p]))


def test_rounding_errors_are_accepted():
    np.testing.assert_array_equal(meuf(np.array([1.0 + 1e-12, -1e-12])), [1, 0])


@pytest.mark.parametrize("function", OF_MARGINALS)
@pytest.mark.parametrize("beta", [0, -1.0, np.nan, np.inf, "1", True])
def test_beta_must_be_positive(function, beta):
    with pytest.raises(ValueError, match="beta must be a positive finite number"):
        function(np.array([0.5]), beta=beta)


@pytest.mark.parametrize("p", [0.5, np.zeros((2, 2, 2)), np.empty(0), np.empty((3, 0)), np.array(["a"]), [1j]])
def test_invalid_shapes_raise(p):
    for function in OF_MARGINALS:
        with pytest.raises(ValueError, match=r"^p "):
            function(p)


@pytest.mark.parametrize("tolerance", [0, -1e-3, 0.2, np.nan])
def test_invalid_tolerance_raises(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        meuf_approx(np.array([0.5]), tolerance=tolerance)


def test_multinomial_probabilities_must_add_up_to_at_most_one():
    with pytest.raises(ValueError, match=r"instance 1 add up to 1\.2"):
        multinomial(np.array([[0.5, 0.5], [0.6, 0.6]]))


@pytest.mark.parametrize("function", [gfm, gfm_threshold])
def test_invalid_joint_probabilities_raise(function):
    good = np.array([[0.3, 0.2], [0.1, 0.2]])
    function(good, 0.4)
    for P, p_zero, message in [
        (good, 0.5, "p_zero \\+ sum of P.* is 1.1"),
        (good, 0.3, "is 0.9"),
        (
            np.array([[0.3, 0.3], [0.1, 0.1]]),
            0.4,
            r"P\[0, 1\] \(label 0, size 2\) is 0.3, more than the probability 0.2",
        ),
        (good, -0.1, "p_zero is -0.1"),
        (good, np.nan, "p_zero is nan"),
        (np.array([[0.3, 0.2], [0.1, np.nan]]), 0.4, r"P\[1, 1\] \(label 1, size 2\) is nan"),
        (good[:, :1], 0.4, "as many columns"),
        (good[0], 0.4, "^P must be of shape"),
        (good, np.array([0.4]), "p_zero must be of shape a number"),
        (good[None], 0.4, r"p_zero must be of shape \(instances\)"),
        (good[None], np.array([0.4, 0.4]), "1 instances but p_zero has 2"),
        (np.array([good, good]), np.array([0.4, 0.9]), "of instance 1 "),
    ]:
        with pytest.raises(ValueError, match=message):
            function(P, p_zero)
    with pytest.raises(ValueError, match="beta"):
        function(good, 0.4, beta=0)
    # Estimates of single entries need not belong to one distribution, and the best set is found all the same.
    loose = np.array([[0.3, 0.3], [0.1, 0.1]])
    labels, expected = function(loose, 0.3, consistent=False, return_expected=True)
    assert labels.tolist() == [1, 0] and expected == pytest.approx(0.3 + 0.3 * 2 / 3)


def test_invalid_label_samples_raise():
    good = np.array([[0, 1], [1, 1]])
    sparse = sp.csr_array(good)
    for samples, message in [
        (np.array([[0, 2]]), r"samples\[0, 1\] \(sample 0, label 1\) is 2"),
        (np.array([good, [[0, 1], [0.5, 1]]]), r"samples\[1, 1, 0\] \(instance 1, sample 1, label 0\) is 0.5"),
        (np.array([[np.nan, 1.0]]), "is nan"),
        (good[0], "shape"),
        (np.empty((0, 3)), "at least one sample"),
        (np.empty((3, 0)), "at least one"),
        (np.array([["a"]]), "dtype"),
        (sparse * 2, r"samples\[0, 1\] \(sample 0, label 1\) is 2"),
        ([sparse, sparse * 3], r"samples\[1\]\[0, 1\]"),
        ([sparse, sp.csr_array((2, 3))], r"samples\[1\] must be of shape"),
        ([sparse, good], r"samples\[1\] is of type ndarray"),
        (sp.csr_array((0, 3)), "at least one"),
        (sp.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(1, 2)), "is 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            gfm_from_samples(samples)
    with pytest.raises(ValueError, match="beta"):
        gfm_from_samples(good, beta=-1)


@pytest.mark.skipif(sp.coo_array(np.array([0, 1])).ndim == 2, reason="sparse arrays of one axis came with SciPy 1.13")
def test_sparse_samples_of_one_axis():
    with pytest.raises(ValueError, match="must be of shape"):
        gfm_from_samples(sp.coo_array(np.array([0, 1])))
