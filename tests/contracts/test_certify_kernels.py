"""Certificates of kernel and pairwise models, recomputed from the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from metricwise import AUCSVC, MultivariateSVC, PartialAuc, TwoWayPartialAuc, certify, measure_names

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] ** 2 + X[:, 1] + 0.5 * RNG.normal(size=90) > 1.6).astype(int)
WEIGHTS = {"equal": None, "whole": RNG.integers(0, 4, size=90), "any": RNG.uniform(0.0, 2.0, size=90)}
MATRICES = {"dense": X, "sparse": sparse.csr_matrix(X * (np.abs(X) > 0.5))}
SHARED = {"threshold": 0.0, "tol": 1e-4}
MODELS = {
    "pairs": AUCSVC(**SHARED),
    "squared pairs": AUCSVC(norm=2, **SHARED),
    "part": AUCSVC(measure=PartialAuc(0.1, 0.6), **SHARED),
    "corner": AUCSVC(measure=TwoWayPartialAuc(0.7, 0.3), **SHARED),
    "rbf": AUCSVC(kernel="rbf", **SHARED),
    "squared rbf": AUCSVC(norm=2, kernel="rbf", **SHARED),
    "poly": AUCSVC(norm=2, kernel="poly", coef0=1.0, **SHARED),
}


def expect_equal(found, trained, rel=1e-8):
    assert found.upper == pytest.approx(trained.upper, rel=rel)
    assert found.lower == pytest.approx(trained.lower, rel=1e-6)
    assert found.loss_bound == pytest.approx(trained.loss_bound, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MODELS)
def test_certify_agrees_for_rankings(name, weights, matrix):
    model = MODELS[name].fit(MATRICES[matrix], Y, WEIGHTS[weights])
    expect_equal(certify(model, MATRICES[matrix], Y, WEIGHTS[weights]), model.result_.certificate)


@pytest.mark.parametrize("weights", ["equal", "whole"])
@pytest.mark.parametrize("measure", measure_names("MultivariateSVC"))
def test_certify_agrees_for_every_measure_with_a_kernel(measure, weights):
    model = MultivariateSVC(measure, C=0.5, kernel="rbf", **SHARED).fit(X, Y, WEIGHTS[weights])
    expect_equal(certify(model, X, Y, WEIGHTS[weights]), model.result_.certificate)


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed", "function"])
def test_certify_agrees_for_other_kernels(kernel):
    plain = X @ X.T + 1.0
    data, settings = X, {"kernel": kernel, "gamma": 1e-3, "coef0": 0.0}
    if kernel == "precomputed":
        data = plain
    elif kernel == "function":
        settings = {"kernel": lambda A, B: A @ B.T + 1.0}
    elif kernel == "sigmoid":  # positive semi-definite where all inner products of different samples are the same
        data, settings = np.eye(12)[np.argsort(X[:, 0]) % 12], {"kernel": kernel, "gamma": 1.0, "coef0": 0.5}
    model = MultivariateSVC("f1", **settings, **SHARED).fit(data, Y)
    expect_equal(certify(model, data, Y), model.result_.certificate)


@pytest.mark.parametrize("approximation", ["cpsp", "nystroem"])
@pytest.mark.parametrize(
    "make", [MultivariateSVC, AUCSVC, lambda **s: AUCSVC(norm=2, **s)], ids=["f1", "pairs", "squares"]
)
def test_approximations_are_compared_with_the_exact_kernel(make, approximation):
    exact = make(kernel="rbf", **SHARED).fit(X, Y).result_.certificate
    model = make(kernel="rbf", approximation=approximation, n_basis=15, **SHARED).fit(X, Y)
    found = certify(model, X, Y)
    assert found.upper == pytest.approx(model.result_.certificate.upper, rel=1e-6)
    assert found.upper >= exact.lower
    assert found.lower <= exact.upper * (1 + 1e-9)
    assert found.gap > exact.gap


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_certify_agrees_for_one_vs_one(kernel):
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = AUCSVC(kernel=kernel, multi_class="ovo", **SHARED).fit(X, labels)
    found = certify(model, X, labels)
    assert len(found) == 3
    for one, result in zip(found, model.result_, strict=True):
        expect_equal(one, result.certificate)


def test_samples_in_another_order_raise():
    model = AUCSVC(kernel="rbf", **SHARED).fit(X, Y)
    with pytest.raises(ValueError, match="not those the model was trained on, in the same order"):
        certify(model, X[::-1], Y[::-1])
    with pytest.raises(ValueError, match="not those the model was trained on"):
        certify(model, X[:50], Y[:50])
    linear = AUCSVC(**SHARED).fit(X, Y)
    expect_equal(certify(linear, X[::-1], Y[::-1]), linear.result_.certificate)


def test_clustered_pairs_raise():
    model = AUCSVC(pairs="kmeans", n_clusters=10, **SHARED).fit(X, Y)
    with pytest.raises(ValueError, match="train with pairs='exact'"):
        certify(model, X, Y)
