"""Lazy predictions of Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.clusters import refuse_other_collections
from metricwise.decisions.chunk_learners import copy_for_prediction


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
    light = copy_for_prediction(model)
    empty = np.empty((0,) if n_columns == 1 else (0, n_columns), dtype=dtype)
    if hasattr(X, "columns"):
        return X.map_partitions(_frame_answer, light, method, empty, meta=_to_frame(empty, X._meta.index[:0], model))
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
    """Return the predictions of a chunk of an array, in columns."""
    answer = _answer(block, model, method, empty)
    return answer[:, None] if answer.ndim == 1 else answer


def _answer(block: Any, model: Any, method: str, empty: Any) -> Any:
    return getattr(model, method)(block) if block.shape[0] else empty


def _frame_answer(block: Any, model: Any, method: str, empty: Any) -> Any:
    """Return the predictions of a data frame with its index; empty for an empty frame."""
    return _to_frame(_answer(block, model, method, empty), block.index, model)


def _to_frame(answer: Any, index: Any, model: Any) -> Any:
    import pandas as pd

    if answer.ndim == 1:
        return pd.Series(answer, index=index)
    return pd.DataFrame(answer, index=index, columns=model.classes_)
