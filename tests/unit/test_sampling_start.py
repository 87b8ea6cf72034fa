"""Starting a large problem from a solved subsample changes the iterations, not the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.measures import get_measure
from metricwise.solvers import CuttingPlane, Limits, run
from tests.contracts.cases import make_data, pose_problem, store

TOL = 1e-3
X, POSITIVE = make_data(n_samples=5000, n_features=12, share=0.2, noise=1.0)
WITH, WITHOUT = CuttingPlane(sample_factor=8, smallest_sample=200), CuttingPlane(sample_factor=0)


@pytest.mark.parametrize("kind", ["dense samples", "sparse"])
@pytest.mark.parametrize(
    "name", ["f1", "accuracy", "g_mean", "prbep", "roc_auc", "partial_roc_auc", "two_way_partial_auc", "precision_at_k"]
)
def test_the_objective_is_the_same_with_and_without_a_subsample(name, kind):
    problem = pose_problem(get_measure(name), store(X, kind), POSITIVE, C=0.05)
    results = [run(solver, problem, Limits(tol=TOL))[0] for solver in (WITH, WITHOUT)]
    for result in results:
        assert result.status.reached_tolerance
        assert result.certificate.relative <= TOL
    assert results[0].certificate.upper == pytest.approx(results[1].certificate.upper, rel=TOL)
    lower, upper = (max(r.certificate.lower for r in results), min(r.certificate.upper for r in results))
    assert lower <= upper * (1 + 1e-9)


def test_weighted_problems_reach_the_same_objective():
    weights = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    problem = pose_problem(get_measure("f1"), X, POSITIVE, C=0.05, weights=weights)
    results = [run(solver, problem, Limits(tol=TOL))[0] for solver in (WITH, WITHOUT)]
    assert results[0].certificate.upper == pytest.approx(results[1].certificate.upper, rel=TOL)


def test_the_solution_of_the_subsample_is_where_training_starts():
    problem = pose_problem(get_measure("f1"), X, POSITIVE, C=0.05)
    from_sample, from_zero = WITH.init(problem), WITHOUT.init(problem)
    assert from_sample.n_cuts == from_zero.n_cuts + 1
    sample = problem.sample(len(X) // 8, np.random.default_rng(WITH.seed))
    np.testing.assert_array_equal(from_sample.w, run(WITH, sample, Limits(tol=TOL))[0].weights)
    assert from_sample.upper < from_zero.upper
    small = pose_problem(get_measure("f1"), X[:1000], POSITIVE[:1000], C=0.05)
    assert WITH.init(small).n_cuts == WITHOUT.init(small).n_cuts  # an eighth of it is below smallest_sample


def test_fewer_iterations_are_needed_on_all_samples():
    problem = pose_problem(get_measure("f1"), X, POSITIVE, C=0.05)
    assert run(WITH, problem, Limits(tol=TOL))[0].n_iter < run(WITHOUT, problem, Limits(tol=TOL))[0].n_iter


def test_the_seed_changes_the_subsample_but_not_the_optimum():
    problem = pose_problem(get_measure("f1"), X, POSITIVE, C=0.05)
    solvers = [CuttingPlane(smallest_sample=200, seed=seed) for seed in (0, 0, 1)]
    results = [run(solver, problem, Limits(tol=TOL))[0] for solver in solvers]
    np.testing.assert_array_equal(results[0].weights, results[1].weights)
    assert not np.array_equal(results[0].weights, results[2].weights)
    assert results[0].certificate.upper == pytest.approx(results[2].certificate.upper, rel=TOL)


def test_subsamples_contain_a_rare_class():
    positive = np.zeros(len(X), dtype=bool)
    positive[[17, 4000]] = True
    problem = pose_problem(get_measure("f1"), X, positive, C=0.05)
    sample = problem.sample(200, np.random.default_rng(0))
    assert sample.n_pos == 1 and sample.design.shape[0] == 200
    result, _ = run(WITH, problem, Limits(tol=TOL))
    assert result.status.reached_tolerance
