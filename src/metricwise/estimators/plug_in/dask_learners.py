"""Classifiers of other packages that train on Dask collections themselves: those of LightGBM, XGBoost and dask-ml."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from metricwise.designs.dask_source import DaskSource
from metricwise.estimators.weighting import weight_setting

Floats = NDArray[np.float64]
Labels = NDArray[Any]


def trains_on_dask(estimator: Any) -> bool:
    """Whether a classifier is made for Dask collections: its module bears the name.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> trains_on_dask(LogisticRegression())
    False
    """
    modules = (kind.__module__ for kind in type(estimator).__mro__)
    return any(part == "dask" or part.startswith("dask_") for module in modules for part in module.split("."))


def refuse_names_of_classes(estimator: Any, y: Labels) -> None:
    """Raise if labels are not the numbers from zero on, which not all of these classifiers take for what they are."""
    classes = np.unique(y)
    if classes.dtype.kind not in "biuf" or not np.array_equal(classes, np.arange(classes.size)):
        raise ValueError(
            f"{type(estimator).__name__} trains on Dask collections with labels 0 to {classes.size - 1}, and those of "
            f"y are {classes.tolist()}: encode them with sklearn.preprocessing.LabelEncoder"
        )


def fitted_on_dask(estimator: Any, source: DaskSource, y: Labels, weights: Floats | None) -> Any:
    """Return a trained copy of such a classifier that predicts rows in memory; rows without weight are left out.

    Parameters
    ----------
    estimator : classifier
        That `trains_on_dask`.
    source : DaskSource
        The rows, which stay where they are.
    y : array
        Their labels, from zero on.
    weights : array or None
        Their weights.
    """

    def train(client: Any) -> Any:
        counted = np.ones(len(y), dtype=np.bool_) if weights is None else weights > 0.0
        X, sizes = _collection(client, source, counted)
        setting = weight_setting(estimator, None if weights is None else _divided(weights[counted], sizes))
        return clone(estimator).fit(X, _divided(y[counted].astype(np.int64), sizes), **setting)

    model = for_memory(source.on_cluster(train))
    if not hasattr(model, "classes_"):  # linear models of dask-ml
        model.classes_ = np.unique(y)
    return model


def for_memory(model: Any) -> Any:
    """Return a trained classifier that predicts rows in memory, also without a cluster."""
    if hasattr(model, "to_local"):  # LightGBM
        return model.to_local()
    return _xgboost_for_memory(model) if hasattr(model, "get_booster") else model


def _xgboost_for_memory(model: Any) -> Any:
    from xgboost import XGBClassifier

    local = XGBClassifier(**model.get_params())
    local.load_model(model.get_booster().save_raw())
    return local


def _collection(client: Any, source: DaskSource, counted: NDArray[np.bool_]) -> tuple[Any, tuple[int, ...]]:
    """Return a Dask array of the chunks' rows that count, and how many these are in every chunk that has any."""
    import dask.array as da

    parts, sizes = [], []
    empty: Any = sparse.csr_matrix((0, 0), dtype=source.dtype) if source.is_sparse else np.empty((0, 0), source.dtype)
    for k, chunk in enumerate(source.futures):
        own = counted[source.bounds[k] : source.bounds[k + 1]]
        if own.any():
            if source.is_sparse or not own.all():
                chunk = client.submit(_rows, chunk, None if own.all() else np.flatnonzero(own), pure=False)
            sizes.append(int(np.count_nonzero(own)))
            parts.append(da.from_delayed(chunk, shape=(sizes[-1], source.shape[1]), dtype=source.dtype, meta=empty))
    return da.concatenate(parts), tuple(sizes)


def _rows(chunk: Any, numbers: NDArray[np.int64] | None) -> Any:
    """Return some rows of a chunk, or all; sparse ones as a matrix, as LightGBM does not take arrays of SciPy."""
    rows = chunk if numbers is None else chunk[numbers]
    return sparse.csr_matrix(rows) if sparse.issparse(rows) else rows


def _divided(values: NDArray[Any], sizes: tuple[int, ...]) -> Any:
    """Return numbers of rows as a Dask array in the chunks of the rows."""
    import dask.array as da

    return da.from_array(values, chunks=(sizes,))
