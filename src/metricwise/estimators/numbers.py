"""Refuse numbers that learners cannot compute with."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise.designs.finite import LARGEST, are_surely_within


def refuse_huge_numbers(X: Any, names: Any = None, largest: float = LARGEST) -> None:
    """Raise a ValueError that names the first number that is too large, by default for single precision.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Valid samples.
    names : array of str, optional
        The names of the columns of an array or a sparse matrix.
    largest : float
        Largest absolute value that is accepted.

    Examples
    --------
    >>> refuse_huge_numbers(np.array([[1.0, 2.0], [1e200, 3.0]]))
    Traceback (most recent call last):
        ...
    ValueError: column 0 of X has the value 1e+200 in sample 1, and learners compute with numbers up to 3.4e+38: ...
    """
    if hasattr(X, "columns"):
        from metricwise.estimators.selection.columns import holds_numbers, read_values

        columns = ((name, read_values(X, name)) for name in X.columns)
        for name, values in columns:
            if holds_numbers(values) and _has_huge(values, largest):
                sample = int(np.argmax(_are_huge(values, largest)))
                _refuse(repr(name), sample, values[sample], largest)
    elif sparse.issparse(X):
        if _has_huge(X.data, largest):
            entries = X.tocoo()
            first = int(np.argmax(_are_huge(entries.data, largest)))
            _refuse(_name_column(names, entries.col[first]), int(entries.row[first]), entries.data[first], largest)
    elif _has_huge(X, largest):
        sample, column = np.argwhere(_are_huge(X, largest))[0]
        _refuse(_name_column(names, column), int(sample), X[sample, column], largest)


def _name_column(names: Any, column: int) -> str:
    return str(column) if names is None else repr(str(names[column]))


def _has_huge(values: NDArray[Any], largest: float) -> bool:
    if values.size == 0 or (values.dtype.kind == "f" and are_surely_within(values, largest)):
        return False
    # Unlike max and min these skip NaN, without a copy.
    high, low = float(np.fmax.reduce(values, axis=None)), float(np.fmin.reduce(values, axis=None))
    return max(high, -low) > largest


def _are_huge(values: NDArray[Any], largest: float) -> NDArray[np.bool_]:
    huge: NDArray[np.bool_] = np.abs(values.astype(np.float64)) > largest
    return huge


def _refuse(column: str, sample: int, value: Any, largest: float) -> NoReturn:
    raise ValueError(
        f"column {column} of X has the value {float(value):g} in sample {sample}, and learners compute with numbers up "
        f"to {largest:.2g}: correct it if it is a mistake or stands for a missing value, or use the logarithm of the "
        "column"
    )
