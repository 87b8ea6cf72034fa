"""Deterministic trainings on data large enough for threads, and their results to the last bit."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import metricwise as mw
from fuzzing.judging import attempt
from metricwise.registry import entry_of

_RNG = np.random.default_rng(1)
X = np.round(_RNG.normal(size=(600, 12)), 3)
Y = (X[:, 0] - X[:, 1] + 0.8 * _RNG.normal(size=600) > 0.7).astype(int)
_NAMES = (
    "MultivariateSVC",
    "AUCSVC",
    "RankingSVC",
    "SmoothedSVC",
    "FeatureSelectingSVC",
    "AMPClassifier",
    "STAMPClassifier",
    "SPADEClassifier",
    "MiniBatchSVC",
    "PlugInClassifier",
    "CostSensitiveClassifier",
    "TriageClassifier",
)


def draw_training(random: Random) -> dict[str, Any]:
    """Return an estimator with its parameters and the number of its samples."""
    name = random.choice(_NAMES)
    parameters: dict[str, Any] = {"measure": random.choice(mw.measure_names(name))}
    if name not in ("CostSensitiveClassifier", "PlugInClassifier", "TriageClassifier"):
        parameters["n_jobs"] = random.choice([None, 1, 2, 4])
    if name in ("MultivariateSVC", "AUCSVC"):
        parameters["kernel"] = random.choice(["linear", "linear", "rbf"])
        parameters["threshold"] = random.choice([0.0, "train", "cv"])
    n_samples = random.choice([30, 100, 200 if parameters.get("kernel") == "rbf" else 600])
    return {"estimator": name, "parameters": parameters, "n_samples": n_samples}


def train(training: dict[str, Any]) -> bytes:
    """Return the scores of a trained model for all samples, as bytes, or why it cannot be trained."""
    entry = entry_of(training["estimator"])
    assert entry is not None
    learner = {"estimator": LogisticRegression()} if entry.thresholds_learner or entry.sends_to_review else {}
    n_samples = training["n_samples"]
    model = attempt(entry.load()(**learner, **training["parameters"]).fit, X[:n_samples], Y[:n_samples])
    if isinstance(model, Exception):  # such as a guarantee that so few samples cannot give
        return str(model).encode()
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    return np.ascontiguousarray(scores).tobytes() + bytes(model.predict(X).tobytes())


def warm_up() -> None:
    """Train every estimator once, so that most functions are compiled."""
    random = Random(0)
    for _ in range(40):
        train(draw_training(random))
