"""Cost matrices of several classes: decisions against brute force, calibration, storage, errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import metricwise
from metricwise import CostMatrix, MetricClassifier, PlugInClassifier
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.calibrating import fit_class_calibration
from metricwise.decisions.cost_matrix import CostTask
from metricwise.decisions.decision import ScoredSamples

COSTS = [[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [20.0, 10.0, 0.0]]
RANDOM = np.random.default_rng(0)
Y = RANDOM.integers(0, 3, 400)
X = RANDOM.normal(size=(400, 4)) + np.eye(3, 4)[Y]


def test_score_is_the_total_cost():
    costs = CostMatrix(COSTS, classes=["a", "b", "c"])
    truth, predicted, weights = ["a", "c", "b", "c"], ["c", "b", "b", "a"], [1, 2, 3, 4]
    assert costs.score(truth, predicted, weights) == 5 + 2 * 10 + 0 + 4 * 20
    by_label = CostMatrix({"c": {"a": 20, "b": 10}, "a": {"b": 1, "c": 5}, "b": {"a": 1, "c": 2}})
    assert by_label.score(truth, predicted, weights) == costs.score(truth, predicted, weights)
    np.testing.assert_array_equal(by_label.align(["a", "b", "c"]), COSTS)


@pytest.mark.parametrize("seed", range(5))
def test_decisions_have_the_least_expected_cost(seed):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(4, 4))
    task = CostTask(np.arange(4), CostMatrix(matrix))
    chances = random.dirichlet(np.ones(4), 200)
    codes = np.array([random.choice(4, p=one) for one in chances])
    decision = task.decide(ScoredSamples(codes, np.log(chances), np.ones(200)), ThresholdRule(), True)
    calibrated = softmax(decision.calibration(np.log(chances)), axis=1)
    expected = [min(range(4), key=lambda k: sum(p * matrix[i, k] for i, p in enumerate(one))) for one in calibrated]
    predicted = task.labels(decision.margins(np.log(chances)))
    np.testing.assert_array_equal(predicted, expected)
    cost = sum(matrix[truth, label] for truth, label in zip(codes, predicted, strict=True))
    assert task.score(codes, decision.margins(np.log(chances)), None) == pytest.approx(cost)
    assert task.measure.cost_of_value(decision.expected_score, 200) == pytest.approx(cost)


def test_lines_restore_probabilities_from_any_scale():
    log_chances = np.log(RANDOM.dirichlet([1.0, 2.0, 3.0], 4000))
    codes = np.array([RANDOM.choice(3, p=np.exp(one)) for one in log_chances])
    distorted = 100.0 * log_chances + [0.0, 50.0, -50.0] + RANDOM.normal(size=(4000, 1))
    lines = fit_class_calibration(ScoredSamples(codes, distorted, np.ones(4000))).lines
    found = softmax(np.column_stack([line.log_odds(one) for line, one in zip(lines, distorted.T, strict=True)]), axis=1)
    assert np.abs(found - np.exp(log_chances)).mean() < 0.02


def test_models_spend_less_than_the_most_probable_class_does():
    costs = CostMatrix(COSTS)
    for learner in (LogisticRegression(), LinearSVC()):
        model = PlugInClassifier(learner, costs).fit(X, Y)
        plain = costs.score(Y, learner.fit(X, Y).predict(X))
        assert model.score(X, Y) < plain
        low, high = model.expected_score_interval_
        assert low < model.expected_score_ < high
        constant = min(np.array(COSTS)[Y, k].sum() for k in range(3))
        assert model.savings(X, Y) == pytest.approx(1 - model.score(X, Y) / constant)
        low, high = model.expected_savings_interval_
        assert low < model.expected_savings_ < high <= 1.0


def test_metric_classifier_and_storage(tmp_path):
    names = np.array(["fine", "watch", "ill"])[Y]
    costs = CostMatrix(np.array(COSTS), classes=["fine", "watch", "ill"])
    models = [
        MetricClassifier(costs, candidates={"logistic": LogisticRegression()}, cv=3).fit(X, names),
        PlugInClassifier(LogisticRegression(), costs).fit(X, names),
    ]
    for model in models:
        metricwise.save(model, tmp_path / "model.mw")
        stored = metricwise.load(tmp_path / "model.mw")
        np.testing.assert_array_equal(stored.predict(X), model.predict(X))
        assert stored.score(X, names) == costs.score(names, model.predict(X))
        assert stored.measure_ == costs
    assert "compared by their cost" in models[0].explain()


@pytest.mark.parametrize(
    "costs, classes, message",
    [
        ([[0, 1], [1, 0], [2, 2]], None, "a row and a column for each"),
        ([[0, np.nan], [1, 0]], None, r"costs\[0\]\[1\] is nan"),
        ([["a", "b"], ["c", "d"]], None, "costs must be numbers"),
        ([[0, 1, 2], [0, 1, 2], [0, 1, 2]], None, "class number 0 costs least whatever the truth is"),
        (COSTS, ["a", "b"], "3 different labels"),
        ({"a": {"b": 1}, "b": {"c": 1}}, None, "names 'c', which has no row"),
        ({"a": {}, "b": {"a": 1}}, None, "lacks the prediction 'b'"),
        ({"a": {"b": 1}, "b": {"a": 1}}, ["a", "b"], "leave classes out"),
    ],
)
def test_wrong_costs_are_named(costs, classes, message):
    with pytest.raises(ValueError, match=message):
        CostMatrix(costs, classes)


def test_costs_that_do_not_fit_the_targets_are_named():
    with pytest.raises(ValueError, match="for 3 classes, but there are 2"):
        PlugInClassifier(LogisticRegression(), CostMatrix(COSTS)).fit(X, Y == 1)
    with pytest.raises(ValueError, match=r"use Profit\(tp=0, fp=-1, fn=-2, tn=0\)"):
        PlugInClassifier(LogisticRegression(), CostMatrix([[0, 1], [2, 0]])).fit(X, Y == 1)
    with pytest.raises(ValueError, match="lacks the class 2"):
        PlugInClassifier(LogisticRegression(), CostMatrix(COSTS, classes=[0, 1, 3])).fit(X, Y)
    with pytest.raises(ValueError, match="without thresholds"):
        PlugInClassifier(LogisticRegression(), CostMatrix(COSTS), threshold="max").fit(X, Y)
    with pytest.raises(ValueError, match="name the classes"):
        CostMatrix(COSTS).score([0, 1], [1, 1])


@pytest.mark.parametrize("wrapper", [lambda **given: PlugInClassifier(LogisticRegression(), **given), MetricClassifier])
def test_constraints_are_refused(wrapper):
    with pytest.raises(ValueError, match="without any: leave subject_to out"):
        wrapper(measure=CostMatrix(COSTS), subject_to="recall>=0.5").fit(X, Y)
