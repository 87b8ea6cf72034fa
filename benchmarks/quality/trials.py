"""Single trials: methods trained on one split and evaluated on its test samples, with their processor seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, cross_val_score
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


def model_selection(split: Split, measure: str, repetition: int) -> list[Record]:
    """Return the measure of MetricClassifier, of the better of two tuned learners, and of tuned logistic regression."""
    chosen = get_measure(MEASURES[measure])
    tuned = _tuned_peers(split, chosen, repetition)
    found = [ours(split, measure, repetition), _evaluate_better(split, chosen, "better of two", tuned, repetition)]
    if chosen.response == "scores":  # ranking measures do not depend on thresholds
        found.append(
            _evaluate_better(split, chosen, "better of two, untuned", _learners(split, repetition), repetition)
        )
    found.append(_evaluate(split, chosen, "logistic regression", tuned[0]))
    return [record | {"measure": measure} for record in found]


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


def _learners(split: Split, repetition: int) -> list[Any]:
    learners: list[Any] = [regression()]
    if not sparse.issparse(split.X):
        learners.append(HistGradientBoostingClassifier(random_state=repetition))
    return [CachedFit(one) for one in learners]


def _tuned_peers(split: Split, measure: Measure, repetition: int) -> list[Any]:
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition)
    scorer = make_scorer(measure.score)  # of predicted labels
    return [TunedThresholdClassifierCV(one, scoring=scorer, cv=folds) for one in _learners(split, repetition)]


def _scorer(measure: Measure) -> Any:
    if measure.response == "labels":
        return make_scorer(measure.score)
    return make_scorer(measure.score, response_method=("decision_function", "predict_proba"))


def _evaluate_better(split: Split, measure: Measure, name: str, peers: list[Any], repetition: int) -> Record:
    """Evaluate the peer that cross-validation prefers, trained on all samples."""

    def select_and_fit() -> Any:
        best = 0
        if len(peers) > 1:
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition + 1)
            scorer = _scorer(measure)
            values = [cross_val_score(one, split.X, split.y, scoring=scorer, cv=folds).mean() for one in peers]
            best = int(np.argmax(values))
        return peers[best].fit(split.X, split.y)

    seconds, model = clock(select_and_fit)
    return _record(split, measure, name, model, seconds)


def _evaluate(split: Split, measure: Measure, name: str, model: Any) -> Record:
    seconds, fitted = clock(lambda: model.fit(split.X, split.y))
    return _record(split, measure, name, fitted, seconds)


def _record(split: Split, measure: Measure, name: str, model: Any, seconds: float) -> Record:
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
