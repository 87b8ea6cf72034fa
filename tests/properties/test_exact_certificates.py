"""Certificates hold in exact arithmetic: small problems by fractions, at any C and far from the origin."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

from metricwise import MultivariateSVC, SmoothedSVC, certify, get_measure

COSTS = (1e-6, 1e-2, 1.0, 1e3, 1e6)
OFFSETS = (0.0, 1e4, 1e8)
N = 12
Y = np.arange(N) % 3 == 0
N_POS = int(Y.sum())


def make_samples(offset, seed):
    X = np.random.default_rng(seed).normal(size=(N, 2))
    X[:, 0] += 1.5 * Y * (seed % 2)  # separable or not
    return X + offset


def exact_loss(measure, tp, fp):
    tn = N - N_POS - fp
    if measure == "accuracy":
        return Fraction(N_POS - tp + fp, N)
    if measure == "f1":
        return 1 - Fraction(2 * tp, tp + fp + N_POS)
    return 1 - min(Fraction(tp, N_POS), Fraction(tn, N - N_POS))


def exact_slack(measure, scores):
    pos, neg = [s for s, y in zip(scores, Y, strict=True) if y], [s for s, y in zip(scores, Y, strict=True) if not y]
    if measure == "roc_auc":
        return sum(max(Fraction(0), 1 - (p - q)) for p in pos for q in neg) / (len(pos) * len(neg))
    u = Fraction(get_measure(measure).mistakes_per_loss(N_POS, N - N_POS))
    pos, neg = sorted(pos), sorted(neg, reverse=True)
    tables = ((missed, fp) for missed in range(N_POS + 1) for fp in range(N - N_POS + 1))
    return max(
        exact_loss(measure, N_POS - missed, fp) + (sum(neg[:fp]) - sum(pos[:missed])) / u for missed, fp in tables
    )


def exact_objective(measure, C, square, scores):
    u = Fraction(get_measure(measure).mistakes_per_loss(N_POS, N - N_POS))
    return square / 2 + Fraction(C) * u * exact_slack(measure, scores)


def exact_linear_objective(measure, C, X, w):
    w = [Fraction(float(value)) for value in w]  # that of the constant last, unless the measure ranks
    scores = [sum(Fraction(float(x)) * v for x, v in zip([*row, 1.0], w, strict=False)) for row in X]
    return exact_objective(measure, C, sum(v * v for v in w), scores)


def exact_polynomial_objective(measure, C, X, model):
    c = [Fraction(float(value)) for value in model.result_.weights]
    gamma, rows = Fraction(float(model.gamma_)), [[Fraction(float(x)) for x in row] for row in X]
    K = [[(gamma * sum(a * b for a, b in zip(x, z, strict=True))) ** 3 for z in rows] for x in rows]
    values = [sum(k * a for k, a in zip(row, c[:-1], strict=True)) for row in K]
    square = sum(a * value for a, value in zip(c[:-1], values, strict=True)) + c[-1] ** 2
    return exact_objective(measure, C, square, [value + c[-1] for value in values])


def fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


def expect_bounds(certificate, objective):
    assert Fraction(certificate.upper) >= objective, "the upper bound is below the objective of the weights"
    assert certificate.lower <= certificate.upper
    assert Fraction(certificate.lower) <= objective  # which no smaller one has


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize(
    ("kind", "measure"),
    [(MultivariateSVC, "f1"), (MultivariateSVC, "min_rate"), (MultivariateSVC, "roc_auc"), (SmoothedSVC, "accuracy")],
    ids=["f1", "min_rate", "roc_auc", "smoothed accuracy"],
)
def test_bounds_enclose_the_exact_objective(kind, measure, C, offset):
    for seed in range(3):
        X = make_samples(offset, seed)
        model = fit(kind(measure, C=C, threshold=0.0, tol=1e-9, max_iter=200), X)
        if model.result_.problem.positive_weight is not None:
            continue  # trained for a weighted accuracy, as the surrogate of the measure is degenerate
        objective = exact_linear_objective(measure, C, X, model.result_.weights)
        expect_bounds(model.result_.certificate, objective)
        expect_bounds(certify(model, X, Y), objective)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_bounds_of_polynomial_kernels_enclose_the_exact_objective(offset):
    for seed in range(4):
        X = make_samples(offset, seed)
        model = fit(MultivariateSVC("f1", kernel="poly", threshold=0.0, max_iter=100), X)
        if model.result_.problem.positive_weight is None:
            expect_bounds(certify(model, X, Y), exact_polynomial_objective("f1", 1.0, X, model))


def test_bounds_stay_tight_where_nothing_cancels():
    X = make_samples(0.0, 1)
    model = fit(MultivariateSVC("f1", threshold=0.0, tol=1e-9), X)
    for certificate in (model.result_.certificate, certify(model, X, Y)):
        assert certificate.relative < 1e-8
