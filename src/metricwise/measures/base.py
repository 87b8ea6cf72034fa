"""The protocol of a measure, and the protocols of its optional capabilities.

A measure evaluates predicted labels or scores against the true labels. It depends neither on the features nor on a
solver. Beyond its value, a measure may offer *capabilities*: small runtime-checkable protocols. A solver names the
capability it needs, so what a measure can do, and never its name, decides which solvers fit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from numpy.typing import ArrayLike

Response = Literal["labels", "scores"]


@runtime_checkable
class Measure(Protocol):
    """A measure of agreement: greater is better. ``response`` is what `score` takes: 0/1 labels or real scores.

    Examples
    --------
    >>> from metricwise import FBeta
    >>> from metricwise.measures import Measure
    >>> isinstance(FBeta(), Measure), isinstance("f1", Measure)
    (True, False)
    """

    @property
    def name(self) -> str:
        """The name, as in messages, reports and `metricwise.get_measure`."""
        ...

    @property
    def response(self) -> Response:
        """What `score` takes: "labels" or "scores"."""
        ...

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate predictions against the true labels.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels.
        response : array of shape (n_samples,)
            Predicted labels, or scores, as `response` says.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The measure: greater is better, unless it is a cost (`IsCost`).
        """
        ...


@runtime_checkable
class CountsTable(Protocol):
    """The measure is a function of the contingency table, defined on arrays of tables.

    Examples
    --------
    >>> from metricwise import FBeta, RocAuc
    >>> from metricwise.measures import CountsTable
    >>> isinstance(FBeta(), CountsTable), isinstance(RocAuc(), CountsTable)
    (True, False)
    """

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return the measure of one table or of arrays of tables.

        Parameters
        ----------
        tp, fp, fn, tn : float or array
            Weights of true positives, false positives, false negatives and true negatives.

        Returns
        -------
        float or array
            The measure of each table; training maximises it.
        """
        ...


@runtime_checkable
class DeclaresMonotone(Protocol):
    """The measure declares whether more true positives never lower it, and more false positives never raise it."""

    @property
    def monotone(self) -> bool:
        """Whether more true positives never lower the measure, and more false positives never raise it."""
        ...


def is_monotone(measure: CountsTable) -> bool:
    """Whether a measure is declared to be monotone; nothing is assumed of one that declares nothing.

    Examples
    --------
    >>> from metricwise import FBeta, contingency_measure
    >>> is_monotone(FBeta()), is_monotone(contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), name="own"))
    (True, False)
    """
    return isinstance(measure, DeclaresMonotone) and measure.monotone


@runtime_checkable
class DeclaresSymmetric(Protocol):
    """The measure declares whether it stays the same when positives and negatives are exchanged.

    Examples
    --------
    >>> from metricwise import AveragePrecision, MCC
    >>> from metricwise.measures import DeclaresSymmetric
    >>> isinstance(MCC(), DeclaresSymmetric), isinstance(AveragePrecision(), DeclaresSymmetric)
    (True, False)
    """

    @property
    def symmetric(self) -> bool:
        """Whether exchanging positives and negatives leaves the measure unchanged."""
        ...


def is_symmetric(measure: Measure) -> bool:
    """Return whether a measure is declared to stay the same when positives and negatives are exchanged.

    Parameters
    ----------
    measure : Measure
        The measure.

    Returns
    -------
    bool
        False also if the measure declares nothing: it then treats the two classes differently.

    Examples
    --------
    >>> from metricwise import MCC, FBeta
    >>> is_symmetric(MCC()), is_symmetric(FBeta())
    (True, False)
    """
    return isinstance(measure, DeclaresSymmetric) and measure.symmetric


@runtime_checkable
class HasViolatedLabelling(Protocol):
    """The loss 1 - measure has a most violated labelling that an oracle can find.

    ``mistakes_per_loss`` is u of the objective: the number of single mistakes that make up a loss of one.

    Examples
    --------
    >>> from metricwise import FBeta, PrecisionAtRecall
    >>> from metricwise.measures import HasViolatedLabelling
    >>> isinstance(FBeta(), HasViolatedLabelling), isinstance(PrecisionAtRecall(), HasViolatedLabelling)
    (True, False)
    """

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of single mistakes that make up a loss of one.

        Parameters
        ----------
        n_pos : float
            Weight of the positives.
        n_neg : float
            Weight of the negatives.

        Returns
        -------
        float
            The number u, above zero.
        """
        ...


@runtime_checkable
class NeedsConstraint(Protocol):
    """A share that a useless classifier maximises: it is trained for under a constraint on another share only.

    Examples
    --------
    >>> from metricwise import FBeta, Share
    >>> from metricwise.measures import NeedsConstraint
    >>> isinstance(Share("precision"), NeedsConstraint), isinstance(FBeta(), NeedsConstraint)
    (True, False)
    """

    @property
    def why_not_alone(self) -> str:
        """Why the share is not trained for without a constraint, and what to do instead."""
        ...


@runtime_checkable
class IsCost(Protocol):
    """A cost, of which less is better. ``value``, which training maximises, falls with it; users see the cost.

    ``cost_of_value`` returns the cost of ``n_samples`` samples that have the given value.

    Examples
    --------
    >>> from metricwise import CostMatrix, FBeta
    >>> from metricwise.measures import IsCost
    >>> isinstance(CostMatrix([[0, 1, 5], [1, 0, 2], [9, 4, 0]]), IsCost), isinstance(FBeta(), IsCost)
    (True, False)
    """

    def cost_of_value(self, value: Any, n_samples: float) -> Any:
        """Return the cost of samples that have a value.

        Parameters
        ----------
        value : float or array
            Values, which training maximises.
        n_samples : float
            Number of samples, or the sum of their weights.

        Returns
        -------
        float or array
            The cost, in the units of the user.
        """
        ...


@runtime_checkable
class IsTotal(Protocol):
    """A total over the samples, of which more is better, such as a profit: users see the total.

    ``total_of_value`` returns the total of ``n_samples`` samples that have the given value.

    Examples
    --------
    >>> from metricwise import FBeta, Profit
    >>> from metricwise.measures import IsTotal
    >>> isinstance(Profit(fp=-1, fn=-10), IsTotal), isinstance(FBeta(), IsTotal)
    (True, False)
    """

    def total_of_value(self, value: Any, n_samples: float) -> Any:
        """Return the total of samples that have a value.

        Parameters
        ----------
        value : float or array
            Values, which training maximises.
        n_samples : float
            Number of samples, or the sum of their weights.

        Returns
        -------
        float or array
            The total, in the units of the user.
        """
        ...


@runtime_checkable
class HasMistakeCosts(Protocol):
    """A cost that is linear in the table: what a missed positive and a false alarm add to it, the costlier being 1.

    The hinge loss for it is that of an accuracy whose samples have these weights.

    Examples
    --------
    >>> from metricwise import FBeta, Profit
    >>> from metricwise.measures import HasMistakeCosts
    >>> isinstance(Profit(fp=-1, fn=-10), HasMistakeCosts), isinstance(FBeta(), HasMistakeCosts)
    (True, False)
    """

    @property
    def mistake_costs(self) -> tuple[float, float]:
        """What a missed positive and a false alarm add to the cost, the costlier being 1."""
        ...


def show_value(measure: object, value: Any, n_samples: float) -> Any:
    """Return the value of a measure as users see it: a cost in its own units, for so many samples.

    Examples
    --------
    >>> from metricwise import FBeta, contingency_measure
    >>> cost = contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, name="cost", greater_is_better=False)
    >>> float(show_value(cost, cost.value(tp=3, fp=2, fn=1, tn=4), n_samples=10)), show_value(FBeta(), 0.5, 10)
    (7.0, 0.5)
    """
    if isinstance(measure, IsTotal):
        return measure.total_of_value(value, n_samples)
    return measure.cost_of_value(value, n_samples) if isinstance(measure, IsCost) else value


def show_interval(measure: object, interval: tuple[float, float], n_samples: float) -> tuple[float, float]:
    """Return an interval of values of a measure as users see it, the lower end first."""
    low, high = (float(show_value(measure, end, n_samples)) for end in interval)
    return (high, low) if isinstance(measure, IsCost) else (low, high)


@runtime_checkable
class RestrictsLabellings(Protocol):
    """Only labellings with a fixed number of predicted positives count.

    Examples
    --------
    >>> from metricwise import FBeta, PRBEP
    >>> from metricwise.measures import RestrictsLabellings
    >>> isinstance(PRBEP(), RestrictsLabellings), isinstance(FBeta(), RestrictsLabellings)
    (True, False)
    """

    def predicted_positives(self, n_pos: float, n_samples: float) -> float:
        """Return how many samples are predicted positive.

        Parameters
        ----------
        n_pos : float
            Weight of the positives.
        n_samples : float
            Weight of all samples.

        Returns
        -------
        float
            Weight of the samples of greatest score that are predicted positive.
        """
        ...


@runtime_checkable
class CountsTopSamples(Protocol):
    """The number of predicted positives may be an absolute count, which fits data of one size only."""

    def relative_to(self, n_pos: float) -> Measure:
        """Return the measure with the count as a multiple of the positives, of which there are ``n_pos`` here."""
        ...


@dataclass(frozen=True)
class Table:
    """A weighted contingency table; the entries may be arrays of one shape.

    Parameters
    ----------
    tp, fp, fn, tn : float or array
        Weights of true positives, false positives, false negatives and true negatives.

    Examples
    --------
    >>> from metricwise.measures import contingency_table
    >>> contingency_table([1, 1, 0, 0], [1, 0, 0, 0])
    Table(tp=1.0, fp=0.0, fn=1.0, tn=2.0)
    """

    tp: Any
    fp: Any
    fn: Any
    tn: Any
