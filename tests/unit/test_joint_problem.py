"""The machine of several classes against independent solvers, and its relation to the binary one."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_classification
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from metricwise.designs import make_design
from metricwise.designs.joint import JointDesign
from metricwise.measures import Accuracy, BalancedAccuracy, CostMatrix, MinRate
from metricwise.solvers import CuttingPlane, Limits, make_problem, run
from metricwise.solvers.joint_problem import make_joint_problem

TIGHT = Limits(tol=1e-6)


def solve(X, codes, measure, C, weights=None, intercept=1.0, solver=None):
    weights = np.ones(len(codes)) if weights is None else weights
    problem = make_joint_problem(
        make_design(X, intercept=intercept), codes, measure, C, weights, np.arange(codes.max() + 1)
    )
    return problem, run(solver or CuttingPlane(), problem, TIGHT)[0]


def objective(problem, W):
    return problem.objective(W, problem.oracle.exact().violate(problem.design.scores(W)))


def test_accuracy_is_the_machine_of_crammer_and_singer():
    X, y = load_iris(return_X_y=True)
    problem, result = solve(scale(X), y, Accuracy(), 0.3)
    peer = LinearSVC(multi_class="crammer_singer", C=0.3, tol=1e-8, max_iter=1_000_000).fit(scale(X), y)
    at_peer = objective(problem, np.column_stack([peer.coef_, peer.intercept_]).ravel())
    assert result.certificate.lower <= at_peer
    assert at_peer == pytest.approx(result.certificate.upper, rel=1e-5)
    assert result.weights.reshape(3, -1)[:, :-1] == pytest.approx(peer.coef_, abs=5e-3)


COSTS = CostMatrix([[0, 1, 5], [1, 0, 2], [20, 10, 0]])


def terms_of(measure, counts):
    """Return per-sample losses by true and predicted class for every alternative, from the definition."""
    n, wrong = counts.sum(), 1.0 - np.eye(3)
    if measure is COSTS:
        return [np.array(measure.costs) / (20.0 * n)], n
    if isinstance(measure, BalancedAccuracy):
        return [wrong / (3.0 * counts[:, None])], 3.0 * counts.min()
    return [wrong * (np.arange(3) == k)[:, None] / counts[k] for k in range(3)], counts.min()


@pytest.mark.parametrize("measure", [BalancedAccuracy(), MinRate(), COSTS], ids=lambda measure: measure.name)
def test_optimum_equals_that_of_an_independent_solver(measure):
    X, y = make_classification(
        14, 3, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, class_sep=2.0, random_state=3
    )
    weights = np.where(np.arange(14) % 3 == 0, 2.0, 1.0)
    C, counts = 0.5, np.bincount(y, weights)
    losses, u = terms_of(measure, counts)

    def slacks(W):
        scores = X @ W.reshape(3, 3).T
        gains = scores - scores[np.arange(14), y][:, None]
        return [float(weights @ (u * loss[y] + gains).max(axis=1)) for loss in losses]

    # One slack per sample and alternative makes the problem smooth.
    n_losses = len(losses)
    start = np.concatenate([np.zeros(9), np.full(14 * n_losses, 2.0 + 20.0), [1000.0]])

    def constraints(v):
        scores = X @ v[:9].reshape(3, 3).T
        gains = scores - scores[np.arange(14), y][:, None]
        xi = v[9:-1].reshape(n_losses, 14)
        parts = [(xi[k][:, None] - u * loss[y] - gains).ravel() for k, loss in enumerate(losses)]
        return np.concatenate([*parts, v[-1] - xi @ weights])

    found = minimize(
        lambda v: 0.5 * v[:9] @ v[:9] + C * v[-1],
        start,
        constraints={"type": "ineq", "fun": constraints},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    ).x[:9]
    at_peer = 0.5 * found @ found + C * max(slacks(found))
    problem, result = solve(X, y, measure, C, weights, intercept=0.0)
    assert problem.cost == pytest.approx(C * u)
    assert objective(problem, found) == pytest.approx(at_peer)
    assert result.certificate.lower <= at_peer * (1.0 + 1e-9)
    assert result.certificate.upper == pytest.approx(at_peer, rel=1e-4)


@pytest.mark.parametrize("measure", [Accuracy(), BalancedAccuracy(), MinRate()], ids=lambda measure: measure.name)
def test_two_classes_are_half_the_binary_problem_at_twice_the_cost(measure):
    X, y = make_classification(60, 4, weights=[0.7], class_sep=1.5, random_state=0)
    design = make_design(X, intercept=1.0)
    binary, _ = run(CuttingPlane(), make_problem(design, y == 1, measure, 2 * 0.05), TIGHT)
    _, joint = solve(X, y, measure, 0.05)
    assert 2.0 * joint.certificate.upper == pytest.approx(binary.certificate.upper, rel=1e-5)
    first, second = joint.weights.reshape(2, -1)
    assert first == pytest.approx(-second, abs=1e-9)
    assert second - first == pytest.approx(binary.weights, abs=2e-2)


def test_weights_are_copies_and_sparse_samples_the_same():
    X, y = load_iris(return_X_y=True)
    X, y = scale(X)[::5], y[::5]
    counts = 1 + np.arange(len(y)) % 3
    _, weighted = solve(sparse.csr_array(X), y, MinRate(), 1.0, counts.astype(float))
    _, copied = solve(np.repeat(X, counts, axis=0), np.repeat(y, counts), MinRate(), 1.0)
    assert weighted.certificate.upper == pytest.approx(copied.certificate.upper, rel=1e-5)


def test_a_start_from_a_sample_ends_at_the_same_optimum():
    X, y = make_classification(1500, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    sampled = CuttingPlane(smallest_sample=300, sample_factor=8)
    ends = [solve(X, y, BalancedAccuracy(), 0.01, solver=solver)[1].certificate for solver in (None, sampled)]
    assert ends[0].upper == pytest.approx(ends[1].upper, rel=1e-5)


def test_products_are_those_of_every_class():
    X = np.arange(12.0).reshape(4, 3)
    design = JointDesign(make_design(X, intercept=2.0), 2)
    W, c = np.arange(8.0), np.linspace(-1.0, 1.0, 8)
    whole = np.column_stack([X, np.full(4, 2.0)])
    assert design.scores(W).reshape(4, 2) == pytest.approx(whole @ W.reshape(2, 4).T)
    assert design.combine(c).reshape(2, 4) == pytest.approx(c.reshape(4, 2).T @ whole)
    assert design.shape == (8, 8)
