r"""Logistic regression and linear SVMs of scikit-learn, trained on samples at any location.

Their objectives are smooth, so that L-BFGS needs two products with the data per step, :math:`Xw` and :math:`X'c`, which
every design has. With the margins :math:`m_i = y_i (x_i \cdot w + b)` and sample weights :math:`s_i`,

.. math:: \frac{1}{\sum_i s_i} \Bigl(\frac{1}{2C} \|w\|^2 + \sum_i s_i\, \ell(m_i)\Bigr)

is minimised, where :math:`\ell(m)` is :math:`\log(1 + e^{-m})` or :math:`\max(0, 1 - m)^2`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from metricwise._typing import Floats, Labels, Mask
from metricwise.designs import Design, make_design
from metricwise.threads import available_threads

_TOL = 1e-5  # of the gradient of the mean loss
_MOST_STEPS = 200


def is_smooth(learner: Any) -> bool:
    """Return whether a learner is one of those that `fit_smooth` trains, with settings that it knows.

    Examples
    --------
    >>> is_smooth(LogisticRegression(C=0.1)), is_smooth(LinearSVC(loss="hinge"))
    (True, False)
    """
    if type(learner) is LogisticRegression:
        return learner.solver in ("lbfgs", "liblinear") and not learner.l1_ratio and learner.fit_intercept
    is_usual = type(learner) is LinearSVC and (learner.penalty, learner.loss) == ("l2", "squared_hinge")
    return is_usual and learner.fit_intercept and learner.intercept_scaling == 1.0


def fit_smooth(learner: Any, data: Any, y: Labels, weights: Floats | None, start: Any) -> Any:
    """Return a trained copy of a learner of two classes.

    Parameters
    ----------
    learner : LogisticRegression or LinearSVC
        One for which `is_smooth` is true.
    data : BlockReader or DataSource
        The samples.
    y : array of shape (n_samples,)
        Labels.
    weights : array or None
        Weights of the samples; those of weight zero have no influence.
    start : LogisticRegression or LinearSVC
        Trained on some of the samples; its weights are the first ones.
    """
    classes, is_positive = start.classes_, y == start.classes_[1]
    costs = _cost_samples(learner, y, classes, weights)
    is_penalised = isinstance(learner, LinearSVC) or learner.solver == "liblinear"  # the intercept
    objective = _Objective(
        make_design(data, intercept=1.0, threads=available_threads()),
        np.where(is_positive, 1.0, -1.0),
        costs,
        float(learner.C),
        is_penalised,
        isinstance(learner, LogisticRegression),
    )
    first = np.append(start.coef_[0], start.intercept_[0])
    options = {"maxiter": _MOST_STEPS, "gtol": _TOL, "ftol": 0.0}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
    model: Any = clone(learner)
    model.classes_, model.n_features_in_ = classes, start.n_features_in_
    model.coef_, model.intercept_ = found.x[None, :-1], found.x[-1:]
    model.n_iter_ = np.array([found.nit], dtype=np.int32) if isinstance(learner, LogisticRegression) else int(found.nit)
    return model


def _cost_samples(learner: Any, y: Labels, classes: Labels, weights: Floats | None) -> Floats:
    """Return the weights of samples, multiplied by those of their classes."""
    costs = np.ones(len(y)) if weights is None else weights.astype(np.float64)
    if learner.class_weight is None:
        return costs
    counted: Mask = costs > 0.0
    of_classes: Floats = compute_class_weight(learner.class_weight, classes=classes, y=y[counted])
    return costs * of_classes[np.searchsorted(classes, y)]


class _Objective:
    """The objective of weights, the intercept last, and its gradient."""

    def __init__(
        self, design: Design, signs: Floats, costs: Floats, C: float, penalises_intercept: bool, is_logistic: bool
    ) -> None:
        self.design, self.signs, self.costs, self.is_logistic = design, signs, costs, is_logistic
        self.total = float(costs.sum())
        self.penalty = np.full(design.shape[1], 1.0 / C)
        if not penalises_intercept:
            self.penalty[-1] = 0.0

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        margins = self.signs * self.design.scores(w)
        if self.is_logistic:
            losses, slopes = np.logaddexp(0.0, -margins), -expit(-margins)
        else:
            missing = np.maximum(0.0, 1.0 - margins)
            losses, slopes = missing**2, -2.0 * missing
        value = 0.5 * float(w @ (self.penalty * w)) + float(self.costs @ losses)
        gradient = self.penalty * w + self.design.combine(self.costs * slopes * self.signs)
        return value / self.total, gradient / self.total
