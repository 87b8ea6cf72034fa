"""Train fairlearn's classifiers under parity of recall on the samples in a folder: FOLDER BOUND SEED.

Runs in an environment of its own, without metricwise. What each method maximises is chosen by F1 on a quarter of the
training samples; it then learns from all of them.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import ErrorRate, ExponentiatedGradient, TruePositiveRateParity
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

OBJECTIVES = ("accuracy_score", "balanced_accuracy_score")
COSTS_OF_MISSES = (0.5, 0.6, 0.7, 0.8)  # a false alarm costs one minus this


def make_learner() -> Any:
    """Return the base learner."""
    return LogisticRegression(solver="newton-cholesky")


def make_optimizer(objective: str, bound: float) -> Any:
    """Return the classifier with thresholds, drawn at random in part, per group."""
    return ThresholdOptimizer(
        estimator=make_learner(),
        constraints="true_positive_rate_parity",
        objective=objective,
        predict_method="predict_proba",
        tol=bound,
    )


def make_reduction(cost: float, bound: float) -> Any:
    """Return the mixture of reweighted classifiers."""
    return ExponentiatedGradient(
        make_learner(),
        TruePositiveRateParity(difference_bound=bound),
        objective=ErrorRate(costs={"fp": 1.0 - cost, "fn": cost}),
    )


def predict(model: Any, X: Any, group: Any, seed: int) -> Any:
    """Return the predictions, which are random in part."""
    if isinstance(model, ThresholdOptimizer):
        return model.predict(X, sensitive_features=group, random_state=seed)
    return model.predict(X, random_state=seed)


def fit_best(make: Callable[[Any], Any], choices: Any, X: Any, y: Any, group: Any, seed: int) -> Any:
    """Return the model whose setting has the largest F1 on a quarter of the samples, trained on all."""
    inside, outside = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed, stratify=2 * group + y)
    values = {}
    for choice in choices:
        model = make(choice).fit(X[inside], y[inside], sensitive_features=group[inside])
        values[choice] = f1_score(y[outside], predict(model, X[outside], group[outside], seed))
    return make(max(values, key=lambda one: values[one])).fit(X, y, sensitive_features=group)


def run(folder: Path, bound: float, seed: int) -> None:
    """Write the predictions for the test samples, and the seconds that choosing and training took."""
    with np.load(folder / "samples.npz") as stored:
        X, y, group, X_test, group_test = (stored[key] for key in ("X", "y", "group", "X_test", "group_test"))
    y = y.astype(np.int64)
    methods = {
        "ThresholdOptimizer": (lambda one: make_optimizer(one, bound), OBJECTIVES),
        "ExponentiatedGradient": (lambda one: make_reduction(one, bound), COSTS_OF_MISSES),
    }
    found, seconds = {}, {}
    for name, (make, choices) in methods.items():
        started = time.perf_counter()
        model = fit_best(make, choices, X, y, group, seed)
        found[name] = np.asarray(predict(model, X_test, group_test, seed))
        seconds[name] = time.perf_counter() - started
    np.savez(folder / "predictions.npz", **found)
    (folder / "seconds.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
