"""Single trials: methods trained on one split and evaluated on its test samples, with their processor seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.tree import DecisionTreeClassifier

from benchmarks import timing
from benchmarks.quality.cached_fits import CachedFit, ClockCorrection
from benchmarks.quality.problems import Split
from metricwise import MetricClassifier, PlugInClassifier
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.measures import Measure, RecallAtPrecision, get_measure

Record = dict[str, Any]
Result = TypeVar("Result")

MEASURES: dict[str, Any] = {
    "f1": "f1",
    "jaccard": "jaccard",
    "g_mean": "g_mean",
    "prbep": "prbep",
    "recall_at_precision": RecallAtPrecision(0.9),
    "roc_auc": "roc_auc",
    "average_precision": "average_precision",
}
MULTICLASS_MEASURES = ("f1_macro", "f1_micro", "accuracy", "balanced_accuracy", "mcc", "jaccard_macro")
MULTILABEL_MEASURES = ("f1_macro", "f1_micro", "f1_weighted", "jaccard_macro", "balanced_accuracy", "mcc")
PRECISION = 0.8  # guaranteed
FOLDS = 5


def clock(call: Callable[[], Result]) -> tuple[float, Result]:
    """Return the processor seconds of a call, including those of cached fits, and its return value."""
    ClockCorrection.reset()
    seconds, value = timing.clock(call)
    return seconds + ClockCorrection.reset(), value


def regression() -> Any:
    """Return the learner that both libraries wrap."""
    return LogisticRegression(max_iter=1000)


def thresholds(split: Split, repetition: int) -> list[Record]:
    """Return F1 of logistic regression with thresholds by scikit-learn and by metricwise."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition)
    models = {
        "scikit-learn": TunedThresholdClassifierCV(CachedFit(regression()), scoring="f1", cv=folds),
        "auto": PlugInClassifier(regression(), "f1", random_state=repetition),
        "batch": PlugInClassifier(regression(), "f1", threshold="batch", random_state=repetition),
    }
    return [_evaluate(split, get_measure("f1"), name, model) for name, model in models.items()]


def ours(split: Split, measure: str, repetition: int) -> Record:
    """Return the measure of MetricClassifier, its expected score, and the interval for it."""
    chosen = get_measure(MEASURES[measure])
    model = MetricClassifier(chosen, random_state=repetition)
    return _evaluate(split, chosen, "MetricClassifier", model) | {"measure": measure}


def class_intervals(split: Split, repetition: int) -> list[Record]:
    """Return a measure of several classes or labels, its expected score, and the interval for it, by both estimators.

    Each repetition has the next of the measures: those of one split would cover, or miss, together.
    """
    measures = MULTILABEL_MEASURES if np.ndim(split.y) == 2 else MULTICLASS_MEASURES
    measure = measures[repetition % len(measures)]
    learner, tree = CachedFit(regression()), CachedFit(DecisionTreeClassifier(min_samples_leaf=5, random_state=0))
    candidates = {"logistic": learner, "tree": tree}
    models = {
        "PlugInClassifier": PlugInClassifier(learner, measure, random_state=repetition),
        "MetricClassifier": MetricClassifier(measure, candidates=candidates, random_state=repetition),
    }
    return [_class_interval(split, name, model) | {"measure": measure} for name, model in models.items()]


def _class_interval(split: Split, name: str, model: Any) -> Record:
    seconds, fitted = clock(lambda: model.fit(split.X, split.y))
    low, high = fitted.score_interval(n_samples=len(split.y_test))
    value = fitted.score(split.X_test, split.y_test)
    about = {"problem": split.name, "method": name, "cpu_seconds": seconds}
    return about | {"value": value, "expected": fitted.expected_score_, "low": low, "high": high}


def guarantee(split: Split, repetition: int) -> list[Record]:
    """Return the precision of a threshold with guaranteed precision, or that no threshold was found."""
    model = PlugInClassifier(regression(), RecallAtPrecision(PRECISION), random_state=repetition)
    try:
        seconds, fitted = clock(lambda: model.fit(split.X, split.y))
    except UnreachableGuaranteeError:
        return [{"problem": split.name, "method": "guarantee", "refused": True}]
    predicted = fitted.predict(split.X_test)
    precision = float(split.y_test[predicted].mean()) if predicted.any() else 1.0
    return [
        {
            "problem": split.name,
            "method": "guarantee",
            "refused": False,
            "precision": precision,
            "predicted_positive": int(predicted.sum()),
            "recall": float(predicted[split.y_test].mean()),
            "cpu_seconds": seconds,
        }
    ]


def _evaluate(split: Split, measure: Measure, name: str, model: Any) -> Record:
    seconds, fitted = clock(lambda: model.fit(split.X, split.y))
    return record(split, measure, name, fitted, seconds)


def record(split: Split, measure: Measure, name: str, model: Any, seconds: float) -> Record:
    """Return the measure of a trained model on the test samples, with its interval if it has one."""
    if measure.response == "labels":
        response = model.predict(split.X_test)
    elif hasattr(model, "decision_function"):
        response = model.decision_function(split.X_test)
    else:
        response = model.predict_proba(split.X_test)[:, 1]
    value = float(measure.score(split.y_test, response))
    found = {"problem": split.name, "method": name, "value": value, "cpu_seconds": seconds}
    if hasattr(model, "score_interval"):
        low, high = model.score_interval(n_samples=len(split.y_test))
        found |= {"expected": model.expected_score_, "low": low, "high": high}
    return found
