"""Measures that are functions of the contingency table.

Every measure is a frozen dataclass. Its ``value`` takes arrays of tables and never warns; its docstring defines the
value where the formula is 0/0. P = tp/n+ and N = tn/n- are the rates, theta = n-/n+.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.checks import check_factor
from metricwise.measures.confusion import ConfusionOfTables
from metricwise.measures.multiclass_capabilities import ConfusionRatio
from metricwise.measures.rate_capabilities import DualRegion, Ratio
from metricwise.measures.tables import SymmetricTableMeasure, TableMeasure, divide

_OTHER_MEASURES = (
    "beyond these limits use `precision` or `recall`, which the measure approaches for small and large beta"
)
_LEAST_SPREAD = 1e-9  # of shares, where truth or prediction is a single class and slopes are unbounded


@stored_fields(version=1)
@dataclass(frozen=True)
class FBeta(TableMeasure):
    """The weighted harmonic mean of precision and recall.

    (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp). Where tp = fp = fn = 0 it is 0, as in scikit-learn.

    Parameters
    ----------
    beta : float, default=1.0
        How many times as important recall is as precision; between 1e-6 and 1e6.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> FBeta(2.0).name
    'f2'
    >>> FBeta().score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", check_factor(self.beta, "beta", _OTHER_MEASURES))

    @property
    def name(self) -> str:
        """The letter f followed by beta: "f1", "f2", "f0.5"."""
        return f"f{self.beta:g}"

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        square = self.beta**2
        return divide((1 + square) * tp, (1 + square) * tp + square * fn + fp)

    def table_gradient(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> tuple[Any, Any, Any, Any]:
        """Return the slopes of the measure with respect to the cells of tables.

        Parameters
        ----------
        tp, fp, fn, tn : array
            Cells of the tables, one array per kind of cell.

        Returns
        -------
        tuple of arrays
            The slopes with respect to tp, fp, fn and tn.
        """
        square = self.beta**2
        size = (1 + square) * tp + square * fn + fp
        squared = size**2
        of_fp = divide(-(1 + square) * tp, squared)
        return divide((1 + square) * (size - (1 + square) * tp), squared), of_fp, square * of_fp, np.zeros_like(tn)

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of (1 + beta^2) P / (beta^2 + theta + P - theta N)."""
        square = self.beta**2
        return Ratio(0.0, 1 + square, 0.0, square + theta, 1.0, -theta)


@dataclass(frozen=True)
class LabelSetFBeta(FBeta):
    """The F-measure of sets of labels: 1, not 0, where tp = fp = fn = 0.

    A sample without labels for which none is predicted is predicted perfectly (Dembczynski et al. 2011), as with
    ``zero_division=1`` in scikit-learn.

    Examples
    --------
    >>> from metricwise.measures import Averaged
    >>> Averaged(LabelSetFBeta(), "samples").score([[1, 1], [0, 0]], [[1, 0], [0, 0]])
    0.8333333333333333
    """

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return np.where(tp + fp + fn == 0.0, 1.0, super()._value(tp, fp, fn, tn))


@stored_fields(version=1)
@dataclass(frozen=True)
class Jaccard(TableMeasure):
    """The overlap of the true and the predicted positives, tp / (tp + fp + fn).

    Where tp = fp = fn = 0 it is 0, as in scikit-learn.

    Examples
    --------
    >>> from metricwise.measures import Jaccard
    >>> Jaccard().score([1, 1, 1, 0], [1, 1, 0, 1])
    0.5
    """

    name: ClassVar[str] = "jaccard"

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return divide(tp, tp + fp + fn)

    def table_gradient(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> tuple[Any, Any, Any, Any]:
        """Return the slopes of the measure with respect to the cells of tables.

        Parameters
        ----------
        tp, fp, fn, tn : array
            Cells of the tables, one array per kind of cell.

        Returns
        -------
        tuple of arrays
            The slopes with respect to tp, fp, fn and tn.
        """
        squared = (tp + fp + fn) ** 2
        of_wrong = divide(-tp, squared)
        return divide(fp + fn, squared), of_wrong, of_wrong, np.zeros_like(tn)

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of P / (1 + theta - theta N)."""
        return Ratio(0.0, 1.0, 0.0, 1 + theta, 0.0, -theta)


@stored_fields(version=1)
@dataclass(frozen=True)
class GowerLegendre(SymmetricTableMeasure):
    """The Gower-Legendre family of similarities, (tp + tn) / (tp + tn + sigma (fp + fn)).

    Never 0/0 for a table with samples in it; 0 for an empty table.

    Parameters
    ----------
    sigma : float, default=2.0
        The cost of a mistake; between 1e-6 and 1e6. 1 is the accuracy, 0.5 the first coefficient of Sokal and Sneath,
        and 2 the coefficient of Rogers and Tanimoto. For every sigma >= 1, 1 minus the measure is a metric (Gower and
        Legendre 1986).

    Examples
    --------
    >>> from metricwise.measures import GowerLegendre
    >>> GowerLegendre().score([1, 1, 0, 0], [1, 0, 1, 1])
    0.14285714285714285
    """

    sigma: float = 2.0

    name: ClassVar[str] = "gower_legendre"

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "sigma", check_factor(self.sigma, "sigma", "the measure hardly changes beyond these limits")
        )

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return divide(tp + tn, tp + tn + self.sigma * (fp + fn))

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of (P + theta N) / (sigma (1 + theta) + (1 - sigma)(P + theta N))."""
        rest = 1 - self.sigma
        return Ratio(0.0, 1.0, theta, self.sigma * (1 + theta), rest, rest * theta)


@stored_fields(version=1)
@dataclass(frozen=True)
class MCC(ConfusionOfTables, SymmetricTableMeasure):
    """The correlation of truth and prediction, in [-1, 1] (Matthews).

    (tp tn - fp fn) / sqrt((tp + fp)(tp + fn)(tn + fp)(tn + fn)). It is 0 where truth or
    prediction has one class only, as in scikit-learn.

    Examples
    --------
    >>> from metricwise.measures import MCC
    >>> MCC().score([1, 1, 0, 0], [1, 1, 0, 0])
    1.0
    """

    name: ClassVar[str] = "matthews_corrcoef"

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        # Paired so that a perfect table takes the roots of squares and gives exactly 1.
        spread = np.sqrt((tp + fp) * (tp + fn)) * np.sqrt((tn + fp) * (tn + fn))
        return divide(tp * tn - fp * fn, spread)

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the multiclass coefficient (Gorodkin 2004) on the one-vs-rest tables of all classes."""
        total, correct, chance = _agreement(tp, fp, fn, tn)
        # With one class only, rounding may leave less than zero.
        of_predicted, of_true = (np.maximum(total**2 - ((tp + wrong) ** 2).sum(axis=-1), 0.0) for wrong in (fp, fn))
        return divide(correct * total - chance, np.sqrt(of_predicted * of_true))[()]

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares, given those of the true classes."""
        true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
        above_chance = np.trace(matrix) - float(true @ predicted)
        of_predicted = max(1.0 - float(predicted @ predicted), _LEAST_SPREAD)
        of_true = max(1.0 - float(true @ true), _LEAST_SPREAD)
        slopes = np.eye(true.size) - true + above_chance * predicted / of_predicted
        return np.asarray(slopes / math.sqrt(of_predicted * of_true))

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes with `sklearn.metrics.matthews_corrcoef`."""
        from sklearn.metrics import matthews_corrcoef

        return float(matthews_corrcoef(y, labels, sample_weight=sample_weight))


@stored_fields(version=2)
@dataclass(frozen=True)
class CohenKappa(ConfusionOfTables, SymmetricTableMeasure):
    """Agreement of truth and prediction beyond chance, in [-1, 1] (Cohen).

    2 (tp tn - fp fn) / ((tp + fp)(fp + tn) + (tp + fn)(fn + tn)). Where truth and prediction are the same single
    class it is 0, where scikit-learn returns NaN by default.

    Parameters
    ----------
    weights : {"linear", "quadratic"} or None, default=None
        How much a mistake weighs, for more than two classes that are ordered as their sorted labels are: the distance
        of the classes, its square, or one for every mistake (None).

    Examples
    --------
    >>> from metricwise.measures import CohenKappa
    >>> CohenKappa().score([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    >>> round(CohenKappa("quadratic").multiclass_score([0, 1, 2, 2], [0, 1, 1, 2]), 3)
    0.8
    """

    weights: Literal["linear", "quadratic"] | None = None

    def __post_init__(self) -> None:
        if self.weights not in (None, "linear", "quadratic"):
            raise ValueError(f"weights must be 'linear', 'quadratic' or None, got {self.weights!r}.")

    @property
    def name(self) -> str:
        """The name, with the weights if there are some: "cohen_kappa", "cohen_kappa_quadratic"."""
        return "cohen_kappa" if self.weights is None else f"cohen_kappa_{self.weights}"

    @property
    def needs_whole_matrix(self) -> bool:
        """Whether mistakes weigh differently, so that one-vs-rest tables do not determine the measure."""
        return self.weights is not None

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return divide(2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of 2 theta (P + N - 1) / (1 + theta + (theta - 1)(P + theta (1 - N)))."""
        return Ratio(-2 * theta, 2 * theta, 2 * theta, 1 + theta**2, theta - 1, theta * (1 - theta))

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the multiclass coefficient without weights on the one-vs-rest tables of all classes."""
        if self.weights is not None:
            raise ValueError(f"{self.name!r} is no function of one-vs-rest tables: it needs the confusion matrix.")
        total, correct, chance = _agreement(tp, fp, fn, tn)
        return divide(correct * total - chance, total**2 - chance)[()]

    def of_confusion(self, matrices: Floats) -> Any:
        """Evaluate confusion matrices, whose last axes are the true and the predicted class."""
        weights = self._mistake_weights(np.shape(matrices)[-1])
        true, predicted = np.sum(matrices, axis=-1), np.sum(matrices, axis=-2)
        chance = np.sum((true @ weights) * predicted, axis=-1)
        observed = np.sum(matrices * weights, axis=(-2, -1)) * np.sum(true, axis=-1)
        return divide(chance - observed, chance)[()]

    def confusion_ratio(self, shares: Floats) -> ConfusionRatio:
        """Return the measure as a ratio of linear functions of matrices with the given shares of true classes."""
        weights = self._mistake_weights(shares.size)
        chance = np.tile(shares @ weights, (shares.size, 1))
        return ConfusionRatio(chance - weights, chance)

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares, given those of the true classes."""
        top, bottom = self.confusion_ratio(matrix.sum(axis=1))
        chance = max(float(np.sum(bottom * matrix)), _LEAST_SPREAD)
        return np.asarray((top - np.sum(top * matrix) / chance * bottom) / chance)

    def _mistake_weights(self, n_classes: int) -> Floats:
        distance = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(np.float64)
        if self.weights is None:
            return np.asarray(np.minimum(distance, 1.0))
        return distance if self.weights == "linear" else distance**2

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes with `sklearn.metrics.cohen_kappa_score`; 0 where that is 0/0."""
        from sklearn.metrics import cohen_kappa_score

        # With a single class, older versions of scikit-learn divide by zero and newer ones warn; both return NaN.
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", UserWarning)
            kappa = float(cohen_kappa_score(y, labels, sample_weight=sample_weight, weights=self.weights))
        return 0.0 if math.isnan(kappa) else kappa


@stored_fields(version=1)
@dataclass(frozen=True)
class Accuracy(ConfusionOfTables, SymmetricTableMeasure):
    """The share of correctly labelled samples, (tp + tn) / n; 0 for an empty table.

    Examples
    --------
    >>> from metricwise.measures import Accuracy
    >>> Accuracy().score([1, 1, 0, 0], [1, 1, 0, 1])
    0.75
    """

    name: ClassVar[str] = "accuracy"

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        return divide(tp + tn, tp + fp + fn + tn)

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of (P + theta N) / (1 + theta)."""
        return Ratio(0.0, 1.0, theta, 1 + theta, 0.0, 0.0)

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the share of correctly labelled samples on the one-vs-rest tables of all classes."""
        total, correct, _ = _agreement(tp, fp, fn, tn)
        return divide(correct, total)[()]

    def confusion_ratio(self, shares: Floats) -> ConfusionRatio:
        """Return the measure as a ratio of linear functions of matrices with the given shares of true classes."""
        return ConfusionRatio(np.eye(shares.size), np.ones((shares.size, shares.size)))

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares: one for each right prediction."""
        return np.eye(len(matrix))

    def mistake_losses(self, class_weights: Floats, classes: ArrayLike) -> Floats:
        """Return the loss of a mistake by true and predicted class: the same for all."""
        return np.asarray((1.0 - np.eye(class_weights.size))[None] / class_weights.sum())

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes with `sklearn.metrics.accuracy_score`."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, labels, sample_weight=sample_weight))


@stored_fields(version=1)
@dataclass(frozen=True)
class BalancedAccuracy(ConfusionOfTables, SymmetricTableMeasure):
    """The mean of the rates, (P + N) / 2.

    Where a class has no samples it is the rate of the other class, as in scikit-learn; 0 for an empty table.

    Examples
    --------
    >>> from metricwise.measures import BalancedAccuracy
    >>> BalancedAccuracy().score([1, 0, 0, 0, 0], [1, 1, 1, 0, 0])
    0.75
    """

    name: ClassVar[str] = "balanced_accuracy"
    dual_region: ClassVar[DualRegion] = DualRegion.POINT

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        n_pos, n_neg = tp + fn, tn + fp
        classes = (n_pos > 0).astype(np.float64) + (n_neg > 0)
        return divide(divide(tp, n_pos) + divide(tn, n_neg), classes)

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at true positive and true negative rates in [0, 1], or arrays of them."""
        return np.add(tpr, tnr) / 2

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of (P + N) / 2; the class ratio does not matter."""
        return Ratio(0.0, 1.0, 1.0, 2.0, 0.0, 0.0)

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the mean recall of the classes that have samples, on the one-vs-rest tables of all classes."""
        true = tp + fn
        return divide(divide(tp, true).sum(axis=-1), np.count_nonzero(true > 0, axis=-1))[()]

    def confusion_ratio(self, shares: Floats) -> ConfusionRatio:
        """Return the measure as a ratio of linear functions of matrices with the given shares of true classes."""
        weights = divide(1.0, shares * float(np.count_nonzero(shares > 0.0)))
        return ConfusionRatio(np.diag(weights), np.ones((shares.size, shares.size)))

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes at a confusion matrix of shares, given those of the true classes."""
        return self.confusion_ratio(matrix.sum(axis=1)).numerator

    def mistake_losses(self, class_weights: Floats, classes: ArrayLike) -> Floats:
        """Return the loss of a mistake by true and predicted class: the rarer the true class, the larger."""
        n_classes = class_weights.size
        return (1.0 - np.eye(n_classes))[None] / (n_classes * class_weights[:, None])

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes with `sklearn.metrics.balanced_accuracy_score`."""
        from sklearn.metrics import balanced_accuracy_score

        return float(balanced_accuracy_score(y, labels, sample_weight=sample_weight))


def _agreement(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> tuple[Any, Any, Any]:
    """Return the number of samples n, the number of correct labels, and n times the number correct by chance."""
    return (tp + fp + fn + tn)[..., 0], tp.sum(axis=-1), ((tp + fp) * (tp + fn)).sum(axis=-1)
