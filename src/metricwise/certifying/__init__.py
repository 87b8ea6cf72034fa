"""Certificates recomputed from data and model alone, by the definitions and without any code of training.

Positives, weights, intercept and kernel are derived here, from X, y, sample_weight and the public parameters and fitted
attributes of the model; no method or property of it is called. A mistake of training therefore shows as a certificate
that differs from the model's own.

The upper bound is the objective of the model's weights. The lower bound is the dual value of the labellings that the
model's witness describes: any convex combination of labellings bounds the objective of all weights from below, so a
wrong witness can make the bound worse but never invalid. For models of a ratio of rates the witness is that of the last
challenge level, from which `levels` finds the level that no weights can reach. Squared losses have a gradient, which
bounds the objective by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from metricwise.certifying.bounded_problem import BoundedProblem
from metricwise.certifying.bounds import compute_bounds
from metricwise.certifying.cluster_data import ClusterData
from metricwise.certifying.coefficients import check_coefficients, restrict_to_columns
from metricwise.certifying.data import KernelData, LinearData, SamplesInBlocks, TrainingData
from metricwise.certifying.fitted import FittedModel, read_model
from metricwise.certifying.joint import certify_joint
from metricwise.certifying.kernels import check_gamma, check_support
from metricwise.certifying.problems import BinaryProblem, derive_problems, weigh_positives
from metricwise.certifying.queries import certify_queries
from metricwise.clusters import is_dask, load_into_memory, refuse_client
from metricwise.measures import Accuracy, HasMistakeCosts
from metricwise.raw_inputs import check_samples, read_labels
from metricwise.results import Certificate, Objective, Result

__all__ = ["certify"]


def certify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, client: Any = None
) -> Certificate | list[Certificate]:
    """Recompute the bounds of a fitted model's training objective.

    Parameters
    ----------
    model : fitted MultivariateSVC, SmoothedSVC, FeatureSelectingSVC, AUCSVC, RankingSVC or AMPClassifier
        With an approximation of a kernel, the bounds are those of the exact kernel's objective, and show what the
        approximation costs.
    X : array, sparse matrix, samples on disk or Dask collection of shape (n_samples, n_features)
        The samples it was trained on; with a kernel, in the order of training. Samples on disk
        (:func:`metricwise.io.open`) are read in blocks. Dask arrays and data frames stay with the workers.
    y : array of shape (n_samples,)
        Their labels, in memory or a Dask collection. May be left out if X is on disk and has labels.
    sample_weight : array of shape (n_samples,), optional
        Their weights in training, in memory or a Dask collection.
    groups : array of shape (n_samples,), optional
        The queries of RankingSVC; other models have the same bounds with any groups.
    client : distributed.Client, optional
        The client of a Dask collection; by default the one started last.

    Returns
    -------
    Certificate or list of Certificate
        For more than two classes a list with one certificate per binary problem, or one certificate if they were
        trained jointly. Where training fell back
        (``result_.fallback``), the bounds are those of the weighted accuracy, and say nothing about the measure.

    Raises
    ------
    ValueError
        If the model has no bounds, if X and y are not the data it was trained on, or if the coefficients that it
        predicts with are not those whose objective training bounded.

    Notes
    -----
    Bounds are widened by the rounding errors of all sums. Two errors have no bound if weights are not whole numbers:
    that of a measure of one's own that does not declare itself monotone, and that of the number of predicted positives
    in the lower bound of measures at k and of the break-even point.

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
    fitted = read_model(model)
    X = check_samples(X)
    X, y, sample_weight = _locate_data(fitted, X, y, sample_weight, client)
    y = read_labels(y)
    _check_shapes(fitted, X, y)
    if fitted.ranks_queries:
        return certify_queries(fitted, X, y, sample_weight, load_into_memory(groups))
    if fitted.kernel is not None:
        check_support(fitted.kernel, X)
        check_gamma(fitted.kernel, X)
    if fitted.trains_jointly:
        return certify_joint(fitted, X, y, sample_weight)
    problems = derive_problems(fitted, y, sample_weight)
    certificates = [
        _certify_result(fitted, X, k, problem, result)
        for k, (problem, result) in enumerate(zip(problems, fitted.results, strict=True))
    ]
    return certificates if len(certificates) > 1 else certificates[0]


def _locate_data(fitted: FittedModel, X: Any, y: Any, sample_weight: Any, client: Any) -> tuple[Any, Any, Any]:
    """Return samples that can be multiplied where they are, and labels and weights in memory."""
    refuse_client(client, X)
    if is_dask(X):
        if fitted.needs_samples_in_memory:
            raise ValueError(
                f"the certificate of this {fitted.name} needs all samples in memory, and X is a Dask collection: use "
                "X.compute()"
            )
        X = ClusterData(X, client)
        return X, load_into_memory(y, X.client), load_into_memory(sample_weight, X.client)
    if isinstance(X, SamplesInBlocks):
        y = X.y if y is None else y
        sample_weight = X.sample_weight if sample_weight is None else sample_weight
    else:
        X = _read_samples(X)
    return X, load_into_memory(y), load_into_memory(sample_weight)


def _read_samples(X: Any) -> Any:
    """Return samples in memory as an array or a CSR matrix of floating-point numbers, as `fit` reads them."""
    with np.errstate(invalid="ignore"):  # scikit-learn adds up all values, which may overflow in both directions
        try:
            return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        except (OverflowError, TypeError) as error:
            raise ValueError(f"X does not hold numbers ({error}): pass the data the model was trained on") from error
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise ValueError(f"X does not hold numbers ({error}): pass the data the model was trained on") from error


def _check_shapes(fitted: FittedModel, X: Any, y: Any) -> None:
    """Raise unless X and y can be the data of the training."""
    if y is None:
        raise ValueError("certify needs the labels the model was trained on: pass y")
    if np.ndim(y) == 0 or sparse.issparse(y):
        raise ValueError(f"y must be an array with a label per sample, got {type(y).__name__}")
    n_labels = np.shape(y)[0]
    if X.shape[0] != n_labels:
        raise ValueError(f"X has {X.shape[0]} samples but y has {n_labels}: pass the data the model was trained on")
    if X.shape[1] != fitted.n_features:
        raise ValueError(f"X has {X.shape[1]} columns but the model was trained on {fitted.n_features}")


def _certify_result(fitted: FittedModel, X: Any, k: int, problem: BinaryProblem, result: Result) -> Certificate:
    """Certify the solution of binary problem k."""
    columns = result.problem.columns
    restricted = result if columns is None else restrict_to_columns(result, columns, fitted.n_features)
    check_coefficients(fitted, k, problem.sign, result.weights, X.shape[0])
    kept = np.flatnonzero(problem.weights > 0.0)
    X = X if columns is None else X[:, columns]
    data: TrainingData = LinearData(X, kept, fitted.constant)
    if fitted.kernel is not None:
        data = KernelData(X, kept, fitted.constant, fitted.kernel)
    positive, weights, measure = problem.positive[kept], problem.weights[kept], fitted.measure
    heavier = result.problem.positive_weight
    if heavier is not None:  # a weighted accuracy was trained for instead of the measure
        weights, measure = weigh_positives(positive, weights, heavier), Accuracy()
    elif isinstance(measure, HasMistakeCosts) and result.problem.objective is Objective.SLACK:
        weights, measure = weights * np.where(positive, *measure.mistake_costs), Accuracy()
    task = BoundedProblem(data, positive, weights, measure, fitted.C)
    return compute_bounds(task, restricted)
