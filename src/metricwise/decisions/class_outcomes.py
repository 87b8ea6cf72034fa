"""Validate outcomes of several classes or labels, and separate them by class or label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from metricwise._typing import Labels, Mask
from metricwise.decisions.guarantees import Constraint
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.outcomes import as_column

Kind = Literal["binary", "multiclass", "multilabel"]
KINDS: tuple[Kind, ...] = ("binary", "multiclass", "multilabel")


class ClassOutcomes(NamedTuple):
    """Truth and predictions of outcomes, a column per class or label of a model."""

    names: list[Any]
    truth: Mask
    predicted: Mask

    def of(self, constraint: Constraint) -> tuple[Mask, Mask]:
        """Return truth and predictions of the class or label of a constraint; of none, which predictions are right."""
        if constraint.of_class is None:
            right: Mask = (self.truth == self.predicted).all(axis=1)
            return np.ones_like(right), right
        column = self.names.index(constraint.of_class)
        return self.truth[:, column], self.predicted[:, column]


def encode_class_outcomes(y_true: Any, y_pred: Any, names: Sequence[Any], kind: Kind) -> ClassOutcomes:
    """Return outcomes by class or label.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_outcomes,) or (n_outcomes, n_labels)
        True and predicted classes, or matrices of zeros and ones.
    names : sequence
        The classes, or the names of the labels.
    kind : {"multiclass", "multilabel"}
        Which of both.

    Raises
    ------
    ValueError
        If a class is missing or unknown, a matrix has other entries or another number of labels, or there are more true
        than predicted labels.

    Examples
    --------
    >>> encode_class_outcomes(["a", "b"], ["a", "c"], ["a", "b", "c"], "multiclass").predicted
    array([[ True, False, False],
           [False, False,  True]])
    """
    encode = _encode_labels if kind == "multilabel" else _encode_classes
    truth, predicted = (encode(values, name, list(names)) for values, name in ((y_true, "y_true"), (y_pred, "y_pred")))
    if len(truth) != len(predicted):
        raise ValueError(
            f"y_true has {len(truth)} outcomes and y_pred has {len(predicted)}: give the true and the predicted labels "
            "of each outcome"
        )
    return ClassOutcomes(list(names), truth, predicted)


def _encode_classes(values: Any, name: str, classes: list[Any]) -> Mask:
    column: Labels = as_column(values, name)
    unknown = next((k for k, label in enumerate(column.tolist()) if label not in classes), None)
    if unknown is not None:
        known = ", ".join(map(repr, classes))
        raise ValueError(
            f"{name} has the unknown class {column.tolist()[unknown]!r} at position {unknown}; known: {known}"
        )
    return np.column_stack([column == label for label in classes])


def _encode_labels(values: Any, name: str, labels: list[Any]) -> Mask:
    try:
        matrix = validate_label_matrix(np.atleast_2d(values) if np.ndim(values) == 1 else values)
    except ValueError as error:
        raise ValueError(f"{name} is no matrix of labels: {error}") from error
    if matrix.shape[1] != len(labels):
        raise ValueError(f"{name} has {matrix.shape[1]} columns, and the model has {len(labels)} labels")
    encoded: Mask = matrix == 1
    return encoded
