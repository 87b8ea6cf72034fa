"""CostSensitiveClassifier of more than two classes: class weights by the gradient at the confusion matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import metricwise as mw
from metricwise.decisions.decision import Calibration, Sigmoid
from metricwise.decisions.gain_rules import GainDecision
from metricwise.estimators.wrappers.cost_sensitive.iterations import _include_weights
from metricwise.estimators.wrappers.cost_sensitive.multiclass_weights import compute_class_weights
from metricwise.measures.confusion import count_confusion

TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def make_classes(n_samples, seed):
    """Return three classes, one of them rare, that curved boundaries separate."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, 3))
    log_chances = np.column_stack([np.ones(n_samples), X[:, 0] * 2, X[:, 1] ** 2 * 1.5 + X[:, 2] - 4.5])
    cumulated = softmax(log_chances, axis=1).cumsum(axis=1)
    return X, (random.random(n_samples)[:, None] > cumulated[:, :2]).sum(axis=1)


def value_of(measure, y, labels):
    return mw.get_measure(measure).of_confusion(count_confusion(y, labels))


X, Y = make_classes(900, 0)
NEW_X, NEW_Y = make_classes(6000, 1)


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro", "f1_weighted", "g_mean", "min_rate", "cohen_kappa"])
def test_it_is_no_worse_than_offsets_alone(measure):
    model = mw.CostSensitiveClassifier(TREE, measure, cv=3).fit(X, Y)
    plug_in = mw.PlugInClassifier(TREE, measure, cv=3).fit(X, Y)
    assert model.history_[0].score == pytest.approx(plug_in.expected_score_)
    assert model.expected_score_ >= plug_in.expected_score_ - 1e-12
    assert model.score(NEW_X, NEW_Y) > plug_in.score(NEW_X, NEW_Y) - 0.05
    assert np.isfinite(model.class_weights_).all() and np.min(model.class_weights_) > 0.0
    assert model.class_weights_[Y].mean() == pytest.approx(1.0)


@pytest.mark.parametrize(("learner", "measure"), [(TREE, "f1_macro"), (LogisticRegression(), "g_mean")])
def test_it_beats_the_most_likely_class(learner, measure):
    model = mw.CostSensitiveClassifier(learner, measure, cv=3).fit(X, Y)
    plain = value_of(measure, NEW_Y, clone(learner).fit(X, Y).predict(NEW_X))
    assert model.score(NEW_X, NEW_Y) > plain + 0.01


def test_probabilities_are_freed_of_class_weights(tmp_path):
    model = mw.CostSensitiveClassifier(TREE, "f1_macro", cv=3).fit(X, Y)
    assert model.best_iter_ > 0
    odds = model.estimator_.predict_proba(NEW_X) / model.class_weights_
    np.testing.assert_allclose(model.predict_proba(NEW_X), odds / odds.sum(axis=1, keepdims=True), atol=1e-6)
    mw.save(model, tmp_path / "model.mw")
    again = mw.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(again.predict(NEW_X), model.predict(NEW_X))
    np.testing.assert_array_equal(again.class_weights_, model.class_weights_)


@pytest.mark.parametrize("floor", [None, np.array([-0.5, 0.3, 0.0])])
def test_gains_decide_the_same_about_shifted_scores(floor):
    none, shift = np.zeros(3), np.array([-0.5, 0.1, 1.5])
    lines, undo = Calibration((Sigmoid(0.7, 0.2),) * 3), Calibration(tuple(Sigmoid(1.0, -one) for one in shift))
    gains = np.random.default_rng(0).random((1, 3, 3))
    stored = {"calibration": lines, "gains": gains, "shares": np.ones(1), "floor": floor}
    decision = GainDecision(none, (none, none), 0.0, (0.0, 0.0), **stored)
    assert (floor is None) == np.array_equal(decision.margins(NEW_X), replace(decision, floor=None).margins(NEW_X))
    shifted = _include_weights(decision, shift, undo)
    np.testing.assert_allclose(shifted.margins(NEW_X + shift), decision.margins(NEW_X))


def test_sample_weights_equal_repeated_samples():
    times = np.arange(len(Y)) % 3
    copies = np.repeat(np.arange(len(Y)), times)
    weighted = mw.CostSensitiveClassifier(TREE, "g_mean", cv=3).fit(X, Y, times)
    repeated = mw.CostSensitiveClassifier(TREE, "g_mean", cv=3).fit(X[copies], Y[copies])
    np.testing.assert_allclose(weighted.class_weights_, repeated.class_weights_)


@pytest.mark.parametrize("measure", ["f1_macro", "g_mean", "cohen_kappa"])
def test_weights_are_the_slopes_of_the_measure(measure):
    counts = np.array([[500.0, 40.0, 60.0], [50.0, 200.0, 50.0], [20.0, 30.0, 50.0]])
    found = compute_class_weights(mw.get_measure(measure), counts)
    value, slopes = mw.get_measure(measure).of_confusion, np.zeros(3)
    for i in range(3):
        for j in set(range(3)) - {i}:
            moved = np.zeros((3, 3))
            moved[i, i], moved[i, j] = 1e-3, -1e-3
            slopes[i] += value(counts + moved) - value(counts - moved)
    expected = slopes * counts.sum() / (slopes @ counts.sum(axis=1))
    np.testing.assert_allclose(found, expected, rtol=0.02)
