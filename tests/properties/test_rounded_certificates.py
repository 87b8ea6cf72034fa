"""Certificates hold where rounding is worst: light samples, steep losses, narrow ranges, outliers, small integers."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

import metricwise.io
from fuzzing.exact_losses import find_slack
from metricwise import AUCSVC, MultivariateSVC, SmoothedSVC, certify
from metricwise.certifying.data import LocalData
from metricwise.certifying.slack import Slack
from metricwise.designs import make_design
from metricwise.measures import MCC, CohenKappa, FBeta, GMean, PartialAuc, TwoWayPartialAuc
from metricwise.measures.ranking_capabilities import loss_size
from metricwise.oracles import make_oracle
from metricwise.rounding import (
    SlackTerms,
    largest_coefficients,
    loss_above,
    replace_nan_bounds,
    slack_dual,
    slack_error,
)
from metricwise.solvers import make_problem


def fit(model, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **more)


def make_fractions(values):
    return [Fraction(float(value)) for value in values]


def list_certificates(model, X, y, weights=None):
    return model.result_.certificate, certify(model, X, y, weights)


# ---------------------------------------------------------------------------------------------- sums of weights


def test_blocks_with_a_split_sample_are_searched():
    weights = np.r_[1.0, np.full(78, 0.00025), np.full(64, 1e-6), 10.0, np.full(64, 1e-6)]
    scores = np.r_[1000.0, 10.0 + np.linspace(0, 0.1, 78), np.full(64, -0.4), -0.5, np.full(64, -5.0)]
    y = np.arange(weights.size) < 79
    model = MultivariateSVC("f1", fit_intercept=False, threshold=0.0, tol=1e-6)
    model = fit(model, scores[:, None], y, sample_weight=weights)
    own, again = list_certificates(model, scores[:, None], y, weights)
    assert again.upper == pytest.approx(own.upper, rel=1e-9)
    assert again.lower <= again.upper


def make_light_sample():
    n = 50
    X, y = np.zeros((2 * n, 2)), np.arange(2 * n) < n
    X[0, 1], X[n:, 0] = 1e8, -1.0
    weights = np.random.default_rng(0).uniform(0.5, 1.0, 2 * n)
    weights[0] = 1e-10
    return X, y, weights


def long_objective(C, X, y, weights, w):
    """Return the objective of the geometric mean with the light sample apart from all others, which have equal scores.

    Within groups of equal scores the loss is convex, so that all of a group or none of it is mislabelled.
    """
    weights, long = weights.astype(np.longdouble), np.longdouble
    u = long(GMean().mistakes_per_loss(float(weights[y].sum()), float(weights[~y].sum())))
    light, pos, neg = weights[0], weights[1 : y.sum()].sum(), weights[~y].sum()
    scores = X[[0, 1, -1]].astype(long) @ np.asarray(w, dtype=long)
    tables = ((a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1))
    slack = max(
        1
        - np.sqrt(((1 - a) * light + (1 - b) * pos) / (light + pos) * (1 - c))
        + (c * neg * scores[2] - a * light * scores[0] - b * pos * scores[1]) / u
        for a, b, c in tables
    )
    return float(np.sum(np.asarray(w, dtype=long) ** 2) / 2 + C * u * slack)


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_light_samples_count_in_the_loss_by_what_is_mislabelled(C):
    X, y, weights = make_light_sample()
    model = MultivariateSVC("g_mean", C=C, fit_intercept=False, threshold=0.0, tol=1e-9, max_iter=100)
    model = fit(model, X, y, sample_weight=weights)
    trials = [(0.0, 0.0), *((a, b) for a in (1e-6, 1e-3) for b in np.geomspace(1e-3, 0.1, 9))]
    least = min(long_objective(C, X, y, weights, w) for w in [*trials, model.result_.weights])
    for certificate in list_certificates(model, X, y, weights):
        assert certificate.lower <= least
        assert certificate.upper >= long_objective(C, X, y, weights, model.result_.weights) * (1 - 1e-15)


@pytest.mark.parametrize(("measure", "score"), [(GMean(), 3e8), (FBeta(0.01), 1e13)], ids=repr)
def test_slacks_allow_for_the_slope_of_the_loss(measure, score):
    n, rng = 300, np.random.default_rng(0)
    y = np.arange(2 * n) < n
    scores = np.r_[score, np.zeros(n - 1), -np.ones(n)]
    for _ in range(8):
        weights = rng.uniform(0.5, 1.0, 2 * n)
        weights[0] = 1e-10
        u = float(measure.mistakes_per_loss(weights[y].sum(), weights[~y].sum()))
        exact = sum(make_fractions(weights[y]))
        tpr = (
            np.longdouble(1e-10)
            / np.longdouble(float(exact))
            * (1 - np.longdouble(float(exact / Fraction(float(exact)) - 1)))
        )
        if isinstance(measure, GMean):
            value = np.sqrt(tpr)
        else:
            square = np.longdouble(0.01) ** 2
            value = (1 + square) * tpr / (tpr + square)
        largest = largest_coefficients(y, weights, u, None)
        error = slack_error(SlackTerms(1.0, float(largest @ np.abs(scores)), 0.0, 2 * n), ranks=False)
        for slack in (
            make_oracle(measure, n, n, weights).exact().violate(scores).value,
            Slack(measure, y, weights, u).at(scores),
        ):
            assert np.longdouble(slack) + np.longdouble(error) >= 1 - value


# ---------------------------------------------------------------------------------------------- parts of the ROC curve


def find_exact_slack(measure, scores, y):
    pos, neg = ([s for s, own in zip(scores, y, strict=True) if own == kind] for kind in (True, False))
    return find_slack(measure, Fraction(1), pos, neg)


PARTS = [
    *(PartialAuc(*rates) for rates in ((0.0, 0.3), (0.2, 0.5), (0.3, 0.3000001))),
    *(TwoWayPartialAuc(*rates) for rates in ((0.3, 0.7), (1e-6, 0.33), (1.0, 0.9999999))),
]


@pytest.mark.parametrize("measure", PARTS, ids=repr)
@pytest.mark.parametrize("far", [1.0, 1e6, -1e6])
def test_slacks_of_parts_of_the_roc_curve_are_not_too_small(measure, far):
    rng, y = np.random.default_rng(0), np.arange(60) < 20
    for _ in range(3):
        scores = rng.standard_normal(60)
        scores[20:] = 1.0 + abs(far) * 1e-11 * rng.uniform(-1.0, 1.0, 40)
        scores[21] = far
        exact = find_exact_slack(measure, make_fractions(scores), y)
        largest = largest_coefficients(y, np.ones(60), 1.0, measure.roc_region)
        terms = SlackTerms(loss_size(measure, 20.0, 40.0), float(largest @ np.abs(scores)), 0.0, 60)
        error = slack_error(terms, ranks=True)
        oracle = make_oracle(measure, 20, 40).exact()
        for slack in (oracle.violate(scores).value, Slack(measure, y, np.ones(60), 1.0).at(scores)):
            assert Fraction(slack) + Fraction(error) >= exact
            assert slack <= exact * (1 + Fraction(1e-6))


@pytest.mark.parametrize("measure", [PartialAuc(0.0, 0.3), TwoWayPartialAuc(0.6, 0.33)], ids=repr)
def test_certificates_of_parts_of_the_roc_curve_hold_with_an_outlier(measure):
    rng, y = np.random.default_rng(1), np.arange(60) < 20
    X = rng.standard_normal((60, 2))
    X[:20, 0] += 0.5
    X[21] = [-1e6, 0.0]
    X[22:] = X[22] + 1e-5 * rng.standard_normal((38, 2))
    model = fit(AUCSVC(measure=measure, tol=1e-6), X, y)
    w = make_fractions(model.result_.weights)
    scores = [sum(a * b for a, b in zip(make_fractions(row), w, strict=True)) for row in X]
    objective = sum(v * v for v in w) / 2 + 60 * find_exact_slack(measure, scores, y)
    for certificate in list_certificates(model, X, y):
        assert certificate.lower <= objective <= certificate.upper


# ---------------------------------------------------------------------------------------------- other objectives


def exact_mean_hinge(scores, y):
    pos, neg = ([s for s, own in zip(scores, y, strict=True) if own == kind] for kind in (True, False))
    return sum(max(Fraction(0), 1 - (p - q)) for p in pos for q in neg) / (len(pos) * len(neg))


@pytest.mark.parametrize(("seed", "far"), [(6, 1e4), (11, 1e5)])
def test_smoothed_rankings_allow_for_division_by_the_smoothing(seed, far):
    X, y = np.random.default_rng(seed).standard_normal((60, 2)), np.arange(60) < 25
    X[y, 0] += 0.7
    X[0] = [far, 0.0]
    if seed % 3 == 0:
        X[-1] = [-far, 0.0]
    model = fit(SmoothedSVC("roc_auc", tol=1e-11, threshold=0.0, max_iter=3000), X, y)
    best = fit(AUCSVC(tol=1e-11, max_iter=2000, threshold=0.0), X, y).result_.weights
    w = make_fractions(best)
    scores = [sum(a * b for a, b in zip(make_fractions(row), w, strict=True)) for row in X]
    objective = sum(v * v for v in w) / 2 + 60 * exact_mean_hinge(scores, y)
    for certificate in list_certificates(model, X, y):
        assert certificate.lower <= objective


def exact_hinge_objective(C, X, y, w):
    w = make_fractions(w)
    scores = [sum(a * b for a, b in zip(make_fractions(row), w, strict=True)) for row in X]
    losses = (max(Fraction(0), 1 - (1 if own else -1) * score) for own, score in zip(y, scores, strict=True))
    return sum(v * v for v in w) / 2 + Fraction(C) * sum(losses)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_histograms_allow_for_rounding(seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([-0.7, 0.1, 0.3], size=(200, 2))
    y = X.sum(axis=1) + 0.4 * rng.standard_normal(200) > -0.2
    C = float(10 ** rng.uniform(-4, -1))
    model = MultivariateSVC("accuracy", C=C, threshold=0.0, fit_intercept=False, score_bins=64, tol=1e-9)
    certificate = fit(model, X, y).result_.certificate
    objective = exact_hinge_objective(C, X, y, model.result_.weights)
    assert certificate.lower <= objective <= certificate.upper


def test_bounds_of_samples_on_disk_hold(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2)) + 1e6
    y = np.arange(40) % 3 == 0
    np.save(tmp_path / "X.npy", X)
    samples = metricwise.io.open(tmp_path / "X.npy")
    model = fit(MultivariateSVC("accuracy", C=1e3, threshold=0.0, fit_intercept=False, max_iter=30), samples, y)
    objective = exact_hinge_objective(1e3, X, y, model.result_.weights)
    for certificate in list_certificates(model, samples, y):
        assert certificate.lower <= objective <= certificate.upper


# ---------------------------------------------------------------------------------------------- single steps


def test_losses_above_one_count_fully():
    assert loss_size(MCC(), 3.0, 5.0) == pytest.approx(2.0)
    assert loss_size(CohenKappa(), 4.0, 4.0) == pytest.approx(2.0)
    few, many = (slack_dual(1.0, 0.5, 0.0, (2.0, 10, n_labellings)) for n_labellings in (1, 1000))
    assert many < few < 0.5


def test_levels_are_rounded_up():
    levels = 1e-3 * np.random.default_rng(0).random(200)  # whose differences from one are rounded
    assert all(Fraction(loss_above(float(level))) >= 1 - Fraction(float(level)) for level in levels)


def test_bounds_that_exceed_each_other_prove_nothing():
    assert replace_nan_bounds(1.0, 1.5, 0.5) == (1.0, 0.0, 0.5)
    assert replace_nan_bounds(float("nan"), float("nan"), 0.5) == (np.inf, 0.0, 0.5)


def test_the_least_integer_has_an_absolute_value():
    data = LocalData(np.array([[-128, 1], [127, -128]], dtype=np.int8))
    assert data.multiply_sizes(np.ones(2)).tolist() == [129.0, 255.0]
    assert data.combine_sizes(np.ones(2)).tolist() == [255.0, 129.0]


def test_certificates_of_weights_with_fractions_stay_tight():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y, weights = X[:, 0] + 0.5 * rng.standard_normal(80) > 0.3, rng.uniform(0.5, 2.0, 80)
    for measure in ("f1", "g_mean", "cohen_kappa", "precision_at_k"):
        model = fit(MultivariateSVC(measure, threshold=0.0, tol=1e-7), X, y, sample_weight=weights)
        problem = make_problem(make_design(X, intercept=1.0), y, model.measure_, 1.0, weights)
        assert problem.bounds_rounding
        for certificate in list_certificates(model, X, y, weights):
            assert certificate.relative < 1.1e-7


def test_certificates_of_smoothed_rankings_stay_tight():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(80) > 0.3
    model = fit(SmoothedSVC("roc_auc", threshold=0.0, tol=1e-6), X, y)
    for certificate in list_certificates(model, X, y):
        assert certificate.relative < 1.1e-6
