"""The decision rule of a stream: predict what raises a measure most along its gradient at the running tables.

A measure psi of the contingency tables of the classes or labels changes by <grad psi, change> when one more sample is
counted. With probabilities eta of a sample, predicting class (or label) k instead of leaving it out changes psi by

    eta_k (a_k - c_k) + (1 - eta_k) (b_k - d_k) = slope_k eta_k + offset_k

in expectation, where a, b, c and d are the derivatives with respect to tp, fp, fn and tn of k. One class is predicted:
the one with the largest gain. Of labels, all with a gain above zero are predicted, which is a threshold of -offset /
slope; for the F-measure that is half of its running value (Busa-Fekete et al. 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.decisions.task import Task
from metricwise.measures import Averaged, CostMatrix, needs_whole_matrix
from metricwise.measures.confusion import one_vs_rest

_STEP = 1e-5  # of central differences, relative to the cell: their error is about its square
# Factors of the cells of a table (first axis) that move one of them (third axis) up or down (second axis).
_MOVES_OF_CELLS = 1.0 + _STEP * np.array([1.0, -1.0])[:, None, None] * np.eye(4)[:, None, :, None]


@stored_fields(version=1)
@dataclass(frozen=True)
class OnlineRule:
    """The expected gain in a measure, linear in the probabilities of a sample, of predicting each class or label.

    Attributes
    ----------
    slopes, offsets : arrays of shape (n_columns,)
        The gain of column k is ``slopes[k] * eta[k] + offsets[k]``.
    costs : array of shape (n_classes, n_classes), optional
        Costs of confusions, by true and predicted class, where gains depend on all probabilities; slopes and offsets
        are not used then.

    Examples
    --------
    >>> import numpy as np
    >>> rule = OnlineRule(np.array([2.0]), np.array([-0.5]))
    >>> rule.gains(np.array([[0.2], [0.3]])).ravel().round(2)
    array([-0.1,  0.1])
    >>> rule.thresholds
    array([0.25])
    """

    slopes: Floats
    offsets: Floats
    costs: Floats | None = None

    def gains(self, probabilities: Floats) -> Floats:
        """Return the expected gains of samples, one column per class or label."""
        if self.costs is not None:
            return np.asarray(-(probabilities @ self.costs))
        return np.asarray(probabilities * self.slopes + self.offsets)

    @property
    def thresholds(self) -> Floats:
        """The probability above which each label raises the measure; NaN where a higher one does not raise the gain."""
        positive = self.slopes > 0.0
        return np.where(positive, -self.offsets / np.where(positive, self.slopes, 1.0), np.nan)

    def move_towards(self, newer: OnlineRule, share: float) -> OnlineRule:
        """Return a moving average, in which a newer rule has a share.

        At a kink of the measure, as where both rates of the smaller one are equal, the gradient jumps between its two
        sides, and each of them alone would predict one class only. Their average is a gradient at the kink.
        """
        slopes = self.slopes + share * (newer.slopes - self.slopes)
        offsets = self.offsets + share * (newer.offsets - self.offsets)
        if self.costs is None or newer.costs is None:
            return OnlineRule(slopes, offsets)
        return OnlineRule(slopes, offsets, self.costs + share * (newer.costs - self.costs))


def make_rule(task: Task, counts: Floats) -> OnlineRule:
    """Return the rule at running counts, all of them above zero.

    Gains are multiplied by the number of samples, so that they have one scale however many there are.

    Parameters
    ----------
    task : Task
        What is predicted, and the measure of it.
    counts : array of shape (n_parts, n_values, n_values)
        Samples by true and predicted value: one part for classes (1 for the positive of two), one per label.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.decisions.tasks import Binary
    >>> from metricwise.measures import FBeta
    >>> rule = make_rule(Binary(np.array([0, 1]), FBeta(), 1), np.array([[[50.0, 20.0], [10.0, 30.0]]]))
    >>> bool(np.isclose(rule.thresholds[0], FBeta().value(30.0, 20.0, 10.0, 50.0) / 2))
    True
    """
    size = float(counts[0].sum())
    costs = _find_costs(task, counts[0] / size)
    if costs is not None:
        none = np.zeros(len(costs))
        return OnlineRule(none, none, costs)
    tp, fp, fn, tn = size * differentiate(task, tables_of(counts))
    return OnlineRule(tp - fn - fp + tn, fp - tn)


def _find_costs(task: Task, matrix: Floats) -> Floats | None:
    """Return the costs of confusions at a matrix of shares; None if tables of the classes determine the measure."""
    if isinstance(task.measure, CostMatrix):
        return task.measure.align(task.classes)
    if needs_whole_matrix(task.measure):
        return np.asarray(-task.measure.confusion_gradient(matrix))  # type: ignore[attr-defined]
    return None


def tables_of(counts: Floats) -> Floats:
    """Return tp, fp, fn and tn of every class or label, or of the positive of two classes, as rows."""
    if counts.shape[1] > 2:
        return np.array(one_vs_rest(counts[0]))
    return np.array([counts[:, 1, 1], counts[:, 0, 1], counts[:, 1, 0], counts[:, 0, 0]])


def evaluate_counts(task: Task, counts: Floats) -> float:
    """Return the measure of counts, of those classes that are true or predicted; NaN without any sample."""
    if not counts.any():
        return float("nan")
    if isinstance(task.measure, CostMatrix):
        costs = task.measure.align(task.classes)
        return 1.0 - float((costs * counts[0]).sum() / counts[0].sum()) / task.measure.unit
    if needs_whole_matrix(task.measure):
        occurs = counts[0].any(axis=0) | counts[0].any(axis=1)
        return float(task.measure.of_confusion(counts[0][np.ix_(occurs, occurs)]))  # type: ignore[attr-defined]
    tables = tables_of(counts)
    if task.is_binary:
        return float(value_function(task)(*tables[:, 0]))
    present = np.ones(tables.shape[1], dtype=bool) if task.is_multilabel else tables[:3].any(axis=0)
    return float(value_function(task)(*tables[:, present]))


def value_function(task: Task) -> Callable[..., Any]:
    """Return the measure as a function of tables; those of classes and labels along the last axis."""
    measure: Any = task.measure if task.is_binary else task.average  # type: ignore[attr-defined]
    function: Callable[..., Any] = measure.value if task.is_binary else measure.of_tables
    return function


def differentiate(task: Task, tables: Floats) -> Floats:
    """Return the derivatives of a measure with respect to all cells of its tables.

    Parameters
    ----------
    task : Task
        Its measure is a function of the tables.
    tables : array of shape (4, n_columns)
        tp, fp, fn and tn of every class or label, above zero.

    Returns
    -------
    array of shape (4, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.decisions.tasks import Binary
    >>> from metricwise.measures import Accuracy
    >>> differentiate(Binary(np.array([0, 1]), Accuracy(), 1), np.array([[3.0], [1.0], [2.0], [4.0]])).ravel().round(6)
    array([ 0.03, -0.07, -0.07,  0.03])
    """
    if task.is_binary:
        return _differentiate_columns(task.measure.value, tables)  # type: ignore[attr-defined]
    measure = task.average  # type: ignore[attr-defined]
    if not isinstance(measure, Averaged):
        return _differentiate_jointly(measure.of_tables, tables)
    if measure.average == "micro":
        summed = _differentiate_columns(measure.base.value, tables.sum(axis=1, keepdims=True))
        return np.repeat(summed, tables.shape[1], axis=1)
    slopes = _differentiate_columns(measure.base.value, tables)
    if measure.average == "macro":
        return np.asarray(slopes / tables.shape[1])
    return _weigh_by_support(slopes, np.asarray(measure.base.value(*tables)), tables)


def _weigh_by_support(slopes: Floats, values: Floats, tables: Floats) -> Floats:
    """Return the derivatives of the mean of values weighted by tp + fn: these change the weights, too."""
    support = tables[0] + tables[2]
    weighted = slopes * support / support.sum()
    weighted[[0, 2]] += (values - (support @ values) / support.sum()) / support.sum()
    return np.asarray(weighted)


def _differentiate_columns(value: Callable[..., Any], tables: Floats) -> Floats:
    """Return the derivatives of a value of each column's own table, by central differences."""
    higher, lower = value(*(tables[:, None, None, :] * _MOVES_OF_CELLS))
    return np.asarray((higher - lower) / (2.0 * _STEP * tables))


def _differentiate_jointly(value: Callable[..., Any], tables: Floats) -> Floats:
    """Return the derivatives of one value of all tables, by central differences."""
    moves = np.diag(_STEP * tables.ravel()).reshape(tables.size, *tables.shape)
    higher, lower = np.asarray(value(*np.moveaxis(tables + np.stack([moves, -moves]), 2, 0)))
    return np.asarray((higher - lower).reshape(tables.shape) / (2.0 * _STEP * tables))
