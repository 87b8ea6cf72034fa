"""Every classifier has one threshold, on one scale, and every part of the library honours an assigned one."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

import metricwise as mw
from metricwise import registry

X, Y = make_classification(240, 6, weights=[0.7], random_state=0)
LABELS, LABEL_MATRIX = make_multilabel_classification(150, 5, n_classes=3, random_state=0)
INPUTS = [("line", LogisticRegression())]
CANDIDATES = {"linear": LogisticRegression()}

WITH_PROBABILITIES: dict[str, Any] = {
    "MetricClassifier": mw.MetricClassifier(candidates=CANDIDATES, cv=2),
    "PlugInClassifier": mw.PlugInClassifier(LogisticRegression(), cv=2),
    "batch": mw.PlugInClassifier(LogisticRegression(), cv=2, threshold="batch"),
    "CostSensitiveClassifier": mw.CostSensitiveClassifier(LogisticRegression(), cv=2, max_iter=1),
}
OF_SCORES: dict[str, Any] = {
    "decision values": mw.PlugInClassifier(LinearSVC(), cv=2),
    "AdaptedSVC": mw.AdaptedSVC(estimators=INPUTS, cv=3),
    "MultivariateSVC": mw.MultivariateSVC(threshold="train"),
    "kernel": mw.MultivariateSVC(threshold="train", kernel="rbf"),
    "AUCSVC": mw.AUCSVC(threshold="train"),
    "SmoothedSVC": mw.SmoothedSVC(threshold="train"),
    "FeatureSelectingSVC": mw.FeatureSelectingSVC(threshold="train", n_features=3),
    "SparseCodingClassifier": mw.SparseCodingClassifier(threshold="train", max_iter=2),
    "AMPClassifier": mw.AMPClassifier(threshold="train"),
    "SPADEClassifier": mw.SPADEClassifier("g_mean", n_passes=1),
    "STAMPClassifier": mw.STAMPClassifier(n_passes=1),
    "MiniBatchSVC": mw.MiniBatchSVC("precision_at_k", n_passes=1),
}
BINARY = WITH_PROBABILITIES | OF_SCORES
MULTILABEL = {
    "MetricClassifier": mw.MetricClassifier("f1_macro", candidates=CANDIDATES, cv=2),
    "PlugInClassifier": mw.PlugInClassifier(LogisticRegression(), "f1_macro", cv=2),
    "BinaryRelevance": mw.BinaryRelevance(LogisticRegression(), "macro_f"),
    "ProbabilisticClassifierChain": mw.ProbabilisticClassifierChain(LogisticRegression(), inference="micro_f"),
}

pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def _fit(name: str) -> Any:
    return clone(BINARY[name]).fit(X, Y)


def fit_binary(name: str) -> Any:
    """Return a copy of a model that is trained once for all tests."""
    return copy.deepcopy(_fit(name))


def test_every_estimator_is_checked() -> None:
    with_threshold = [entry for entry in registry.entries() if not entry.ranks_queries and not entry.sends_to_review]
    follows_stream = {"OnlineMetricClassifier"}  # its threshold moves with every sample, and cannot be assigned
    assert {entry.name for entry in with_threshold} <= BINARY.keys() | MULTILABEL.keys() | follows_stream


@pytest.mark.parametrize("pos_label", [1, 0])
@pytest.mark.parametrize("name", WITH_PROBABILITIES)
def test_thresholds_of_models_with_probabilities_are_probabilities(name: str, pos_label: int) -> None:
    model = clone(WITH_PROBABILITIES[name]).set_params(pos_label=pos_label).fit(X, Y)
    chances = model.predict_proba(X)[:, pos_label]
    assert 0.0 < model.threshold_ < 1.0
    if name != "batch":
        np.testing.assert_array_equal(model.predict(X) == pos_label, chances > model.threshold_)
    for threshold in (0.12, 0.3, 0.9):
        model.threshold_ = threshold
        assert model.threshold_ == pytest.approx(threshold)
        found = model.predict(X)
        np.testing.assert_array_equal(found == pos_label, chances > threshold)
        np.testing.assert_array_equal(found == 1, model.decision_function(X) > 0.0)
        assert model.score(X, Y) == pytest.approx(f1_score(Y, found, pos_label=pos_label))


@pytest.mark.parametrize("name", OF_SCORES)
def test_thresholds_of_other_models_are_decision_values(name: str) -> None:
    model = fit_binary(name)
    scores = model.decision_function(X) + model.threshold_
    for threshold in np.quantile(scores, [0.123, 0.789]):
        model.threshold_ = threshold
        np.testing.assert_array_equal(model.predict(X) == 1, scores > threshold)
        np.testing.assert_allclose(model.decision_function(X), scores - threshold, atol=1e-9)


@pytest.mark.parametrize("name", BINARY)
def test_model_files_keep_an_assigned_threshold_and_fit_chooses_again(name: str, tmp_path: Path) -> None:
    model = fit_binary(name)
    chosen = model.threshold_
    model.threshold_ = 0.625
    mw.save(model, tmp_path / "model.mw")
    loaded = mw.load(tmp_path / "model.mw")
    assert loaded.threshold_ == pytest.approx(0.625)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    if name in ("MetricClassifier", "MultivariateSVC", "STAMPClassifier"):  # one of each base class
        assert model.fit(X, Y).threshold_ == chosen != 0.625


@pytest.mark.parametrize(
    "name", ["MetricClassifier", "PlugInClassifier", "decision values", "MultivariateSVC", "STAMPClassifier"]
)
def test_exports_have_an_assigned_threshold(name: str) -> None:
    from metricwise.persistence.exports.linear import extract_linear_scores

    model = fit_binary(name)
    model.threshold_ = 0.625
    scores = extract_linear_scores(model).compute(X)
    np.testing.assert_array_equal(scores > 0.0, model.predict(X) == 1)
    if name != "MetricClassifier":  # whose scores are clipped
        np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("name", MULTILABEL)
def test_thresholds_of_labels_are_probabilities(name: str, tmp_path: Path) -> None:
    model = clone(MULTILABEL[name]).fit(LABELS, LABEL_MATRIX)
    chances = model.predict_proba(LABELS)
    np.testing.assert_array_equal(model.predict(LABELS), chances > model.threshold_)
    for threshold in ([0.2, 0.5, 0.7], 0.4):
        model.threshold_ = threshold
        np.testing.assert_array_equal(model.predict(LABELS), chances > np.array(threshold))
    mw.save(model, tmp_path / "model.mw")
    np.testing.assert_allclose(mw.load(tmp_path / "model.mw").threshold_, 3 * [0.4])


def test_offsets_of_classes_can_be_assigned() -> None:
    classes = np.arange(len(Y)) % 3
    model = mw.MetricClassifier("f1_macro", candidates=CANDIDATES, cv=2).fit(X, classes)
    chances = model.predict_proba(X)
    model.threshold_ = [0.0, 0.5, 1.0]
    np.testing.assert_array_equal(model.predict(X), np.argmax(np.log(chances) - [0.0, 0.5, 1.0], axis=1))
    with pytest.raises(ValueError, match=r"an array of shape \(3,\), with one per class or label, got 0.3"):
        model.threshold_ = 0.3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MetricClassifier", 1.2, "is a probability, a number from 0 to 1, got 1.2"),
        ("PlugInClassifier", float("nan"), "is a probability, a number from 0 to 1, got nan"),
        ("PlugInClassifier", "high", "must be a number, or an array with one per class or label, got 'high'"),
        ("MultivariateSVC", float("inf"), "must be finite, got inf"),
        ("MultivariateSVC", [0.0, 1.0], "of this model is a number, got"),
        ("STAMPClassifier", None, "must be finite, got None"),
    ],
)
def test_thresholds_that_do_not_fit_are_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        clone(BINARY[name]).threshold_ = 0.3
    model = fit_binary(name)
    before = model.threshold_
    with pytest.raises(ValueError, match=message):
        model.threshold_ = value
    assert model.threshold_ == before


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_extreme_probabilities_keep_scores_finite(threshold: float) -> None:
    model = fit_binary("PlugInClassifier")
    model.threshold_ = threshold
    assert np.isfinite(model.decision_function(X)).all()
    assert set(model.predict(X)) == {1 - int(threshold)}


def test_rules_without_thresholds_refuse_them() -> None:
    model = mw.BinaryRelevance(LogisticRegression(), "meuf").fit(LABELS, LABEL_MATRIX)
    assert model.threshold_ is None
    with pytest.raises(ValueError, match="inference='meuf' chooses labels without thresholds"):
        model.threshold_ = 0.3


def test_learning_from_more_samples_chooses_the_threshold_of_a_stream_again() -> None:
    model = mw.STAMPClassifier().partial_fit(X[:200], Y[:200], classes=[0, 1])
    twin = mw.STAMPClassifier().partial_fit(X[:200], Y[:200], classes=[0, 1])
    model.threshold_ = 0.625
    assert model.threshold_ == 0.625
    model.partial_fit(X[200:], Y[200:])
    assert model.threshold_ == twin.partial_fit(X[200:], Y[200:]).threshold_
