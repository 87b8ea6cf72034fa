"""Estimators for all measures on tiny awkward data, against brute force over all labellings, cuts and pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import pairwise_kernels

import metricwise as mw
from fuzzing.awkward_data import damage_entries, draw_damage, draw_samples, repeat_entries
from fuzzing.brute_force import (
    MOST_SAMPLES,
    compute_reference,
    evaluate_labels,
    find_best_cut,
)
from fuzzing.cases import Case, Kind
from fuzzing.certificates import check_certificates
from fuzzing.judging import Finding, attempt
from metricwise.measures.base import CountsTable, RestrictsLabellings
from metricwise.registry import entry_of

_KERNELS = ("linear", "linear", "linear", "rbf", "poly", "sigmoid")
_COSTS = (1e-6, 1e-3, 0.1, 1.0, 1.0, 10.0, 1e3, 1e6)
_NOTICEABLE = 1e-6  # gain of a measure for which all samples are predicted positive


def _draw_svm(random: Random, name: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "C": random.choice(_COSTS),
        "threshold": random.choice([0.0, 0.0, "train", "train", "cv"]),
        "tol": random.choice([1e-3, 1e-3, 1e-5]),
    }
    if name in ("MultivariateSVC", "AUCSVC"):
        parameters["kernel"] = random.choice(_KERNELS)
        if parameters["kernel"] in ("poly", "sigmoid"):
            parameters["coef0"] = random.choice([0.0, 1.0, 1e3])
    if name == "AUCSVC":
        parameters["norm"] = random.choice([1, 1, 2])
    elif name != "AUCSVC":
        parameters["fit_intercept"] = random.random() < 0.7
        parameters["intercept_scaling"] = random.choice([1.0, 1.0, 100.0, 0.01])
    return parameters


def _draw_stream(random: Random, name: str) -> dict[str, Any]:
    return {"eta0": random.choice([0.01, 1.0, 100.0]), "alpha": random.choice([1e-4, 1.0, 1e-9])}


DRAWN: dict[str, Callable[[Random, str], dict[str, Any]]] = {
    "MultivariateSVC": _draw_svm,
    "AUCSVC": _draw_svm,
    "SmoothedSVC": _draw_svm,
    "FeatureSelectingSVC": _draw_svm,
    "AMPClassifier": _draw_svm,
    "STAMPClassifier": _draw_stream,
    "SPADEClassifier": _draw_stream,
    "MiniBatchSVC": _draw_stream,
    "PlugInClassifier": lambda random, name: {"cv": 2},
    "CostSensitiveClassifier": lambda random, name: {"cv": 2},
    "TriageClassifier": lambda random, name: {"cv": 2, "capacity": random.choice([0.0, 0.1, 0.5])},
}
_FREQUENT = ("MultivariateSVC",) * 6 + ("AUCSVC", "SmoothedSVC") * 2


def _prepare() -> None:
    """Train every estimator in some ways on plain samples, so that most functions are compiled.

    Awkward samples are for the workers alone: what they crash would end the campaign here.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=10) > 0.0).astype(int)
    random = Random(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*DRAWN, *_FREQUENT):
            for form in ("dense", "sparse", "repeated", "float32"):
                model = _make_model(_draw_model(random, name))
                if not isinstance(attempt(model.fit, _FORMS[form](X), y), Exception):
                    model.predict(_FORMS[form](X))


def _make_case(random: Random) -> Case:
    model = _draw_model(random, random.choice([*_FREQUENT, *DRAWN]))
    form = random.choice(["dense", "dense", "float32", "sparse", "repeated", "compressed columns", "columns"])
    damage = draw_damage(random) if random.random() < 0.2 else None
    return model | {"form": form, "damage": damage} | draw_samples(random, MOST_SAMPLES)


def _draw_model(random: Random, name: str) -> Case:
    parameters = DRAWN[name](random, name)
    parameters["measure"] = random.choice(mw.measure_names(name))
    if name == "AUCSVC" and parameters["norm"] == 2:
        parameters["measure"] = "roc_auc"
    return {"estimator": name, "parameters": parameters}


def _make_model(case: Case) -> Any:
    entry = entry_of(case["estimator"])
    assert entry is not None
    learner = {"estimator": LogisticRegression()} if entry.thresholds_learner or entry.sends_to_review else {}
    return entry.load()(**learner, **case["parameters"])


def _check(case: Case, folder: Path) -> str:
    X, y = np.array(case["X"], dtype=np.float64), np.array(case["y"])
    weights = None if case["sample_weight"] is None else np.array(case["sample_weight"])
    samples = _FORMS[case["form"]](X)
    X = samples.toarray().astype(np.float64) if sparse.issparse(samples) else np.asarray(samples, dtype=np.float64)
    model = _make_model(case)
    if isinstance(attempt(model.fit, samples, y, sample_weight=weights), Exception):
        return "refused"
    what = f"{case['estimator']} {case['parameters']['measure']}"
    if case.get("damage") is not None:
        _check_refusals(what, model, damage_entries(X, case["damage"]), y)
    _check_predictions(what, model, samples, y, weights)
    entry = entry_of(model)
    if entry is not None and entry.has_certificate and not isinstance(model.result_, list):
        check_certificates(what, model, samples, X, y, weights)
    if case["parameters"].get("threshold") == "train" and model.classes_.size == 2:
        _check_threshold(what, model, samples, y, weights)
    return "fitted"


_FORMS: dict[str, Callable[[Any], Any]] = {
    "dense": np.ascontiguousarray,
    "float32": lambda X: np.clip(X, -1e37, 1e37).astype(np.float32),
    "sparse": sparse.csr_matrix,
    "repeated": repeat_entries,
    "compressed columns": sparse.csc_matrix,
    "columns": np.asfortranarray,
}


def _check_refusals(what: str, model: Any, damaged: Any, y: Any) -> None:
    """No function reads a sparse matrix that has positions outside of its shape."""
    if damaged is None:
        return
    calls: list[Callable[[], Any]] = [lambda: model.predict(damaged), lambda: model.score(damaged, y)]
    entry = entry_of(model)
    if entry is not None and entry.has_certificate:
        calls.append(lambda: mw.certify(model, damaged, y))
    calls.append(lambda: clone(model).fit(damaged, y))
    for call in calls:
        if not isinstance(attempt(call), ValueError):
            raise Finding(f"{what}: a sparse matrix with positions outside of its shape is read")


# --------------------------------------------------------------------------------------------------------- predictions


def _check_predictions(what: str, model: Any, samples: Any, y: Any, weights: Any) -> None:
    """Labels follow from scores, and `score` is the measure of scikit-learn, of samples that are not reviewed."""
    if hasattr(model, "needs_review"):
        decided = np.flatnonzero(~model.needs_review(samples))
        if not decided.size:
            return
        samples, y, weights = samples[decided], y[decided], None if weights is None else weights[decided]
    labels, scores = model.predict(samples), None
    if not set(labels.tolist()) <= set(model.classes_.tolist()):
        raise Finding(f"{what}: predicts labels that are no classes: {sorted(set(labels.tolist()))}")
    if hasattr(model, "decision_function"):
        scores = model.decision_function(samples)
        if not np.isfinite(scores).all():
            raise Finding(f"{what}: decision_function returns NaN or infinity")
        if model.classes_.size == 2 and not np.array_equal(labels == model.classes_[1], scores > 0.0):
            raise Finding(f"{what}: predict disagrees with decision_function > 0")
    found = attempt(model.score, samples, y, sample_weight=weights)
    if isinstance(found, Exception) or model.classes_.size != 2:
        return
    measure = model.measure_
    response = scores if measure.response == "scores" else labels == model.classes_[1]
    kept = slice(None) if weights is None else weights > 0.0
    if response is None:
        return
    own = None if weights is None else weights[kept]
    expected = compute_reference(measure.name, (y == model.classes_[1])[kept], response[kept], own)
    if expected is not None and abs(found - expected) > 1e-9:
        raise Finding(f"{what}: score is {found!r}, and scikit-learn finds {expected!r}")


# ----------------------------------------------------------------------------------------------------------- thresholds


def _check_threshold(what: str, model: Any, samples: Any, y: Any, weights: Any) -> None:
    """No cut of the training scores has a larger value than the chosen threshold."""
    measure = model.measure_
    if not isinstance(measure, CountsTable) or isinstance(measure, RestrictsLabellings):
        return
    scores = model.decision_function(samples)
    weight = np.ones(len(y)) if weights is None else weights
    kept = weight > 0.0
    positive, scores, weight = (y == model.classes_[1])[kept], scores[kept], weight[kept]
    # Scores are compared before the threshold is subtracted: the difference would round those close to it.
    scores = scores + model.threshold_
    chosen = evaluate_labels(measure, positive, model.predict(samples)[kept] == model.classes_[1], weight)
    best = find_best_cut(measure, positive, scores, weight, _bound_score_error(model, samples))
    if chosen < best - 2.0 * _NOTICEABLE:
        raise Finding(f"{what}: the threshold has {chosen!r} on the training scores, and another cut {best!r}")


def _bound_score_error(model: Any, samples: Any) -> float:
    """Return the rounding error of the scores of a kernel machine, whose terms may cancel out; 0 for other models."""
    if getattr(model, "kernel", "linear") == "linear":
        return 0.0
    settings = {"gamma": model.gamma_, "degree": model.degree, "coef0": model.coef0}
    samples = samples.toarray() if sparse.issparse(samples) else samples
    values = pairwise_kernels(samples, metric=model.kernel, filter_params=True, **settings)
    largest = float(np.abs(values).max()) + getattr(model, "intercept_scaling", 0.0) ** 2
    error = 4.0 * len(values) * np.finfo(np.float64).eps * float(np.abs(model.dual_coef_).sum()) * largest
    return error if np.isfinite(error) else np.inf


KIND = Kind(_prepare, _make_case, _check)
