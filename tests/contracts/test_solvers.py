"""Guarantees of every solver, for every measure it supports and every storage of the data."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.results import Status
from metricwise.solvers import Limits, run
from metricwise.solvers.registry import SOLVERS
from metricwise.threads import block_bounds
from tests.contracts.cases import (
    ALL_DESIGN_IDS,
    ALL_DESIGNS,
    PAIR_IDS,
    PAIRS,
    TOL,
    compute_objective,
    make_data,
    pose_problem,
    store,
    takes_weights,
)

X, POSITIVE = make_data()
NEVER = 1e-14  # a tolerance that no solver reaches

each_pair = pytest.mark.parametrize(("solver", "measure"), PAIRS, ids=PAIR_IDS)


def solve(solver, problem, tol=TOL, **limits):
    return run(SOLVERS[solver].solver(), problem, Limits(tol=tol, **limits))


def assert_sound(result, tol=TOL):
    """Check that the run reached its tolerance, and that all bounds are consistent."""
    certificate = result.certificate
    rounding = 1e-9 * abs(certificate.upper)
    assert result.status.reached_tolerance
    assert certificate.lower <= certificate.upper + rounding
    assert certificate.relative <= tol
    objectives = np.array([entry.objective for entry in result.history])
    lowers = np.array([entry.lower for entry in result.history])
    assert np.all(np.diff(objectives) <= rounding)
    assert np.all(np.diff(lowers) >= -rounding)
    assert lowers.max() <= objectives.min() + rounding
    # The certificate is the last entry of the history, widened by what rounding errors may amount to.
    assert objectives[-1] <= certificate.upper <= objectives[-1] + rounding
    assert lowers[-1] - rounding <= certificate.lower <= lowers[-1]
    assert [entry.iteration for entry in result.history] == list(range(1, result.n_iter + 1))
    assert np.all(np.isfinite(result.weights))


@pytest.fixture(scope="module")
def reference():
    """Return a function that solves each problem once, on contiguous samples in double precision."""
    results = {}

    def solve_once(solver, measure):
        if (solver, measure) not in results:
            results[solver, measure] = solve(solver, pose_problem(measure, X, POSITIVE))[0]
        return results[solver, measure]

    return solve_once


@each_pair
@pytest.mark.parametrize(("kind", "dtype"), ALL_DESIGNS, ids=ALL_DESIGN_IDS)
def test_reaches_the_tolerance_and_the_same_optimum_on_every_design(solver, measure, kind, dtype, reference):
    problem = pose_problem(measure, store(X, kind, dtype), POSITIVE)
    result, _ = solve(solver, problem)
    assert_sound(result)
    expected = reference(solver, measure).certificate
    assert result.certificate.upper == pytest.approx(expected.upper, rel=TOL)
    assert max(result.certificate.lower, expected.lower) <= min(result.certificate.upper, expected.upper) * (1 + 1e-9)


@each_pair
def test_the_weights_have_the_certified_objective_and_are_a_minimum(solver, measure, reference):
    problem, result = pose_problem(measure, X, POSITIVE), reference(solver, measure)
    assert compute_objective(problem, result.weights) == pytest.approx(result.certificate.upper, rel=1e-9)
    assert result.certificate.loss_bound == pytest.approx(
        (result.certificate.upper - 0.5 * result.weights @ result.weights) / problem.cost, rel=1e-9
    )
    rng = np.random.default_rng(1)
    length = max(float(np.linalg.norm(result.weights)), 1e-3)
    lowest = result.certificate.lower * (1 - 1e-9)
    for scale in np.repeat([1e-4, 1e-2, 0.1, 1.0], 25):
        step = rng.normal(size=result.weights.size)
        w = result.weights + scale * length * step / np.linalg.norm(step)
        assert compute_objective(problem, w) >= lowest
    for factor in (0.0, 0.5, 0.9, 1.1, 2.0):
        assert compute_objective(problem, factor * result.weights) >= lowest


@each_pair
def test_bounds_hold_at_the_limit_of_floating_point_accuracy(solver, measure):
    """For any tolerance, the objective is that of the weights, and the bounds do not cross."""
    for seed in range(8):
        few, positive = make_data(n_samples=14, n_features=2, seed=seed, share=0.4)
        problem = pose_problem(measure, np.round(2 * few) / 2, positive, C=[0.05, 0.5, 5.0][seed % 3])
        result, _ = solve(solver, problem, tol=NEVER, max_iter=150)
        rounding = 1e-9 * max(1.0, abs(result.certificate.upper))
        assert compute_objective(problem, result.weights) == pytest.approx(result.certificate.upper, abs=rounding)
        assert result.certificate.gap >= -rounding


@each_pair
def test_the_loss_bound_holds_for_the_predicted_labels(solver, measure, reference):
    """The slack is at least the loss of the scores, or of the labels by their sign."""
    problem, result = pose_problem(measure, X, POSITIVE), reference(solver, measure)
    scores = problem.design.scores(result.weights)
    truth = np.arange(scores.size) < problem.n_pos
    response = scores if measure.response == "scores" else scores > 0
    assert 1 - measure.score(truth, response) <= result.certificate.loss_bound + 1e-9


@each_pair
@pytest.mark.parametrize("kind", ["dense samples", "sparse"])
def test_a_stopped_run_resumes_to_the_same_result(solver, measure, kind):
    problem = pose_problem(measure, store(X, kind), POSITIVE)
    whole, _ = solve(solver, problem)
    first, state = solve(solver, problem, max_iter=3)
    assert first.n_iter == 3
    resumed, _ = run(SOLVERS[solver].solver(), problem, Limits(tol=TOL), state)
    assert_sound(resumed)
    assert resumed.n_iter > 3
    assert list(resumed.history)[:3] == list(first.history)
    assert resumed.certificate.upper == pytest.approx(whole.certificate.upper, rel=TOL)
    assert resumed.seconds >= first.seconds


@each_pair
@pytest.mark.parametrize("kind", ["dense samples", "sparse"])
@pytest.mark.parametrize("path", [(0.05, 0.3, 2.0), (2.0, 0.3, 0.05)], ids=["rising", "falling"])
def test_a_regularisation_path_reaches_the_optima_of_cold_starts(solver, measure, kind, path):
    made = SOLVERS[solver].solver()
    problem = pose_problem(measure, store(X, kind), POSITIVE, C=1.0)
    state = None
    for C in path:
        at = problem.with_cost(C * problem.cost)
        state = None if state is None else made.init(at, warm=state)
        warm, state = run(made, at, Limits(tol=TOL), state)
        cold, _ = run(made, at, Limits(tol=TOL))
        assert_sound(warm)
        assert warm.certificate.upper == pytest.approx(cold.certificate.upper, rel=TOL)
        assert compute_objective(at, warm.weights) == pytest.approx(warm.certificate.upper, rel=1e-9)


@each_pair
def test_a_warm_start_at_the_same_cost_takes_few_iterations(solver, measure):
    made, problem = SOLVERS[solver].solver(), pose_problem(measure, X, POSITIVE)
    cold, state = run(made, problem, Limits(tol=TOL))
    warm, _ = run(made, problem, Limits(tol=TOL), made.init(problem, warm=state))
    assert_sound(warm)
    assert warm.n_iter <= 2 < cold.n_iter


@each_pair
def test_max_iter_stops_every_solver(solver, measure):
    result, state = solve(solver, pose_problem(measure, X, POSITIVE), tol=NEVER, max_iter=2)
    assert (result.status, result.n_iter, len(result.history)) == (Status.MAX_ITER, 2, 2)
    assert result.certificate.lower <= result.certificate.upper
    again, _ = run(SOLVERS[solver].solver(), pose_problem(measure, X, POSITIVE), Limits(tol=NEVER, max_iter=2), state)
    assert (again.status, again.n_iter) == (Status.MAX_ITER, 4)  # the limit is per run


@each_pair
def test_max_seconds_stops_every_solver(solver, measure):
    result, _ = solve(solver, pose_problem(measure, X, POSITIVE), tol=NEVER, max_seconds=1e-9)
    assert (result.status, result.n_iter) == (Status.MAX_SECONDS, 1)
    assert result.certificate.lower <= result.certificate.upper


@each_pair
def test_the_callback_stops_every_solver(solver, measure):
    seen = []

    def stop_after_three(entry):
        seen.append(entry)
        return len(seen) == 3

    result, _ = run(
        SOLVERS[solver].solver(), pose_problem(measure, X, POSITIVE), Limits(tol=NEVER), callback=stop_after_three
    )
    assert (result.status, result.n_iter) == (Status.STOPPED, 3)
    assert seen == list(result.history)


@each_pair
def test_an_absolute_gap_stops_every_solver(solver, measure):
    problem = pose_problem(measure, X, POSITIVE)
    wanted = 0.05 * problem.cost
    result, _ = solve(solver, problem, tol=NEVER, gap=wanted)
    assert result.status.reached_tolerance
    assert result.certificate.gap <= wanted


@each_pair
@pytest.mark.parametrize("kind", ["dense samples", "dense columns", "sparse"])
def test_the_number_of_threads_changes_no_bit(solver, measure, kind):
    many, positive = make_data(n_samples=4000, n_features=160, share=0.1)
    data = store(many, kind)
    entries = data.nnz if kind == "sparse" else data.size
    assert len(block_bounds(data.shape[0], entries)) > 1  # so that threads have work to share
    results = [
        solve(solver, pose_problem(measure, data, positive, threads=threads), tol=NEVER, max_iter=4)[0]
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(results[0].weights, results[1].weights)
    assert results[0].certificate == results[1].certificate
    assert [e.objective for e in results[0].history] == [e.objective for e in results[1].history]


@each_pair
def test_integer_weights_equal_repeated_samples(solver, measure):
    copies = np.random.default_rng(3).integers(1, 4, size=POSITIVE.size)
    weighted, _ = solve(solver, pose_problem(measure, X, POSITIVE, weights=copies.astype(float)))
    samples = np.repeat(np.arange(POSITIVE.size), copies)
    repeated, _ = solve(solver, pose_problem(measure, X[samples], POSITIVE[samples]))
    assert_sound(weighted)
    assert weighted.certificate.upper == pytest.approx(repeated.certificate.upper, rel=TOL)


@each_pair
def test_data_and_weights_are_not_changed(solver, measure):
    data, weights = X.copy(), np.random.default_rng(4).uniform(0.5, 2.0, size=POSITIVE.size)
    weights = weights if takes_weights(measure, weights) else np.ceil(weights)
    positive = POSITIVE.copy()
    for array in (data, weights, positive):
        array.flags.writeable = False
    result, _ = solve(solver, pose_problem(measure, data, positive, weights=weights))
    assert_sound(result)
