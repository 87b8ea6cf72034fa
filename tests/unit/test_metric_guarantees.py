"""Constraints mean the same in MetricClassifier and PlugInClassifier, however they are written."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

import metricwise
from metricwise import MetricClassifier, PlugInClassifier, PrecisionAtRecall, RecallAtPrecision

Y = np.arange(4000) % 4 == 0
X = np.random.default_rng(0).normal(size=(4000, 4)) + 2.0 * Y[:, None] * np.array([1.0, 0.7, 0.0, 0.0])
TRAIN, TEST = np.arange(1600), np.arange(1600, 4000)
LINEAR = {"linear": LogisticRegression()}


def fit_selecting(measure="f1", **settings):
    return MetricClassifier(measure, candidates=LINEAR, **settings).fit(X[TRAIN], Y[TRAIN])


def fit_plug_in(measure="f1", **settings):
    return PlugInClassifier(LogisticRegression(), measure, **settings).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize(
    ("measure", "settings"),
    [
        ("f1", {"subject_to": "precision>=0.8"}),
        ("f1", {"subject_to": ["recall >= 50%", "false_positive_rate<=0.1"], "confidence": 0.8}),
        (RecallAtPrecision(0.8), {}),
        (PrecisionAtRecall(0.7), {"confidence": 0.9}),
        (RecallAtPrecision(0.7), {"subject_to": "positive_rate<=0.3"}),
    ],
)
def test_a_single_candidate_predicts_as_the_plug_in_classifier(measure, settings):
    model, other = fit_selecting(measure, **settings), fit_plug_in(measure, **settings)
    np.testing.assert_array_equal(model.predict(X[TEST]), other.predict(X[TEST]))
    assert model.expected_score_ == pytest.approx(other.expected_score_)
    assert model.expected_score_interval_ == pytest.approx(other.expected_score_interval_)


def test_guarantees_hold_on_new_samples():
    careful = fit_selecting(subject_to="precision>=0.9")
    assert precision_score(Y[TEST], careful.predict(X[TEST])) >= 0.9
    at_recall = fit_selecting(PrecisionAtRecall(0.7))
    assert recall_score(Y[TEST], at_recall.predict(X[TEST])) >= 0.7


@pytest.mark.parametrize("fit", [fit_selecting, fit_plug_in])
def test_constraints_are_text_or_tuples(fit):
    written = ["recall>=0.5", "Recall >= 50%", ("recall", ">=", 0.5), [("recall", ">=", 0.5)], ("recall>=0.5",)]
    thresholds = [fit(subject_to=one, confidence=None).threshold_ for one in written]
    assert thresholds == [thresholds[0]] * len(written)


def test_the_explanation_names_the_guarantee():
    assert (
        "Guaranteed on new samples with confidence 0.9: recall >= 0.5, tested on 800 samples that had no part"
        in fit_selecting(subject_to="recall>=0.5", confidence=0.9).explain()
    )
    assert "Guaranteed" not in fit_selecting(subject_to="recall>=0.5", confidence=None).explain()


def test_the_explanation_says_that_another_threshold_was_set(tmp_path):
    model = fit_selecting(subject_to="recall>=0.5", confidence=0.9)
    for threshold in (0.4, 0.25):
        model.threshold_ = threshold
    metricwise.save(model, tmp_path / "model.mw")
    explanation = metricwise.load(tmp_path / "model.mw").explain()
    assert "The threshold was set to 0.25 after training: what is expected or guaranteed above" in explanation
    assert "0.4 after training" not in explanation


def test_constraints_without_a_guarantee_use_all_samples():
    model = fit_selecting(subject_to=("precision", ">=", 0.9), confidence=None)
    np.testing.assert_array_equal(model.best_estimator_.coef_, LogisticRegression().fit(X[TRAIN], Y[TRAIN]).coef_)
    assert model.threshold_ > fit_selecting().threshold_
    # Each fold is judged at the threshold of the others.
    assert model.expected_score_ == pytest.approx(
        fit_plug_in(subject_to="precision>=0.9", confidence=None).expected_score_, abs=0.02
    )


def test_a_candidate_that_cannot_keep_the_constraints_is_not_selected():
    noisy = MetricClassifier(
        "f1",
        candidates={"noise": LogisticRegression(C=1e-12, fit_intercept=False), **LINEAR},
        subject_to="precision>=0.9",
    )
    shuffled = np.random.default_rng(0).permutation(1600)
    model = noisy.fit(X[shuffled], Y[shuffled])
    assert model.leaderboard_.iloc[0]["candidate"] == "linear"


def test_guarantees_are_kept_in_model_files(tmp_path):
    model = fit_selecting(subject_to=["recall>=0.5", ("precision", ">=", 0.5)], confidence=0.9)
    metricwise.save(model, tmp_path / "m.mw")
    loaded = metricwise.load(tmp_path / "m.mw")
    assert loaded.subject_to == model.subject_to and loaded.confidence == 0.9
    np.testing.assert_array_equal(loaded.predict(X[TEST]), model.predict(X[TEST]))
