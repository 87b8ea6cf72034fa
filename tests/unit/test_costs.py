"""Costs of the contingency table: recognised, minimised, and reported in their own units."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import metricwise
from metricwise import (
    AdaptedSVC,
    AMPClassifier,
    CostSensitiveClassifier,
    MetricClassifier,
    MultivariateSVC,
    PlugInClassifier,
    STAMPClassifier,
    contingency_measure,
)
from metricwise.inference import best_threshold
from metricwise.measures import Averaged, RatioOfRates
from metricwise.reporting.evaluation import evaluate
from metricwise.reporting.predictions import collect_predictions

X, Y = make_classification(1500, weights=[0.85], flip_y=0.1, class_sep=0.7, random_state=3)
TRAIN, TEST = slice(None, 1000), slice(1000, None)


def cost_of(tp, fp, fn, tn):
    return 5 * fn + fp


COST = contingency_measure(cost_of, name="cost", greater_is_better=False)


def paid(model, rows=TEST):
    predicted = model.predict(X[rows])
    return float(5 * np.sum((predicted == 0) & (Y[rows] == 1)) + np.sum((predicted == 1) & (Y[rows] == 0)))


@pytest.mark.parametrize(
    "function",
    [
        cost_of,
        lambda tp, fp, fn, tn: fp / (fp + tn),
        lambda tp, fp, fn, tn: float(fn > 0) * fn + fp**2,
        lambda tp, fp, fn, tn: 2 * fn + 1 * (tp + fp),
        lambda tp, fp, fn, tn: -tp / (tp + fp + fn),
    ],
)
def test_costs_are_refused_as_measures_and_measures_as_costs(function):
    with pytest.raises(ValueError, match=r"'own' falls when mistakes are corrected.*greater_is_better=False"):
        contingency_measure(function, name="own")
    contingency_measure(function, name="own", greater_is_better=False)
    with pytest.raises(ValueError, match=r"'own' rises when mistakes are corrected.*leave greater_is_better=False out"):
        contingency_measure(lambda *table: -function(*table), name="own", greater_is_better=False)


@pytest.mark.parametrize(
    "function",
    [
        lambda tp, fp, fn, tn: tp / (tp + fp + fn),
        lambda tp, fp, fn, tn: tp / (tp + fp),
        lambda tp, fp, fn, tn: 1 - (5 * fn + fp) / (tp + fp + fn + tn),
        lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn) - 1,
        lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fn) * tn / (tn + fp)),
    ],
)
def test_measures_are_accepted(function):
    assert contingency_measure(function, name="own").name == "own"


def test_linear_costs_are_ratios_of_the_rates():
    own = contingency_measure(lambda tp, fp, fn, tn: 4 * fn + fp + 0.5 * tp, name="own", greater_is_better=False)
    assert isinstance(own, RatioOfRates) and own.is_total
    tp, fp, fn, tn = 30.0, 20.0, 10.0, 140.0
    a0, a1, a2, b0, b1, b2 = own.ratio((fp + tn) / (tp + fn))
    tpr, tnr = tp / (tp + fn), tn / (tn + fp)
    assert (a0 + a1 * tpr + a2 * tnr) / (b0 + b1 * tpr + b2 * tnr) == pytest.approx(own.value(tp, fp, fn, tn))
    curved = contingency_measure(lambda tp, fp, fn, tn: np.sqrt(fn * fp) + fp, name="own", greater_is_better=False)
    assert not isinstance(curved, RatioOfRates) and curved.is_total


def test_scores_are_in_the_units_of_the_user():
    assert COST.score([1, 1, 0, 0, 0], [0, 1, 1, 1, 0]) == 7.0
    assert COST.score([1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [2, 1, 1, 1, 1]) == 12.0
    undefined = contingency_measure(lambda tp, fp, fn, tn: fp / (tp + fp), name="fdr", greater_is_better=False)
    assert undefined.score([1, 0], [0, 0]) == 1.0 and undefined.value(0, 0, 1, 1) == 0.0


def test_thresholds_minimise_a_cost():
    random = np.random.default_rng(0)
    scores = random.normal(size=300)
    positive = scores + random.normal(size=300) > 1.0
    found = best_threshold(COST, positive, scores)
    costs = [COST.score(positive, scores > threshold) for threshold in np.append(scores, -9.0)]
    assert COST.score(positive, scores > found.threshold) == min(costs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PlugInClassifier(LogisticRegression(), COST),
        lambda: CostSensitiveClassifier(LogisticRegression(), COST),
        lambda: AdaptedSVC(COST, [("logistic", LogisticRegression())]),
        lambda: MetricClassifier(COST, candidates=["logistic", "multivariate_svm"]),
        lambda: MultivariateSVC(COST),
        lambda: AMPClassifier(COST),
        lambda: STAMPClassifier(COST),
    ],
)
def test_estimators_minimise_a_cost(make):
    model = make().fit(X[TRAIN], Y[TRAIN])
    best_constant = min(5 * int(np.sum(Y[TEST] == 1)), int(np.sum(Y[TEST] == 0)))
    assert model.score(X[TEST], Y[TEST]) == paid(model) < 0.95 * best_constant


def test_expected_costs_are_totals_of_as_many_samples_as_in_training():
    model = MetricClassifier(COST, candidates=["logistic"]).fit(X[TRAIN], Y[TRAIN])
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high
    assert low < 2 * paid(model) < high  # half as many samples
    assert model.score_interval(n_samples=500)[1] < model.score_interval(n_samples=1000)[1]
    board = model.leaderboard_
    assert board["low"].lt(board["value"]).all() and board["value"].lt(board["high"]).all()
    assert board["value"].iloc[0] == board["value"].min()
    assert f": {board['value'].iloc[0]:.3f} (" in model.explain()


def test_expected_costs_of_groups_are_totals_of_all_samples():
    groups = np.arange(1000) // 4
    model = PlugInClassifier(LogisticRegression(), COST).fit(X[TRAIN], Y[TRAIN], groups=groups)
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high and low < 2 * paid(model) < high


def test_a_linear_cost_sets_one_weighting():
    model = CostSensitiveClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), COST, max_iter=3)
    model.fit(X[TRAIN], Y[TRAIN])
    assert model.n_iter_ == 2  # with equal weights, and with the weights of the cost
    weights = model.history_[1].class_weights
    assert weights.pos / weights.neg == pytest.approx(5.0)
    assert model.expected_score_ <= model.history_[0].score


def test_evaluation_and_report_show_the_cost():
    good = PlugInClassifier(LogisticRegression(), COST).fit(X[TRAIN], Y[TRAIN])
    bad = PlugInClassifier(LogisticRegression(), "precision@30").fit(X[TRAIN], Y[TRAIN])
    found = [collect_predictions(model, X[TEST], Y[TEST], None, None) for model in (good, bad)]
    own, other = evaluate(found, COST)
    assert own.value == paid(good) and own.interval[0] < own.value < own.interval[1]
    page = metricwise.report(good, X[TEST], Y[TEST], compare={"other": bad}, importance_seconds=0.1)
    assert page.value == paid(good) < paid(bad) == other.value
    assert "ahead" in page.html and f"{paid(good):.3f}" in page.html


def test_several_classes_and_averages_are_refused():
    with pytest.raises(TypeError, match="'cost' is a cost"):
        Averaged(COST)
    with pytest.raises(ValueError, match="measure 'cost' is for two classes"):
        PlugInClassifier(LogisticRegression(), COST).fit(X, np.arange(len(Y)) % 3)


@pytest.mark.parametrize("make", [AMPClassifier, MultivariateSVC])
def test_training_for_a_cost_equals_training_with_its_class_weights(make):
    own = make(COST, C=0.01, threshold=0.0, tol=1e-6).fit(X[TRAIN], Y[TRAIN])
    weighted = MultivariateSVC("accuracy", C=0.01, threshold=0.0, tol=1e-6, class_weight={0: 0.2, 1: 1.0})
    np.testing.assert_allclose(own.coef_, weighted.fit(X[TRAIN], Y[TRAIN]).coef_, atol=2e-3)
    assert metricwise.certify(own, X[TRAIN], Y[TRAIN]).relative < 1e-4


def test_a_cost_of_nothing_is_refused():
    free = contingency_measure(lambda tp, fp, fn, tn: fn, name="own", greater_is_better=False)
    with pytest.raises(ValueError, match=r"a false alarm 0 .*one label for all samples costs least"):
        MultivariateSVC(free).fit(X, Y)
    flat = contingency_measure(lambda tp, fp, fn, tn: fp * fn / (tp + tn), name="own", greater_is_better=False)
    with pytest.raises(ValueError, match="a single mistake does not raise the cost 'own'"):
        MultivariateSVC(flat).fit(X, Y)
