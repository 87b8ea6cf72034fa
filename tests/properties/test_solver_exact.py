"""Cutting planes against the exact optimum: a quadratic programme with one constraint per labelling."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from metricwise.designs import make_design
from metricwise.measures import (
    MCC,
    PRBEP,
    Accuracy,
    CohenKappa,
    FBeta,
    GMean,
    GowerLegendre,
    Jaccard,
    MinRate,
    PrecisionAtK,
    QMean,
    RanksPairs,
    RecallAtK,
    RestrictsLabellings,
    RocAuc,
    TwoWayPartialAuc,
    contingency_measure,
)
from metricwise.solvers import CuttingPlane, Limits, make_problem, run

piqp = pytest.importorskip("piqp", minversion="0.6")

OWN = contingency_measure(lambda tp, fp, fn, tn: (tp + 0.3 * tn) / (tp + 0.3 * tn + 2 * np.sqrt(fp) + fn), "own")
MEASURES = [
    Accuracy(),
    FBeta(),
    FBeta(0.5),
    FBeta(2.0),
    Jaccard(),
    GMean(),
    QMean(),
    MinRate(),
    CohenKappa(),
    GowerLegendre(0.4),
    GowerLegendre(2.0),
    MCC(),
    PRBEP(),
    PrecisionAtK(1),
    PrecisionAtK(3),
    RecallAtK(2),
    RocAuc(),
    TwoWayPartialAuc(0.5, 0.5),
    TwoWayPartialAuc(0.7, 0.0),
    TwoWayPartialAuc(0.8, 0.3),
    OWN,
]

each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda m: "own" if m is OWN else repr(m))


def list_labellings(measure, X, positive):
    """Return losses and slopes of all labellings, by definition: R(w) = max over k of losses[k] + planes[k] . w."""
    n_pos, n = int(positive.sum()), positive.size
    u = measure.mistakes_per_loss(n_pos, n - n_pos)
    called = np.array(list(product([0.0, 1.0], repeat=n)))
    if isinstance(measure, RestrictsLabellings):
        # The size varies between that of the true labels and k; the loss is that of the former.
        size, sizes = measure.predicted_positives(n_pos, n), called.sum(axis=1)
        called = called[(sizes <= size) if size > n_pos else (sizes >= size) if size < n_pos else (sizes == size)]
        tp = called[:, positive].sum(axis=1)
        losses = 1.0 - tp / (n_pos if size >= n_pos else called.sum(axis=1))
        return losses, (called - positive) @ X / u, u
    tp, fp = called[:, positive].sum(axis=1), called[:, ~positive].sum(axis=1)
    losses = 1.0 - np.asarray(measure.value(tp, fp, n_pos - tp, n - n_pos - fp))
    return losses, (called - positive) @ X / u, u


def list_pairs(X, positive):
    """Return the difference of the samples of every pair of a positive and a negative."""
    difference = X[positive][:, None, :] - X[~positive][None, :, :]
    return difference.reshape(-1, X.shape[1])


def list_shares(n, share):
    """Return the shares of n samples in every subset of a share of them, one sample being in it by a fraction."""
    whole = int(share * n + 1e-9)
    fraction = max(share * n - whole, 0.0)
    found = []
    for subset in combinations(range(n), whole):
        shares = np.zeros(n)
        shares[list(subset)] = 1.0
        rest = [i for i in range(n) if shares[i] == 0.0] if fraction > 1e-9 else []
        found += [shares + fraction * (np.arange(n) == i) for i in rest] or [shares]
    return np.array(found) / (share * n)


def list_pair_shares(measure, n_pos, n_neg):
    """Return the shares of all pairs whose mean hinge loss is the slack, one row for every two subsets."""
    region = measure.roc_region
    of_pos, of_neg = list_shares(n_pos, 1.0 - region.min_tpr), list_shares(n_neg, region.max_fpr)
    return np.array([np.outer(a, b).ravel() for a in of_pos for b in of_neg])


def solve_qp(P, c, G, h):
    """Return the solution of min 1/2 x'Px + c'x subject to Gx <= h."""
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    solver.setup(np.asfortranarray(P), c, None, None, np.asfortranarray(G), None, h, None, None)
    assert solver.solve() == piqp.PIQP_SOLVED
    return solver.result.x


def find_exact_optimum(measure, X, positive, C):
    """Return the optimal weights and the optimal objective."""
    d = X.shape[1]
    if isinstance(measure, RanksPairs):
        # One variable for the loss of every pair, and one for the slack, the largest mean over any of the subsets.
        difference = list_pairs(X, positive)
        shares, pairs = list_pair_shares(measure, positive.sum(), (~positive).sum()), len(difference)
        cost = C * measure.mistakes_per_loss(positive.sum(), (~positive).sum())
        P = np.diag(np.r_[np.ones(d), np.zeros(pairs + 1)])
        G = np.vstack(
            [
                np.column_stack([-difference, -np.eye(pairs), np.zeros(pairs)]),
                np.column_stack([np.zeros((pairs, d)), -np.eye(pairs), np.zeros(pairs)]),
                np.column_stack([np.zeros((len(shares), d)), cost * shares, -np.ones(len(shares))]),
            ]
        )
        h = np.r_[-np.ones(pairs), np.zeros(pairs + len(shares))]
        w = solve_qp(P, np.r_[np.zeros(d + pairs), 1.0], G, h)[:d]
        return w, 0.5 * w @ w + cost * (shares @ np.maximum(0.0, 1.0 - difference @ w)).max()
    losses, planes, u = list_labellings(measure, X, positive)
    P = np.diag(np.r_[np.ones(d), 0.0])
    # The slack is in units of the cost, so that all values have a similar scale.
    w = solve_qp(P, np.r_[np.zeros(d), 1.0], np.column_stack([C * u * planes, -np.ones(len(losses))]), -C * u * losses)[
        :d
    ]
    return w, 0.5 * w @ w + C * u * float(np.max(losses + planes @ w))


def make_tiny_problem(seed, n=8):
    """Return at most eight samples; every second case has ties, copies and zeros."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, n + 1)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    positive = np.zeros(n, dtype=bool)
    positive[: int(rng.integers(1, n - 2))] = True
    X[positive] += rng.choice([0.0, 0.5, 1.0])
    return X, positive, float(rng.choice([0.05, 0.5, 5.0]))


def assert_exact(result, w, best):
    slack = 1e-6 * abs(best) + 1e-8
    assert result.certificate.lower <= best + slack
    assert result.certificate.upper >= best - slack
    assert result.certificate.upper <= best + 2 * slack
    # The objective grows at least as half the squared distance from the optimum.
    assert 0.5 * np.sum((result.weights - w) ** 2) <= result.certificate.upper - best + 2 * slack


@pytest.mark.parametrize("constant", [0.0, 1.0], ids=["no intercept", "intercept"])
@each_measure
def test_cutting_planes_reach_the_exact_optimum(measure, constant):
    for seed in range(12):
        X, positive, C = make_tiny_problem(seed)
        problem = make_problem(make_design(X, intercept=constant), positive, measure, C)
        result, _ = run(CuttingPlane(), problem, Limits(tol=1e-6))
        extended = np.column_stack([X, np.full(len(X), constant)]) if constant else X
        assert_exact(result, *find_exact_optimum(measure, extended, positive, C))


@each_measure
def test_integer_weights_reach_the_exact_optimum_of_repeated_samples(measure):
    for seed in range(20, 28):
        X, positive, C = make_tiny_problem(seed, n=6)
        copies = np.random.default_rng(seed).integers(1, 3, size=len(X))
        copies[seed % len(X)] = 3
        problem = make_problem(make_design(X, intercept=0.5), positive, measure, C, copies.astype(float))
        result, _ = run(CuttingPlane(), problem, Limits(tol=1e-6))
        samples = np.repeat(np.arange(len(X)), copies)
        extended = np.column_stack([X, np.full(len(X), 0.5)])[samples]
        assert_exact(result, *find_exact_optimum(measure, extended, positive[samples], C))


@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("constant", [0.0, 1.0], ids=["no intercept", "intercept"])
def test_accuracy_equals_the_hinge_loss_of_linear_svc(C, constant, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    positive = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.7 * rng.normal(size=200) > 0.3
    weights = rng.uniform(0.2, 3.0, size=200) if weighted else None
    problem = make_problem(make_design(X, intercept=constant), positive, Accuracy(), C, weights)
    result, _ = run(CuttingPlane(), problem, Limits(tol=1e-6))
    other = LinearSVC(loss="hinge", C=C, fit_intercept=constant > 0, tol=1e-9, max_iter=10_000_000, random_state=0)
    other.fit(X, positive, sample_weight=weights)
    w = np.append(other.coef_[0], other.intercept_) if constant else other.coef_[0]
    scores = X @ other.coef_[0] + other.intercept_
    hinge = np.maximum(0.0, 1.0 - np.where(positive, scores, -scores))
    objective = 0.5 * w @ w + C * np.sum(hinge if weights is None else weights * hinge)
    assert result.certificate.upper == pytest.approx(objective, rel=1e-5)
    assert result.certificate.lower <= objective
    np.testing.assert_allclose(result.weights, w, atol=5e-3 * np.abs(w).max())
