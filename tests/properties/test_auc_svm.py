"""The AUC-maximising SVM against the quadratic programme over all pairs, and its loss by enumeration."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import pairwise_kernels

from metricwise import AUCSVC, Status
from metricwise.designs import make_design
from metricwise.designs.kernel import KernelDesign
from metricwise.measures import RocAuc
from metricwise.oracles.base import Classes
from metricwise.oracles.smooth import SquaredHinge, SquaredPairHinge
from metricwise.solvers import CuttingPlane, Limits, make_problem, run
from metricwise.solvers.newton import TruncatedNewton, make_squared_problem

piqp = pytest.importorskip("piqp", minversion="0.6")

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.4},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
}
each_norm = pytest.mark.parametrize("norm", [1, 2], ids=["norm 1", "norm 2"])
each_kernel = pytest.mark.parametrize("kernel", KERNELS)


# -------------------------------------------------------------------------------- the paper's programme over all pairs


def make_tiny_problem(seed, n_pos=6, n_neg=9):
    """Return at most 54 pairs of overlapping classes; every second case has ties and copies."""
    rng = np.random.default_rng(seed)
    n_pos, n_neg = int(rng.integers(2, n_pos + 1)), int(rng.integers(2, n_neg + 1))
    y = np.repeat([1, 0], [n_pos, n_neg])
    X = rng.normal(size=(y.size, 3)) if seed % 2 else rng.integers(-2, 3, size=(y.size, 3)).astype(float)
    X[y == 1] += 0.7
    order = rng.permutation(y.size)
    return X[order], y[order], float(rng.choice([0.02, 0.3, 3.0]))


def compute_paper_cost(y, C, weights):
    """Return the paper's C, which multiplies the sum over pairs; with weights, one value per pair."""
    pos, neg = weights[y == 1], weights[y == 0]
    return C * weights.sum() / (pos.sum() * neg.sum()) * np.outer(pos, neg).ravel()


def compute_pair_kernel(K, y):
    """Return k(x_i, x_u) - k(x_i, x_v) - k(x_j, x_u) + k(x_j, x_v) for pairs (i, j) and (u, v)."""
    i, j = (part.ravel() for part in np.meshgrid(np.flatnonzero(y == 1), np.flatnonzero(y == 0), indexing="ij"))
    return K[np.ix_(i, i)] - K[np.ix_(i, j)] - K[np.ix_(j, i)] + K[np.ix_(j, j)]


def solve_paper_dual(K, y, C, norm, weights):
    """Return the primal objective of the dual solution over pairs."""
    pairs, costs = compute_pair_kernel(K, y), compute_paper_cost(y, C, weights)
    dual = pairs if norm == 1 else pairs + np.diag(0.5 / costs)
    # In units of the costs all variables have the same scale.
    scale = costs.mean()
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-12
    low, high = np.zeros(costs.size), costs / scale if norm == 1 else np.full(costs.size, np.inf)
    solver.setup(np.asfortranarray(scale * dual), -np.ones(costs.size), None, None, None, None, None, low, high)
    assert solver.solve() == piqp.PIQP_SOLVED
    alpha = np.clip(scale * solver.result.x, 0.0, costs if norm == 1 else None)
    lower = alpha.sum() - 0.5 * alpha @ dual @ alpha
    margins = pairs @ alpha
    upper = 0.5 * alpha @ margins + costs @ np.maximum(1.0 - margins, 0.0) ** norm
    assert upper - lower <= 1e-6 * upper, "the reference itself is not solved"
    return lower, upper


def compute_objective(K, y, C, norm, weights, coefficients):
    """Return the primal objective by its definition, over listed pairs."""
    scores = K @ coefficients
    margins = np.subtract.outer(scores[y == 1], scores[y == 0]).ravel()
    losses = np.maximum(1.0 - margins, 0.0) ** norm
    return 0.5 * coefficients @ scores + compute_paper_cost(y, C, weights) @ losses


def compute_gram(kernel, X):
    return pairwise_kernels(X, metric=kernel, **KERNELS[kernel])


def expect_the_optimum(kernel, norm, X, y, C, weights=None):
    model = AUCSVC(C, norm, kernel=kernel, tol=1e-7, threshold=0.0, **KERNELS[kernel]).fit(X, y, weights)
    weights, K = np.ones(len(y)) if weights is None else weights, compute_gram(kernel, X)
    lower, upper = solve_paper_dual(K, y, C, norm, weights)
    certificate = model.result_.certificate
    assert certificate.upper == pytest.approx(upper, rel=1e-5)
    assert certificate.lower <= upper * (1.0 + 1e-9) and certificate.upper >= lower * (1.0 - 1e-9)
    if kernel == "linear":
        scores = X @ model.coef_[0]
        square = float(model.coef_[0] @ model.coef_[0])
        margins = np.subtract.outer(scores[y == 1], scores[y == 0]).ravel()
        reached = 0.5 * square + compute_paper_cost(y, C, weights) @ np.maximum(1.0 - margins, 0.0) ** norm
    else:
        coefficients = np.zeros(len(y))
        coefficients[model.support_] = model.dual_coef_[0]
        scores = K @ coefficients
        reached = compute_objective(K, y, C, norm, weights, coefficients)
    assert reached == pytest.approx(certificate.upper, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9 * max(1.0, np.abs(scores).max()))


@each_kernel
@each_norm
def test_the_optimum_equals_that_of_the_programme_over_pairs(norm, kernel):
    for seed in range(6):
        expect_the_optimum(kernel, norm, *make_tiny_problem(seed))


@each_kernel
@each_norm
def test_the_weighted_optimum_equals_that_of_the_programme_over_pairs(norm, kernel):
    for seed in range(10, 14):
        X, y, C = make_tiny_problem(seed)
        rng = np.random.default_rng(seed)
        # Integer weights (copies are merged) and others.
        weights = rng.integers(1, 4, size=len(y)).astype(float) if seed % 2 else rng.uniform(0.2, 3.0, size=len(y))
        expect_the_optimum(kernel, norm, X, y, C, weights)


@each_kernel
@each_norm
def test_integer_weights_equal_repeated_samples(norm, kernel):
    X, y, C = make_tiny_problem(21)
    copies = np.random.default_rng(0).integers(0, 4, size=len(y))
    copies[[np.flatnonzero(y == 1)[0], np.flatnonzero(y == 0)[0]]] = 2
    settings = {"kernel": kernel, "tol": 1e-7} | KERNELS[kernel]
    samples = np.repeat(np.arange(len(y)), copies)
    weighted = AUCSVC(C, norm, **settings).fit(X, y, copies.astype(float))
    repeated = AUCSVC(C, norm, **settings).fit(X[samples], y[samples])
    assert weighted.result_.certificate.upper == pytest.approx(repeated.result_.certificate.upper, rel=1e-9)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-9)


@each_norm
def test_half_of_C_on_doubled_samples_gives_the_same_model(norm):
    """With all samples twice, n times the mean over pairs doubles."""
    X, y, C = make_tiny_problem(3)
    once = AUCSVC(C, norm, tol=1e-8, threshold=0.0).fit(X, y)
    twice = AUCSVC(C / 2, norm, tol=1e-8, threshold=0.0).fit(np.vstack([X, X]), np.r_[y, y])
    np.testing.assert_allclose(twice.coef_, once.coef_, atol=1e-4)


@each_kernel
@each_norm
def test_either_class_may_be_the_positive_one(norm, kernel):
    X, y, C = make_tiny_problem(5)
    settings = {"kernel": kernel, "tol": 1e-7, "threshold": 0.0} | KERNELS[kernel]
    one = AUCSVC(C, norm, **settings).fit(X, y)
    other = AUCSVC(C, norm, pos_label=0, **settings).fit(X, y)
    # Exchanging the classes negates all scores and pairs: the problem is the same.
    assert other.result_.certificate.upper == pytest.approx(one.result_.certificate.upper, rel=1e-6)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-2)


# ----------------------------------------------------------------------------------------------------- the certificate


@each_kernel
@each_norm
def test_bounds_hold_at_every_iteration(norm, kernel):
    for seed in range(30, 34):
        X, y, C = make_tiny_problem(seed)
        seen = []
        settings = {"kernel": kernel, "threshold": 0.0, "callback": seen.append} | KERNELS[kernel]
        model = AUCSVC(C, norm, tol=1e-6, **settings).fit(X, y)
        lower, upper = solve_paper_dual(compute_gram(kernel, X), y, C, norm, np.ones(len(y)))
        assert seen == list(model.result_.history) and len(seen) == model.n_iter_
        for entry in seen:
            assert entry.lower <= upper * (1.0 + 1e-9)
            assert entry.objective >= lower * (1.0 - 1e-9)
        bounds = np.array([(entry.objective, entry.lower) for entry in seen])
        assert np.all(np.diff(bounds[:, 0]) <= 1e-12 * bounds[0, 0]), "the objective rose"
        assert np.all(np.diff(bounds[:, 1]) >= -1e-12 * bounds[0, 0]), "the lower bound fell"


def compute_cubic_features(X):
    """Return the features of the kernel (1 + x . x')^3 in two dimensions."""
    powers = [(a, b) for a in range(4) for b in range(4 - a)]
    sizes = [np.sqrt(6.0 / (factorial(a) * factorial(b) * factorial(3 - a - b))) for a, b in powers]
    return np.column_stack([size * X[:, 0] ** a * X[:, 1] ** b for size, (a, b) in zip(sizes, powers, strict=True)])


@pytest.mark.parametrize(("size", "seed"), [(1.0, 0), (1e4, 0), (1e4, 1), (1e4, 3), (1e4, 4), (1e-6, 0)])
def test_bounds_of_newton_hold_for_kernels_of_any_scale(size, seed):
    """Rounding errors in |g|^2, a product of coefficients and values, must not invalidate the lower bound."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3 == 0
    X = rng.normal(size=(60, 2)) + 0.8 * y[:, None]
    features = np.sqrt(size) * compute_cubic_features(X)  # ten for 60 samples: most of the matrix is dependent
    design = KernelDesign(features @ features.T, make_design(X), np.arange(60), 0.0, 1)
    for C in (1e-3, 1.0, 1e3):
        by_kernel, _ = run(TruncatedNewton(), make_squared_problem(design, y, RocAuc(), C), Limits(tol=1e-7))
        explicit, _ = run(
            TruncatedNewton(), make_squared_problem(make_design(features), y, RocAuc(), C), Limits(tol=1e-7)
        )
        best = explicit.certificate
        assert best.relative <= 1e-7
        assert by_kernel.certificate.upper == pytest.approx(best.upper, rel=1e-5)
        # Rounding the entries of the matrix alone moves the least objective by up to 3e-7 of it, for the largest C.
        assert min(entry.objective - best.lower for entry in by_kernel.history) >= -1e-6 * best.upper
        assert max(entry.lower - best.upper for entry in by_kernel.history) <= 1e-7 * best.upper
        # The objective is that of the returned coefficients, not of values that drifted from them.
        order = np.r_[np.flatnonzero(y), np.flatnonzero(~y)]
        matrix = design.matrix[np.ix_(order, order)]
        reached = compute_objective(matrix, y[order], C, 2, np.ones(60), by_kernel.weights[:60])
        assert by_kernel.certificate.upper == pytest.approx(reached, rel=1e-6)


def test_newton_stops_at_zero_weights_for_equal_samples():
    """With equal samples, zero weights are optimal."""
    X, y = np.ones((8, 2)), np.arange(8) % 2
    with pytest.warns(UserWarning, match="no weights are better than w = 0"):
        model = AUCSVC(norm=2, threshold=0.0).fit(X, y)
    assert model.result_.status is Status.DEGENERATE
    assert not model.coef_.any() and model.result_.certificate.upper == pytest.approx(8.0)


# ------------------------------------------------------------------------------------------ squared losses of all pairs


def compute_listed_squares(scores, n_pos, weights, direction):
    """Return value, slopes and second derivative times a direction, over listed pairs."""
    weights = np.ones(scores.size) if weights is None else weights
    pos, neg = slice(0, n_pos), slice(n_pos, None)
    share = np.outer(weights[pos], weights[neg]) / (weights[pos].sum() * weights[neg].sum())
    losses = np.maximum(1.0 - np.subtract.outer(scores[pos], scores[neg]), 0.0)
    change = np.where(losses > 0.0, np.subtract.outer(direction[pos], direction[neg]), 0.0)
    slopes = np.r_[-2.0 * (share * losses).sum(axis=1), 2.0 * (share * losses).sum(axis=0)]
    bent = np.r_[2.0 * (share * change).sum(axis=1), -2.0 * (share * change).sum(axis=0)]
    return float((share * losses**2).sum()), slopes, bent


def expect_listed_squares(scores, n_pos, weights=None, threads=1, rtol=1e-9):
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    direction = np.random.default_rng(scores.size).normal(size=scores.size)
    loss = SquaredPairHinge(Classes(n_pos, scores.size - n_pos, weights, threads)).at(scores)
    value, slopes, bent = compute_listed_squares(scores, n_pos, weights, direction)
    assert loss.value == pytest.approx(value, rel=rtol, abs=rtol * rtol)
    np.testing.assert_allclose(loss.slopes, slopes, rtol=rtol, atol=rtol * max(np.abs(slopes).max(), 1e-6))
    np.testing.assert_allclose(
        loss.hessian_product(direction), bent, rtol=rtol, atol=rtol * max(np.abs(bent).max(), 1e-6)
    )


whole_numbers = st.integers(-4, 4).map(lambda k: k / 2)  # with ties, and pairs exactly on the margin
any_numbers = st.floats(-3.0, 3.0, allow_subnormal=False)


@settings(max_examples=150, deadline=None)
@given(
    scores=st.one_of(st.lists(whole_numbers, min_size=2, max_size=14), st.lists(any_numbers, min_size=2, max_size=14)),
    at=st.integers(0, 100),
    weighted=st.booleans(),
    stretch=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_squared_losses_equal_those_of_listed_pairs(scores, at, weighted, stretch):
    scores = stretch * np.array(scores)
    n_pos = 1 + at % (scores.size - 1)
    weights = np.random.default_rng(at).uniform(0.1, 4.0, size=scores.size) if weighted else None
    expect_listed_squares(scores, n_pos, weights)


@pytest.mark.parametrize(
    ("pos", "neg"),
    [
        ([5.0, 4.0], [0.0, -1.0, 2.0]),
        ([1.0, 2.0], [0.0, 1.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0]),
        ([-7.0, -8.0], [3.0, 4.0, 5.0]),
        ([0.5], [0.25]),
        ([3.0, -50.0], [0.0, 60.0, -70.0]),
    ],
    ids=["far apart", "on the margin", "all tied", "all wrong", "one pair", "outliers"],
)
def test_squared_losses_of_special_scores_equal_those_of_listed_pairs(pos, neg):
    expect_listed_squares(np.r_[pos, neg], len(pos))
    expect_listed_squares(np.r_[pos, neg], len(pos), np.linspace(0.5, 2.0, len(pos) + len(neg)))


@pytest.mark.parametrize("offset", [1e6, -1e6, 1e9])
def test_squared_losses_of_large_offsets_are_accurate(offset):
    rng = np.random.default_rng(1)
    # Multiples of 1/64 are exact at this offset, so that only the sums round.
    scores = np.round(64 * rng.normal(size=400)) / 64 + offset
    expect_listed_squares(scores, 150)
    expect_listed_squares(scores, 150, rng.uniform(0.5, 2.0, size=400))


def test_squared_losses_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=25_000)
    direction, weights = rng.normal(size=scores.size), rng.uniform(0.5, 2.0, size=scores.size)
    one, two = (SquaredPairHinge(Classes(9000, 16_000, weights, threads)).at(scores) for threads in (1, 2))
    assert one.value == two.value
    np.testing.assert_array_equal(one.slopes, two.slopes)
    np.testing.assert_array_equal(one.hessian_product(direction), two.hessian_product(direction))
    # Sums over the pairs of a few samples with all others.
    share = np.outer(weights[:20], weights[9000:]) / (weights[:9000].sum() * weights[9000:].sum())
    losses = np.maximum(1.0 - np.subtract.outer(scores[:20], scores[9000:]), 0.0)
    np.testing.assert_allclose(one.slopes[:20], -2.0 * (share * losses).sum(axis=1), rtol=1e-9)


def test_weighted_squared_losses_equal_those_of_repeated_samples():
    rng = np.random.default_rng(3)
    scores, copies = np.round(4 * rng.normal(size=30)) / 4, rng.integers(1, 4, size=30)
    samples = np.repeat(np.arange(30), copies)
    weighted = SquaredPairHinge(Classes(12, 18, copies.astype(float), 1)).at(scores)
    repeated = SquaredPairHinge(Classes(int(copies[:12].sum()), int(copies[12:].sum()), None, 1)).at(scores[samples])
    assert weighted.value == pytest.approx(repeated.value, rel=1e-12)
    np.testing.assert_allclose(weighted.slopes, np.bincount(samples, repeated.slopes), atol=1e-12)
    direction = rng.normal(size=30)
    np.testing.assert_allclose(
        weighted.hessian_product(direction),
        np.bincount(samples, repeated.hessian_product(direction[samples])),
        rtol=1e-9,
        atol=1e-12,
    )


def test_slopes_and_curvatures_equal_finite_differences():
    rng = np.random.default_rng(4)
    scores, direction = rng.normal(size=40), rng.normal(size=40)
    for loss in (SquaredPairHinge(Classes(15, 25, None, 1)), SquaredHinge(rng.uniform(0.1, 1.0, size=40))):
        here, step = loss.at(scores), 1e-6
        ahead, behind = loss.at(scores + step * direction), loss.at(scores - step * direction)
        assert (ahead.value - behind.value) / (2 * step) == pytest.approx(here.slopes @ direction, rel=1e-6)
        np.testing.assert_allclose(
            (ahead.slopes - behind.slopes) / (2 * step), here.hessian_product(direction), atol=1e-4
        )


def test_losses_of_selected_samples_equal_those_of_listed_pairs():
    rng = np.random.default_rng(5)
    scores, weights, samples = rng.normal(size=20), rng.uniform(0.5, 2.0, size=20), np.array([0, 3, 6, 9, 10, 17])
    part = SquaredPairHinge(Classes(8, 12, weights, 1)).sample(samples)
    value, slopes, _ = compute_listed_squares(scores[samples], 3, weights[samples], np.zeros(6))
    assert part.at(scores[samples]).value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(part.at(scores[samples]).slopes, slopes, atol=1e-12)


# ------------------------------------------------------------------------------------------------------- large problems


@pytest.mark.parametrize("kernel", [False, True], ids=["features", "kernel matrix"])
@pytest.mark.parametrize(
    ("solver", "make"),
    [(TruncatedNewton, make_squared_problem), (CuttingPlane, make_problem)],
    ids=["newton", "cutting plane"],
)
def test_a_start_from_a_subsample_reaches_the_same_optimum(solver, make, kernel):
    rng = np.random.default_rng(6)
    y = rng.random(400) < 0.3
    X = rng.normal(size=(400, 4)) + 0.5 * y[:, None]
    plain = make_design(X)
    design = KernelDesign(X @ X.T, plain, np.arange(400), 0.0, 1) if kernel else plain
    problem = make(design, y, RocAuc(), 0.1)
    cold, _ = run(solver(sample_factor=0), problem, Limits(tol=1e-6))
    sampled, _ = run(solver(sample_factor=8, smallest_sample=20), problem, Limits(tol=1e-6))
    assert sampled.certificate.upper == pytest.approx(cold.certificate.upper, rel=1e-5)
    assert sampled.certificate.relative <= 1e-6
