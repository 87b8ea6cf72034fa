"""Importance of features: weights of a linear model, or the loss of the measure when a feature is shuffled."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from metricwise._sklearn import take_samples
from metricwise._typing import Floats
from metricwise.decisions.targets import positive_class
from metricwise.measures import Measure
from metricwise.reporting.evaluation import evaluate_predictions
from metricwise.reporting.models import layers, positive_label
from metricwise.reporting.predictions import collect_predictions, relabel

_MOST_SAMPLES = 2000
_PASSES = 5


@dataclass(frozen=True)
class Importance:
    """Features with their importance, the greatest (by absolute value) first.

    Attributes
    ----------
    names : list of str
        Names of the features.
    values : array
        Weights (times the standard deviation of the feature) or losses of the measure.
    spread : array or None
        Standard deviation of the losses over shuffles; nan where there was time for one only.
    is_linear : bool
        Whether values are weights.
    n_features, n_samples : int
        Number of all features, and number of samples used.
    n_tried : int
        Number of features shuffled before the time limit.
    """

    names: list[str]
    values: Floats
    spread: Floats | None
    is_linear: bool
    n_features: int
    n_samples: int
    n_tried: int


def compute_importance(
    model: Any, X: Any, y: Any, measure: Measure, pos_label: Any, names: Any, seconds: float, seed: int = 0
) -> Importance | None:
    """Return the importance of the features of a model; None if it cannot be computed.

    Parameters
    ----------
    model : fitted classifier
        The model.
    X, y : samples and their truth
        Some of them are drawn if there are many.
    measure : Measure
        The measure whose loss is computed.
    pos_label : label or None
        The positive class.
    names : list of str or None
        Names of the columns of X.
    seconds : float
        Time limit for shuffling, approximately.
    seed : int
        Seeds the draws.
    """
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    samples = np.random.default_rng(seed).permutation(n_samples)[:_MOST_SAMPLES]
    part = take_samples(X, np.sort(samples))
    found = _linear_weights(model, part, names, pos_label)
    if found is not None:
        return found
    if not hasattr(part, "shape") or len(part.shape) != 2:
        return None  # texts, which have no columns
    truth = y[np.sort(samples)] if sparse.issparse(y) else take_samples(y, np.sort(samples))
    return _shuffle_features(model, part, truth, measure, pos_label, _column_names(part, names), seconds, seed)


def _linear_weights(model: Any, part: Any, names: Any, pos_label: Any) -> Importance | None:
    """Return the weights of a linear model of two classes, each times the spread of its feature."""
    learner = list(layers(model))[-1]
    weights: Any = getattr(learner, "coef_", None)
    weights = weights.toarray() if sparse.issparse(weights) else weights
    of_atoms = hasattr(learner, "dictionary_")
    if weights is None or of_atoms or np.ndim(weights) != 2 or len(weights) != 1:
        return None
    seen, named = part, _column_names(part, names) if len(np.shape(part)) == 2 else None
    for layer in layers(model):
        if isinstance(layer, Pipeline) and len(layer.steps) > 1:
            seen, named = layer[:-1].transform(seen), _names_after(layer[:-1], named)
    named = named if named is not None and len(named) == seen.shape[1] else None
    seen = seen if sparse.issparse(seen) else np.asarray(seen, dtype=np.float64)
    if seen.shape[1] != weights.shape[1]:
        return None
    given = positive_label(model) if pos_label is None else pos_label
    sign = 1.0 if positive_class(model.classes_, given) == model.classes_[1] else -1.0
    values = sign * np.asarray(weights[0], dtype=np.float64) * _spread(seen)
    return _order_by_size(_column_names(seen, named), values, None, True, values.size, seen.shape[0])


def _names_after(before: Any, names: list[str] | None) -> list[str] | None:
    """Return the names of the features after the first steps of a pipeline; unchanged if these have no names."""
    try:
        return [str(name) for name in before.get_feature_names_out(names)]
    except (AttributeError, ValueError):
        return names


def _spread(samples: Any) -> Floats:
    if sparse.issparse(samples):
        mean = np.asarray(samples.mean(axis=0)).ravel()
        squares = np.asarray(samples.multiply(samples).mean(axis=0)).ravel()
        return np.asarray(np.sqrt(np.maximum(squares - mean**2, 0.0)))
    return np.asarray(np.nanstd(samples, axis=0))


def _column_names(samples: Any, names: Any) -> list[str]:
    size = samples.shape[1]
    names = getattr(samples, "columns", None) if names is None else names
    found = [f"feature {k}" for k in range(size)] if names is None else [str(name) for name in names]
    if len(found) != size:
        raise ValueError(f"feature_names has {len(found)} names, but X has {size} columns")
    return found


def _shuffle_features(
    model: Any, X: Any, y: Any, measure: Measure, pos_label: Any, names: list[str], seconds: float, seed: int
) -> Importance:
    random = np.random.default_rng(seed)
    until = time.perf_counter() + seconds
    found = collect_predictions(model, X, y, pos_label)
    base = evaluate_predictions(found, measure)

    def value_of(samples: Any) -> float:
        by_labels = measure.response == "labels"  # then scores, which may double the time, are not needed
        return evaluate_predictions(
            relabel(found, model, samples) if by_labels else collect_predictions(model, samples, y, pos_label), measure
        )

    losses: list[list[float]] = [[] for _ in names]
    for _ in range(_PASSES):
        for column in random.permutation(len(names)):
            if time.perf_counter() > until:
                break
            shuffled = _shuffle_column(X, int(column), random)
            losses[column].append(base - value_of(shuffled))
    tried = [k for k, found in enumerate(losses) if found]
    values = np.array([np.mean(losses[k]) for k in tried])
    spread = np.array([np.std(losses[k], ddof=1) if len(losses[k]) > 1 else np.nan for k in tried])
    return _order_by_size([names[k] for k in tried], values, spread, False, len(names), X.shape[0])


def _shuffle_column(X: Any, column: int, random: np.random.Generator) -> Any:
    """Return a copy of samples in which one column is shuffled."""
    order = random.permutation(X.shape[0])
    if sparse.issparse(X):
        columns = X.tocsc()
        parts = [columns[:, :column], columns[order][:, [column]], columns[:, column + 1 :]]
        return sparse.hstack(parts, format="csr")
    if hasattr(X, "iloc"):
        copy = X.copy()
        copy[copy.columns[column]] = X.iloc[order, column].set_axis(X.index)
        return copy
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(X.to_series(column)[order.tolist()])
    copy = np.array(X)
    copy[:, column] = copy[order, column]
    return copy


def _order_by_size(
    names: list[str], values: Floats, spread: Floats | None, is_linear: bool, n_features: int, n_samples: int
) -> Importance:
    order = np.argsort(-np.abs(values), kind="stable")
    ranked = None if spread is None else spread[order]
    return Importance([names[k] for k in order], values[order], ranked, is_linear, n_features, n_samples, len(names))
