"""Bounds of the multiclass objective whose weights are trained together, by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from metricwise._typing import Floats, Integers
from metricwise.certifying.bounds import bound_by_witness
from metricwise.certifying.data import LinearData
from metricwise.certifying.fitted import FittedModel
from metricwise.certifying.problems import combine_weights
from metricwise.measures.joint import find_joint_losses
from metricwise.results import Certificate
from metricwise.rounding import STEPS, RoundingErrors, SlackTerms, gamma, slack_error

_TIED = 1e-10  # of the largest gain: labels that differ by less share a sample, which is a labelling, too
_ROUNDING = 1e-9


class JointSlack:
    """R(W) = max over labellings of loss + sum c_ij s_ij, and single labellings.

    The loss is the largest of some that are sums over the samples, for each of which every sample has its best label.
    """

    loss_size = 1.0  # losses are shares of the largest one

    def __init__(self, losses: Floats, codes: Integers, weights: Floats) -> None:
        self.losses, self.codes, self.weights = losses, codes, weights
        self.u = 1.0 / float(losses.max())

    @property
    def n_copies(self) -> int:
        """Number of scores."""
        return int(self.codes.size * self.losses.shape[1])

    def _gains(self, scores: Floats) -> Floats:
        """Return what every label adds to the slack by its score."""
        table = scores.reshape(self.codes.size, -1)
        return (table - np.take_along_axis(table, self.codes[:, None], axis=1)) / self.u

    def at(self, scores: Floats) -> float:
        """Return the slack at given scores."""
        gains = self._gains(scores)
        return max(float(self.weights @ np.max(loss[self.codes] + gains, axis=1)) for loss in self.losses)

    def labelling(self, scores: Floats, table: Floats) -> tuple[float, Floats]:
        """Return loss and coefficients of the most violated labelling for one of the losses, the first in ``table``."""
        number = int(table[0]) if 0.0 <= table[0] < len(self.losses) else 0
        gains, loss = self._gains(scores), self.losses[number][self.codes]
        is_right = np.arange(loss.shape[1]) == self.codes[:, None]
        values = np.where(is_right, -np.inf, loss + gains)
        reach = _TIED * max(1.0 / self.u, float(np.max(np.abs(gains))))
        most = values.max(axis=1, keepdims=True)
        # A sample whose labels cost nothing keeps its own unless another has a larger score.
        least = np.where(loss.max(axis=1, keepdims=True) > 0.0, -reach, np.nextafter(reach, np.inf))
        tied = (values >= most - reach) & (most >= least)
        shares = tied / np.maximum(tied.sum(axis=1, keepdims=True), 1.0)
        changed = shares - is_right * shares.sum(axis=1, keepdims=True)
        return float(self.weights @ (shares * loss).sum(axis=1)), (self.weights[:, None] * changed / self.u).ravel()

    def bound_error(self, scores: Floats, score_errors: Floats) -> float:
        """Return by how much the slack may differ from that of the exact scores."""
        largest = np.repeat(self.weights / self.u, self.losses.shape[1])
        terms = SlackTerms(1.0, 2.0 * float(largest @ np.abs(scores)), 2.0 * float(largest @ score_errors), scores.size)
        return slack_error(terms, ranks=False)


class JointData:
    """The data of the multiclass problem: scores sample by sample, weights class by class."""

    def __init__(self, data: LinearData, n_classes: int) -> None:
        self.data, self.n_classes = data, n_classes

    def scores(self, w: Floats) -> Floats:
        """Return the scores of all samples and classes."""
        return np.stack([self.data.scores(own) for own in np.split(w, self.n_classes)], axis=1).ravel()

    def combine(self, c: Floats) -> Floats:
        """Return the sum of c_ij x_i for every class j."""
        return np.concatenate([self.data.combine(own) for own in c.reshape(-1, self.n_classes).T])

    def square(self, w: Floats) -> float:
        """Return |W|^2."""
        return float(w @ w)

    def rounding_errors(self, w: Floats, c: Floats, mass: Floats, n_terms: int) -> RoundingErrors:
        """Return the errors of the scores and the square of w, and of the square of `combine` (c)."""
        of_classes, masses = c.reshape(-1, self.n_classes).T, mass.reshape(-1, self.n_classes).T
        parts = zip(np.split(w, self.n_classes), of_classes, masses, strict=True)
        errors = [self.data.rounding_errors(own, c_own, m_own, n_terms) for own, c_own, m_own in parts]
        g = self.combine(c)
        combination = sum(one.combination for one in errors) + gamma(g.size + STEPS) * float(g @ g)
        scores = np.stack([one.scores for one in errors], axis=1).ravel()
        return RoundingErrors(scores, gamma(w.size + STEPS) * float(w @ w), float(combination))


def certify_joint(fitted: FittedModel, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Certify the solution of the problem of all classes."""
    y = column_or_1d(y)
    weights = combine_weights(y, sample_weight, fitted.class_weight)
    kept = np.flatnonzero(weights > 0.0)
    classes, codes = np.unique(y[kept], return_inverse=True)
    if not np.array_equal(classes, fitted.classes):
        raise ValueError(
            f"y has the labels {classes.tolist()} but the model was trained on {fitted.classes.tolist()}: pass the "
            "data the model was trained on"
        )
    measure, result = find_joint_losses(fitted.measure), fitted.results[0]
    if measure is None or len(fitted.results) != 1:
        raise ValueError(f"{fitted.measure.name!r} is not trained for jointly: train the model again")
    _check_weights(fitted, result.weights)
    losses = measure.mistake_losses(np.bincount(codes, weights[kept]).astype(np.float64), classes)
    slack = JointSlack(losses, codes, weights[kept])
    data = JointData(LinearData(X, kept, fitted.constant), classes.size)
    return bound_by_witness(data, fitted.C * slack.u, slack, slack.bound_error, result)


def _check_weights(fitted: FittedModel, weights: Floats) -> None:
    """Raise unless the model predicts with the weights whose objective training bounded."""
    constant = fitted.constant
    stored = fitted.coefficients
    if constant:
        stored = np.column_stack([stored, fitted.intercepts / constant])
    reach = _ROUNDING * float(np.max(np.abs(weights), initial=0.0))
    if stored.size != weights.size or np.any(np.abs(stored.ravel() - weights) > reach):
        raise ValueError(
            "the model predicts with other weights than those of its certificate: coef_ and intercept_ differ from "
            "result_.weights. Train the model again"
        )
