"""Certificates recomputed from data and model alone, by the definitions and without any code of the solver.

The upper bound is the objective of the model's weights. The lower bound is the dual value of the labellings that the
model's witness tells: any convex combination of labellings bounds the objective of all weights from below, so a wrong
witness can make the bound worse but never invalid. For models of a ratio of rates the witness is that of the last
challenge level, from which `levels` finds the level that no weights can reach. Squared losses have a gradient, which
bounds the objective by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from metricwise._typing import Floats, Mask
from metricwise.certifying.levels import certify_level
from metricwise.certifying.on_cluster import ClusterRows
from metricwise.certifying.rows import KernelledRows, LinearRows, dense_points, reads_blocks
from metricwise.certifying.shares import smoothed_labelling
from metricwise.certifying.slack import Slack
from metricwise.certifying.squares import squared_pairs
from metricwise.clusters import at_hand, is_dask, refuse_client
from metricwise.results import Certificate, Result

__all__ = ["certify"]


def certify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None
) -> Certificate | list[Certificate]:
    """Recompute the bounds of a fitted model's training objective.

    Parameters
    ----------
    model : fitted MultivariateSVC, SmoothedSVC, FeatureSelectingSVC, AUCSVC or AMPClassifier
        With an approximation of a kernel, the bounds are those of the exact kernel's objective, and tell what the
        approximation costs.
    X, y, sample_weight
        The data it was trained on: in any order of samples for linear models, in the same for kernels. Samples on disk
        (:func:`metricwise.io.open`) are read in blocks, and need no y if they know their labels. Those of Dask arrays
        and data frames stay with the workers; labels and weights may be in memory, or Dask collections, too.
    client : distributed.Client, optional
        Of the cluster that a Dask collection is for; by default the one started last.

    Returns
    -------
    Certificate or list of Certificate
        A list with one certificate a binary problem for more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from metricwise import MultivariateSVC, certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MultivariateSVC("f1", threshold=0.0).fit(scale(X), y)
    >>> bool(certify(model, scale(X), y).relative < 1.01e-3)
    True
    """
    results = getattr(model, "result_", None)
    if results is None:
        raise ValueError("model is not fitted: call its fit method before certify")
    if hasattr(model, "dictionary_"):
        raise ValueError(
            "joint sparse coding is not convex, and has no bound to recompute: certify MultivariateSVC on its codes, "
            "model.transform(X)"
        )
    X, y, sample_weight = _data(model, X, y, sample_weight, client)
    if y is None:
        raise ValueError("certify needs the labels the model was trained on: pass y")
    y = np.asarray(y)
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X has {X.shape[0]} samples but y has {y.shape[0]}: pass the data the model was trained on")
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} columns but the model was trained on {model.n_features_in_}")
    if getattr(model, "pairs", "exact") != "exact":
        raise ValueError("the certificate of clustered pairs is that of the clusters: train with pairs='exact'")
    _check_support(model, X)
    problems = model.binary_problems(y, sample_weight)
    certificates = [
        _certify_problem(model, X, positive, weights, result)
        for (positive, weights), result in zip(
            problems, results if isinstance(results, list) else [results], strict=True
        )
    ]
    return certificates if isinstance(results, list) else certificates[0]


def _data(model: Any, X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return samples as they are multiplied, wherever they are, and labels and weights in memory."""
    refuse_client(client, X)
    if is_dask(X):
        if hasattr(model, "support_"):  # of samples in a kernel, or of columns
            raise ValueError(
                f"the certificate of this {type(model).__name__} needs all samples in memory, and X is a Dask "
                "collection: use X.compute()"
            )
        X = ClusterRows(X, client)
        return X, at_hand(y, X.client), at_hand(sample_weight, X.client)
    if reads_blocks(X):
        y = X.y if y is None else y
    elif not sparse.issparse(X):
        X = np.asarray(X)
    return X, at_hand(y), at_hand(sample_weight)


def _check_support(model: Any, X: Any) -> None:
    """Raise unless the support vectors of a model stand where they stood in training."""
    vectors = getattr(model, "support_vectors_", None)
    if vectors is None or model.support_.size == 0:
        return
    found = X[model.support_] if X.shape[0] > model.support_.max() else X[:0]
    differ = found.shape != vectors.shape or (abs(found - vectors) > 0.0).sum() > 0
    if differ:
        raise ValueError("the samples of X are not those the model was trained on, in the same order: pass these")


def _certify_problem(model: Any, X: Any, positive: Mask, weights: Floats, result: Any) -> Certificate:
    kept = np.flatnonzero(weights > 0.0)
    rows: Any
    if hasattr(result, "columns"):
        X, result = _of_chosen_features(X, result)
    if hasattr(model, "dual_coef_"):
        rows = _Kept(KernelledRows(X, model), kept, weights.size)
    else:
        rows = LinearRows(X, kept, model.intercept_value)
    positive, weights = positive[kept], weights[kept]
    if hasattr(result, "levels"):
        return certify_level(model, rows, positive, weights, result)
    if getattr(model, "norm", 1) == 2:
        return _certify_squares(model, rows, positive, weights, result)
    return _certify_slack(model, rows, positive, weights, result)


def _of_chosen_features(X: Any, result: Any) -> tuple[Any, Result]:
    """Return the columns of the chosen features, and the result with their weights alone."""
    kept = np.append(result.columns, np.arange(X.shape[1], result.weights.size))  # the constant's weight is the last
    others = np.delete(result.weights, kept)
    if np.any(others != 0.0):
        raise ValueError("the model has weights on features that it did not choose: train the model again")
    witness = replace(result.witness, points=result.witness.points[:, kept])
    return X[:, result.columns], replace(result, weights=result.weights[kept], witness=witness)


class _Kept:
    """Samples of a kernel of which some have no weight; the coefficients are those of all."""

    def __init__(self, rows: KernelledRows, kept: NDArray[np.int64], count: int) -> None:
        self._rows, self._kept, self._count = rows, kept, count

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the samples with weight."""
        return self._rows.scores(w)[self._kept]

    def square(self, w: Floats) -> float:
        """Return |w|^2."""
        return self._rows.square(w)

    def square_of_sum(self, w: Floats, c: Floats) -> float:
        """Return the square of w + sum of c_i x_i over the samples with weight."""
        spread = np.zeros(self._count)
        spread[self._kept] = c
        return self._rows.square_of_sum(w, spread)


def _certify_slack(model: Any, rows: Any, positive: Mask, weights: Floats, result: Result) -> Certificate:
    measure = model.measure_
    n_pos, n_neg = float(weights[positive].sum()), float(weights[~positive].sum())
    u = float(measure.mistakes_per_loss(n_pos, n_neg))
    price = model.C * u
    slack = Slack(measure, positive, weights, u)
    w = result.weights
    violation = slack.at(rows.scores(w))
    upper = 0.5 * rows.square(w) + price * violation
    shares = np.asarray(result.witness.shares)
    if np.any(shares < 0.0) or shares.sum() > 1.0 + 1e-9:
        raise ValueError("the model's witness is not a convex combination of labellings: train the model again")
    loss, combined = 0.0, np.zeros(positive.size)
    smoothing = getattr(result, "smoothing", None)
    for share, point, table in zip(shares, dense_points(result.witness.points), result.witness.tables, strict=True):
        scores = rows.scores(point)
        if smoothing is None:
            labelling_loss, c = slack.labelling(scores, tuple(table))
        else:
            labelling_loss, c = smoothed_labelling(slack, scores, smoothing)
        loss += share * labelling_loss
        combined += share * c
    square = rows.square_of_sum(np.zeros_like(w), price * combined)
    return Certificate(float(upper), float(price * loss - 0.5 * square), float(violation))


def _certify_squares(model: Any, rows: Any, positive: Mask, weights: Floats, result: Result) -> Certificate:
    """Bound the objective with the mean squared loss of pairs by its gradient: the regulariser's curvature is one."""
    price = model.C * float(weights.sum())
    loss, slopes = squared_pairs(rows.scores(result.weights), positive, weights)
    upper = 0.5 * rows.square(result.weights) + price * loss
    lower = upper - 0.5 * rows.square_of_sum(result.weights, price * slopes)
    return Certificate(float(upper), max(float(lower), 0.0), float(loss))
