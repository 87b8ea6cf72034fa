"""Projections onto the dual regions: inside, idempotent and nearest, by two independent methods."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from metricwise.kernels.dual_regions import DISC, HYPERBOLA, POINT, ROOTS, SIMPLEX, project

REGIONS = {"point": POINT, "simplex": SIMPLEX, "roots": ROOTS, "disc": DISC, "hyperbola": HYPERBOLA}
every_region = pytest.mark.parametrize("name", REGIONS)

# The boundary of each region, one curve after the other, from its definition.
BOUNDARIES = {
    "simplex": [lambda t: (t, 1.0 - t)],
    "roots": [
        lambda t: (2.0 * t * t, 2.0 * (1.0 - t) ** 2),
        lambda t: (2.0 * math.cos(t * math.pi / 2), 2.0 * math.sin(t * math.pi / 2)),
    ],
    "disc": [
        lambda t: (math.sqrt(0.5) * math.cos(t * math.pi / 2), math.sqrt(0.5) * math.sin(t * math.pi / 2)),
        lambda t: (t * math.sqrt(0.5), 0.0),
        lambda t: (0.0, t * math.sqrt(0.5)),
    ],
    "hyperbola": [lambda t: (0.5 * math.exp(60.0 * (t - 0.5)), 0.5 * math.exp(-60.0 * (t - 0.5)))],
}


def compute_violation(name, a, b):
    """Return by how much a point violates the definition of a region; zero inside."""
    wrong = {
        "point": max(abs(a - 0.5), abs(b - 0.5)),
        "simplex": max(abs(a + b - 1.0), -a, -b),
        "roots": max(math.sqrt(2.0) - math.sqrt(max(a, 0.0)) - math.sqrt(max(b, 0.0)), math.hypot(a, b) - 2.0, -a, -b),
        "disc": max(a * a + b * b - 0.5, -a, -b),
        "hyperbola": max(0.25 - a * b, -a, -b) if a > 0.0 else 1.0,
    }
    return max(wrong[name], 0.0)


def find_nearest(curve, a, b):
    """Return the point of a curve nearest to (a, b): the best of a fine grid, then refined."""

    def distance(t):
        alpha, beta = curve(t)
        return math.hypot(alpha - a, beta - b)

    grid = np.linspace(0.0, 1.0, 401)
    best = int(np.argmin([distance(t) for t in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    found = minimize_scalar(distance, bounds=(low, high), method="bounded", options={"xatol": 1e-14})
    return min((curve(t) for t in (found.x, low, high, grid[best])), key=lambda p: math.hypot(p[0] - a, p[1] - b))


def project_slowly(name, a, b):
    if name == "point":
        return 0.5, 0.5
    if name != "simplex" and compute_violation(name, a, b) == 0.0:
        return a, b
    candidates = [find_nearest(curve, a, b) for curve in BOUNDARIES[name]]
    return min(candidates, key=lambda p: math.hypot(p[0] - a, p[1] - b))


def list_members(name):
    """Return points that cover a region."""
    rng = np.random.default_rng(0)
    if name == "point":
        return np.array([[0.5, 0.5]])
    points = [curve(t) for curve in BOUNDARIES[name] for t in np.linspace(0.0, 1.0, 201)]
    if name in ("roots", "disc"):
        points += [tuple(p) for p in rng.uniform(0.0, 2.0, (500, 2)) if compute_violation(name, *p) == 0.0]
    if name == "hyperbola":
        points += [tuple(p) for p in np.exp(rng.normal(size=(500, 2))) if compute_violation(name, *p) == 0.0]
    return np.array(points)


MEMBERS = {name: list_members(name) for name in REGIONS}

near = st.floats(-3.0, 3.0, allow_subnormal=False)
coordinate = st.one_of(near, near, st.sampled_from([0.0, 0.25, 0.5, math.sqrt(0.5), 1.0, 2.0]), st.floats(-1e6, 1e6))


@every_region
@settings(max_examples=60, deadline=None)
@given(a=coordinate, b=coordinate)
@example(a=0.0, b=0.0)
@example(a=2.5, b=-3.0)
@example(a=-1e6, b=-1e6)
@example(a=1e6, b=-1e6)
def test_the_projection_is_the_nearest_point(name, a, b):
    alpha, beta = project(REGIONS[name], a, b)
    expected = project_slowly(name, a, b)
    scale = 1.0 + math.hypot(a, b)
    assert math.hypot(alpha - a, beta - b) <= math.hypot(expected[0] - a, expected[1] - b) + 1e-12 * scale
    # Regions are convex, so equal distances mean equal points, to half the digits.
    assert math.hypot(alpha - expected[0], beta - expected[1]) <= 2e-6 * scale


@every_region
@settings(max_examples=200, deadline=None)
@given(a=coordinate, b=coordinate)
def test_the_projection_is_inside_and_idempotent(name, a, b):
    alpha, beta = project(REGIONS[name], a, b)
    assert alpha >= 0.0 and beta >= 0.0
    assert compute_violation(name, alpha, beta) <= 1e-12
    again = project(REGIONS[name], alpha, beta)
    np.testing.assert_allclose(again, (alpha, beta), rtol=1e-9, atol=1e-12)


@every_region
@settings(max_examples=200, deadline=None)
@given(a=coordinate, b=coordinate)
def test_the_projection_satisfies_the_optimality_condition(name, a, b):
    """(x - p) . (q - p) <= 0 for every q of the region."""
    x, p = np.array([a, b]), np.array(project(REGIONS[name], a, b))
    steps = MEMBERS[name] - p
    rounding = 1e-12 * (1.0 + np.hypot(*x) + np.hypot(*p))  # of p
    assert np.all(steps @ (x - p) <= rounding * (np.hypot(*steps.T) + np.hypot(*(x - p))))


@every_region
@settings(max_examples=200, deadline=None)
@given(a=coordinate, b=coordinate)
def test_the_projection_is_symmetric_in_both_rates(name, a, b):
    alpha, beta = project(REGIONS[name], a, b)
    mirrored = project(REGIONS[name], b, a)
    np.testing.assert_allclose(mirrored, (beta, alpha), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["simplex", "roots", "disc", "hyperbola"])
@pytest.mark.parametrize("size", [1e12, 1e60, 1e150])
def test_rewards_of_outliers_give_finite_slopes(name, size):
    for a, b in [(size, size), (-size, 0.3), (0.3, -size), (-size, -size), (size, -size)]:
        alpha, beta = project(REGIONS[name], a, b)
        assert math.isfinite(alpha) and math.isfinite(beta)
        assert alpha >= 0.0 and beta >= 0.0
        if name != "hyperbola":
            assert compute_violation(name, alpha, beta) <= 1e-9
