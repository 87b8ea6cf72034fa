"""Certificates hold in exact arithmetic: small problems by fractions, at any C and far from the origin."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from metricwise import AUCSVC, AMPClassifier, FeatureSelectingSVC, MultivariateSVC, SmoothedSVC, certify, get_measure
from metricwise.results import Status

COSTS = (1e-2, 1.0, 1e6)
OFFSETS = (0.0, 1e8)
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
    if measure in ("average_precision", "reciprocal_rank"):
        return exact_gain_slack(measure, sorted(pos, reverse=True), sorted(neg, reverse=True))
    u = Fraction(get_measure(measure).mistakes_per_loss(N_POS, N - N_POS))
    pos, neg = sorted(pos), sorted(neg, reverse=True)
    tables = ((missed, fp) for missed in range(N_POS + 1) for fp in range(N - N_POS + 1))
    return max(
        exact_loss(measure, N_POS - missed, fp) + (sum(neg[:fp]) - sum(pos[:missed])) / u for missed, fp in tables
    )


def exact_gain_slack(measure, pos, neg):
    """Return the largest violation over all ranks of the positives, given descending scores."""

    def gain(i, k):
        return Fraction(i, k * N_POS) if measure == "average_precision" else Fraction(int(i == 1), k)

    def violation(ranks):
        swapped = sum(p - q for i, (p, k) in enumerate(zip(pos, ranks, strict=True)) for q in neg[: k - i - 1])
        return 1 - sum(gain(i + 1, k) for i, k in enumerate(ranks)) - swapped / (len(pos) * len(neg))

    return max(violation(ranks) for ranks in combinations(range(1, N + 1), N_POS))


def exact_objective(measure, C, square, scores):
    u = Fraction(get_measure(measure).mistakes_per_loss(N_POS, N - N_POS))
    return square / 2 + Fraction(C) * u * exact_slack(measure, scores)


def exact_linear_objective(measure, C, X, w):
    w = [Fraction(float(value)) for value in w]  # that of the constant last, unless the measure ranks
    scores = [sum(Fraction(float(x)) * v for x, v in zip([*row, 1.0], w, strict=False)) for row in X]
    return exact_objective(measure, C, sum(v * v for v in w), scores)


def exact_polynomial_objective(measure, C, X, model):
    c = [Fraction(float(value)) for value in model.result_.weights]
    rows = [[Fraction(float(x)) for x in row] for row in X]
    gamma, coef0 = Fraction(float(model.gamma_)), Fraction(model.coef0)
    K = [[(gamma * sum(a * b for a, b in zip(x, z, strict=True)) + coef0) ** 3 for z in rows] for x in rows]
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
    [
        *[(MultivariateSVC, measure) for measure in ("f1", "min_rate", "roc_auc")],
        *[(MultivariateSVC, measure) for measure in ("average_precision", "reciprocal_rank")],
        (SmoothedSVC, "accuracy"),
    ],
    ids=["f1", "min_rate", "roc_auc", "average_precision", "reciprocal_rank", "smoothed accuracy"],
)
def test_bounds_enclose_the_exact_objective(kind, measure, C, offset):
    for seed in range(2):
        X = make_samples(offset, seed)
        model = fit(kind(measure, C=C, threshold=0.0, tol=1e-9, max_iter=60), X)
        if model.result_.problem.positive_weight is not None:
            continue  # trained for a weighted accuracy, as the surrogate of the measure is degenerate
        objective = exact_linear_objective(measure, C, X, model.result_.weights)
        expect_bounds(model.result_.certificate, objective)
        expect_bounds(certify(model, X, Y), objective)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_bounds_of_polynomial_kernels_enclose_the_exact_objective(offset):
    for seed in range(2):
        X = make_samples(offset, seed)
        model = fit(MultivariateSVC("f1", kernel="poly", threshold=0.0, max_iter=100), X)
        if model.result_.problem.positive_weight is None:
            expect_bounds(certify(model, X, Y), exact_polynomial_objective("f1", 1.0, X, model))


def list_lines(measure, x):
    """Return loss and slope of the labellings that can be violated most where scores are w x, w of either sign."""
    u = Fraction(get_measure(measure).mistakes_per_loss(N_POS, N - N_POS))
    pos, neg = ([Fraction(float(v)) for v, y in zip(x, Y, strict=True) if y == kind] for kind in (True, False))
    for falling in (False, True):
        pos, neg = sorted(pos, reverse=falling), sorted(neg, reverse=not falling)
        for missed in range(N_POS + 1):
            for fp in range(N - N_POS + 1):
                yield exact_loss(measure, N_POS - missed, fp), (sum(neg[:fp]) - sum(pos[:missed])) / u


def exact_optimum(measure, C, x):
    """Minimise 1/2 w^2 + C u max of the lines by cutting planes in fractions, which end at the optimum."""
    cost = Fraction(C) * Fraction(get_measure(measure).mistakes_per_loss(N_POS, N - N_POS))
    lines, used, w = list(list_lines(measure, x)), [], Fraction(0)

    def model(w, lines):
        return w * w / 2 + cost * max(loss + slope * w for loss, slope in lines)

    while True:
        line = max(lines, key=lambda line: line[0] + line[1] * w)
        if line in used:
            return model(w, lines)
        used.append(line)
        crossings = [(b[0] - a[0]) / (a[1] - b[1]) for a, b in combinations(used, 2) if a[1] != b[1]]
        w = min([-cost * slope for _, slope in used] + crossings, key=lambda w: model(w, used))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("measure", ["accuracy", "f1", "min_rate"])
def test_bounds_enclose_the_exact_optimum(measure, C, offset):
    X = make_samples(offset, 1)[:, :1]
    optimum = exact_optimum(measure, C, X[:, 0])
    kinds = [MultivariateSVC, SmoothedSVC] if measure == "accuracy" else [MultivariateSVC]
    for kind in kinds:
        model = fit(kind(measure, C=C, threshold=0.0, fit_intercept=False, tol=1e-9, max_iter=60), X)
        if model.result_.problem.positive_weight is None:
            for certificate in (model.result_.certificate, certify(model, X, Y)):
                assert certificate.lower <= optimum <= certificate.upper


def exact_scores(X, w):
    w = [Fraction(float(value)) for value in w]
    return [sum(Fraction(float(x)) * v for x, v in zip([*row, 1.0], w, strict=False)) for row in X], w


def exact_squared_pairs(C, X, model):
    scores, w = exact_scores(X, model.result_.weights)
    pos, neg = ([s for s, y in zip(scores, Y, strict=True) if y == kind] for kind in (True, False))
    squares = sum(max(Fraction(0), 1 - (p - q)) ** 2 for p in pos for q in neg)
    return sum(v * v for v in w) / 2 + Fraction(C) * N * squares / (len(pos) * len(neg))


def exact_level_loss(C, X, model):
    """Return 1 minus the regularised ratio of rewards of F1, whose denominator is 1 for perfect labels."""
    scores, w = exact_scores(X, model.result_.weights)
    pos, neg = ([s for s, y in zip(scores, Y, strict=True) if y == kind] for kind in (True, False))
    tpr, tnr = (sum(min(m, Fraction(1)) for m in own) / len(own) for own in (pos, [-s for s in neg]))
    theta, u = Fraction(N - N_POS, N_POS), Fraction(get_measure("f1").mistakes_per_loss(N_POS, N - N_POS))
    penalty = sum(v * v for v in w) / (2 * Fraction(C) * u)
    return 1 - (tpr - penalty) / ((1 + theta + tpr - theta * tnr) / 2)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("C", COSTS)
def test_bounds_of_squared_pairs_and_levels_enclose_the_exact_objective(C, offset):
    for seed in range(2):
        X = make_samples(offset, seed)
        for model, exact in (
            (AUCSVC(norm=2, C=C, threshold=0.0, tol=1e-9, max_iter=60), exact_squared_pairs),
            (AMPClassifier("f1", C=C, threshold=0.0, tol=1e-9, max_iter=60), exact_level_loss),
        ):
            objective = exact(C, X, fit(model, X))
            expect_bounds(model.result_.certificate, objective)
            expect_bounds(certify(model, X, Y), objective)


@pytest.mark.parametrize("offset", OFFSETS)
def test_bounds_of_selected_features_enclose_the_exact_objective(offset):
    X = make_samples(offset, 1)
    model = fit(FeatureSelectingSVC("f1", n_features=1, C=1e3, threshold=0.0), X)
    if model.result_.problem.positive_weight is None:
        objective = exact_linear_objective("f1", 1e3, X, model.result_.weights)
        expect_bounds(model.result_.certificate, objective)
        expect_bounds(model.result_.selection, objective)


def test_training_is_not_called_optimal_where_rounding_hides_the_gap():
    X = make_samples(0.0, 1)
    X[:, 1] = 1e16 + 1e3 * X[:, 1]
    model = fit(MultivariateSVC("accuracy", C=1e3, threshold=0.0), X)
    certificate = model.result_.certificate
    assert certificate.relative > model.tol
    assert model.result_.status is Status.STALLED
    expect_bounds(certificate, exact_linear_objective("accuracy", 1e3, X, model.result_.weights))


def test_bounds_of_kernels_allow_for_the_rounding_of_kernel_values():
    X = make_samples(0.0, 0)
    model = fit(MultivariateSVC("f1", C=1e6, kernel="poly", coef0=1000.0, threshold=0.0, max_iter=60), X)
    objective = exact_polynomial_objective("f1", 1e6, X, model)
    expect_bounds(model.result_.certificate, objective)
    expect_bounds(certify(model, X, Y), objective)


def test_bounds_stay_tight_where_nothing_cancels():
    X = make_samples(0.0, 1)
    model = fit(MultivariateSVC("f1", threshold=0.0, tol=1e-9), X)
    for certificate in (model.result_.certificate, certify(model, X, Y)):
        assert certificate.relative < 1e-8
