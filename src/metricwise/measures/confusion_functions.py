"""User-defined measures, given as functions of the multiclass confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.base import Response
from metricwise.measures.confusion import count_confusion, numerical_gradient
from metricwise.measures.function_measures import UserFunction

MatrixFunction = Callable[[Any], Any]

_SIZES = (3, 4)  # of matrices that functions of any number of classes are checked on
_SAME = 1e-6  # relative difference within which values count as the same


@stored_fields(version=1)
@dataclass(frozen=True)
class ConfusionMeasure(UserFunction):
    """A user-defined function of the confusion matrix; `confusion_measure` checks and makes it.

    Where the function returns NaN (0/0), the value is 0.

    Parameters
    ----------
    function : callable
        A function of a matrix, one row per true class and one column per predicted class.
    name : str
        The name of the measure.
    elementwise : bool
        Whether the function takes one matrix at a time, so that it is called once per matrix.
    n_classes : int or None
        The only number of classes that the function is for; None for any.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import confusion_measure
    >>> measure = confusion_measure(lambda C: np.trace(C) / C.sum(), name="share right")
    >>> type(measure).__name__, measure.name
    ('ConfusionMeasure', 'share right')
    """

    n_classes: int | None = None

    response: ClassVar[Response] = "labels"
    symmetric: ClassVar[bool] = True  # no class is the positive one
    needs_whole_matrix: ClassVar[bool] = True

    def of_confusion(self, matrices: Floats) -> Any:
        """Return the measure of confusion matrices, whose last axes are the true and the predicted class."""
        values = _evaluate(self.function, self.elementwise, np.asarray(matrices, dtype=np.float64))
        return np.where(np.isnan(values), 0.0, values)[()]

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares, by differences."""
        return numerical_gradient(self.of_confusion, matrix)

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate predicted classes against the true ones; the matrix has the classes that occur.

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
            The function of the confusion matrix; 0 where it is NaN.
        """
        return float(self.of_confusion(count_confusion(y, response, sample_weight)))

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes; the matrix has the classes that occur."""
        return self.score(y, labels, sample_weight)

    def _values_compared(self) -> Floats:
        return np.array([float(self.of_confusion(probe)) for probe in _probes(self.n_classes)])

    def _describe_compared(self, at: int) -> str:
        return f"the matrix {_probes(self.n_classes)[at].tolist()}"


def _probes(n_classes: int | None) -> list[Floats]:
    """Return matrices of different balance, without zeros, so that no sensible measure is 0/0."""
    found: list[Floats] = []
    for size in _SIZES if n_classes is None else (n_classes, n_classes):
        rows, columns = np.indices((size, size))
        matrix = 1.0 + (3 * rows + 5 * columns + len(found)) % 7 + np.diag(20.0 + 6.0 * np.arange(size) % 29)
        found.append(matrix.astype(np.float64))
    return found


def confusion_measure(
    function: MatrixFunction, name: str = "confusion measure", *, n_classes: int | None = None
) -> ConfusionMeasure:
    """Make a multiclass measure from a function of the confusion matrix.

    Parameters
    ----------
    function : callable
        A function of a matrix C of floats, whose entry C[i, j] is the weight of the samples of class i (in the order of
        the sorted labels) that are predicted as class j. It is greatest for perfect predictions and does not depend on
        the number of samples: divide by ``C.sum()`` where needed. If it also takes stacked matrices, whose last two
        axes are those of one, it is called once for many. Where it returns NaN (0/0), the measure is 0.
    name : str, default="confusion measure"
        The name of the measure, in messages and reports.
    n_classes : int, optional
        The number of classes, for a function that is for this number only, such as one of ``C[4, 0]``.

    Returns
    -------
    ConfusionMeasure
        The measure, for more than two classes; `contingency_measure` is for two. It can be pickled if the function can:
        a function defined in a module can, a lambda cannot.

    Raises
    ------
    TypeError
        If ``function`` cannot be called as described or ``name`` is not text.
    ValueError
        If ``function`` returns NaN or infinity, depends on the number of samples, or is not greatest for perfect
        predictions.

    Examples
    --------
    >>> import numpy as np
    >>> import metricwise
    >>> measure = metricwise.confusion_measure(lambda C: np.trace(C) / C.sum(), name="share right")
    >>> measure.score([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    if not callable(function):
        raise TypeError(f"function must be callable with a confusion matrix, got {function!r}.")
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be non-empty text, got {name!r}.")
    if n_classes is not None and (isinstance(n_classes, bool) or not isinstance(n_classes, int) or n_classes < 3):
        raise ValueError(f"n_classes must be a whole number of at least 3, or None, got {n_classes!r}.")
    probes = _probes(n_classes)
    for probe in probes:
        _check_function(function, name, probe)
    takes_stacks = all(_takes_stacks(function, probe) for probe in probes)
    return ConfusionMeasure(function, name, not takes_stacks, n_classes)


def _evaluate(function: MatrixFunction, elementwise: bool, matrices: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        if not elementwise:
            return np.asarray(function(matrices.copy()), dtype=np.float64)
        flat = matrices.reshape(-1, *matrices.shape[-2:])
        values = np.array([float(function(one.copy())) for one in flat])  # copies: functions may write to them
    return values.reshape(matrices.shape[:-2])


def _check_function(function: MatrixFunction, name: str, probe: Floats) -> None:
    try:
        value = np.asarray(function(probe.copy()))
    except (IndexError, ValueError) as error:
        raise ValueError(
            f"{name!r} fails for a matrix of {len(probe)} classes ({error}): if it is for another number of classes, "
            "set n_classes"
        ) from error
    except TypeError as error:
        raise TypeError(f"function must take one confusion matrix, but calling it failed: {error}") from error
    if value.ndim != 0 or value.dtype.kind not in "biuf":
        raise TypeError(
            f"function must return one real number per matrix, but for {probe.tolist()} it returned {value!r}."
        )
    if not np.isfinite(value):
        raise ValueError(
            f"function must return finite numbers where all entries are above zero, but for {probe.tolist()} it "
            f"returned {value}; check its formula for logarithms, roots and differences in denominators."
        )
    many = float(function(10.0 * probe))
    if not np.isclose(many, value, rtol=_SAME, atol=1e-12):
        raise ValueError(
            f"{name!r} depends on the number of samples: for {probe.tolist()} it is {float(value):g}, and {many:g} for "
            "ten times as many. Divide by C.sum(), or by the sums of rows or columns."
        )
    perfect = float(_evaluate(function, True, np.diag(probe.sum(axis=1))))
    if not perfect > float(value):
        raise ValueError(
            f"{name!r} is {perfect:g} for perfect predictions and {float(value):g} for the matrix {probe.tolist()}, so "
            "that training for it would look for mistakes. If it is a cost, use its negative."
        )


def _takes_stacks(function: MatrixFunction, probe: Floats) -> bool:
    """Return whether the function of stacked matrices returns what it returns for each."""
    stack = np.stack([probe, probe.T, probe + 1.0, probe[::-1], np.eye(len(probe)) + probe]).reshape(5, 1, *probe.shape)
    wanted = _evaluate(function, True, stack)
    try:
        found = np.asarray(_evaluate(function, False, stack))
    except Exception:  # a function of one matrix may raise anything when it gets more
        return False
    return found.shape == wanted.shape and np.allclose(found, wanted)
