"""Validate class labels and weights of users for solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from metricwise._sklearn import check_sample_weight
from metricwise._typing import Floats


def classes_of(y: NDArray[Any], weights: Floats) -> NDArray[Any]:
    """Return the sorted labels that have weight; raise unless there are two or more."""
    check_classification_targets(y)
    classes = np.unique(y[weights > 0.0])
    if classes.size < 2:
        nothing = "no sample with a weight above zero" if y.size else "no samples"
        found = f"only one class, {classes.tolist()[0]!r}" if classes.size else nothing
        raise ValueError(f"y has {found}: training needs samples of at least two classes")
    return classes


def two_classes(y: NDArray[Any], weights: Floats | None, who: str) -> NDArray[Any]:
    """Return the two labels that have weight; raise an error that names alternatives if there are more."""
    several = f"{y.shape[1]} columns" if y.ndim == 2 and y.shape[1] > 1 else ""
    if not several:
        labels = y.ravel()
        classes = classes_of(labels, np.ones(labels.size) if weights is None else weights)
        if classes.size == 2:
            return classes
        several = f"{classes.size} classes"
    raise ValueError(
        f"Only binary classification is supported. y has {several}: use OneVsRestClassifier({who}(...)), or "
        "PlugInClassifier, which takes several classes and labels"
    )


def sample_weights_of(X: Any, y: NDArray[Any], sample_weight: Any, class_weight: Any) -> Floats:
    """Return the weight of every sample, not negative, from sample and class weights."""
    weights = check_sample_weight(sample_weight, X)
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, y)
    return np.asarray(weights, dtype=np.float64)


def positives_of_problems(classes: NDArray[Any], pos_label: Any, multi_class: str | None) -> list[Any]:
    """Return the label of the positives of every binary problem: one of two classes, or each class vs the rest."""
    if classes.size == 2:
        return [positive_class(classes, pos_label)]
    if multi_class != "ovr":
        raise ValueError(
            f"Only binary classification is supported with multi_class={multi_class!r}, but y has {classes.size} "
            "classes: set multi_class='ovr' to train one classifier per class"
        )
    return list(classes)


def positive_class(classes: NDArray[Any], pos_label: Any) -> Any:
    """Return the label of the positives among two classes."""
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a label of y, whose labels are {classes.tolist()}")
    return pos_label
