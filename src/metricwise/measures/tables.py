"""Contingency tables, and the base class of the measures of one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats
from metricwise.measures.base import Response, Table
from metricwise.measures.checks import check_labels


def contingency_table(y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> Table:
    """Return the contingency table: the samples counted, or weighted, by truth and predicted label.

    Parameters
    ----------
    y, labels : array-like of shape (n_samples,)
        The truth and the predicted labels: 0 and 1, -1 and 1, or booleans.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples; all 1 by default.

    Returns
    -------
    Table
        ``tp``, ``fp``, ``fn`` and ``tn`` as floats.

    Examples
    --------
    >>> from metricwise.measures import contingency_table
    >>> contingency_table([1, 1, 0, 0, 0], [1, 0, 1, 0, 0])
    Table(tp=1.0, fp=1.0, fn=1.0, tn=2.0)
    """
    truth, predicted, weight = check_labels(y, labels, sample_weight)
    cells = np.bincount(2 * truth + predicted, weights=weight, minlength=4)
    tn, fp, fn, tp = map(float, cells)
    return Table(tp, fp, fn, tn)


def divide(numerator: Any, denominator: Any) -> Floats:
    """Divide elementwise; the result is zero where the denominator is, without a warning."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient = np.zeros(top.shape)
    with np.errstate(over="ignore"):  # the quotient of tiny weights may overflow
        np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient


class NamedTableMeasure(Protocol):
    """The attributes that `TableMeasure` needs of its subclasses."""

    @property
    def name(self) -> str:
        """The name of the measure, for messages."""

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return the measure of each table."""


class EvaluatesTable(ABC):
    """A measure of the contingency table; subclasses define a name and ``_value`` on float arrays of one shape."""

    response: ClassVar[Response] = "labels"
    # Exchanging positives and negatives leaves the measure unchanged: it needs no positive class.
    symmetric: ClassVar[bool] = False

    @abstractmethod
    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any: ...

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Evaluate the measure on one table or on arrays of tables, which broadcast.

        Counts may be weights. Negative counts, which rounding can produce, are taken as zero.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The measure of each table.
        """
        counts = (np.maximum(np.asarray(count, np.float64), 0.0) for count in (tp, fp, fn, tn))
        return self._value(*np.broadcast_arrays(*counts))[()]

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate predicted labels ``response`` against the true labels ``y``.

        Both hold 0 and 1, -1 and 1, or booleans.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Predicted labels, in the same form.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The measure of the labels.
        """
        table = contingency_table(y, response, sample_weight)
        return float(self.value(table.tp, table.fp, table.fn, table.tn))


class TableMeasure(EvaluatesTable):
    """A measure of the contingency table that classifiers are trained for: 1 for perfect labels."""

    # More true positives never lower the measure, and more false positives never raise it.
    monotone: ClassVar[bool] = True

    def mistakes_per_loss(self: NamedTableMeasure, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one.

        This is one over the loss of missing one unit of positive weight, with all other labels correct. Where the
        positives weigh less than one, all of them are missed and the loss is scaled up to one unit.

        Raises
        ------
        ValueError
            If there are no positives, or if missing one leaves a loss that is not positive and finite.
        """
        missed = min(1.0, n_pos)
        if not missed > 0:
            raise ValueError(
                f"Measure {self.name!r} needs positives to define the cost of a mistake, got n_pos={n_pos:g}."
            )
        loss = 1.0 - float(self.value(n_pos - missed, 0.0, missed, n_neg))
        if not (math.isfinite(loss) and loss > 0):
            raise ValueError(
                f"The loss 1 - {self.name} of missing one positive (n_pos={n_pos:g}, n_neg={n_neg:g}) is {loss:g} but "
                "must be positive and finite: the measure should be 1 for perfect labels and less after a mistake."
            )
        return missed / loss


class SymmetricTableMeasure(TableMeasure):
    """A measure of the contingency table that stays the same when positives and negatives are exchanged."""

    symmetric: ClassVar[bool] = True
