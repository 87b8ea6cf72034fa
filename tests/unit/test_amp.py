"""AMP: the inner problem against its definition, small optima against other solvers, limits and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from metricwise import (
    AMPClassifier,
    CohenKappa,
    DegenerateOptimumWarning,
    FBeta,
    GowerLegendre,
    Jaccard,
    MultivariateSVC,
    Status,
    certify,
    contingency_measure,
    get_measure,
    measure_names,
)
from metricwise.designs import make_design
from metricwise.measures import Accuracy, Ratio, RatioOfRates, registered_names
from metricwise.solvers import CuttingPlane, Limits, run
from metricwise.solvers.amp import AMP, table_rate
from metricwise.solvers.amp_problem import make_amp_problem, make_level_ratio

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(40, 3)), 2)
POSITIVE = X[:, 0] + 0.7 * RNG.normal(size=40) > 0.6
WEIGHTS = RNG.integers(1, 4, size=40).astype(float)
CANCER, SICK = load_breast_cancer(return_X_y=True)
CANCER, SICK = scale(CANCER)[:200, :8], 1 - SICK[:200]


def cost(tp, fp, fn, tn):
    return 1 - (3 * fn + fp) / (3 * (tp + fn) + fp + tn)


def cost_ratio(theta):
    return Ratio(0.0, 3.0, theta, 3.0 + theta, 0.0, 0.0)


def lenient(tp, fp, fn, tn):
    """Return a user-defined ratio: F1 that also gives true negatives a small weight."""
    return (2 * tp + 0.1 * tn) / (2 * tp + 0.1 * tn + fp + fn)


def lenient_ratio(theta):
    return Ratio(0.0, 2.0, 0.1 * theta, 1.0 + theta, 1.0, -0.9 * theta)


OWN = contingency_measure(cost, "cost", ratio=cost_ratio)
LENIENT = contingency_measure(lenient, "lenient", ratio=lenient_ratio)
MEASURES = [
    FBeta(0.5),
    FBeta(1.0),
    FBeta(2.0),
    Jaccard(),
    GowerLegendre(0.5),
    GowerLegendre(2.0),
    CohenKappa(),
    Accuracy(),
    get_measure("balanced_accuracy"),
    OWN,
    LENIENT,
]


def get_name(measure):
    return measure.name if measure in (OWN, LENIENT) else repr(measure)


each_measure = pytest.mark.parametrize("measure", MEASURES, ids=get_name)


def make_problem(measure, data=X, positive=POSITIVE, C=1.0, weights=None, intercept=1.0):
    return make_amp_problem(make_design(data, intercept=intercept), positive, measure, C, weights)


def compute_regularised_ratio(measure, data, positive, weights, C, w):
    """Return M(w) by its definition: hinge rewards, and the ridge in the numerator."""
    s = data @ w[:-1] + w[-1]
    n_pos, n_neg = weights[positive].sum(), weights[~positive].sum()
    P = (weights * np.minimum(s, 1.0))[positive].sum() / n_pos
    N = (weights * np.minimum(-s, 1.0))[~positive].sum() / n_neg
    a0, a1, a2, b0, b1, b2 = measure.ratio(n_neg / n_pos)
    ridge = (b0 + b1 + b2) / (C * measure.mistakes_per_loss(n_pos, n_neg))
    return (a0 + a1 * P + a2 * N - 0.5 * ridge * w @ w), (b0 + b1 * P + b2 * N)


# ------------------------------------------------------------------------------------------------- the inner problem


@pytest.mark.parametrize("level", [0.0, 0.3, 0.9])
def test_class_costs_of_known_measures(level):
    theta = 2.5
    for beta in (0.5, 1.0, 2.0):
        expected = np.array([1 + beta**2 - level, theta * level]) / (1 + beta**2)
        np.testing.assert_allclose(make_level_ratio(FBeta(beta), theta).class_costs(level), expected)
    np.testing.assert_allclose(make_level_ratio(Jaccard(), theta).class_costs(level), [1.0, theta * level])
    for sigma in (0.5, 2.0):
        expected = np.array([1.0, theta]) * (1 - level * (1 - sigma)) / (1 + theta)
        np.testing.assert_allclose(make_level_ratio(GowerLegendre(sigma), theta).class_costs(level), expected)


@each_measure
@pytest.mark.parametrize("weights", [None, WEIGHTS, WEIGHTS / 3], ids=["no weights", "integer", "fractional"])
def test_the_inner_objective_is_numerator_minus_level_times_denominator(measure, weights):
    problem = make_problem(measure, C=0.4, weights=weights)
    sample_weights = np.ones(40) if weights is None else weights
    scale_of_ratio = sum(measure.ratio(sample_weights[~POSITIVE].sum() / sample_weights[POSITIVE].sum())[3:])
    for level in (problem.ratio.first, 0.25, 0.8):
        inner = problem.cost_sensitive(level)
        for w in np.random.default_rng(1).normal(size=(5, 4)):
            numerator, denominator = compute_regularised_ratio(measure, X, POSITIVE, sample_weights, 0.4, w)
            scores = problem.design.scores(w)
            value = inner.objective(w, inner.oracle.violate(scores))
            expected = (numerator - level * denominator) / scale_of_ratio
            assert problem.ratio.best - level - problem.ridge * value == pytest.approx(expected, abs=1e-9)
            assert problem.level(w, scores) == pytest.approx(numerator / denominator, rel=1e-9)


@pytest.mark.parametrize("measure", [FBeta(1.0), FBeta(2.0), Jaccard(), GowerLegendre(2.0)], ids=repr)
@pytest.mark.parametrize("level", [0.2, 0.7])
def test_the_inner_problem_is_a_support_vector_machine_with_class_weights(measure, level):
    problem = make_problem(measure)
    inner = problem.cost_sensitive(level)
    result, _ = run(CuttingPlane(), inner, Limits(tol=1e-7))
    n_pos = np.count_nonzero(POSITIVE)
    p, q = problem.ratio.class_costs(level)
    class_cost = {True: p / (problem.ridge * n_pos), False: q / (problem.ridge * (40 - n_pos))}
    peer = LinearSVC(loss="hinge", C=1.0, class_weight=class_cost, tol=1e-9, max_iter=10**6).fit(X, POSITIVE)
    np.testing.assert_allclose(result.weights, np.append(peer.coef_[0], peer.intercept_), atol=2e-3)


def test_a_class_of_cost_zero_is_ignored():
    """At level 0, F1 rewards true positives only; the smallest w that gives all of them the full reward is optimal."""
    problem = make_problem(
        FBeta(), data=np.array([[2.0], [2.0], [5.0], [-5.0]]), positive=np.arange(4) < 2, intercept=0.0
    )
    inner = problem.cost_sensitive(0.0)
    assert problem.ratio.class_costs(0.0).neg == 0.0
    result, _ = run(CuttingPlane(), inner, Limits(tol=1e-9))
    assert result.weights == pytest.approx([0.5], rel=1e-6)


@pytest.mark.parametrize("name", registered_names(RatioOfRates))
def test_c_is_the_cost_of_one_mistake_at_the_level_of_perfect_labels(name):
    measure = get_measure(name)
    positive = np.arange(2000) < 400
    problem = make_problem(measure, data=np.zeros((2000, 1)), positive=positive, C=0.7)
    class_costs = problem.cost_sensitive(1.0).weights
    assert class_costs[0] == pytest.approx(0.7, rel=5e-3)


class RatioOnly:
    name, response = "ratio only", "labels"

    def score(self, y, response, sample_weight=None):
        return 0.0

    def ratio(self, theta):
        return Jaccard().ratio(theta)


def test_a_ratio_without_mistakes_per_loss_is_accepted():
    assert make_problem(RatioOnly()).ridge == pytest.approx(make_problem(Jaccard()).ridge)


# ------------------------------------------------------------------------------------------------------ small optima


@each_measure
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_a_general_optimiser_finds_no_higher_level(measure, C):
    """From many starts on the definition, it reaches the level and stays below the bound."""
    result, _ = run(AMP(), make_problem(measure, C=C, weights=WEIGHTS), Limits(tol=1e-6))
    assert result.status is Status.OPTIMAL

    def loss(w):
        numerator, denominator = compute_regularised_ratio(measure, X, POSITIVE, WEIGHTS, C, w)
        return 10.0 if denominator <= 1e-9 else -numerator / denominator

    best = 10.0
    for start in [result.weights, np.zeros(4), *np.random.default_rng(2).normal(size=(2, 4))]:
        found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
        best = min(best, found.fun)
    assert -best <= 1.0 - result.certificate.lower + 1e-9
    assert result.levels[-1] >= -best - 1e-6
    assert loss(result.weights) == pytest.approx(-result.levels[-1], rel=1e-9)


def test_accuracy_is_the_support_vector_machine():
    ours = AMPClassifier("accuracy", C=0.3, threshold=0.0, tol=1e-7).fit(CANCER, SICK)
    peer = LinearSVC(loss="hinge", C=0.3, tol=1e-8, max_iter=10**6).fit(CANCER, SICK)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-3)
    same = MultivariateSVC("accuracy", C=0.3, threshold=0.0, tol=1e-7).fit(CANCER, SICK)
    np.testing.assert_allclose(ours.coef_, same.coef_, atol=2e-3)


def test_convergence_rates_equal_table_2():
    theta = 3.7
    for beta in (0.5, 1.0, 2.0):
        expected = (1 + theta) / (1 + beta**2 + theta)
        assert table_rate(make_level_ratio(FBeta(beta), theta)) == pytest.approx(expected)
    assert table_rate(make_level_ratio(Jaccard(), theta)) == pytest.approx(theta / (1 + theta))
    assert table_rate(make_level_ratio(GowerLegendre(0.3), theta)) == pytest.approx(0.7 / (0.7 + 0.3))
    assert table_rate(make_level_ratio(GowerLegendre(3.0), theta)) == pytest.approx(2.0 / 3.0)
    assert table_rate(make_level_ratio(Accuracy(), theta)) == 0.0


# ------------------------------------------------------------------------------------------------- runs and statuses


def test_the_history_holds_the_levels_from_zero_weights_on():
    result, _ = run(AMP(), make_problem(FBeta()), Limits(tol=1e-4))
    assert result.levels[0] == 0.0
    assert [1.0 - entry.objective for entry in result.history] == pytest.approx(list(result.levels[1:]))
    assert len(result.inner_iterations) == result.n_iter == len(result.history)
    assert result.certificate.gap <= 1e-4 * min(result.certificate.upper, result.levels[-1])


def test_a_stopped_run_resumes_to_the_same_level():
    problem = make_problem(Jaccard(), C=5.0)
    whole, _ = run(AMP(), problem, Limits(tol=1e-6))
    first, state = run(AMP(), problem, Limits(tol=1e-6, max_iter=2))
    assert first.status is Status.MAX_ITER and first.n_iter == 2
    second, _ = run(AMP(), problem, Limits(tol=1e-6), state)
    assert second.levels == pytest.approx(whole.levels)


def test_a_warm_start_begins_at_the_level_of_its_weights():
    problem = make_problem(Jaccard(), C=5.0)
    cold, state = run(AMP(), problem, Limits(tol=1e-6))
    solver, limits = AMP(), Limits(tol=1e-6)
    warm, _ = run(solver, problem, limits, solver.init(problem, limits, warm=state))
    assert warm.levels[1] == pytest.approx(cold.levels[-1])
    assert warm.n_iter < cold.n_iter


def test_uninformative_data_are_degenerate():
    """Without an intercept, and with the positives centred at zero, w = 0 is optimal."""
    data, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1, 1, 0, 0])
    with pytest.warns(DegenerateOptimumWarning, match="'f1' is degenerate.*fit an intercept"):
        model = AMPClassifier(fit_intercept=False, threshold=0.0).fit(data, y)
    assert model.result_.status is Status.DEGENERATE
    np.testing.assert_array_equal(model.coef_, 0.0)


def test_rare_positives_are_not_reported_as_degenerate():
    """All levels are below the tolerance, because negatives are many; the best level is found nevertheless."""
    rng = np.random.default_rng(0)
    data, y = rng.normal(size=(6000, 2)), np.arange(6000) < 4
    data[y, 0] += 1.0
    model = AMPClassifier("f1", C=1.0, threshold=0.0).fit(data, y)
    levels = model.challenge_levels_
    assert model.result_.status is Status.OPTIMAL
    assert levels[-1] < 5e-3
    assert model.result_.certificate.gap <= 1e-3 * levels[-1]


def test_limits_and_callback_stop_training():
    with pytest.warns(match="increase max_iter"):
        model = AMPClassifier("f1", max_iter=1, threshold=0.0).fit(CANCER, SICK)
    assert model.result_.status is Status.MAX_ITER and model.n_iter_ == 1
    with pytest.warns(match="increase max_seconds"):
        model = AMPClassifier("f1", C=100.0, tol=1e-12, max_seconds=1e-6).fit(CANCER, SICK)
    assert model.result_.status is Status.MAX_SECONDS
    seen = []
    model = AMPClassifier("f1", threshold=0.0, callback=lambda entry: seen.append(entry) or len(seen) == 2)
    model.fit(CANCER, SICK)
    assert model.result_.status is Status.STOPPED and len(model.challenge_levels_) == 3


# ----------------------------------------------------------------------------------------------------- the estimator


@each_measure
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_certify_agrees_with_training(measure, C):
    weights = np.random.default_rng(0).uniform(0.0, 2.0, size=len(SICK))
    weights[::7] = 0.0
    model = AMPClassifier(measure, C=C, threshold=0.0).fit(CANCER, SICK, sample_weight=weights)
    own, again = model.result_.certificate, certify(model, CANCER, SICK, sample_weight=weights)
    assert again.upper == pytest.approx(own.upper, rel=1e-9)
    assert again.loss_bound == pytest.approx(own.loss_bound, rel=1e-9)
    assert own.lower - 1e-9 <= again.lower <= own.upper


def test_sample_weights_equal_repeated_samples_and_zeros_drop_them():
    copies = np.random.default_rng(0).integers(0, 3, size=len(SICK))
    samples = np.repeat(np.arange(len(SICK)), copies)
    weighted = AMPClassifier("f1", C=0.1, tol=1e-6).fit(CANCER, SICK, sample_weight=copies)
    repeated = AMPClassifier("f1", C=0.1, tol=1e-6).fit(CANCER[samples], SICK[samples])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-2 * np.abs(repeated.coef_).max())
    np.testing.assert_array_equal(weighted.predict(CANCER), repeated.predict(CANCER))


@pytest.mark.parametrize("measure", ["f1", "jaccard", "cohen_kappa"])
def test_sparse_data_give_the_same_model(measure):
    dense = AMPClassifier(measure, C=0.1, tol=1e-6).fit(CANCER, SICK)
    stored = AMPClassifier(measure, C=0.1, tol=1e-6).fit(sparse.csr_array(CANCER), SICK)
    assert stored.challenge_levels_[-1] == pytest.approx(dense.challenge_levels_[-1], abs=1e-6)
    np.testing.assert_allclose(stored.coef_, dense.coef_, atol=1e-2 * np.abs(dense.coef_).max())


def test_multiclass_is_one_problem_per_class():
    data, species = load_iris(return_X_y=True)
    model = AMPClassifier("f1").fit(scale(data), species)
    assert len(model.challenge_levels_) == len(model.result_) == 3
    assert model.coef_.shape == (3, 4) and model.threshold_.shape == (3,)
    assert model.n_iter_ == max(len(levels) for levels in model.challenge_levels_) - 1
    assert model.score(scale(data), species) > 0.6


def test_pos_label_exchanges_the_classes():
    turned = AMPClassifier("f1", C=0.1, pos_label=0).fit(CANCER, 1 - SICK)
    plain = AMPClassifier("f1", C=0.1).fit(CANCER, SICK)
    np.testing.assert_allclose(turned.decision_function(CANCER), -plain.decision_function(CANCER))


@each_measure
def test_the_training_score_is_high_and_levels_never_fall(measure):
    model = AMPClassifier(measure, C=0.1).fit(CANCER, SICK)
    assert model.score(CANCER, SICK) > 0.75
    assert np.all(np.diff(model.challenge_levels_) >= 0.0)


# --------------------------------------------------------------------------------------------------------- bad input


def test_measures_without_a_ratio_raise():
    with pytest.raises(
        TypeError, match=r"'g_mean' lacks what AMPClassifier needs.*MultivariateSVC.*AMPClassifier takes"
    ):
        AMPClassifier("g_mean").fit(CANCER, SICK)
    assert {"f1", "jaccard", "gower_legendre", "cohen_kappa"} <= set(measure_names("AMPClassifier"))
    assert "roc_auc" not in measure_names("AMPClassifier")


def count_mistakes(tp, fp, fn, tn):
    return 1 - (2 * fn - fp) / (2 * (tp + fn) + fp + tn)


def test_a_measure_that_rewards_mistakes_raises():
    measure = contingency_measure(
        count_mistakes, "perverse", ratio=lambda theta: Ratio(2 * theta, 2.0, -theta, 2.0 + theta, 0.0, 0.0)
    )
    with pytest.raises(ValueError, match=r"'perverse' pays .* for true negatives.*MultivariateSVC"):
        AMPClassifier(measure).fit(CANCER, SICK)


def precision(tp, fp, fn, tn):
    return tp / (tp + fp)


def test_a_denominator_that_can_vanish_raises():
    measure = contingency_measure(precision, "precision", ratio=lambda theta: Ratio(0.0, 1.0, 0.0, theta, 1.0, -theta))
    with pytest.raises(ValueError, match=r"denominator of measure 'precision' can vanish.*MultivariateSVC"):
        AMPClassifier(measure).fit(CANCER, SICK)


@pytest.mark.parametrize(
    ("ratio", "message"),
    [
        (Ratio(0.0, np.nan, 0.0, 1.0, 0.0, 0.0), "'odd' has the ratio .* must be finite"),
        (Ratio(0.0, 1.0, 0.0, 1.0, -1.0, 0.0), "'odd' has the ratio .* must not be 0 for perfect labels"),
        (Ratio(0.0, 1.0, 0.0, -1.0, 2.0, 0.0), "'odd' has a denominator that is not positive at P = N = 0"),
        (Ratio(0.0, 0.0, 1.0, 1.0, 0.0, 0.0), "'odd' loses nothing by missing a positive.*mistakes_per_loss"),
    ],
)
def test_invalid_ratios_raise(ratio, message):
    class Odd(RatioOnly):
        name = "odd"

        def ratio(self, theta):
            return ratio

    with pytest.raises(ValueError, match=message):
        make_problem(Odd())


@pytest.mark.parametrize(
    ("name", "value"), [("C", 0.0), ("tol", -1.0), ("max_iter", 0), ("threshold", "best"), ("n_jobs", 0)]
)
def test_invalid_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of AMPClassifier must be"):
        AMPClassifier(**{name: value}).fit(CANCER, SICK)
