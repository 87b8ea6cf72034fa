"""The methods that are compared; each trains with a C and scores the holdout samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC, LinearSVC

from benchmarks.papers.brefeld2005.problems import Case, Mask
from metricwise import AUCSVC

Floats = NDArray[np.float64]
Method = Callable[[Case, float, float], Floats]

AUC_1, AUC_2, PLAIN, HINGE, SQUARED, CLUSTERS = "auc_1", "auc_2", "plain", "hinge", "squared", "clusters"
OURS = (AUC_1, AUC_2)
TOLERANCE = 1e-3
N_CLUSTERS = 100


def auc_svm(norm: int = 1, **settings: Any) -> AUCSVC:
    """Return the AUC-SVM on one thread, without a search for a threshold, which a ranking does not need."""
    return AUCSVC(norm=norm, threshold=0.0, n_jobs=1, **settings)


def make_clustered(C: float, n_clusters: int = N_CLUSTERS) -> AUCSVC:
    """Return the AUC-SVM over clusters of pairs."""
    return auc_svm(C=C, pairs="kmeans", n_clusters=n_clusters)


def on_features(model: Any, case: Case) -> Floats:
    """Train on features and return the scores of the holdout samples."""
    scores: Floats = fit_quietly(model, case.X, case.y).decision_function(case.X_test)
    return scores


def on_kernel(model: Any, case: Case) -> Floats:
    """Train on a matrix of kernel values and return the scores of the holdout samples."""
    scores: Floats = fit_quietly(model, case.K, case.y).decision_function(case.K_test)
    return scores


def fit_quietly(model: Any, X: Any, y: Mask) -> Any:
    """Fit a model without showing the warnings of a poor C, and return it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def auc(case: Case, scores: Floats) -> float:
    """Return the area under the ROC curve of scores of the holdout samples."""
    return float(roc_auc_score(case.y_test, scores))


def _plain(case: Case, C: float, tol: float) -> Floats:
    return on_kernel(SVC(C=C, kernel="precomputed"), case)


# The SVM of the paper does not penalise its constant term, nor does SVC; LinearSVC does.
LINEAR: dict[str, Method] = {
    AUC_1: lambda case, C, tol: on_features(auc_svm(1, C=C, tol=tol), case),
    AUC_2: lambda case, C, tol: on_features(auc_svm(2, C=C, tol=tol), case),
    PLAIN: _plain,
    HINGE: lambda case, C, tol: on_features(LinearSVC(C=C, loss="hinge", random_state=0), case),
    SQUARED: lambda case, C, tol: on_features(LinearSVC(C=C, random_state=0), case),
}
KERNEL: dict[str, Method] = {
    AUC_1: lambda case, C, tol: on_kernel(auc_svm(1, C=C, tol=tol, kernel="precomputed"), case),
    AUC_2: lambda case, C, tol: on_kernel(auc_svm(2, C=C, tol=tol, kernel="precomputed"), case),
    PLAIN: _plain,
}


def listed_pairs(case: Case, C: float) -> Any:
    """Train the linear 1-norm AUC-SVM as the paper does, on all differences of a positive and a negative.

    The sign of every second difference is flipped, so that there are two classes; without a constant term this does
    not change the problem.
    """
    pos, neg = np.flatnonzero(case.y), np.flatnonzero(~case.y)
    i, j = np.repeat(pos, neg.size), np.tile(neg, pos.size)
    flipped = np.arange(i.size) % 2 == 1
    signs = sparse.diags_array(np.where(flipped, -1.0, 1.0))
    model = LinearSVC(C=C * case.paper_scale, loss="hinge", fit_intercept=False, random_state=0)
    return fit_quietly(model, (signs @ (case.X[i] - case.X[j])).tocsr(), ~flipped)
