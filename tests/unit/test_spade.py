"""SPADE finds the model whose hinge-based rates have the largest measure."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from metricwise import GMean, HMean, MinRate, QMean
from metricwise.measures import BalancedAccuracy
from metricwise.solvers.point_updates import PointSettings
from metricwise.solvers.spade import Spade
from metricwise.solvers.stream_data import StreamData

MEASURES = {
    "min_rate": MinRate(),
    "q_mean": QMean(),
    "g_mean": GMean(),
    "h_mean": HMean(),
    "balanced_accuracy": BalancedAccuracy(),
}


def make_problem(seed, n=80, d=2, shift=1.3):
    """Return standardised samples of two overlapping classes, one three times as frequent as the other."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 4 == 0
    X = rng.normal(size=(n, d)) + shift * positive[:, None]
    return (X - X.mean(axis=0)) / X.std(axis=0), positive


def compute_rates(X, positive, weights, bias):
    scores = X @ weights + bias
    return np.minimum(1.0, scores[positive]).mean(), np.minimum(1.0, -scores[~positive]).mean()


def maximise_weighted_rates(X, positive, share):
    """Return the rates of a model that maximises share P + (1 - share) N, a linear program in w, b and the rewards."""
    n, d = X.shape
    truth = np.where(positive, 1.0, -1.0)
    reward_weights = np.where(positive, share / positive.sum(), (1.0 - share) / (~positive).sum())
    # Variables w, b, r: maximise reward_weights . r subject to r <= 1 and r <= truth (w . x + b).
    below = np.hstack([-truth[:, None] * X, -truth[:, None], np.eye(n)])
    bounds = [(None, None)] * (d + 1) + [(None, 1.0)] * n
    found = linprog(
        np.concatenate([np.zeros(d + 1), -reward_weights]), below, np.zeros(n), bounds=bounds, method="highs"
    )
    assert found.success
    return compute_rates(X, positive, found.x[:d], found.x[d])


@cache
def trace_rates(seed):
    """Return points on the upper right boundary of the achievable rates, a convex set."""
    X, positive = make_problem(seed)
    shares = np.linspace(0.0, 1.0, 201)[1:-1]
    corners = np.unique(np.round([maximise_weighted_rates(X, positive, share) for share in shares], 9), axis=0)
    between = np.linspace(0.0, 1.0, 200)[:, None]
    points = np.concatenate([corners] + [(1 - between) * a + between * b for a, b in itertools.pairwise(corners)])
    return points[np.all(points >= 0.0, axis=1)]


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    "settings",
    [PointSettings("paper", eta0=0.5, alpha=0.0), PointSettings("adaptive", eta0=0.5, alpha=1e-6)],
    ids=["paper", "adaptive"],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_many_passes_reach_the_largest_measure_of_hinge_rates(name, settings, seed):
    measure, (X, positive) = MEASURES[name], make_problem(seed)
    data, rng = StreamData(X, positive, np.ones(len(X))), np.random.default_rng(seed)
    learner = Spade(measure, settings)
    state = learner.start(X.shape[1], is_sparse=False)
    for _ in range(1500):
        learner.learn(state, data, rng.permutation(len(X)), remember=False)
    found = compute_rates(X, positive, *state.average())
    assert min(found) > 0.0
    best = float(measure.rate_value(*trace_rates(seed).T).max())
    reached = float(measure.rate_value(*found))
    assert 0.1 < best < 0.9  # otherwise the bounds below would show nothing
    assert reached <= best + 1e-3
    assert reached >= 0.97 * best


def test_measures_lead_to_different_rates():
    """The minimum of the rates is largest where they are equal; their mean is largest where they differ."""
    X, positive = make_problem(0)
    rng, found = np.random.default_rng(0), {}
    for name in ("min_rate", "balanced_accuracy"):
        learner = Spade(MEASURES[name], PointSettings("paper", eta0=0.5, alpha=0.0))
        state = learner.start(X.shape[1], is_sparse=False)
        for _ in range(500):
            learner.learn(state, StreamData(X, positive, np.ones(len(X))), rng.permutation(len(X)), remember=False)
        found[name] = compute_rates(X, positive, *state.average())
    assert abs(np.subtract(*found["min_rate"])) < 0.02 < abs(np.subtract(*found["balanced_accuracy"]))
