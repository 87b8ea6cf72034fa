"""Samples as users give them, checked once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NoReturn

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from metricwise._sklearn import check_n_features
from metricwise.clusters import is_dask
from metricwise.designs import BlockReader, DataSource
from metricwise.registry import entries, listed


def validate_samples(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    least: int = 1,
    order: Literal["C"] | None = None,
    missing: bool = False,
    chunks: bool = False,
) -> Any:
    """Return X, or X and y, as arrays or chunks that solvers can use without a copy where possible.

    Parameters
    ----------
    estimator : estimator
        Takes note of number and names of the features, or (``reset=False``) is asked for them.
    X, y : array-like
        Samples and, if given, their labels.
    reset : bool
        Whether these are the first samples.
    least : int
        Fewest samples.
    order : {"C"}, optional
        "C" if the entries of a sample must lie one behind the other in memory.
    missing : bool
        Whether numbers may be missing (NaN).
    chunks : bool
        Whether samples may be in chunks that are not all in memory.
    """
    refuse_dask(estimator, X)
    if is_chunked(X):
        if not chunks:
            refuse_chunks(type(estimator).__name__)
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


def is_chunked(X: Any) -> bool:
    """Whether samples are in chunks that are not all in memory."""
    return isinstance(X, BlockReader | DataSource)


def refuse_chunks(who: str) -> NoReturn:
    """Raise the error of what needs all samples in memory."""
    raise ValueError(
        f"{who} needs all samples in memory, and these are in chunks that are not: train "
        f"{listed(entries(trains_on='disk'))} without a kernel and with all pairs; or, with fit_stream, "
        f"{listed(entries(trains_on='stream'))}; or load the samples if they fit into memory"
    )


def labels_of(X: Any, y: Any) -> Any:
    """Return y, or the labels that chunks know if it is None."""
    return getattr(X, "y", None) if y is None and is_chunked(X) else y


def _checked_chunks(estimator: Any, X: Any, y: Any, reset: bool) -> Any:
    """Return chunks as they are, whose numbers are checked when they are read, with labels that fit them."""
    _check_names(estimator, getattr(X, "feature_names", None), reset)
    check_n_features(estimator, X, reset=reset)
    if isinstance(y, str) and y == "no_validation":
        return X
    labels = labels_of(X, y)
    if labels is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None, and the data were opened "
            "without one: name it with metricwise.io.open(path, target=...), or pass y"
        )
    labels = column_or_1d(labels, warn=True)
    if len(labels) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} samples and y has {len(labels)} labels: they must be the same samples")
    return X, labels


def _check_names(estimator: Any, names: Sequence[str] | None, reset: bool) -> None:
    """Take note of the names of the features, or raise if they are others than those of training."""
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    known = getattr(estimator, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(known):
        return
    differ = [(old, new) for old, new in zip(known, names, strict=False) if old != new][:1]
    told = f": {differ[0][1]!r} stands where {differ[0][0]!r} did" if differ else f" in number: {len(names)}"
    raise ValueError(f"the names of the features differ from those in training{told}. Bring the columns into its order")


def refuse_dask(estimator: Any, X: Any) -> None:
    """Raise a ValueError if X is a Dask collection, which would be brought into memory without a word."""
    if is_dask(X):
        raise ValueError(
            f"{type(estimator).__name__} needs all samples in memory, and X is a Dask collection: use X.compute(), or "
            f"train {listed(entries('svm', 'streaming', trains_on='cluster'))} without a kernel, or "
            f"{listed(entries('wrapper', trains_on='cluster'))} around one of them or around a classifier with "
            "partial_fit"
        )


def refuse_dask_in_order(method: str, X: Any) -> None:
    """Raise a ValueError if samples that are to be learnt from one by one are a Dask collection."""
    if is_dask(X):
        raise ValueError(
            f"{method} learns from sample after sample in one process, and X is a Dask collection: use fit of "
            f"{listed(entries('streaming', trains_on='cluster'))}, or X.compute()"
        )


def refuse_empty_frame(X: Any) -> None:
    """Raise a ValueError if X is a data frame without samples or columns."""
    if hasattr(X, "columns") and 0 in X.shape:
        raise ValueError(
            f"X has 0 {'sample' if X.shape[0] == 0 else 'feature'}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required: check how the data frame was read or filtered"
        )


@contextmanager
def restore_on_error(estimator: Any) -> Iterator[None]:
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
