"""Ranking measures of a part of the ranking: its top samples, or the thresholds that meet a constraint."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.measures.base import Response
from metricwise.measures.checks import check_count_or_share, check_share
from metricwise.measures.tables import divide
from metricwise.measures.thresholds import ScoreGroups, group_by_score

# The last digits of a sum of weights depend on the order of the samples; a constraint may be missed by as little.
_ROUNDING = 1e-12


class _TopSamples(ABC):
    """A measure of labellings with a fixed number of predicted positives: the samples of greatest score."""

    response: ClassVar[Response] = "scores"

    @abstractmethod
    def predicted_positives(self, n_pos: float, n_samples: float) -> float:
        """Return how many of ``n_samples`` samples are predicted positive when ``n_pos`` are positive."""

    @abstractmethod
    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Evaluate the measure on one table or on arrays of tables.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The measure of each table.
        """

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the truth ``y`` (0 and 1, -1 and 1, or booleans).

        The samples of greatest score are predicted positive. Samples tied at the boundary count in part: the
        expectation over breaking ties at random, which does not depend on the order of the samples. With sample weights
        the number of predicted positives is a sum of weights, so that a weight of 2 equals a sample given twice.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Scores: the greater, the more likely a sample is positive.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The measure; 1 at best.
        """
        groups = group_by_score(y, response, sample_weight)
        n_pos, n_neg = float(groups.positives.sum()), float(groups.negatives.sum())
        count = self.predicted_positives(n_pos, n_pos + n_neg)
        tp = _positives_on_top(groups, count)
        return float(self.value(tp, count - tp, n_pos - tp, n_neg - (count - tp)))


def _positives_on_top(groups: ScoreGroups, count: float) -> float:
    """Return the weight of the positives among the top samples of weight ``count``; ties at the end count in part."""
    weight = groups.positives + groups.negatives
    above = np.cumsum(weight) - weight
    taken = np.clip(divide(count - above, weight), 0.0, 1.0)
    return float(taken @ groups.positives)


@stored_fields(version=1)
@dataclass(frozen=True)
class PRBEP(_TopSamples):
    """The precision/recall break-even point: both rates when as many samples are predicted positive as are positive.

    Without positives it is 0.

    Examples
    --------
    >>> from metricwise.measures import PRBEP
    >>> PRBEP().score([1, 1, 0, 0], [0.9, 0.2, 0.4, 0.1])
    0.5
    """

    name: ClassVar[str] = "prbep"

    def predicted_positives(self, n_pos: float, n_samples: float) -> float:
        """Return how many samples are predicted positive: as many as are positive."""
        return float(n_pos)

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Evaluate tp / (tp + fn) on one table or on arrays of tables.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The measure of each table; 0/0 is 0.
        """
        return divide(tp, np.add(tp, fn))[()]

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: the positives."""
        return _check_has_positives(n_pos, self.name)


@dataclass(frozen=True, repr=False)
class _TopK(_TopSamples):
    """A measure with k samples predicted positive: a count, a multiple of the positives, or a share of all samples."""

    k: float
    # 1 and 1.0 mean different things but compare equal; this field makes the measures differ.
    relative: bool = field(init=False, repr=False)
    of: str = "positives"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_count_or_share(self.k, "k"))
        object.__setattr__(self, "relative", isinstance(self.k, float))
        if self.of not in ("positives", "samples"):
            raise ValueError(f"of must be 'positives' or 'samples', got {self.of!r}.")
        if self.of == "samples" and not (self.relative and self.k <= 1.0):
            raise ValueError(
                f"with of='samples', k must be a float of at most 1.0, got {self.k!r}; write 5 percent as 0.05."
            )

    def __repr__(self) -> str:
        of = "" if self.of == "positives" else f", of={self.of!r}"
        return f"{type(self).__name__}(k={self.k!r}{of})"

    def predicted_positives(self, n_pos: float, n_samples: float) -> float:
        """Return how many samples are predicted positive.

        An integer k is that number; a float k is multiplied by ``n_pos`` (or ``n_samples``) and rounded to the nearest
        whole number, at least 1.

        Raises
        ------
        ValueError
            If k exceeds the number of samples.
        """
        whole = n_samples if self.of == "samples" else n_pos
        count = max(1.0, math.floor(self.k * whole + 0.5)) if self.relative else float(self.k)
        if count > n_samples * (1 + _ROUNDING):
            raise ValueError(
                f"k={self.k!r} asks for {count:g} predicted positives but there are only {n_samples:g} samples; "
                f"choose k <= {n_samples:g}, or a fraction such as k=0.1."
            )
        return min(count, float(n_samples))

    def relative_to(self, n_pos: float) -> Self:
        """Return the measure with k as a multiple of the positives, given how many there are now."""
        return self if self.relative else replace(self, k=float(self.k) / n_pos)


@stored_fields(version=1)
@dataclass(frozen=True, repr=False)
class PrecisionAtK(_TopK):
    """The share of positives among the k samples with the greatest scores.

    It is never 0/0, since k is at least 1.

    Parameters
    ----------
    k : int or float, default=0.5
        An integer is a number of samples. A float is a multiple of the number of positives: 0.5 is half as many samples
        as there are positives, 2.0 twice as many, rounded to the nearest whole number and at least 1.
    of : {"positives", "samples"}, default="positives"
        What a float is a multiple of; with "samples", 0.05 is the top twentieth of all samples.

    Examples
    --------
    >>> from metricwise.measures import PrecisionAtK
    >>> PrecisionAtK(3).score([1, 1, 0, 0], [0.9, 0.2, 0.4, 0.4])
    0.3333333333333333
    >>> PrecisionAtK(0.5).score([1, 1, 0, 0], [0.9, 0.2, 0.4, 0.4])
    1.0
    """

    k: float = 0.5

    name: ClassVar[str] = "precision_at_k"

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Evaluate tp / (tp + fp) on one table or on arrays of tables.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The measure of each table; 0/0 is 0.
        """
        return divide(tp, np.add(tp, fp))[()]

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: the largest number of true positives."""
        return min(self.predicted_positives(n_pos, n_pos + n_neg), _check_has_positives(n_pos, self.name))


@stored_fields(version=1)
@dataclass(frozen=True, repr=False)
class RecallAtK(_TopK):
    """The share of the positives that are among the k samples with the greatest scores.

    Without positives it is 0.

    Parameters
    ----------
    k : int or float, default=2.0
        An integer is a number of samples. A float is a multiple of the number of positives: 0.5 is half as many samples
        as there are positives, 2.0 twice as many, rounded to the nearest whole number and at least 1.
    of : {"positives", "samples"}, default="positives"
        What a float is a multiple of; with "samples", 0.05 is the top twentieth of all samples.

    Examples
    --------
    >>> from metricwise.measures import RecallAtK
    >>> RecallAtK(2).score([1, 1, 0, 0], [0.9, 0.2, 0.4, 0.1])
    0.5
    """

    k: float = 2.0

    name: ClassVar[str] = "recall_at_k"

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Evaluate tp / (tp + fn) on one table or on arrays of tables.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The measure of each table; 0/0 is 0.
        """
        return divide(tp, np.add(tp, fn))[()]

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one: the largest number of true positives."""
        return min(self.predicted_positives(n_pos, n_pos + n_neg), _check_has_positives(n_pos, self.name))


def training_value(tp: Any, fp: Any, n_pos: float, size: float) -> Any:
    """Return the measure that training for the top ``size`` samples maximises.

    Precision and recall at k rank classifiers in the same order: both count the positives among the top k. The loss
    must be 0 for the true labels, so training takes the measure that is 1 there: recall where k is at least the number
    of positives, and precision where it is less.

    Parameters
    ----------
    tp, fp : array-like
        Weights of true and false positives.
    n_pos, size : float
        Weights of the positives and of the top samples.

    Examples
    --------
    >>> float(training_value(3.0, 5.0, n_pos=4.0, size=8.0)), float(training_value(3.0, 1.0, n_pos=8.0, size=4.0))
    (0.75, 0.75)
    """
    return divide(tp, n_pos)[()] if size >= n_pos else divide(tp, np.add(tp, fp))[()]


def _check_has_positives(n_pos: float, name: str) -> float:
    if not n_pos > 0:
        raise ValueError(f"Measure {name!r} needs positives to define the cost of a mistake, got n_pos={n_pos:g}.")
    return float(n_pos)


def _precision_and_recall(groups: ScoreGroups) -> tuple[Floats, Floats]:
    """Return precision and recall with the threshold at each distinct score; 0/0 is 0."""
    tp, fp = np.cumsum(groups.positives), np.cumsum(groups.negatives)
    return divide(tp, tp + fp), divide(tp, tp[-1])


@stored_fields(version=1)
@dataclass(frozen=True)
class RecallAtPrecision:
    """The greatest recall of any threshold with at least a given precision.

    It is 0 if no threshold has that precision, hence also without positives.

    Parameters
    ----------
    precision : float, default=0.9
        The least precision, in (0, 1].

    Examples
    --------
    >>> from metricwise.measures import RecallAtPrecision
    >>> RecallAtPrecision(0.6).score([1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.1])
    1.0
    >>> RecallAtPrecision(0.7).score([1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.1])
    0.3333333333333333
    """

    precision: float = 0.9

    name: ClassVar[str] = "recall_at_precision"
    response: ClassVar[Response] = "scores"

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", check_share(self.precision, "precision"))

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the truth ``y`` (0 and 1, -1 and 1, or booleans).

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Scores: the greater, the more likely a sample is positive.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The greatest recall; 0 if no threshold has the precision.
        """
        precision, recall = _precision_and_recall(group_by_score(y, response, sample_weight))
        return float(np.max(recall, initial=0.0, where=precision >= self.precision - _ROUNDING))


@stored_fields(version=1)
@dataclass(frozen=True)
class PrecisionAtRecall:
    """The greatest precision of any threshold with at least a given recall.

    Without positives it is 0.

    Parameters
    ----------
    recall : float, default=0.8
        The least recall, in (0, 1].

    Examples
    --------
    >>> from metricwise.measures import PrecisionAtRecall
    >>> PrecisionAtRecall(1.0).score([1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.1])
    0.6
    >>> PrecisionAtRecall(0.3).score([1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.1])
    1.0
    """

    recall: float = 0.8

    name: ClassVar[str] = "precision_at_recall"
    response: ClassVar[Response] = "scores"

    def __post_init__(self) -> None:
        object.__setattr__(self, "recall", check_share(self.recall, "recall"))

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate scores ``response`` against the truth ``y`` (0 and 1, -1 and 1, or booleans).

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Scores: the greater, the more likely a sample is positive.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The greatest precision; 0 without positives.
        """
        precision, recall = _precision_and_recall(group_by_score(y, response, sample_weight))
        return float(np.max(precision, initial=0.0, where=recall >= self.recall - _ROUNDING))
