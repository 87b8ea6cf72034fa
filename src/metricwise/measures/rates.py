"""Concave means of rates: of the two rates of a binary problem, and of the recalls of several classes.

For more than two classes the means are over the recalls of the classes that have samples, as in
`sklearn.metrics.balanced_accuracy_score`; for two classes the rate of an absent class counts as 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.confusion import ConfusionOfTables, count_confusion
from metricwise.measures.rate_capabilities import DualRegion
from metricwise.measures.tables import SymmetricTableMeasure, divide

_LEAST_RECALL = 1e-6  # below which slopes are those of this recall, since they grow without bound


class _RateMeasure(ConfusionOfTables, SymmetricTableMeasure):
    """A concave and symmetric function of the two rates, or of the recalls of more than two classes."""

    @abstractmethod
    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at true positive and true negative rates in [0, 1], or arrays of them."""

    @abstractmethod
    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate the measure at the recalls of classes, along the last axis; ``counts`` masks those that count."""

    @abstractmethod
    def recall_gradient(self, recalls: Floats) -> Floats:
        """Return the slopes at recalls that all count.

        Parameters
        ----------
        recalls : array of shape (n_classes,)
            The recall of each class, in [0, 1].

        Returns
        -------
        array of shape (n_classes,)
            The slope with respect to each recall.
        """

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        return self.rate_value(divide(tp, tp + fn), divide(tn, tn + fp))

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the mean of the recalls of the classes that have samples, on the one-vs-rest tables of all."""
        true = np.add(tp, fn)
        counts = true > 0.0
        values = self.of_recalls(np.clip(divide(tp, true), 0.0, 1.0), counts)
        return np.where(counts.any(axis=-1), values, 0.0)[()]

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares: those of the recalls, on the diagonal."""
        true = matrix.sum(axis=1)
        counts = true > 0.0
        slopes = np.zeros(len(matrix))
        slopes[counts] = self.recall_gradient(np.diagonal(matrix)[counts] / true[counts]) / true[counts]
        return np.diag(slopes)

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes by their recalls; classes without samples do not count."""
        return float(self.of_confusion(count_confusion(y, labels, sample_weight)))


@stored_fields(version=1)
@dataclass(frozen=True)
class GMean(_RateMeasure):
    """The geometric mean of the rates, sqrt(P N); for K classes, the K-th root of the product of their recalls.

    Of two classes, the rate of one without samples counts as 0, so the measure is 0 then.

    Examples
    --------
    >>> from metricwise.measures import GMean
    >>> GMean().score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """

    name: ClassVar[str] = "g_mean"
    dual_region: ClassVar[DualRegion] = DualRegion.HYPERBOLA

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at true positive and true negative rates in [0, 1], or arrays of them."""
        return np.sqrt(np.multiply(tpr, tnr))

    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate the root of the product of the recalls of classes, along the last axis."""
        with np.errstate(divide="ignore"):
            logarithms = np.log(np.where(counts, recalls, 1.0))
        return np.exp(divide(logarithms.sum(axis=-1), np.sum(counts, axis=-1)))

    def recall_gradient(self, recalls: Floats) -> Floats:
        """Return the slopes at recalls that all count.

        Parameters
        ----------
        recalls : array of shape (n_classes,)
            The recall of each class, in [0, 1].

        Returns
        -------
        array of shape (n_classes,)
            The slope with respect to each recall.
        """
        known = np.maximum(recalls, _LEAST_RECALL)
        return np.asarray(np.exp(np.log(known).mean()) / (known.size * known))


@stored_fields(version=1)
@dataclass(frozen=True)
class HMean(_RateMeasure):
    """The harmonic mean of the rates, 2 P N / (P + N), or of the recalls of more than two classes; 0 where one is 0.

    Of two classes, the rate of one without samples counts as 0, so the measure is 0 then.

    Examples
    --------
    >>> from metricwise.measures import HMean
    >>> HMean().score([1, 0, 0, 0], [1, 1, 1, 0])
    0.5
    """

    name: ClassVar[str] = "h_mean"
    dual_region: ClassVar[DualRegion] = DualRegion.ROOTS

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at true positive and true negative rates in [0, 1], or arrays of them."""
        return divide(2 * np.multiply(tpr, tnr), np.add(tpr, tnr))[()]

    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate the harmonic mean of the recalls of classes, along the last axis."""
        with np.errstate(divide="ignore"):
            inverses = np.where(counts, 1.0 / np.where(counts, recalls, 1.0), 0.0)
        return divide(np.sum(counts, axis=-1), inverses.sum(axis=-1))

    def recall_gradient(self, recalls: Floats) -> Floats:
        """Return the slopes at recalls that all count.

        Parameters
        ----------
        recalls : array of shape (n_classes,)
            The recall of each class, in [0, 1].

        Returns
        -------
        array of shape (n_classes,)
            The slope with respect to each recall.
        """
        known = np.maximum(recalls, _LEAST_RECALL)
        return np.asarray((1.0 / np.mean(1.0 / known)) ** 2 / (known.size * known**2))


@stored_fields(version=1)
@dataclass(frozen=True)
class QMean(_RateMeasure):
    """One minus the quadratic mean of the error rates, 1 - sqrt(((1 - P)^2 + (1 - N)^2) / 2).

    For more than two classes, the error rates are one minus their recalls. Of two classes, the rate of one without
    samples counts as 0: the measure is then at most 1 - sqrt(1/2).

    Examples
    --------
    >>> from metricwise.measures import QMean
    >>> QMean().score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """

    name: ClassVar[str] = "q_mean"
    dual_region: ClassVar[DualRegion] = DualRegion.DISC

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at true positive and true negative rates in [0, 1], or arrays of them."""
        return 1 - np.sqrt((np.subtract(1, tpr) ** 2 + np.subtract(1, tnr) ** 2) / 2)

    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate one minus the quadratic mean of the error rates of classes, along the last axis."""
        squares = np.where(counts, (1.0 - recalls) ** 2, 0.0).sum(axis=-1)
        return 1.0 - np.sqrt(divide(squares, np.sum(counts, axis=-1)))

    def recall_gradient(self, recalls: Floats) -> Floats:
        """Return the slopes at recalls that all count.

        Parameters
        ----------
        recalls : array of shape (n_classes,)
            The recall of each class, in [0, 1].

        Returns
        -------
        array of shape (n_classes,)
            The slope with respect to each recall.
        """
        errors = 1.0 - recalls
        return divide(errors, errors.size * np.sqrt(np.mean(errors**2)))


@stored_fields(version=1)
@dataclass(frozen=True)
class MinRate(_RateMeasure):
    """The lesser of the rates, min(P, N); for more than two classes, the least recall.

    Of two classes, the rate of one without samples counts as 0, so the measure is 0 then.

    Examples
    --------
    >>> from metricwise.measures import MinRate
    >>> MinRate().score([1, 1, 0, 0], [1, 1, 1, 0])
    0.5
    """

    name: ClassVar[str] = "min_rate"
    dual_region: ClassVar[DualRegion] = DualRegion.SIMPLEX

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at true positive and true negative rates in [0, 1], or arrays of them."""
        return np.minimum(tpr, tnr)

    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate the least recall of classes, along the last axis."""
        return np.min(np.where(counts, recalls, 1.0), axis=-1)

    def recall_gradient(self, recalls: Floats, sharpness: float = 1e6) -> Floats:
        """Return slopes at recalls that all count: those of the least, or of a smooth minimum that is less sharp.

        Parameters
        ----------
        recalls : array of shape (n_classes,)
            The recall of each class, in [0, 1].
        sharpness : float, default=1e6
            The greater, the closer the smooth minimum is to the least recall.

        Returns
        -------
        array of shape (n_classes,)
            The slope with respect to each recall; they add up to one.
        """
        shares = np.exp(-sharpness * (recalls - recalls.min()))
        return np.asarray(shares / shares.sum())

    def smooth_minimum(self, recalls: Floats, sharpness: float) -> float:
        """Return the smooth minimum -log(mean(exp(-s r))) / s of recalls r at a sharpness s, concave in them.

        Parameters
        ----------
        recalls : array of shape (n_classes,)
            The recall of each class, in [0, 1].
        sharpness : float
            The factor s; the greater, the closer the result is to the least recall.

        Returns
        -------
        float
            The smooth minimum, at least the least recall.
        """
        least = float(recalls.min())
        return least - float(np.log(np.mean(np.exp(-sharpness * (recalls - least))))) / sharpness

    def mistake_losses(self, class_weights: Floats, classes: ArrayLike) -> Floats:
        """Return the loss of a mistake by true and predicted class, if one of the classes has the least recall."""
        n_classes = class_weights.size
        of_classes = np.eye(n_classes)[:, :, None] / class_weights[:, None]
        return np.asarray(of_classes * (1.0 - np.eye(n_classes)))
