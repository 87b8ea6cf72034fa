"""The quadratic programme over the simplex: optimality conditions, and agreement with two general solvers."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.kernels.simplex import solve_simplex

TOLERANCE = 1e-11


def compute_gram(cuts):
    return cuts @ cuts.T


def make_random_case(kind, seed):
    """Return a Gram matrix and gains of the given kind, as cutting planes produce them or harder."""
    rng = np.random.default_rng(seed)
    K, length = int(rng.integers(2, 25)), int(rng.integers(1, 30))
    cuts = rng.normal(size=(K, length))
    gains = rng.random(K)
    if kind == "rank deficient":
        cuts = cuts[:, :1] @ rng.normal(size=(1, 5))
    elif kind == "duplicated cuts":
        cuts = cuts[rng.integers(0, max(K // 3, 1), size=K)]
        gains = np.where(rng.random(K) < 0.5, 0.5, gains)
    elif kind == "zero cuts":
        cuts[rng.random(K) < 0.5] = 0.0
    elif kind == "nothing but zeros":
        cuts[:] = 0.0
    elif kind == "near copies":
        cuts = cuts[:1] + 1e-9 * cuts
    elif kind == "unequal sizes":
        cuts *= 10.0 ** rng.integers(-4, 5, size=(K, 1))
    elif kind == "equal gains":
        gains[:] = 0.7
    elif kind == "cuts with the truth":
        gains[0], cuts[0] = 0.0, 0.0
        cuts += 3 * np.sign(rng.normal(size=length))
    elif kind == "one cut":
        cuts, gains = cuts[:1], gains[:1]
    return compute_gram(cuts), gains


KINDS = (
    "plain",
    "rank deficient",
    "duplicated cuts",
    "zero cuts",
    "nothing but zeros",
    "near copies",
    "unequal sizes",
    "equal gains",
    "cuts with the truth",
    "one cut",
)
SCALES = (1e-9, 1e-3, 1.0, 1e4, 1e9)


def solve(G, d, scale, alpha=None):
    shares = np.zeros(d.size) if alpha is None else alpha.copy()
    if alpha is None:
        shares[0] = 1.0
    solve_simplex(G, d, scale, shares, TOLERANCE)
    return shares


def value(G, d, scale, alpha):
    return float(d @ alpha - 0.5 * scale * alpha @ G @ alpha)


def compute_scale(G, d, scale):
    """Return the scale of rounding errors of the value."""
    return float(np.abs(d).max() + scale * np.abs(G).max())


def assert_optimal(G, d, scale, alpha):
    assert np.all(alpha >= 0.0)
    assert alpha.sum() == pytest.approx(1.0, abs=1e-10)
    gradient = d - scale * G @ alpha
    slack = 1e-9 * compute_scale(G, d, scale)
    level = float(alpha @ gradient)
    assert gradient.max() - level <= slack  # no direction within the simplex ascends ...
    assert np.abs(alpha * (gradient - level)).max() <= slack  # ... and weights are where the gradient is largest


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_solutions_satisfy_the_optimality_conditions(kind, scale):
    for seed in range(40):
        G, d = make_random_case(kind, seed)
        assert_optimal(G, d, scale, solve(G, d, scale))


@pytest.mark.parametrize("unit", [1e-150, 1e-32, 1e-16, 1e-8, 1e8, 1e100])
@pytest.mark.parametrize("kind", KINDS)
def test_solutions_do_not_depend_on_the_scale_of_the_cuts(kind, unit):
    for seed in range(10):
        G, d = make_random_case(kind, seed)
        assert_optimal(unit * G, d, 1.0, solve(unit * G, d, 1.0))


def test_cuts_of_rounding_errors_select_the_largest_gain():
    """Cuts whose samples cancel leave rounding errors; the optimum is the cut with the larger gain."""
    G = np.array([[0.0, 0.0], [0.0, 1.9259299443872359e-32]])
    np.testing.assert_allclose(solve(G, np.array([0.0, 1.0]), 0.6), [0.0, 1.0])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_feasible_start_reaches_the_same_value(kind, scale):
    rng = np.random.default_rng(7)
    for seed in range(15):
        G, d = make_random_case(kind, seed)
        cold = value(G, d, scale, solve(G, d, scale))
        for start in (rng.dirichlet(np.ones(d.size)), rng.dirichlet(np.full(d.size, 0.1)), np.full(d.size, 1 / d.size)):
            shares = solve(G, d, scale, start / start.sum())
            assert_optimal(G, d, scale, shares)
            assert value(G, d, scale, shares) == pytest.approx(cold, abs=1e-9 * compute_scale(G, d, scale))


def test_a_larger_matrix_may_hold_the_problem():
    """Cuts keep their Gram matrix in a buffer that is larger than the problem."""
    G, d = make_random_case("plain", 3)
    buffer = np.full((64, 64), np.nan)
    buffer[: d.size, : d.size] = G
    shares = np.zeros(d.size)
    shares[0] = 1.0
    solve_simplex(buffer, d, 2.0, shares, TOLERANCE)
    np.testing.assert_array_equal(shares, solve(G, d, 2.0))


def solve_by_piqp(H, d):
    piqp = pytest.importorskip("piqp", minversion="0.6")
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    one = np.ones((1, d.size), order="F")
    solver.setup(np.asfortranarray(H), -d, one, np.ones(1), None, None, None, np.zeros(d.size), None)
    solver.solve()
    return solver.result.x


def solve_by_daqp(H, d):
    daqp = pytest.importorskip("daqp")
    bounds = np.r_[np.full(d.size, 1e30), 1.0], np.r_[np.zeros(d.size), 1.0]
    sense = np.zeros(d.size + 1, dtype=np.intc)
    sense[-1] = 5
    return daqp.solve(H, -d, np.ones((1, d.size)), *bounds, sense, eps_prox=1e-7)[0]


@pytest.mark.parametrize("other", [solve_by_piqp, solve_by_daqp])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("kind", KINDS)
def test_values_agree_with_general_solvers(kind, scale, other):
    compared = 0
    for seed in range(100, 115):
        G, d = make_random_case(kind, seed)
        # The other solver gets normalised values.
        size = compute_scale(G, d, scale)
        found = other(scale * G / size, d / size)
        if found is None or not np.all(np.isfinite(found)) or abs(np.sum(found) - 1.0) > 1e-6:
            continue
        found = np.maximum(found, 0.0) / np.maximum(found, 0.0).sum()
        ours, theirs = value(G, d, scale, solve(G, d, scale)), value(G, d, scale, found)
        assert ours >= theirs - 1e-10 * size  # the other solution is feasible, so ours must not be worse
        assert ours == pytest.approx(theirs, abs=1e-6 * size)
        compared += 1
    assert compared >= 10
