"""Columns of samples as users give them: arrays, sparse matrices, pandas or polars data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats

_STRONG = 0.8  # correlation from which two columns may stand in for each other
_MOST_COMPARED = 200  # columns whose correlations are computed


def has_columns(X: Any) -> bool:
    """Return whether samples have columns, which texts have not."""
    return hasattr(X, "shape") and len(X.shape) == 2


def column_names(X: Any, names: Any = None) -> list[str]:
    """Return the names of the columns: those given, those of a data frame, or numbers.

    Examples
    --------
    >>> column_names(np.zeros((3, 2)))
    ['feature 0', 'feature 1']
    """
    size = X.shape[1]
    names = getattr(X, "columns", None) if names is None else names
    found = [f"feature {k}" for k in range(size)] if names is None else [str(name) for name in names]
    if len(found) != size:
        raise ValueError(f"feature_names has {len(found)} names, but X has {size} columns")
    return found


def shuffle_column(X: Any, column: int, order: NDArray[np.intp]) -> Any:
    """Return a copy of samples with the values of one column in another order; other types of it stay.

    Examples
    --------
    >>> shuffle_column(np.array([[1, 2], [3, 4]]), 1, np.array([1, 0]))
    array([[1, 4],
           [3, 2]])
    """
    if sparse.issparse(X):
        columns = sparse.csc_array(X, copy=True)
        entries = slice(columns.indptr[column], columns.indptr[column + 1])
        columns.indices[entries] = np.argsort(order)[columns.indices[entries]]
        columns.has_sorted_indices = False
        shuffled = columns.tocsr()
        return shuffled if isinstance(X, sparse.sparray) else sparse.csr_matrix(shuffled)
    if hasattr(X, "iloc"):
        copy = X.copy()
        copy.isetitem(column, X.iloc[order, column].array)  # by position: names may occur twice
        return copy
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(X.to_series(column)[order.tolist()])
    copy = np.array(X)
    copy[:, column] = copy[order, column]
    return copy


def rank_columns(X: Any, scores: Sequence[Floats]) -> NDArray[np.intp]:
    """Return the columns in the order of their largest correlation with scores of a model, the strongest first.

    A column that holds no numbers is compared by the mean scores of its values.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Samples.
    scores : sequence of arrays
        Scores of the samples, for one or several classes.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "y", "x", "y"]})
    >>> rank_columns(X, [np.array([0.1, 0.9, 0.2, 0.8])]).tolist()
    [1, 0]
    """
    best = np.zeros(X.shape[1])
    for own in scores:
        best = np.maximum(best, _correlations(X, _standardise(own[:, None])[:, 0]))
    return np.argsort(-best, kind="stable")


def _correlations(X: Any, unit: Floats) -> Floats:
    """Return the absolute correlation of every column with scores of mean 0 and variance 1."""
    if sparse.issparse(X):
        spread = column_spread(X)
        together = np.abs(np.asarray(X.T @ unit).ravel()) / X.shape[0]
        return np.asarray(np.divide(together, spread, out=np.zeros(spread.size), where=spread > 0.0))
    values = np.column_stack([_as_numbers(one, unit) for one in _each_column(X)])
    return np.abs(_standardise(values).T @ unit) / len(unit)


def _each_column(X: Any) -> list[NDArray[Any]]:
    if hasattr(X, "columns"):
        frame = hasattr(X, "iloc")
        return [np.asarray(X.iloc[:, k]) if frame else np.asarray(X.to_series(k).to_numpy()) for k in range(X.shape[1])]
    return list(np.asarray(X).T)


def _as_numbers(column: NDArray[Any], unit: Floats) -> Floats:
    """Return a column as numbers; of categories, the mean score of each value."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    codes = np.unique(column.astype(str), return_inverse=True)[1]
    means = np.bincount(codes, weights=unit) / np.bincount(codes)
    return np.asarray(means[codes], dtype=np.float64)


def _standardise(values: Floats) -> Floats:
    """Return columns of mean 0 and variance 1; missing values become the mean, constant columns zeros."""
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.nanmax(np.abs(np.where(np.isfinite(values), values, 0.0)), axis=0)
        scaled = values / np.where(largest > 0.0, largest, 1.0)  # squares of large values would overflow
        scaled = np.where(np.isfinite(scaled), scaled, np.nan)
        present = np.isfinite(scaled)
        count = np.maximum(present.sum(axis=0), 1)
        centred = np.where(present, scaled - np.nansum(scaled, axis=0) / count, 0.0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    result: Floats = centred / np.where(spread > 1e-12, spread, np.inf)
    return result


def column_spread(samples: Any, sample_weight: Floats | None = None) -> Floats:
    """Return the standard deviation of every column, without overflow for large values.

    Parameters
    ----------
    samples : array or sparse matrix
        Numbers.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples.

    Examples
    --------
    >>> column_spread(np.array([[0.0, 1e200], [2.0, 3e200]]))
    array([1.e+000, 1.e+200])
    """
    shares = np.full(samples.shape[0], 1.0) if sample_weight is None else sample_weight
    shares = shares / shares.sum()
    largest = np.asarray(
        abs(samples).max(axis=0).todense() if sparse.issparse(samples) else np.abs(samples).max(axis=0)
    )
    scale = np.where(largest.ravel() > 0.0, largest.ravel(), 1.0).astype(np.float64)
    if sparse.issparse(samples):
        unit = samples @ sparse.diags(1.0 / scale)
        mean, squares = shares @ unit, shares @ unit.multiply(unit)
        return np.asarray(scale * np.sqrt(np.maximum(squares - mean**2, 0.0)))
    unit = np.asarray(samples, dtype=np.float64) / scale
    return np.asarray(scale * np.sqrt(shares @ (unit - shares @ unit) ** 2))


def correlated_pair(X: Any, columns: Any, names: list[str]) -> tuple[str, str, float] | None:
    """Return the two numeric columns of the strongest correlation, by name; None if no two are strongly correlated.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Samples; sparse columns are rarely correlated and not compared.
    columns : array of int
        The columns to compare.
    names : list of str
        Their names.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.1, 1.0], [3.0, 6.0, 0.0]])
    >>> correlated_pair(X, [0, 1, 2], ["a", "b", "c"])[:2]
    ('a', 'b')
    """
    if sparse.issparse(X) or len(columns) > _MOST_COMPARED:
        return None
    every = _each_column(X)
    numeric = [place for place, k in enumerate(columns) if every[k].dtype.kind in "biuf"]
    if len(numeric) < 2:
        return None
    values = _standardise(np.column_stack([every[columns[place]].astype(np.float64) for place in numeric]))
    matrix = np.triu(values.T @ values / len(values), 1)
    one, other = np.unravel_index(int(np.argmax(np.abs(matrix))), matrix.shape)
    strength = float(matrix[one, other])
    return (names[numeric[one]], names[numeric[other]], strength) if abs(strength) >= _STRONG else None
