"""AMP on random small data: levels never fall, bounds hold, and convergence is linear by Theorem 8."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metricwise import CohenKappa, FBeta, GowerLegendre, Jaccard, contingency_measure
from metricwise.designs import make_design
from metricwise.measures import Accuracy, Ratio
from metricwise.solvers import Limits, run
from metricwise.solvers.amp import AMP, table_rate
from metricwise.solvers.amp_problem import make_amp_problem


def lenient(tp, fp, fn, tn):
    return (2 * tp + 0.1 * tn) / (2 * tp + 0.1 * tn + fp + fn)


OWN = contingency_measure(
    lenient, "lenient", ratio=lambda theta: Ratio(0.0, 2.0, 0.1 * theta, 1.0 + theta, 1.0, -0.9 * theta)
)
MEASURES = {
    "f0.5": FBeta(0.5),
    "f1": FBeta(1.0),
    "f2": FBeta(2.0),
    "jaccard": Jaccard(),
    "gower_legendre 0.5": GowerLegendre(0.5),
    "gower_legendre 2": GowerLegendre(2.0),
    "cohen_kappa": CohenKappa(),
    "accuracy": Accuracy(),
    "own": OWN,
}
each_measure = pytest.mark.parametrize("name", MEASURES)
EXACT = AMP(share=1e-9)


@st.composite
def problems(draw, measure, through_zero=False):
    """Return two overlapping classes; ``through_zero`` centres them at zero and leaves out the intercept."""
    n_pos, n_neg = draw(st.integers(1, 8)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    positive = np.arange(n_pos + n_neg) < n_pos
    X = np.round(rng.normal(size=(positive.size, draw(st.integers(1, 3)))), 2)
    shift = draw(st.sampled_from([0.0, 0.5, 1.5])) + 2.0 * through_zero
    X[:, 0] += np.where(positive, shift, -shift)
    weights = draw(st.sampled_from([None, rng.integers(1, 4, size=positive.size).astype(float)]))
    C = draw(st.sampled_from([0.02, 0.3, 5.0]))
    return make_amp_problem(make_design(X, intercept=0.0 if through_zero else 1.0), positive, measure, C, weights)


def list_exact_steps(problem, most=12):
    """Return the states of the exact procedure: level, rates and denominator after each step."""
    limits = Limits(tol=1e-10)
    state = EXACT.init(problem, limits)
    steps = []
    for _ in range(most):
        before = state.level
        EXACT.step(problem, state, limits)
        assume(not state.inner.stalled)  # the step is not exact where rounding stops the inner problem early
        rates = problem.rates(state.scores)
        steps.append((state.level, rates, problem.ratio.denominator(*rates)))
        if state.level - before <= 1e-12:
            break
    return state.levels[0], steps, state.highest


@each_measure
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_levels_never_fall_and_bounds_hold(name, data):
    problem = data.draw(problems(MEASURES[name]))
    result, _ = run(AMP(), problem, Limits(tol=1e-4, max_iter=50))
    assert result.status.reached_tolerance
    assert np.all(np.diff(result.levels) >= 0.0)
    lowers = [entry.lower for entry in result.history]
    assert np.all(np.diff(lowers) >= -1e-12)
    closer, _ = run(AMP(), problem, Limits(tol=1e-8, max_iter=50))
    assert 1.0 - closer.levels[-1] >= result.certificate.lower - 1e-9
    for w in np.random.default_rng(0).normal(size=(20, problem.design.shape[1])):
        scores = problem.design.scores(w)
        if problem.ratio.denominator(*problem.rates(scores)) > 0.0:
            assert problem.level(w, scores) <= 1.0 - result.certificate.lower + 1e-9


@each_measure
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_rewards_are_a_lower_bound_of_the_training_measure(name, data):
    """Labels at threshold 0 score at least the value of the rewards."""
    measure = MEASURES[name]
    problem = data.draw(problems(measure))
    result, _ = run(AMP(), problem, Limits(tol=1e-3))
    positive = np.arange(problem.weights.size) < problem.n_pos
    value = measure.score(positive, problem.design.scores(result.weights) > 0.0, problem.weights)
    assert value >= 1.0 - result.certificate.loss_bound - 1e-9


@each_measure
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_exact_step_reduces_the_error_by_the_ratio_of_denominators(name, data):
    """The error falls by a factor of at most 1 - B(w*) / B(w), for any rewards."""
    problem = data.draw(problems(MEASURES[name]))
    first, steps, highest = list_exact_steps(problem)
    best, _, least = steps[-1]
    assume(highest - best <= 1e-9)
    missing = best - first
    for level, _, denominator in steps:
        assert best - level <= (1.0 - least / denominator) * missing + 1e-7
        missing = best - level


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in ("own", "cohen_kappa")])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_convergence_is_linear_with_the_rates_of_table_2(name, data):
    """Delta_t <= Delta_0 rate^t if all rewards are in [0, 1], the range for which the rates hold."""
    problem = data.draw(problems(MEASURES[name], through_zero=True))
    first, steps, highest = list_exact_steps(problem)
    best = steps[-1][0]
    assume(highest - best <= 1e-9)
    assume(all(0.0 <= rate <= 1.0 for _, rates, _ in steps for rate in rates))
    rate = table_rate(problem.ratio)
    for t, (level, _, _) in enumerate(steps, start=1):
        assert best - level <= (best - first) * rate**t + 1e-7
