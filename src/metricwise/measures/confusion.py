"""Confusion matrices: their one-vs-rest tables, and measures of them with gradients.

The last two axes of a matrix are the true and the predicted class. Gradients are those at matrices of shares, among
matrices with the same class shares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats
from metricwise.measures.checks import check_same_length, check_weights
from metricwise.measures.multiclass_capabilities import CountsConfusion

_STEP = 1e-5  # of shares, for numerical gradients
_MOST_CELLS = 2_000_000  # of matrices that are evaluated at once


def count_confusion(
    y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None, classes: ArrayLike = ()
) -> Floats:
    """Return the weights of samples by true and predicted class, for the classes that occur or are given, sorted.

    Examples
    --------
    >>> count_confusion(["a", "b", "b"], ["a", "b", "a"])
    array([[1., 0.],
           [1., 1.]])
    """
    truth, predicted = np.asarray(y), np.asarray(labels)
    check_same_length(predicted, "labels", truth, "y")
    known = np.unique(np.concatenate([truth, predicted, np.asarray(classes, dtype=truth.dtype)]))
    size, true_codes, found = known.size, np.searchsorted(known, truth), np.searchsorted(known, predicted)
    weights = check_weights(sample_weight, truth)
    return np.bincount(true_codes * size + found, weights, size * size).astype(np.float64).reshape(size, size)


def one_vs_rest(matrices: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tables tp, fp, fn, tn of all classes from matrices (true class, predicted class) in the last axes.

    Examples
    --------
    >>> import numpy as np
    >>> one_vs_rest(np.array([[5.0, 1.0, 0.0], [2.0, 7.0, 0.0], [0.0, 0.0, 9.0]]))[1]
    array([2., 1., 0.])
    """
    tp = np.diagonal(matrices, axis1=-2, axis2=-1)
    fp, fn = matrices.sum(axis=-2) - tp, matrices.sum(axis=-1) - tp
    return tp, fp, fn, matrices.sum(axis=(-2, -1))[..., None] - tp - fp - fn


def of_matrices(measure: Any, matrices: Floats) -> Any:
    """Return a multiclass measure of confusion matrices, by its one-vs-rest tables if it counts these only."""
    if isinstance(measure, CountsConfusion):
        return measure.of_confusion(matrices)
    return measure.of_tables(*one_vs_rest(matrices))


class _CountsTables(Protocol):
    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any: ...


class ConfusionOfTables:
    """Evaluates confusion matrices by their one-vs-rest tables."""

    def of_confusion(self: _CountsTables, matrices: Floats) -> Any:
        """Return the measure of confusion matrices, whose last axes are the true and the predicted class."""
        return self.of_tables(*one_vs_rest(np.asarray(matrices, dtype=np.float64)))


def chain_tables(tp: Any, fp: Any, fn: Any, tn: Any) -> Floats:
    """Return the gradient with respect to the confusion matrix, given that with respect to the tables of all classes.

    A sample of class i that is predicted as j counts in the fn of i, the fp of j and the tn of all others.
    """
    tp, fp, fn, tn = (np.asarray(part, dtype=np.float64) for part in (tp, fp, fn, tn))
    gradient: Floats = fn[:, None] + fp + (tn.sum() - tn[:, None] - tn)
    np.fill_diagonal(gradient, tp + tn.sum() - tn)
    return gradient


def numerical_gradient(value: Callable[[Floats], Any], matrix: Floats) -> Floats:
    """Return the gradient of a function of stacked confusion matrices by differences.

    Examples
    --------
    >>> import numpy as np
    >>> share = np.array([[0.4, 0.1], [0.2, 0.3]])
    >>> numerical_gradient(lambda C: C[..., 0, 0] ** 2, share).round(6)
    array([[0.8, 0. ],
           [0. , 0. ]])
    """
    size = matrix.size
    slopes = np.empty(size)
    block = max(1, _MOST_CELLS // (2 * size))
    for start in range(0, size, block):
        cells = np.arange(start, min(start + block, size))
        moved = np.tile(matrix.ravel(), (2, cells.size, 1))
        moved[0, np.arange(cells.size), cells] += _STEP
        below = np.maximum(matrix.ravel()[cells] - _STEP, 0.0)  # shares are not negative
        moved[1, np.arange(cells.size), cells] = below
        up, down = np.asarray(value(moved.reshape(2, cells.size, *matrix.shape)), dtype=np.float64)
        slopes[cells] = (up - down) / (matrix.ravel()[cells] + _STEP - below)
    return slopes.reshape(matrix.shape)
