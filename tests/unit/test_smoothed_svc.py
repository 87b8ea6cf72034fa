"""Smoothed slacks against their definition, and training: gradients, bounds, the optimum of other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_classification

from metricwise import MultivariateSVC, RecallAtK, SmoothedSVC, certify, get_measure, measure_names
from metricwise.designs import make_design
from metricwise.measures import PRBEP, Accuracy, AveragePrecision, BalancedAccuracy, RocAuc
from metricwise.oracles import make_oracle
from metricwise.oracles.smoothed import make_smoothed_slack
from metricwise.results import Status
from metricwise.solvers import CuttingPlane, Limits, Smoothing, make_problem, run

MEASURES = [Accuracy(), BalancedAccuracy(), PRBEP(), RecallAtK(2.0), RecallAtK(7), RocAuc()]
METHODS = ["lbfgs", "accelerated"]
N_POS, N_NEG = 6, 11
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=N_POS + N_NEG)
TIED = np.round(SCORES)
WEIGHTS = RNG.uniform(0.3, 2.0, size=N_POS + N_NEG)

each_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)
each_method = pytest.mark.parametrize("method", METHODS)
each_weights = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])


def make_data(n_samples=150, seed=0, share=0.3):
    X, y = make_classification(n_samples, 6, weights=[1.0 - share], flip_y=0.1, random_state=seed)
    return X, y


@each_measure
@each_weights
@pytest.mark.parametrize("smoothing", [2.0, 0.4, 0.01])
def test_slopes_equal_finite_differences(measure, weights, smoothing):
    slack = make_smoothed_slack(measure, N_POS, N_NEG, weights)
    step = 1e-5 * smoothing
    differences = [
        (slack.at(SCORES + step * axis, smoothing).value - slack.at(SCORES - step * axis, smoothing).value) / (2 * step)
        for axis in np.eye(SCORES.size)
    ]
    found = slack.at(SCORES, smoothing)
    np.testing.assert_allclose(found.slopes, differences, atol=1e-6)
    assert found.slope(WEIGHTS) == pytest.approx(found.slopes @ WEIGHTS)


def compute_by_pairs(weights, scores, smoothing):
    """Return the mean smoothed hinge loss over all pairs, and its smoothing term."""
    pairs = np.outer(weights[:N_POS], weights[N_POS:])
    lacking = 1.0 - (scores[:N_POS, None] - scores[None, N_POS:])
    shares = np.clip(lacking / smoothing, 0.0, 1.0)
    held = 0.5 * smoothing * np.sum(pairs * shares**2) / pairs.sum()
    return np.sum(pairs * shares * lacking) / pairs.sum() - held, held


def maximise_by_slsqp(measure, weights, scores, smoothing):
    """Return the maximum over the fractions of samples by a generic solver, and its smoothing term."""
    truth = np.arange(scores.size) < N_POS
    n_pos, n_neg = weights[truth].sum(), weights[~truth].sum()
    u = measure.mistakes_per_loss(n_pos, n_neg)
    restricted = isinstance(measure, PRBEP | RecallAtK)
    if restricted:
        costs, room = np.where(truth, 1.0 / n_pos, 0.0), measure.predicted_positives(n_pos, n_pos + n_neg) - n_pos
    else:
        per_sample = np.where(truth, n_pos, n_neg) * (2.0 if isinstance(measure, BalancedAccuracy) else 1.0)
        costs = 1.0 / (per_sample if isinstance(measure, BalancedAccuracy) else np.full(scores.size, n_pos + n_neg))
    gains = weights * (costs - np.where(truth, scores, -scores) / u)
    curvature = weights * smoothing / u
    sign = np.where(truth, -weights, weights)
    constraints = []
    if restricted:
        kind = "eq" if room == 0.0 else "ineq"
        constraints = [{"type": kind, "fun": lambda q: room - sign @ q, "jac": lambda q: -sign}]
    found = minimize(
        lambda q: 0.5 * q @ (curvature * q) - gains @ q,
        np.full(scores.size, 0.0 if restricted else 0.5),
        jac=lambda q: curvature * q - gains,
        bounds=[(0.0, 1.0)] * scores.size,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun, 0.5 * found.x @ (curvature * found.x)


@each_measure
@each_weights
@pytest.mark.parametrize("scores", [SCORES, TIED, 0.0 * SCORES, SCORES + 5.0], ids=["any", "ties", "zeros", "large"])
def test_the_value_is_the_maximum_over_fractional_labellings(measure, weights, scores):
    some = np.ones(scores.size) if weights is None else weights
    reference = compute_by_pairs if isinstance(measure, RocAuc) else lambda *given: maximise_by_slsqp(measure, *given)
    found = make_smoothed_slack(measure, N_POS, N_NEG, weights).at(scores, 0.7)
    value, held = reference(some, scores, 0.7)
    assert found.value == pytest.approx(value, abs=1e-7)
    assert found.prox_term == pytest.approx(held, abs=1e-4)


@each_measure
@each_weights
def test_smoothing_bounds_the_slack_from_both_sides(measure, weights):
    """R_m <= R <= R_m + m D, where D is half the total weight over u."""
    slack, oracle = (make(measure, N_POS, N_NEG, weights) for make in (make_smoothed_slack, make_oracle))
    most = 0.5 * (1.0 if isinstance(measure, RocAuc) else SCORES.size * WEIGHTS.max() / oracle.mistakes)
    for smoothing in (3.0, 0.5, 1e-3, 1e-7):
        found, exact = slack.at(SCORES, smoothing), oracle.violate(SCORES).value
        assert found.value <= exact + 1e-9 <= found.value + smoothing * most + 2e-9
        assert found.value + found.prox_term <= exact + 1e-8


@each_measure
@each_method
@pytest.mark.parametrize("constant", [0.0, 1.0], ids=["no intercept", "intercept"])
def test_every_method_reaches_the_exact_optimum(measure, method, constant):
    tol = 1e-5 if method == "lbfgs" else 1e-4
    exact = pytest.importorskip("tests.properties.test_solver_exact", exc_type=ImportError)
    for seed in range(8):
        X, positive, C = exact.make_tiny_problem(seed)
        if isinstance(measure, RecallAtK) and measure.predicted_positives(positive.sum(), 100) > len(X):
            continue
        problem = make_problem(make_design(X, intercept=constant), positive, measure, C)
        result, _ = run(Smoothing(method), problem, Limits(tol=tol))
        extended = np.column_stack([X, np.full(len(X), constant)]) if constant else X
        _, best = exact.find_exact_optimum(measure, extended, positive, C)
        assert result.status.reached_tolerance
        assert result.certificate.lower <= best * (1.0 + 1e-6) + 1e-8
        assert best - 1e-8 <= result.certificate.upper * (1.0 + 1e-6)
        assert result.certificate.upper <= best * (1.0 + 2 * tol) + 1e-8


@each_method
@pytest.mark.parametrize("measure", [measure for measure in MEASURES if measure != RecallAtK(7)], ids=repr)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_optimum_equals_that_of_cutting_planes(measure, method, C):
    X, y = make_data(400, seed=3)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=y.size)
    problem = make_problem(make_design(X, intercept=1.0), y == 1, measure, C, weights)
    planes, _ = run(CuttingPlane(), problem, Limits(tol=1e-5))
    smoothed, _ = run(Smoothing(method), problem, Limits(tol=1e-3))
    assert smoothed.certificate.relative <= 1e-3
    assert smoothed.certificate.lower <= planes.certificate.upper
    assert planes.certificate.lower <= smoothed.certificate.upper <= planes.certificate.upper * (1.0 + 1.01e-3)


@each_method
@pytest.mark.parametrize("name", measure_names("SmoothedSVC"))
def test_the_objective_equals_that_of_the_multivariate_svm(name, method):
    X, y = make_data()
    smoothed = SmoothedSVC(name, C=0.3, method=method, threshold=0.0, tol=1e-4).fit(X, y)
    planes = MultivariateSVC(name, C=0.3, threshold=0.0, tol=1e-4).fit(X, y)
    assert smoothed.result_.certificate.upper == pytest.approx(planes.result_.certificate.upper, rel=2e-4)
    size = np.linalg.norm(planes.coef_)
    np.testing.assert_allclose(smoothed.coef_, planes.coef_, atol=0.05 * size)


@pytest.mark.parametrize("kind", ["plain", "sparse", "whole weights", "weights", "three classes"])
@pytest.mark.parametrize("name", measure_names("SmoothedSVC"))
def test_certify_agrees_with_training(name, kind):
    X, y = make_data()
    if kind == "three classes":
        y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.3], [-1.0, 1.0])
    rng = np.random.default_rng(2)
    weights = {"whole weights": rng.integers(0, 4, y.size), "weights": rng.uniform(0.2, 3.0, y.size)}.get(kind)
    samples = sparse.csr_array(X) if kind == "sparse" else X
    model = SmoothedSVC(name, C=0.3, threshold=0.0).fit(samples, y, sample_weight=weights)
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    again = certify(model, samples, y, sample_weight=weights)
    for result, found in zip(results, again if isinstance(again, list) else [again], strict=True):
        assert found.upper == pytest.approx(result.certificate.upper, rel=1e-6)
        assert found.lower == pytest.approx(result.certificate.lower, rel=1e-6)
        assert found.relative <= 1.01e-3


def test_a_manipulated_witness_cannot_raise_the_bound_above_the_optimum():
    X, y = make_data()
    model = SmoothedSVC("prbep", C=0.3, threshold=0.0).fit(X, y)
    best = MultivariateSVC("prbep", C=0.3, threshold=0.0, tol=1e-6).fit(X, y).result_.certificate.upper
    for factor in (0.0, 0.5, -3.0, 100.0):
        original = model.result_.witness.points.copy()
        model.result_.witness.points[:] *= factor
        assert certify(model, X, y).lower <= best
        model.result_.witness.points[:] = original


def test_history_and_callback_report_every_iteration():
    X, y = make_data()
    seen = []
    model = SmoothedSVC("roc_auc", threshold=0.0, callback=lambda entry: seen.append(entry) or len(seen) == 3)
    model.fit(X, y)
    assert model.result_.status is Status.STOPPED
    assert list(model.result_.history) == seen
    assert model.n_iter_ == 3


def test_an_uninformative_problem_is_degenerate():
    """Both classes have the same samples, so that w = 0 is optimal, which must be certified."""
    X = np.repeat(np.array([[0.0, 1.0], [1.0, 0.0]]), 4, axis=0)
    y = np.tile([0, 1], 4)
    with pytest.warns(match="degenerate"):
        model = SmoothedSVC("prbep", threshold=0.0).fit(X, y)
    assert model.result_.status is Status.DEGENERATE


@pytest.mark.parametrize(
    "name",
    ["f1", "g_mean", "two_way_partial_auc", "precision_at_k", "recall_at_precision", "average_precision", "ndcg"],
)
def test_other_measures_raise_and_name_those_supported(name):
    X, y = make_data()
    with pytest.raises(TypeError, match="SmoothedSVC takes: accuracy, balanced_accuracy, prbep, recall_at_k, roc_auc"):
        SmoothedSVC(name).fit(X, y)
    fitting = "PlugInClassifier" if name == "recall_at_precision" else "MultivariateSVC"
    with pytest.raises(TypeError, match=f"estimators for it: .*{fitting}"):
        SmoothedSVC(name).fit(X, y)
    assert name not in measure_names("SmoothedSVC")


def test_average_precision_is_not_linear_in_the_swapped_pairs():
    """The reason why it has no smoothed slack: pairs that are swapped together cost more than one by one."""
    loss = [1.0 - AveragePrecision().score([1, 1, 0], scores) for scores in ([3, 1, 2], [1, 3, 2], [1, 2, 3])]
    assert loss == pytest.approx([1 / 6, 1 / 6, 5 / 12])


def test_k_below_the_number_of_positives_raises():
    X, y = make_data()
    with pytest.raises(TypeError, match="Train MultivariateSVC for it, or choose a larger k"):
        SmoothedSVC(RecallAtK(0.5)).fit(X, y)
    with pytest.raises(TypeError, match="no smoothed slack"):
        make_smoothed_slack(get_measure("f1"), 2, 3)


@pytest.mark.parametrize("settings", [{"C": -1.0}, {"C": 0.0}, {"method": "newton"}, {"tol": 0.0}])
def test_invalid_parameters_are_named(settings):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"'{next(iter(settings))}' parameter of SmoothedSVC"):
        SmoothedSVC(**settings).fit(X, y)


@pytest.mark.filterwarnings("ignore:training stopped")
def test_training_stops_where_a_huge_cost_leaves_nothing_but_rounding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60) > 0.0
    model = SmoothedSVC("accuracy", C=1e30, threshold=0.0).fit(X, y)
    assert model.result_.status in (Status.OPTIMAL, Status.STALLED)
    assert model.result_.n_iter < 1000  # and not all iterations that are allowed
