"""Averages of a measure over classes, labels or samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.base import CountsTable, IsCost, IsTotal, Measure, Response, Table
from metricwise.measures.checks import check_finite, check_same_length
from metricwise.measures.confusion import ConfusionOfTables, chain_tables, numerical_gradient, one_vs_rest
from metricwise.measures.tables import divide

Average = Literal["macro", "micro", "weighted", "samples"]
AVERAGES: tuple[str, ...] = get_args(Average)


@stored_fields(version=1)
@dataclass(frozen=True)
class Averaged(ConfusionOfTables):
    """The average of a measure over the classes of a multiclass, or the labels of a multilabel, problem.

    Parameters
    ----------
    base : measure
        A function of the contingency table, such as `FBeta`.
    average : {"macro", "micro", "weighted", "samples"}, default="macro"
        "macro" is the mean over classes, one class vs the rest; "weighted" weights each class by its number of true
        samples; "micro" is the measure of the sum of all tables; "samples" is the mean over samples, for multilabel
        targets only.

    Examples
    --------
    >>> from metricwise.measures import Averaged, FBeta, get_measure
    >>> round(Averaged(FBeta(), "macro").score([0, 1, 2, 2], [0, 1, 1, 2]), 4)
    0.7778
    >>> get_measure("f1_micro").score([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """

    base: Any
    average: Average = "macro"

    response: ClassVar[Response] = "labels"
    symmetric: ClassVar[bool] = True  # both classes enter the average

    def __post_init__(self) -> None:
        if not (isinstance(self.base, Measure) and isinstance(self.base, CountsTable)) or isinstance(self.base, type):
            raise TypeError(f"base must be a measure of the contingency table, such as FBeta(), got {self.base!r}.")
        if isinstance(self.base, Averaged):
            raise TypeError(f"base must be a measure of one table, but {self.base.name!r} is an average itself.")
        if isinstance(self.base, IsTotal):
            raise TypeError(f"base must be a measure of one value per class, but {self.base.name!r} is a total.")
        if isinstance(self.base, IsCost):
            raise TypeError(f"base must be a measure of which more is better, but {self.base.name!r} is a cost.")
        if self.average not in AVERAGES:
            raise ValueError(f"average must be one of {', '.join(AVERAGES)}, got {self.average!r}.")

    @property
    def name(self) -> str:
        """The name of the measure followed by the average: "f1_macro"."""
        return f"{self.base.name}_{self.average}"

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return the average over two classes, given the table of one: the other has the mirrored table.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The average over the class of the table and the other class.

        Examples
        --------
        >>> from metricwise.measures import Averaged, FBeta
        >>> float(Averaged(FBeta(), "micro").value(tp=3.0, fp=1.0, fn=1.0, tn=5.0))
        0.8
        """
        self._refuse_samples()
        mirrored = ((tp, tn), (fp, fn), (fn, fp), (tn, tp))
        return self.of_tables(*(np.stack(np.broadcast_arrays(*both), axis=-1) for both in mirrored))

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Return the average over tables whose last axis runs over the classes (over the samples for "samples")."""
        if self.average == "micro":
            return self.base.value(*(np.sum(count, axis=-1) for count in (tp, fp, fn, tn)))
        values = np.asarray(self.base.value(tp, fp, fn, tn), dtype=np.float64)
        if self.average != "weighted":
            return values.mean(axis=-1)
        support = np.add(tp, fn)
        return divide((support * values).sum(axis=-1), np.sum(support, axis=-1))[()]

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares; by differences if those of the base are not known."""
        if not hasattr(self.base, "table_gradient"):
            return numerical_gradient(self.of_confusion, matrix)
        tables = one_vs_rest(matrix)
        if self.average == "micro":
            slopes = self.base.table_gradient(*(np.asarray(cell.sum()) for cell in tables))
            return chain_tables(*(np.full(len(matrix), float(slope)) for slope in slopes))
        shares = matrix.sum(axis=1) if self.average == "weighted" else np.full(len(matrix), 1.0 / len(matrix))
        return chain_tables(*(shares * slope for slope in self.base.table_gradient(*tables)))

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate predicted classes, or a 0/1 matrix of predicted labels, against the true ones.

        Parameters
        ----------
        y : array of shape (n_samples,) or (n_samples, n_labels)
            True classes, or a 0/1 matrix of true labels.
        response : array of the shape of y
            Predicted classes, or a 0/1 matrix of predicted labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The average; 1 for perfect predictions.

        Raises
        ------
        ValueError
            If the shapes differ, or ``average="samples"`` and y has one dimension.
        """
        truth, predicted = np.asarray(y), np.asarray(response)
        if truth.shape != predicted.shape or truth.ndim not in (1, 2):
            raise ValueError(f"y and the prediction must have the same shape, got {truth.shape} and {predicted.shape}.")
        if truth.ndim == 1:
            self._refuse_samples()
            classes = np.unique(np.concatenate([truth, predicted]))
            truth, predicted = truth[:, None] == classes, predicted[:, None] == classes
        weight = np.ones(len(truth))
        if sample_weight is not None:
            weight = check_finite(sample_weight, "sample_weight")
            check_same_length(weight, "sample_weight", truth, "y")
        if self.average == "samples":
            cells = matrix_table(truth.T != 0, predicted.T != 0, np.ones(truth.shape[1]))
            return float(np.average(self.evaluate_tables(cells), weights=weight))
        table = matrix_table(truth != 0, predicted != 0, weight)
        return float(self.of_tables(table.tp, table.fp, table.fn, table.tn))

    def _refuse_samples(self) -> None:
        if self.average == "samples":
            raise ValueError(
                f"{self.name!r} averages over samples of a multilabel target, but y has one dimension; "
                "pass a matrix of 0 and 1, one column per label."
            )

    def evaluate_tables(self, cells: Table) -> Floats:
        """Return the base measure of each table, without averaging.

        Parameters
        ----------
        cells : Table
            The tables, whose cells are arrays of one shape.

        Returns
        -------
        array
            The value of each table, of that shape.
        """
        return np.asarray(self.base.value(cells.tp, cells.fp, cells.fn, cells.tn), dtype=np.float64)


def is_sample_average(measure: Measure) -> bool:
    """Whether a measure is the mean over the samples of a multilabel problem."""
    return isinstance(measure, Averaged) and measure.average == "samples"


def matrix_table(truth: NDArray[np.bool_], predicted: NDArray[np.bool_], weight: Floats) -> Table:
    """Return the weighted contingency table of each column.

    Examples
    --------
    >>> import numpy as np
    >>> matrix_table(np.array([[True, False]]), np.array([[True, True]]), np.ones(1)).fp
    array([0., 1.])
    """
    tp, n_predicted, n_true = weight @ (truth & predicted), weight @ predicted, weight @ truth
    return Table(tp, n_predicted - tp, n_true - tp, weight.sum() - n_predicted - n_true + tp)
