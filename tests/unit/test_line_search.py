"""The line search against scipy's on the same one-dimensional functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from metricwise.designs import make_design
from metricwise.measures import get_measure
from metricwise.solvers import make_problem
from metricwise.solvers.line_search import Line, minimise_along

NAMES = ("f1", "accuracy", "g_mean", "prbep", "roc_auc", "partial_roc_auc", "two_way_partial_auc", "matthews_corrcoef")


def make_random_line(name, seed):
    """Return a problem, a line through random points, and the objective along it by its definition."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    positive = X @ [1.0, -0.5, 0.0, 0.3] + rng.normal(size=60) > 0.5
    problem = make_problem(make_design(X, intercept=1.0), positive, get_measure(name), C=10.0 ** rng.integers(-2, 2))
    w, target = rng.normal(size=(2, 5)) * 10.0 ** rng.integers(-2, 2, size=(2, 1))
    line = Line.between(problem.design, (w, problem.design.scores(w)), (target, problem.design.scores(target)))

    def objective(step):
        at = w + step * (target - w)
        return problem.objective(at, problem.oracle.violate(problem.design.scores(at)))

    return problem, line, objective


def find_minimum(objective):
    """Return the minimum over nonnegative steps."""
    far = 1.0
    while objective(2 * far) < objective(far):
        far *= 2
    return min(
        minimize_scalar(objective, bounds=(0.0, 2 * far), method="bounded", options={"xatol": 1e-12}).fun,
        objective(0.0),
    )


@pytest.mark.parametrize("name", NAMES)
def test_trials_return_the_objective_and_a_subgradient(name):
    for seed in range(5):
        problem, line, objective = make_random_line(name, seed)
        for step in (0.0, 0.3, 1.0, 2.5):
            trial = line.trial(problem, step)
            assert trial.value == pytest.approx(objective(step), rel=1e-9)
            for other in (0.0, 0.1, 0.9, 4.0):
                bound = trial.value + trial.slope * (other - step) + 0.5 * line.target_square * (other - step) ** 2
                assert objective(other) >= bound - 1e-9 * abs(bound)


@pytest.mark.parametrize("guess", [1e-3, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_line_search_finds_the_minimum(name, guess):
    for seed in range(12):
        problem, line, objective = make_random_line(name, seed)
        start = line.trial(problem, 0.0)
        least = find_minimum(objective)
        enough = 1e-3 * max(start.value - least, 1e-6 * start.value)
        found = minimise_along(problem, line, start, guess, enough)
        assert found.step >= 0.0
        assert found.value == pytest.approx(objective(found.step), rel=1e-9)
        assert found.value <= start.value
        assert found.value <= least + 2 * enough


@pytest.mark.parametrize("name", NAMES)
def test_the_line_search_stays_at_a_minimum(name):
    """It starts at the minimum of a line, and in an ascent direction."""
    for seed in range(12):
        problem, line, _ = make_random_line(name, seed)
        if line.trial(problem, 0.0).slope < 0.0:
            line = Line(line.scores, -line.towards, line.square, -line.mixed, line.target_square)
        start = line.trial(problem, 0.0)
        if start.slope < 0.0:
            continue  # a kink: both directions descend for this subgradient
        found = minimise_along(problem, line, start, 1.0, 1e-9 * start.value)
        assert found.value == pytest.approx(start.value, rel=1e-8)
