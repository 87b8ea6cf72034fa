"""The binary problems of a training, derived from y, sample_weight and the parameters of the model alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from metricwise._typing import Floats, Labels, Mask
from metricwise.certifying.fitted import FittedModel


@dataclass(frozen=True)
class BinaryProblem:
    """Positives against negatives.

    Parameters
    ----------
    positive : array of bool of shape (n_samples,)
        Whether each sample is positive.
    weights : array of shape (n_samples,)
        Weights of the samples; those of weight zero are not used.
    sign : float
        1 if scores point to the positives, -1 if they point away from them: those of two classes point to
        ``classes_[1]``.
    """

    positive: Mask
    weights: Floats
    sign: float = 1.0


def derive_problems(fitted: FittedModel, y: Any, sample_weight: Any) -> list[BinaryProblem]:
    """Return the binary problems that a model with these parameters is trained on, in the order of its results."""
    y = column_or_1d(y)
    weights = combine_weights(y, sample_weight, fitted.class_weight)
    classes = np.unique(y[weights > 0.0])
    if not np.array_equal(classes, fitted.classes):
        raise ValueError(
            f"y has the labels {classes.tolist()} but the model was trained on {fitted.classes.tolist()}: pass the "
            "data the model was trained on"
        )
    problems = list(_split_classes(fitted, y, classes, weights))
    if len(problems) != len(fitted.results):
        raise ValueError(
            f"{classes.size} classes with multi_class={fitted.multi_class!r} make {len(problems)} binary problems, but "
            f"the model has {len(fitted.results)} results: train the model again"
        )
    return problems


def _split_classes(fitted: FittedModel, y: Labels, classes: Labels, weights: Floats) -> list[BinaryProblem]:
    """Return one problem for two classes, else one per class vs the rest or one per pair of classes."""
    if classes.size == 2:
        positive_label = classes[1] if fitted.pos_label is None else fitted.pos_label
        return [BinaryProblem(y == positive_label, weights, -1.0 if positive_label == classes[0] else 1.0)]
    if fitted.multi_class == "ovo":
        return [
            BinaryProblem(y == first, np.where((y == first) | (y == second), weights, 0.0))
            for first, second in combinations(classes, 2)
        ]
    return [BinaryProblem(y == label, weights) for label in classes]


def combine_weights(y: Labels, sample_weight: Any, class_weight: Any) -> Floats:
    """Return the weight of every sample: its own times that of its class.

    Examples
    --------
    >>> combine_weights(np.array([0, 0, 0, 1]), None, "balanced").round(2)
    array([0.67, 0.67, 0.67, 2.  ])
    >>> combine_weights(np.array([0, 0, 0, 1]), [1, 2, 0, 1], {0: 0.5})
    array([0.5, 1. , 0. , 1. ])
    """
    try:
        given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("sample_weight must be an array of numbers: pass the weights of the training") from error
    if given.shape not in ((), y.shape):
        raise ValueError(
            f"sample_weight has the shape {given.shape} but y has {y.size} labels: pass the weights of the training"
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0.0):
        raise ValueError("sample_weight has negative, NaN or infinite values: pass the weights of the training")
    weights = np.broadcast_to(given, y.shape)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return weights * _weigh_classes(classes, counts.astype(np.float64), class_weight)[codes]


def _weigh_classes(classes: Labels, counts: Floats, class_weight: Any) -> Floats:
    """Return the weight of every class: n_samples / (n_classes count) if "balanced", by default one."""
    if class_weight == "balanced":
        return np.asarray(counts.sum() / (classes.size * counts))
    given: Mapping[Any, float] = class_weight or {}
    return np.array([given.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)


def weigh_positives(positive: Mask, weights: Floats, heavier: float) -> Floats:
    """Return the weights of an accuracy in which positives weigh so many times more, with the same total.

    Examples
    --------
    >>> weigh_positives(np.array([True, False, False]), np.ones(3), 4.0)
    array([2. , 0.5, 0.5])
    """
    unscaled = weights * np.where(positive, heavier, 1.0)
    return np.asarray(unscaled * (weights.sum() / unscaled.sum()))
