"""Dask collections at the door of the estimators: to training with rows on a cluster, and to lazy predictions."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from metricwise.clusters import at_hand, is_dask, refuse_client, running_client
from metricwise.designs.dask_source import DaskSource

if TYPE_CHECKING:
    from metricwise.estimators.linear import LinearClassifier

_NOT_FOR_PREDICTION = ("_warm_states", "callback")  # large, or at home in this process only


def rows_of_cluster(model: Any, X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return what `fit` was given, with a Dask collection as chunks on its cluster, and labels and weights at hand.

    Parameters
    ----------
    model : estimator
        That is to be trained.
    X, y, sample_weight
        As users give them.
    client : distributed.Client or None
        Of the cluster; None for the one started last.
    """
    refuse_client(client, X)
    if not is_dask(X):
        return X, at_hand(y), at_hand(sample_weight)
    if getattr(model, "kernel", "linear") != "linear" or getattr(model, "pairs", "exact") != "exact":
        raise ValueError(
            "kernels and pairs='kmeans' need all rows in memory, and these are on a cluster: set kernel='linear' and "
            "pairs='exact', with features of your own (Nystroem) if the model is to bend, or use X.compute()"
        )
    if not model.trains_on_chunks:
        return X, y, sample_weight  # refused where rows are checked
    client = running_client(client)
    labels, weights = at_hand(y, client), at_hand(sample_weight, client)
    return DaskSource(X, client), labels, weights


def lazy_scores(model: LinearClassifier, X: Any) -> Any:
    """Return the decision function of a Dask collection, not computed, with the same chunks."""
    n_columns = model.classes_.size if model.classes_.size > 2 else 1
    return _lazy(model, X, "decision_function", np.dtype(np.float64), n_columns)


def lazy_labels(model: LinearClassifier, X: Any) -> Any:
    """Return the labels of a Dask collection, not computed, with the same chunks."""
    return _lazy(model, X, "predict", model.classes_.dtype, 1)


def _lazy(model: LinearClassifier, X: Any, method: str, dtype: np.dtype[Any], n_columns: int) -> Any:
    light: Any = copy(model)
    light.result_ = None  # the proof of training is of no use to predictions, and would be sent along
    for name in _NOT_FOR_PREDICTION:
        if hasattr(light, name):
            setattr(light, name, None)
    if hasattr(X, "columns"):
        return X.map_partitions(_frame_answer, light, method, meta=_frame_meta(X, dtype, model, n_columns))
    if not hasattr(X, "numblocks") or X.ndim != 2 or X.numblocks[1] > 1:
        raise ValueError(
            f"{method} takes Dask arrays of two dimensions with whole rows in every chunk, and Dask data frames: use "
            "X.rechunk({1: -1})"
        )
    arrangement: dict[str, Any] = {"drop_axis": 1} if n_columns == 1 else {"chunks": (X.chunks[0], (n_columns,))}
    empty = np.empty((0,) if n_columns == 1 else (0, n_columns), dtype=dtype)
    return X.map_blocks(_array_answer, light, method, dtype=dtype, meta=empty, **arrangement)


def _array_answer(block: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(block)


def _frame_answer(block: Any, model: Any, method: str) -> Any:
    """Return the answer for a data frame with its index; none for one without rows."""
    import pandas as pd

    labels = method == "predict"
    shape = (0,) if labels or model.classes_.size == 2 else (0, model.classes_.size)
    nothing = np.empty(shape, dtype=model.classes_.dtype if labels else np.float64)
    answer = getattr(model, method)(block) if len(block) else nothing
    if answer.ndim == 1:
        return pd.Series(answer, index=block.index)
    return pd.DataFrame(answer, index=block.index, columns=model.classes_)


def _frame_meta(X: Any, dtype: np.dtype[Any], model: Any, n_columns: int) -> Any:
    import pandas as pd

    index = X._meta.index[:0]
    if n_columns == 1:
        return pd.Series(np.empty(0, dtype=dtype), index=index)
    return pd.DataFrame(np.empty((0, n_columns), dtype=dtype), index=index, columns=model.classes_)
