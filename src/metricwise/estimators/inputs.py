"""Validate the samples that users pass, and note their features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d, validate_data

from metricwise._sklearn import check_n_features
from metricwise.clusters import is_dask, load_into_memory, refuse_client, running_client
from metricwise.decisions.chunk_learners import refuse_kernels
from metricwise.designs import BlockReader, DataSource
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.finite import are_surely_within
from metricwise.estimators.numbers import refuse_huge_numbers
from metricwise.memory import check_feature_memory
from metricwise.raw_inputs import check_samples, read_labels
from metricwise.registry import entries, join_names, trains_on

_MOST_COPIED_VALUES = 2**25  # of a matrix that is copied to another memory layout; 256 megabytes
_LEAST_VECTORS = 3  # that training keeps: the weights, a gradient or cut, and the sum of several
_WRONG_ORDER = "Feature names must be in the same order as they were in fit"


def data_of_cluster(model: Any, X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return the data of `fit`: a Dask collection as chunks on its cluster, labels and weights in memory.

    Parameters
    ----------
    model : estimator
        The estimator to train.
    X, y, sample_weight
        The arguments of `fit`.
    client : distributed.Client or None
        The client of the cluster; None for the one started last.
    """
    if is_dask(X):
        refuse_kernels(model)
        if not trains_on(model, "cluster"):
            return X, y, sample_weight  # refused where samples are checked
    return chunks_of_cluster(X, y, sample_weight, client)


def chunks_of_cluster(X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return a Dask collection as chunks on its cluster, other samples unchanged; labels and weights in memory.

    Weights that are not given are those in the file of samples on disk.
    """
    refuse_client(client, X)
    if not is_dask(X):
        if sample_weight is None and isinstance(X, BlockReader):
            sample_weight = X.sample_weight
        return X, load_into_memory(y), load_into_memory(sample_weight)
    client = running_client(client)
    labels, weights = load_into_memory(y, client), load_into_memory(sample_weight, client)
    return DaskSource(persist_blocks(X, client)), labels, weights


def training_order(X: Any) -> Literal["C"] | None:
    """Return the memory layout in which solvers read samples; None for that of a large matrix, which is not copied.

    Sums over features and over samples round differently in each layout, and training that meets ties ends elsewhere
    within its tolerance. In one layout, the same samples give the same model.
    """
    return "C" if np.prod(getattr(X, "shape", ()), dtype=np.float64) <= _MOST_COPIED_VALUES else None


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
    largest: float | None = None,
    adds_repeated: bool = False,
) -> Any:
    """Return X, or X and y, as arrays or chunks that solvers can use without a copy where possible.

    Parameters
    ----------
    estimator : estimator
        Receives the number and names of the features, or (``reset=False``) is compared with them.
    X, y : array-like
        Samples and, if given, their labels.
    reset : bool
        Whether these are the first samples.
    least : int
        Least number of samples.
    order : {"C"}, optional
        "C" if the features of a sample must be contiguous in memory.
    missing : bool
        Whether values may be missing (NaN).
    chunks : bool
        Whether samples may be in chunks that are not all in memory.
    largest : float, optional
        Largest absolute value in memory that the estimator computes with; those of chunks are checked when read.
    adds_repeated : bool
        Whether the samples are only multiplied by weights, which adds repeated entries of a sparse matrix up.
    """
    refuse_dask(estimator, X)
    if is_chunked(X):
        if not chunks:
            refuse_chunks(type(estimator).__name__)
        return _validate_chunks(estimator, X, y, reset)
    X = check_samples(X, adds_repeated=adds_repeated)
    if not (isinstance(y, str) or y is None):
        y = read_labels(y)
    refuse_empty_frame(X)
    if reset and sparse.issparse(X):
        check_feature_memory(X.shape[1], 8 * _LEAST_VECTORS)
    is_checked = largest is not None and _are_surely_within(X, largest)
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn adds up all values, which may overflow in both directions
            valid = validate_data(
                estimator,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                order=order,
                dtype=[np.float64, np.float32],
                ensure_min_samples=least,
                ensure_all_finite=False if is_checked else "allow-nan" if missing else True,
            )
    except ValueError as error:
        if _WRONG_ORDER in str(error):  # scikit-learn names columns that are new or missing, not those out of order
            raise ValueError(
                f"{str(error).rstrip()}{_first_difference(estimator.feature_names_in_, list(X.columns))}; use "
                "X[model.feature_names_in_]"
            ) from error
        if "could not convert string to float" not in str(error):
            raise
        raise ValueError(
            f"{error}: {_text_column(X)}. Encode it as numbers (OneHotEncoder, OrdinalEncoder) or drop it"
        ) from error
    except OverflowError as error:
        raise ValueError(f"X holds an integer too large for a floating-point number ({error}): scale it") from error
    if largest is not None and not is_checked:
        values = valid[0] if isinstance(valid, tuple) else valid
        refuse_huge_numbers(values, getattr(estimator, "feature_names_in_", None), largest)
    return valid


def _are_surely_within(X: Any, largest: float) -> bool:
    """Return whether one fast pass over an array or a sparse matrix shows that all values are finite and not too large.

    Two passes, of scikit-learn for the first and of ours for the second, would take a tenth of a pass that learns.
    """
    values = X.data if sparse.issparse(X) and X.format == "csr" else X
    return type(values) is np.ndarray and are_surely_within(values, largest)


def is_chunked(X: Any) -> bool:
    """Return whether samples are in chunks that are not all in memory."""
    return isinstance(X, BlockReader | DataSource)


def refuse_chunks(who: str) -> NoReturn:
    """Raise a ValueError because something needs all samples in memory."""
    raise ValueError(
        f"{who} needs all samples in memory, and these are in chunks that are not: train "
        f"{join_names(entries(trains_on='disk'))} without a kernel and with all pairs; or, with fit_stream, "
        f"{join_names(entries(trains_on='stream'))}; or load the samples if they fit into memory"
    )


def labels_of(X: Any, y: Any) -> Any:
    """Return y, or the labels in the file of samples on disk if it is None."""
    return X.y if y is None and isinstance(X, BlockReader) else y


def _validate_chunks(estimator: Any, X: Any, y: Any, reset: bool) -> Any:
    """Return chunks, whose values are checked when they are read, with labels of the same length."""
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
    """Set the names of the features, or raise a ValueError if they differ from those of training."""
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            set_feature_names(estimator, names)
        return
    known = getattr(estimator, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(known):
        return
    difference = _first_difference(known, names) or f" in number: {len(names)}"
    raise ValueError(
        f"the names of the features differ from those in training{difference}. Bring the columns into its order"
    )


def set_feature_names(estimator: Any, names: Sequence[str]) -> None:
    """Set the names of the features, as scikit-learn stores them."""
    estimator.feature_names_in_ = np.array(names, dtype=object)


def _first_difference(known: Sequence[str], names: Sequence[str]) -> str:
    """Return which name stands where another did in training; nothing if no name differs."""
    differ = ((old, new) for old, new in zip(known, names, strict=False) if old != new)
    return next((f": {new!r} stands where {old!r} did" for old, new in differ), "")


def refuse_dask(estimator: Any, X: Any) -> None:
    """Raise a ValueError if X is a Dask collection, which would otherwise be loaded into memory silently."""
    if is_dask(X):
        raise ValueError(
            f"{type(estimator).__name__} needs all samples in memory, and X is a Dask collection: use X.compute(), or "
            f"train {join_names(entries('selection', 'svm', 'streaming', trains_on='cluster'))} without a kernel, or "
            f"{join_names(entries('wrapper', trains_on='cluster'))} around one of them or around a classifier with "
            "partial_fit"
        )


def refuse_dask_in_order(method: str, X: Any) -> None:
    """Raise a ValueError if samples for a method that reads them in order are a Dask collection."""
    if is_dask(X):
        raise ValueError(
            f"{method} learns from sample after sample in one process, and X is a Dask collection: use fit of "
            f"{join_names(entries('streaming', trains_on='cluster'))}, or X.compute()"
        )


def refuse_empty_frame(X: Any) -> None:
    """Raise a ValueError if X is a data frame without samples or columns."""
    if hasattr(X, "columns") and 0 in X.shape:
        raise ValueError(
            f"X has 0 {'sample' if X.shape[0] == 0 else 'feature'}(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            "required: check how the data frame was read or filtered"
        )


def _text_column(X: Any) -> str:
    """Return a phrase that names the column with text."""
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
    names = list(X.columns) if hasattr(X, "columns") else list(range(values.shape[1])) if values.ndim == 2 else []
    for number, name in enumerate(names):
        try:
            np.asarray(values[:, number], dtype=np.float64)
        except (ValueError, TypeError):
            return f"column {name!r} of X holds text"
    return "X holds text"


def copy_feature_names(estimator: Any, models: Iterable[Any]) -> None:
    """Copy number and names of the features from the first model that has them."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
        known = [getattr(model, name) for model in models if hasattr(model, name)]
        if known:
            setattr(estimator, name, known[0])
