"""The probabilistic classifiers of single labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold

from metricwise._typing import Floats, Integers
from metricwise.decisions.constant import Constant
from metricwise.decisions.groups import assign_group_folds
from metricwise.decisions.weighting import fit_settings, takes_weights

# Shuffled: files are often sorted, and folds of samples that follow each other are then unlike, which misleads the
# choice.
_FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
_COSTS = np.logspace(-2, 2, 5)
_SAMPLES_TO_COMPARE = 20


def fit_classifier(
    estimator: Any, X: Any, y: NDArray[np.int8], weights: Floats | None, groups: Integers | None = None
) -> Any:
    """Train the classifier of one label and return it; a constant if all samples have the label, or none.

    Parameters
    ----------
    estimator : classifier or None
        None for logistic regression whose C is the best of five in three folds of shuffled samples (by their
        log-likelihood), or 1 if a class has too few samples for that.
    X, y, weights, groups
        Samples, the label's column, and weights and groups of the samples or None.
    """
    counts = np.bincount(y, weights=weights, minlength=2)
    if np.count_nonzero(counts) < 2:
        return Constant(float(counts[1] > 0))
    settings = {} if weights is None else {"sample_weight": weights}
    if estimator is not None:
        given = fit_settings(estimator, weights, groups)
        if not (takes_weights(estimator) or get_config()["enable_metadata_routing"]):
            given |= settings  # searches pass on what they do not name, and others raise
        return clone(estimator).fit(X, y, **given)
    folds = _make_folds(y, groups)
    if folds is None:
        return LogisticRegression(max_iter=1000).fit(X, y, **settings)
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": _COSTS}, cv=folds, scoring="neg_log_loss")
    with config_context(enable_metadata_routing=False):  # users cannot request weights for our own learner
        return search.fit(X, y, **settings).best_estimator_


def _make_folds(y: NDArray[np.int8], groups: Integers | None) -> Any:
    """Return folds to choose C; None if there are too few samples for them."""
    if groups is None:
        return None if np.bincount(y, minlength=2).min() < _FOLDS.n_splits else _FOLDS
    folds = assign_group_folds(groups, y == 1, _FOLDS.n_splits, seed=0)
    return None if folds is None else PredefinedSplit(folds)


def probability(model: Any, X: Any) -> Floats:
    """Return the probability that samples have the label."""
    values: Floats = np.asarray(model.predict_proba(X), dtype=np.float64)
    return values[:, list(model.classes_).index(1)] if hasattr(model, "classes_") else values[:, 1]


def as_logistic(model: Any, X: Any) -> tuple[Floats, float] | None:
    """Return weights and constant of a classifier whose probability is the logistic function of a linear score.

    None if it is of another kind, which a comparison on some samples decides.
    """
    if isinstance(model, Constant):
        return np.zeros(X.shape[1]), np.inf if model.probability else -np.inf
    weights, constant = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if weights is None or constant is None or np.shape(weights) != (1, X.shape[1]):
        return None
    some = X[:_SAMPLES_TO_COMPARE]
    scores = np.asarray(some @ weights[0]).ravel() + float(np.ravel(constant)[0])
    if not np.allclose(expit(scores), probability(model, some), rtol=1e-6, atol=1e-9):
        return None
    return np.asarray(weights[0], dtype=np.float64), float(np.ravel(constant)[0])
