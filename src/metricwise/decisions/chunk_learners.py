"""Classifiers on chunks of a Dask collection: which can be trained there, and how they use a chunk."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.dask_learners import trains_on_dask
from metricwise.decisions.decision import Decision
from metricwise.registry import entries, join_names, trains_on

_NOT_FOR_PREDICTION = ("result_", "_warm_states", "callback")  # large, or of this process only


class ChunkTargets(NamedTuple):
    """Labels and weights of the samples of a chunk; None: all have weight one."""

    y: Labels
    weights: Floats | None


def refuse_learner(estimator: Any) -> None:
    """Raise if a learner cannot be trained on a Dask collection."""
    if trains_on(estimator, "cluster"):
        refuse_kernels(estimator)
    elif not trains_on_dask(estimator) and not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"{type(estimator).__name__} needs all samples in memory, and X is a Dask collection: use X.compute(), or "
            "a classifier with partial_fit (such as SGDClassifier(loss='log_loss')), one made for Dask (such as "
            f"lightgbm.DaskLGBMClassifier), or {join_names(entries('svm', 'streaming', trains_on='cluster'))}"
        )


def partial_fit_chunk(X: Any, model: Any, targets: ChunkTargets, classes: Labels) -> Any:
    """Return a copy of a model, trained with one more chunk."""
    y, weights = targets
    if weights is not None and np.any(weights == 0.0):
        counted = np.flatnonzero(weights)
        X, y, weights = X[counted], y[counted], weights[counted]
    if not y.size:
        return model
    takes = weights is not None and "sample_weight" in inspect.signature(model.partial_fit).parameters
    return deepcopy(model).partial_fit(X, y, classes=classes, **({"sample_weight": weights} if takes else {}))


def score_chunk(X: Any, model: Any, score: Callable[[Any, Any], Floats], samples: Indices | None) -> Floats:
    """Return the scores of a chunk, or of some of its samples."""
    return score(model, X if samples is None else X[samples])


def refuse_kernels(model: Any) -> None:
    """Raise if a model would need all samples in memory for a kernel or for clusters of pairs."""
    if getattr(model, "kernel", "linear") != "linear" or getattr(model, "pairs", "exact") != "exact":
        raise ValueError(
            "kernels and pairs='kmeans' need all samples in memory, and these are on a cluster: set kernel='linear' "
            "and pairs='exact', with features of your own (Nystroem) for a model that is not linear, or use X.compute()"
        )


def copy_for_prediction(model: Any) -> Any:
    """Return a copy of a trained model without attributes that predictions do not need and workers would receive."""
    light: Any = copy(model)
    for name in _NOT_FOR_PREDICTION:
        if name in vars(light):
            setattr(light, name, None)
    return light


def refuse_groups(groups: Any) -> None:
    """Raise if there are groups, which the folds of a Dask collection cannot keep together."""
    if groups is not None:
        raise ValueError(
            "groups is for samples in memory, since folds of a Dask collection are whole chunks: use X.compute(), or "
            "arrange the samples so that no group is in two chunks and leave groups out"
        )


def refuse_batch_rule(decision: Decision) -> None:
    """Raise if a threshold depends on all samples that are predicted together, so that chunks have no threshold."""
    if decision.batch is not None:
        raise ValueError(
            "threshold='batch' looks at all samples that are predicted together, and those of a Dask collection are "
            "predicted chunk by chunk: use X.compute(), or train with another threshold"
        )
