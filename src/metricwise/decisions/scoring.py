"""Train any scikit-learn classifier and read its scores: log-odds, log-probabilities or decision values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from metricwise._sklearn import count_samples
from metricwise._typing import Floats, Indices, Integers, Labels
from metricwise.decisions.constant import Constant
from metricwise.decisions.dask_learners import trains_on_dask
from metricwise.decisions.weighting import fit_settings
from metricwise.threads import limit_threads, threads_for

SMALLEST_PROBABILITY = 1e-15  # its log-odds, -35, are beyond all that matters

# Most that probabilities may differ, in log-odds, from those of the classes: forests are certain of what all of their
# trees predict, and a single candidate must not outweigh all others.
MOST_CERTAIN = 6.0

_ROUNDING = 1e-6  # by which probabilities in single precision may leave the interval from 0 to 1


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
    """Return the sorted classes of a trained classifier; ValueError if some of the given ones are unknown to it."""
    check_is_fitted(model)
    known, wanted = _list_classes(model), np.asarray(classes, dtype=object).tolist()
    unknown = [label for label in wanted if label not in known]
    if unknown:
        raise ValueError(
            f"y has labels that the trained {type(model).__name__} does not know: {unknown}; it knows {known}. Pass "
            "samples of these classes, or set prefit=False"
        )
    return np.sort(np.asarray(model.classes_))


def _list_classes(model: Any) -> list[Any]:
    """Return the classes of a trained classifier in its own order; raise unless it has each of them once."""
    name = type(model).__name__
    if not hasattr(model, "classes_"):
        raise TypeError(
            f"the trained {name} has no classes_, so that its scores cannot be matched with classes: set classes_ to "
            "the sorted labels in its fit, as classifiers of scikit-learn do"
        )
    classes = np.asarray(model.classes_, dtype=object)
    if classes.ndim != 1 or not all(isinstance(label, Hashable) for label in classes):
        raise ValueError(f"classes_ of the trained {name} has the shape {classes.shape}: it must list labels")
    known: list[Any] = classes.tolist()
    if len(set(known)) < len(known):
        raise ValueError(f"classes_ of the trained {name} repeats labels: {known}. Its fit must list each label once")
    return known


def _place_classes(model: Any, classes: Labels) -> Indices:
    """Return the position of every class of a model among the given ones; ValueError if one is not among them."""
    known, wanted = _list_classes(model), np.asarray(classes, dtype=object).tolist()
    positions = {label: at for at, label in enumerate(wanted)}
    unknown = [label for label in known if label not in positions]
    if unknown:
        raise ValueError(
            f"the trained {type(model).__name__} has classes_={known}, of which {unknown} are not among the classes "
            f"of y, {wanted}: its fit must set classes_ to labels of y"
        )
    return np.array([positions[label] for label in known], dtype=np.int64)


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


def binary_scores(model: Any, X: Any, classes: Labels, positive: Any) -> Floats:
    """Return log-odds of the positive class of two, or decision values that point to it."""
    places = _place_classes(model, classes)
    if len(places) != 2:
        raise ValueError(
            f"the trained {type(model).__name__} knows the class {_list_classes(model)} alone, and y has "
            f"{classes.tolist()}: train it with samples of both classes"
        )
    at = int(np.argmax(classes[places] == positive))
    values = _predict_scores(model, X, 2)
    if gives_probabilities(model):
        return log_odds(values[:, at])
    return values if at == 1 else -values


def class_scores(model: Any, X: Any, classes: Labels) -> Floats:
    """Return log-probabilities, or decision values, of each class; a class unknown to the model gets the least."""
    places = _place_classes(model, classes)
    values = _predict_scores(model, X, len(places))
    if gives_probabilities(model):
        values = np.log(np.maximum(values, SMALLEST_PROBABILITY))
    elif values.ndim == 1:
        values = np.column_stack([-values, values])
    least = float(values.min(initial=np.log(SMALLEST_PROBABILITY)))
    columns = np.full((len(values), len(classes)), least)
    columns[:, places] = values
    return columns


def class_probabilities(model: Any, X: Any, classes: Labels) -> Floats:
    """Return the model's probabilities, in the order of the given classes; zero for a class unknown to the model."""
    places = _place_classes(model, classes)
    values = _predict_probabilities(model, X, len(places))
    if np.array_equal(places, np.arange(len(classes))):
        return values
    columns = np.zeros((len(values), len(classes)))
    columns[:, places] = values
    return columns


def _predict_scores(model: Any, X: Any, n_classes: int) -> Floats:
    """Return probabilities, or else decision values; those of few samples on one thread."""
    predict = _predict_probabilities if gives_probabilities(model) else _predict_decisions
    with limit_threads(threads_for(count_samples(X))):
        return predict(model, X, n_classes)


def _predict_probabilities(model: Any, X: Any, n_classes: int) -> Floats:
    """Return probabilities, one column per class; ValueError if the model returns anything else."""
    source, shape = f"{type(model).__name__}.predict_proba", (count_samples(X), n_classes)
    values = _read_reals(model.predict_proba(X), source)
    if values.shape != shape:
        raise ValueError(
            f"{source} returned an array of shape {values.shape}, and {shape[0]} samples of {n_classes} classes need "
            f"{shape}: it must return one row per sample and one column per label of classes_"
        )
    if not (values.min(initial=0.0) >= -_ROUNDING and values.max(initial=0.0) <= 1.0 + _ROUNDING):
        _check_finite(values, source)
        row, column = np.argwhere((values < -_ROUNDING) | (values > 1.0 + _ROUNDING))[0].tolist()
        raise ValueError(
            f"{source} returned {values[row, column]:g} for sample {row}: probabilities are between 0 and 1. Other "
            "scores belong in decision_function"
        )
    return values


def _predict_decisions(model: Any, X: Any, n_classes: int) -> Floats:
    """Return decision values, one per sample for two classes and else one per class; ValueError for anything else.

    Infinite ones are refused, too: thresholds lie halfway between scores, and calibration fits a line to them.
    """
    n_samples, source = count_samples(X), f"{type(model).__name__}.decision_function"
    values = _read_reals(model.decision_function(X), source)
    _check_finite(values, source)
    if n_classes == 2:
        if values.shape not in ((n_samples,), (n_samples, 1)):
            raise ValueError(
                f"{source} returned an array of shape {values.shape}, and {n_samples} samples of two classes need "
                f"{(n_samples,)}: it must return one value per sample, above zero for the second of classes_"
            )
        return values.ravel()
    if values.shape != (n_samples, n_classes):
        raise ValueError(
            f"{source} returned an array of shape {values.shape}, and {n_samples} samples of {n_classes} classes need "
            f"{(n_samples, n_classes)}: offsets of classes need one score per class, so set "
            "decision_function_shape='ovr' or use a classifier with predict_proba"
        )
    return values


def _read_reals(returned: Any, source: str) -> Floats:
    """Return what a model's method returned as floats; ValueError unless they are real numbers."""
    try:
        array = np.asarray(returned)
        # Texts and complex numbers would be converted, too, the latter without their imaginary part.
        values: Floats | None = array.astype(np.float64, copy=False) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(_describe_other_type(source, returned)) from error
    if values is None:
        raise ValueError(_describe_other_type(source, returned))
    return values


def _check_finite(values: Floats, source: str) -> None:
    """Raise a ValueError if a model's method returned NaN or infinity."""
    if not (np.isfinite(values.min(initial=0.0)) and np.isfinite(values.max(initial=0.0))):
        wrong = ~np.isfinite(values)
        rows = np.unique(np.nonzero(wrong)[0]) if wrong.ndim else np.zeros(1, dtype=np.int64)
        raise ValueError(
            f"{source} returned NaN or infinity for {rows.size} of {len(np.atleast_1d(values))} samples, the first at "
            f"position {rows[0]}: scores must be finite numbers. Scale the features (StandardScaler), or use another "
            "classifier"
        )


def _describe_other_type(source: str, returned: Any) -> str:
    kind = type(returned).__name__
    return f"{source} returned a {kind} that is no array of real numbers: it must return one row of scores per sample"


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
