"""Dask collections: training on the cluster that holds them, and lazy predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.clusters import at_hand, is_dask, refuse_client, refuse_other_collections, running_client
from metricwise.decisions.chunk_learners import light_copy, refuse_kernels
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.source import DaskSource
from metricwise.registry import trains_on


def data_of_cluster(model: Any, X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return the data of `fit`: a Dask collection as chunks on its cluster, labels and weights in memory.

    Parameters
    ----------
    model : estimator
        The estimator to train.
    X, y, sample_weight
        What the user passed to `fit`.
    client : distributed.Client or None
        Of the cluster; None for the one started last.
    """
    if is_dask(X):
        refuse_kernels(model)
        if not trains_on(model, "cluster"):
            return X, y, sample_weight  # refused where samples are checked
    return chunks_of_cluster(X, y, sample_weight, client)


def chunks_of_cluster(X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return a Dask collection as chunks on its cluster, other samples unchanged; labels and weights in memory."""
    refuse_client(client, X)
    if not is_dask(X):
        return X, at_hand(y), at_hand(sample_weight)
    client = running_client(client)
    labels, weights = at_hand(y, client), at_hand(sample_weight, client)
    return DaskSource(persist_blocks(X, client)), labels, weights


def lazy_scores(model: Any, X: Any) -> Any:
    """Return the decision function of a Dask collection, not computed, with the same chunks."""
    n_columns = model.classes_.size if model.classes_.size > 2 else 1
    return _lazy(model, X, "decision_function", np.dtype(np.float64), n_columns)


def lazy_labels(model: Any, X: Any) -> Any:
    """Return the labels of a Dask collection, not computed, with the same chunks."""
    return _lazy(model, X, "predict", model.classes_.dtype, 1)


def lazy_probabilities(model: Any, X: Any) -> Any:
    """Return the probabilities of the classes for a Dask collection, not computed, with the same chunks."""
    return _lazy(model, X, "predict_proba", np.dtype(np.float64), model.classes_.size)


def _lazy(model: Any, X: Any, method: str, dtype: np.dtype[Any], n_columns: int) -> Any:
    refuse_other_collections(X)
    light = light_copy(model)
    empty = np.empty((0,) if n_columns == 1 else (0, n_columns), dtype=dtype)
    if hasattr(X, "columns"):
        return X.map_partitions(_frame_answer, light, method, empty, meta=_framed(empty, X._meta.index[:0], model))
    if X.ndim != 2 or X.numblocks[1] > 1:
        fix = "rechunk({1: -1})" if X.ndim == 2 else "reshape(-1, 1) for one feature"
        raise ValueError(f"{method} takes Dask arrays of two dimensions with whole samples in every chunk: use X.{fix}")
    # One column is dropped afterwards: map_blocks would, until 2024, make an array of sparse chunks for it.
    columns = X.map_blocks(
        _column_answer,
        light,
        method,
        empty,
        dtype=dtype,
        meta=empty.reshape(0, n_columns),
        chunks=(X.chunks[0], (n_columns,)),
    )
    return columns[:, 0] if n_columns == 1 else columns


def _column_answer(block: Any, model: Any, method: str, empty: Any) -> Any:
    """Return the answer for a chunk of an array, in columns."""
    answer = _answer(block, model, method, empty)
    return answer[:, None] if answer.ndim == 1 else answer


def _answer(block: Any, model: Any, method: str, empty: Any) -> Any:
    return getattr(model, method)(block) if block.shape[0] else empty


def _frame_answer(block: Any, model: Any, method: str, empty: Any) -> Any:
    """Return the answer for a data frame with its index; none for one without samples."""
    return _framed(_answer(block, model, method, empty), block.index, model)


def _framed(answer: Any, index: Any, model: Any) -> Any:
    import pandas as pd

    if answer.ndim == 1:
        return pd.Series(answer, index=index)
    return pd.DataFrame(answer, index=index, columns=model.classes_)
