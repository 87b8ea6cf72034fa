"""Train any scikit-learn classifier and read its scores: log-odds, log-probabilities or decision values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from metricwise._sklearn import count_samples
from metricwise._typing import Floats, Integers, Labels
from metricwise.decisions.constant import Constant
from metricwise.decisions.dask_learners import trains_on_dask
from metricwise.decisions.weighting import fit_settings
from metricwise.threads import limit_threads, threads_for

SMALLEST_PROBABILITY = 1e-15  # its log-odds, -35, are beyond all that matters

# Most that probabilities may differ, in log-odds, from those of the classes: forests are certain of what all of their
# trees predict, and a single candidate must not outweigh all others.
MOST_CERTAIN = 6.0


def gives_probabilities(model: Any) -> bool:
    """Return whether a classifier has ``predict_proba``; TypeError if it has no scores at all."""
    if hasattr(model, "predict_proba"):
        return True
    if hasattr(model, "decision_function"):
        return False
    raise TypeError(
        f"{type(model).__name__} has neither predict_proba nor decision_function, so there is no score to put a "
        "threshold on: use a classifier that has one of them, or set the option that gives it one"
    )


def check_known_classes(model: Any, classes: Labels) -> Labels:
    """Return the classes of a trained classifier; ValueError if some of the given ones are unknown to it."""
    check_is_fitted(model)
    known = np.asarray(model.classes_)
    unknown = np.setdiff1d(classes, known)
    if unknown.size:
        raise ValueError(
            f"y has labels that the trained {type(model).__name__} does not know: {unknown.tolist()}; it knows "
            f"{known.tolist()}. Pass samples of these classes, or set prefit=False"
        )
    return known


def log_odds(probabilities: Floats) -> Floats:
    """Return finite log-odds of probabilities, also of 0 and 1."""
    values: Floats = logit(np.clip(probabilities, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY))
    return values


def prior_log_odds(share: Any, n_samples: float) -> Any:
    """Return the log-odds of shares of the samples, finite also for labels that all of them have, or none."""
    least = 0.5 / max(n_samples, 1.0)
    return logit(np.clip(share, least, 1.0 - least))


def limit_log_odds(scores: Floats, prior: float) -> Floats:
    """Return log-odds that differ from zero and from those of the classes by no more than a limit."""
    return np.clip(scores, min(prior, 0.0) - MOST_CERTAIN, max(prior, 0.0) + MOST_CERTAIN)


def binary_scores(model: Any, X: Any, positive: Any) -> Floats:
    """Return log-odds of the positive class, or decision values that point to it."""
    at = list(model.classes_).index(positive)
    values = _predict_scores(model, X)
    if gives_probabilities(model):
        return log_odds(values[:, at])
    return values.ravel() if at == 1 else -values.ravel()


def class_scores(model: Any, X: Any, classes: Labels) -> Floats:
    """Return log-probabilities, or decision values, of each class; a class unknown to the model gets the least."""
    values = _predict_scores(model, X)
    if gives_probabilities(model):
        values = np.log(np.maximum(values, SMALLEST_PROBABILITY))
    elif values.ndim == 1:
        values = np.column_stack([-values, values])
    if values.shape[1] != len(model.classes_):
        raise ValueError(
            f"{type(model).__name__} gives {values.shape[1]} scores for {len(model.classes_)} classes: offsets of "
            "classes need one score per class, so set decision_function_shape='ovr' or use a classifier with "
            "predict_proba"
        )
    columns = np.full((len(values), len(classes)), min(float(values.min()), float(np.log(SMALLEST_PROBABILITY))))
    columns[:, np.searchsorted(classes, model.classes_)] = values
    return columns


def _predict_scores(model: Any, X: Any) -> Floats:
    """Return probabilities, or else decision values; those of few samples on one thread."""
    predict = model.predict_proba if gives_probabilities(model) else model.decision_function
    with limit_threads(threads_for(count_samples(X))):
        return np.asarray(predict(X), dtype=np.float64)


def fit_copy(estimator: Any, X: Any, y: Labels, weights: Floats | None, groups: Integers | None = None) -> Any:
    """Train a copy of a classifier, on one thread of BLAS and OpenMP for few samples.

    Weights and groups are passed on where it takes them.
    """
    with limit_threads(threads_for(len(y))):
        model = clone(estimator).fit(X, y, **fit_settings(estimator, weights, groups))
    if not hasattr(model, "classes_") and trains_on_dask(model):  # linear models of dask-ml
        model.classes_ = np.unique(y)
    return model


def fit_label(estimator: Any, X: Any, has_label: Labels, weights: Floats | None, groups: Integers | None = None) -> Any:
    """Train a copy for one label of a multilabel problem; a constant if all samples have the label, or none."""
    if has_label.min() == has_label.max():
        return Constant(float(has_label[0]))
    return fit_copy(estimator, X, has_label, weights, groups)
