"""Costs of confusing classes with one another: less is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.base import Response
from metricwise.measures.checks import LARGEST_AMOUNT, LEAST_AMOUNT, check_same_length, check_weights

_MOST_CLASSES = 10_000


@stored_fields(version=1)
@dataclass(frozen=True)
class CostMatrix:
    """The cost of predicting one class where another is true, for more than two classes.

    `score` is the total over the samples: less is better. A classifier decides for the class of least expected cost,
    given its probabilities. For two classes, use `Profit`.

    Parameters
    ----------
    costs : array of shape (n_classes, n_classes), or dict of dicts
        One row per true class, one column per predicted class; negative costs are gains. Or the costs by label,
        ``{truth: {prediction: cost}}``, in which a right prediction costs 0 unless it is listed.
    classes : sequence of labels, optional
        The labels of rows and columns; by default those of the targets, sorted.

    Examples
    --------
    >>> from metricwise import CostMatrix
    >>> costs = CostMatrix([[0, 1, 5], [1, 0, 2], [20, 10, 0]], classes=["fine", "watch", "ill"])
    >>> costs.score(["fine", "ill", "ill"], ["fine", "ill", "watch"])
    10.0
    >>> CostMatrix({"a": {"b": 1, "c": 2}, "b": {"a": 3, "c": 1}, "c": {"a": 9, "b": 4}}).costs[2]
    (9.0, 4.0, 0.0)
    """

    costs: Any
    classes: Any = None

    name: ClassVar[str] = "cost"
    response: ClassVar[Response] = "labels"
    symmetric: ClassVar[bool] = True  # no class is the positive one

    def __post_init__(self) -> None:
        costs, classes = self.costs, self.classes
        if isinstance(costs, Mapping):
            costs, classes = _read_by_label(costs, classes)
        object.__setattr__(self, "costs", _check_costs(costs))
        object.__setattr__(self, "classes", None if classes is None else _check_classes(classes, len(self.costs)))

    @property
    def unit(self) -> float:
        """The difference between the costliest and the cheapest prediction: the scale of values."""
        matrix = np.array(self.costs)
        return float(matrix.max() - matrix.min())

    def cost_of_value(self, value: Any, n_samples: float) -> Any:
        """Return the cost of ``n_samples`` samples with a value: 1 minus the cost per sample and unit."""
        return np.round(self.unit * n_samples * np.subtract(1.0, value), 9)[()]

    def align(self, classes: ArrayLike) -> Floats:
        """Return the costs in the order of the classes of a model.

        Parameters
        ----------
        classes : array of shape (n_classes,)
            The classes of the model, in its order.

        Returns
        -------
        array of shape (n_classes, n_classes)
            The costs, one row per true class, one column per predicted class.

        Raises
        ------
        ValueError
            If the model has a class that the matrix lacks.
        """
        known = np.asarray(classes)
        matrix: Floats = np.array(self.costs)
        if self.classes is None:
            if known.size == len(matrix):
                return matrix
            raise ValueError(
                f"the cost matrix is for {len(matrix)} classes, but there are {known.size}, {known.tolist()[:10]}: "
                "give a row and a column for each"
            )
        own = {label: number for number, label in enumerate(self.classes)}
        missing = [label for label in known.tolist() if label not in own]
        if missing:
            raise ValueError(f"the cost matrix lacks the class {missing[0]!r}; it has {list(self.classes)[:10]}")
        order = [own[label] for label in known.tolist()]
        return matrix[np.ix_(order, order)]

    def mistake_losses(self, class_weights: Floats, classes: ArrayLike) -> Floats:
        """Return what a mistake costs more than the truth, by true and predicted class, as a share of the costliest.

        Raises
        ------
        ValueError
            If a class is predicted at less cost than it has itself: training for the true labels would be wrong then.
        """
        matrix, labels = self.align(classes), np.asarray(classes).tolist()
        excess: Floats = matrix - np.diagonal(matrix)[:, None]
        if np.any(excess < 0.0):
            true, found = np.argwhere(excess < 0.0)[0].tolist()
            raise ValueError(
                f"the class {labels[true]!r} costs {matrix[true, true]:g} where it is predicted right, and "
                f"{matrix[true, found]:g} where {labels[found]!r} is predicted: a machine that is trained for the true "
                "labels needs their costs to be least. Use PlugInClassifier, which minimises expected costs"
            )
        return np.asarray(excess[None] / (excess.max() * class_weights.sum()))

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the total cost of predicted classes ``response`` given the true classes ``y``: less is better.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True classes.
        response : array of shape (n_samples,)
            Predicted classes.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The cost, summed over the samples.

        Raises
        ------
        ValueError
            If the labels cannot be matched with the rows and columns of the matrix.
        """
        truth, predicted = np.asarray(y), np.asarray(response)
        check_same_length(predicted, "labels", truth, "y")
        labels = np.unique(np.concatenate([truth, predicted]))
        if self.classes is None and labels.size != len(self.costs):
            raise ValueError(
                f"the labels have {labels.size} of the {len(self.costs)} classes, so that rows of costs cannot be "
                "matched with them: name the classes, CostMatrix(costs, classes=[...])"
            )
        codes = [np.searchsorted(labels, part) for part in (truth, predicted)]
        return float(check_weights(sample_weight, truth) @ self.align(labels)[codes[0], codes[1]])


def _read_by_label(costs: Mapping[Any, Any], classes: Any) -> tuple[Any, Any]:
    if classes is not None:
        raise ValueError("costs that are given by label have their classes in themselves: leave classes out")
    labels = list(costs)
    matrix = []
    for truth in labels:
        row = costs[truth]
        if not isinstance(row, Mapping):
            raise ValueError(f"costs of the class {truth!r} must be a dictionary of a cost per prediction, got {row!r}")
        unknown = [label for label in row if label not in costs]
        lacking = [label for label in labels if label not in row and label != truth]
        if unknown or lacking:
            what = f"names {unknown[0]!r}, which has no row" if unknown else f"lacks the prediction {lacking[0]!r}"
            raise ValueError(f"the row of costs of the class {truth!r} {what}")
        matrix.append([row.get(label, 0.0) for label in labels])
    return matrix, labels


def _check_costs(costs: Any) -> tuple[tuple[float, ...], ...]:
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError("costs must be numbers, one row per true class and one column per predicted class") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not 2 <= len(matrix) <= _MOST_CLASSES:
        raise ValueError(
            f"costs must have a row and a column for each of two classes or more, got the shape {matrix.shape}"
        )
    sizes = np.abs(matrix)
    is_cost = (matrix == 0.0) | ((sizes >= LEAST_AMOUNT) & (sizes <= LARGEST_AMOUNT))
    if not is_cost.all():
        row, column = np.argwhere(~is_cost)[0].tolist()
        raise ValueError(
            f"costs[{row}][{column}] is {matrix[row, column]}: costs are finite numbers up to {LARGEST_AMOUNT:g}, and "
            f"those that are not 0 at least {LEAST_AMOUNT:g} in size; state all of them in another unit"
        )
    dominated = np.flatnonzero(np.all(matrix <= matrix.min(axis=1, keepdims=True), axis=0))
    if dominated.size:
        raise ValueError(
            f"predicting class number {dominated[0]} costs least whatever the truth is, so that one decision is always "
            "right: check the costs of its column (rows are true classes)"
        )
    return tuple(tuple(row) for row in matrix.tolist())


def _check_classes(classes: Any, n_classes: int) -> tuple[Any, ...]:
    labels = tuple(np.asarray(classes).tolist())
    if len(labels) != n_classes or len(set(labels)) != n_classes:
        raise ValueError(f"classes must be the {n_classes} different labels of the rows of costs, got {list(classes)}")
    return labels
