"""Classifiers of other packages that train on Dask collections themselves: those of LightGBM, XGBoost and dask-ml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.weighting import weight_setting
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.tasks import WorkerTasks


def trains_on_dask(estimator: Any) -> bool:
    """Return whether a classifier is made for Dask collections, by the name of its module.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> trains_on_dask(LogisticRegression())
    False
    """
    modules = (kind.__module__ for kind in type(estimator).__mro__)
    return any(part == "dask" or part.startswith("dask_") for module in modules for part in module.split("."))


def refuse_samples_in_memory(estimator: Any, X: Any) -> None:
    """Raise if a LightGBM or XGBoost classifier is made for Dask and X is not a Dask collection; dask-ml takes both."""
    if trains_on_dask(estimator) and (hasattr(estimator, "to_local") or hasattr(estimator, "get_booster")):
        raise ValueError(
            f"{type(estimator).__name__} trains on Dask collections, and X is {type(X).__name__}: use "
            "dask.array.from_array(X, chunks=...), or the classifier of the same package for samples in memory"
        )


def refuse_class_names(estimator: Any, y: Labels) -> None:
    """Raise if labels are not the integers from zero on: some of these classifiers would misread other labels."""
    classes = np.unique(y)
    if classes.dtype.kind not in "biuf" or not np.array_equal(classes, np.arange(classes.size)):
        raise ValueError(
            f"{type(estimator).__name__} trains on Dask collections with labels 0 to {classes.size - 1}, and those of "
            f"y are {classes.tolist()}: encode them with sklearn.preprocessing.LabelEncoder"
        )


def fit_on_dask(estimator: Any, source: DaskSource, y: Labels, weights: Floats | None) -> Any:
    """Return a trained copy of such a classifier that predicts samples in memory; samples without weight are left out.

    Parameters
    ----------
    estimator : classifier
        A classifier for which `trains_on_dask` is true.
    source : DaskSource
        The samples, which stay where they are.
    y : array
        Their labels, from zero on.
    weights : array or None
        Their weights.
    """
    counted = np.ones(len(y), dtype=np.bool_) if weights is None else weights > 0.0
    parts = _Parts(source, counted)
    X, labels = parts.samples(), parts.numbers(y.astype(np.int64))
    setting = weight_setting(estimator, None if weights is None else parts.numbers(weights))
    model = load_to_memory(source.pool.run(lambda client: clone(estimator).fit(X, labels, **setting)))
    if not hasattr(model, "classes_"):  # linear models of dask-ml
        model.classes_ = np.unique(y)
    return model


def load_to_memory(model: Any) -> Any:
    """Return a trained classifier that predicts samples in memory, also without a cluster."""
    if hasattr(model, "to_local"):  # LightGBM
        return model.to_local()
    return _load_xgboost_to_memory(model) if hasattr(model, "get_booster") else model


def _load_xgboost_to_memory(model: Any) -> Any:
    from xgboost import XGBClassifier

    local = XGBClassifier(**model.get_params())
    local.load_model(model.get_booster().save_raw())
    return local


class _Parts:
    """Dask arrays of the samples with weight and of their numbers, in the chunks that have such samples."""

    def __init__(self, source: DaskSource, counted: NDArray[np.bool_]) -> None:
        self.source, self.tasks = source, WorkerTasks(source)
        bounds = source.bounds
        found = {k: np.flatnonzero(counted[bounds[k] : bounds[k + 1]]) for k in range(len(bounds) - 1)}
        self.found = {k: own for k, own in found.items() if own.size}

    def samples(self) -> Any:
        """Return the samples, which stay where they are."""
        width, dtype = self.source.shape[1], self.source.dtype
        empty: Any = sparse.csr_matrix((0, 0), dtype=dtype) if self.source.is_sparse else np.empty((0, 0), dtype)
        chunks = {k: self._chunk(k, own) for k, own in self.found.items()}
        return self._array(chunks, lambda own: (own.size, width), empty)

    def _chunk(self, k: int, own: Indices) -> Any:
        whole = own.size == self.source.bounds[k + 1] - self.source.bounds[k]
        if whole and not self.source.is_sparse:
            return self.source.futures[k]
        return self.tasks.on_chunk(k, _take_samples, None if whole else own)

    def numbers(self, values: NDArray[Any]) -> Any:
        """Return one value per sample, kept beside the chunks."""
        parts = {k: values[self.source.bounds[k] + own] for k, own in self.found.items()}
        chunks = {k: self.tasks.keep(part, part.nbytes, beside=k) for k, part in parts.items()}
        return self._array(chunks, lambda own: own.shape, values[:0])

    def _array(self, chunks: dict[int, Any], shape: Callable[[Indices], tuple[int, ...]], empty: Any) -> Any:
        import dask.array as da

        parts = [
            da.from_delayed(chunks[k], shape=shape(own), dtype=empty.dtype, meta=empty) for k, own in self.found.items()
        ]
        return da.concatenate(parts)


def _take_samples(chunk: Any, numbers: Indices | None) -> Any:
    """Return some samples of a chunk, or all; sparse ones as a matrix, as LightGBM does not take arrays of SciPy."""
    samples = chunk if numbers is None else chunk[numbers]
    return sparse.csr_matrix(samples) if sparse.issparse(samples) else samples
