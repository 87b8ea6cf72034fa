"""Rows as users give them, checked once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import _check_n_features, column_or_1d, validate_data

from metricwise.designs import ChunkSource


def checked_rows(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    least: int = 1,
    order: Literal["C"] | None = None,
    missing: bool = False,
) -> Any:
    """Return X, or X and y, as arrays or chunks that solvers can use without a copy where possible.

    Parameters
    ----------
    estimator : estimator
        Takes note of number and names of the features, or (``reset=False``) is asked for them.
    X, y : array-like
        Rows and, if given, their labels.
    reset : bool
        Whether these are the first rows.
    least : int
        Fewest rows.
    order : {"C"}, optional
        "C" if the entries of a row must lie one behind the other in memory.
    missing : bool
        Whether numbers may be missing (NaN).
    """
    if isinstance(X, ChunkSource):
        return _checked_chunks(estimator, X, y, reset)
    refuse_empty_frame(X)
    try:
        return validate_data(
            estimator,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            order=order,
            dtype=[np.float64, np.float32],
            ensure_min_samples=least,
            ensure_all_finite="allow-nan" if missing else True,
        )
    except ValueError as error:
        if "could not convert string to float" not in str(error):
            raise
        raise ValueError(
            f"{error}: {_text_column(X)}. Encode it as numbers (OneHotEncoder, OrdinalEncoder) or drop it"
        ) from error


def _checked_chunks(estimator: Any, X: ChunkSource, y: Any, reset: bool) -> Any:
    """Return chunks as they are, whose numbers are checked when they are read, with labels that fit them."""
    _check_n_features(estimator, X, reset=reset)
    if isinstance(y, str) and y == "no_validation":
        return X
    labels = getattr(X, "y", None) if y is None else y
    if labels is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None, and the data were opened "
            "without one: name it with metricwise.io.open(path, target=...), or pass y"
        )
    labels = column_or_1d(labels, warn=True)
    if len(labels) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has {len(labels)} labels: they must be the same rows")
    return X, labels


def refuse_empty_frame(X: Any) -> None:
    """Raise a ValueError if X is a data frame without rows or columns."""
    if hasattr(X, "columns") and 0 in X.shape:
        raise ValueError(
            f"X has 0 {'sample' if X.shape[0] == 0 else 'feature'}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required: check how the data frame was read or filtered"
        )


@contextmanager
def unchanged_by_errors(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was, its note of the features included, if what is done meanwhile fails."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _text_column(X: Any) -> str:
    """Say which column holds text."""
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
    names = list(X.columns) if hasattr(X, "columns") else list(range(values.shape[1])) if values.ndim == 2 else []
    for number, name in enumerate(names):
        try:
            np.asarray(values[:, number], dtype=np.float64)
        except (ValueError, TypeError):
            return f"column {name!r} of X holds text"
    return "X holds text"
