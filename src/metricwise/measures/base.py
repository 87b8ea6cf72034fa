"""The protocol of a measure, and the protocols of its optional capabilities.

A measure evaluates predicted labels or scores against the true labels. It depends neither on the features nor on a
solver. Beyond its value, a measure may offer *capabilities*: small runtime-checkable protocols. A solver names the
capability it needs, so what a measure can do, and never its name, decides which solvers fit it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from metricwise._typing import Floats

Response = Literal["labels", "scores"]


class Ratio(NamedTuple):
    """(a0 + a1 P + a2 N) / (b0 + b1 P + b2 N) of the rates P = tp/n+ and N = tn/n-.

    Parameters
    ----------
    a0, a1, a2 : float
        Coefficients of the numerator.
    b0, b1, b2 : float
        Coefficients of the denominator, which is positive.

    Examples
    --------
    >>> from metricwise import Jaccard
    >>> Jaccard().ratio(theta=3.0)  # P / (1 + theta - theta N)
    Ratio(a0=0.0, a1=1.0, a2=0.0, b0=4.0, b1=0.0, b2=-3.0)
    """

    a0: float
    a1: float
    a2: float
    b0: float
    b1: float
    b2: float


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


class RocRegion(NamedTuple):
    """The region of the ROC curve's unit square that counts: false positive rates in a range, recall from a least one.

    Parameters
    ----------
    min_fpr, max_fpr : float, default=0.0 and 1.0
        Range of false positive rates.
    min_tpr : float, default=0.0
        Smallest true positive rate.

    Examples
    --------
    >>> RocRegion(max_fpr=0.25, min_tpr=0.5).largest_area
    0.125
    """

    min_fpr: float = 0.0
    max_fpr: float = 1.0
    min_tpr: float = 0.0

    @property
    def width(self) -> float:
        """The range of false positive rates: the share of the negatives that count."""
        return self.max_fpr - self.min_fpr

    @property
    def height(self) -> float:
        """The range of true positive rates: the share of the positives that count."""
        return 1.0 - self.min_tpr

    @property
    def largest_area(self) -> float:
        """The area under the curve of a perfect ranking."""
        return self.width * self.height

    @property
    def is_symmetric(self) -> bool:
        """Whether exchanging positives and negatives, which turns the square over, leaves the region unchanged."""
        return self.min_fpr == 0.0 and math.isclose(self.max_fpr, self.height, rel_tol=1e-12)


@runtime_checkable
class RanksPairs(Protocol):
    """A ranking measure: an average over pairs of a positive and a negative, in a region of the ROC curve's square.

    Examples
    --------
    >>> from metricwise import FBeta, RocAuc
    >>> from metricwise.measures import RanksPairs
    >>> isinstance(RocAuc(), RanksPairs), isinstance(FBeta(), RanksPairs)
    (True, False)
    """

    @property
    def roc_region(self) -> RocRegion:
        """The region of the ROC curve's unit square whose area is measured."""
        ...


@runtime_checkable
class GainsByRank(Protocol):
    """A ranking measure that adds up gains of the positives: f(i, k) of the i-th best of them at rank k >= i of all.

    ``rank_gain`` returns f of arrays of i and k. The gains of a perfect ranking, f(i, i), add up to one. Training needs
    two properties more, and checks them unless they are proved:

    - f(i, k) is not negative and does not rise with k;
    - it is convex in k: what is lost by one rank more, f(i, k) - f(i, k + 1), does not rise with k either.

    Then the best number of positives above the j-th best negative never falls with j.

    Examples
    --------
    >>> from metricwise import AveragePrecision, RocAuc
    >>> from metricwise.measures import GainsByRank
    >>> isinstance(AveragePrecision(), GainsByRank), isinstance(RocAuc(), GainsByRank)
    (True, False)
    """

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the i-th best positive at rank k.

        Parameters
        ----------
        i : int or array
            Position among the positives, from 1.
        k : int or array
            Rank among all samples, at least i.
        n_pos : int
            Number of positives.

        Returns
        -------
        float or array
            The gains f(i, k).
        """
        ...


@runtime_checkable
class GradesRelevance(Protocol):
    """A measure of gains by rank that also takes graded relevance, not negative, of which 0 gains nothing.

    Its loss is then a mean of losses of two grades: for each level, samples of that grade or a higher one are the
    positives. ``weigh_levels`` returns the shares of the levels, given the distinct grades above zero, ascending, and
    the number of samples of each or a higher one.

    Examples
    --------
    >>> from metricwise import AveragePrecision, NDCG
    >>> from metricwise.measures import GradesRelevance
    >>> isinstance(NDCG(), GradesRelevance), isinstance(AveragePrecision(), GradesRelevance)
    (True, False)
    """

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any:
        """Return the gain of the i-th best positive of two grades at rank k.

        Parameters
        ----------
        i : int or array
            Position among the positives, from 1.
        k : int or array
            Rank among all samples, at least i.
        n_pos : int
            Number of positives.

        Returns
        -------
        float or array
            The gains f(i, k).
        """
        ...

    def weigh_levels(self, levels: Floats, counts: Floats) -> Floats:
        """Return the shares of two-grade losses in that of graded relevance.

        Parameters
        ----------
        levels : array
            Distinct grades of a query, ascending and above zero.
        counts : array
            Number of samples of each grade or a higher one.

        Returns
        -------
        array
            Shares of the levels; they add up to one.
        """
        ...


Ranks = RanksPairs | GainsByRank  # the value depends on the order of the scores alone, and no sample has a label


def find_roc_region(measure: object) -> RocRegion | None:
    """Return the region of the ROC curve's square in which training swaps pairs; None unless a measure ranks.

    Examples
    --------
    >>> from metricwise import AveragePrecision, FBeta, PartialAuc
    >>> find_roc_region(PartialAuc(0.0, 0.1))
    RocRegion(min_fpr=0.0, max_fpr=0.1, min_tpr=0.0)
    >>> find_roc_region(AveragePrecision()) == RocRegion(), find_roc_region(FBeta())
    (True, None)
    """
    if isinstance(measure, GainsByRank):
        return RocRegion()
    return measure.roc_region if isinstance(measure, RanksPairs) else None


@runtime_checkable
class RatioOfRates(Protocol):
    """A ratio of affine functions of the rates, at theta = n-/n+ (pseudo-linear).

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import RatioOfRates
    >>> isinstance(FBeta(), RatioOfRates), isinstance(GMean(), RatioOfRates)
    (True, False)
    """

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of numerator and denominator.

        Parameters
        ----------
        theta : float
            Weight of the negatives over that of the positives.

        Returns
        -------
        Ratio
            The six coefficients.
        """
        ...


@runtime_checkable
class ConcaveInRates(Protocol):
    """A concave function of the true positive and the true negative rate.

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import ConcaveInRates
    >>> isinstance(GMean(), ConcaveInRates), isinstance(FBeta(), ConcaveInRates)
    (True, False)
    """

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at rates.

        Parameters
        ----------
        tpr : float or array
            True positive rates, in [0, 1].
        tnr : float or array
            True negative rates, in [0, 1].

        Returns
        -------
        float or array
            The measure.
        """
        ...


class DualRegion(Enum):
    """The slopes (alpha, beta) that a concave function of the rates can have (Narasimhan et al. 2015, Table 1).

    Examples
    --------
    >>> from metricwise import GMean
    >>> GMean().dual_region.value
    'alpha beta >= 1/4'
    """

    POINT = "alpha = beta = 1/2"
    SIMPLEX = "alpha + beta = 1"
    ROOTS = "sqrt(alpha) + sqrt(beta) >= sqrt(2), within radius 2"
    DISC = "alpha^2 + beta^2 <= 1/2"
    HYPERBOLA = "alpha beta >= 1/4"


@runtime_checkable
class HasDualRegion(Protocol):
    """A concave function of the rates whose slopes fill a region that a solver can project onto.

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import HasDualRegion
    >>> isinstance(GMean(), HasDualRegion), isinstance(FBeta(), HasDualRegion)
    (True, False)
    """

    @property
    def dual_region(self) -> DualRegion:
        """The region that the slopes fill."""
        ...

    def rate_value(self, tpr: Any, tnr: Any) -> Any:
        """Evaluate the measure at rates.

        Parameters
        ----------
        tpr : float or array
            True positive rates, in [0, 1].
        tnr : float or array
            True negative rates, in [0, 1].

        Returns
        -------
        float or array
            The measure.
        """
        ...


@runtime_checkable
class HasMulticlassValue(Protocol):
    """The measure has a multiclass definition that is not an average over one-vs-rest problems.

    Examples
    --------
    >>> from metricwise import Accuracy, FBeta
    >>> from metricwise.measures import HasMulticlassValue
    >>> isinstance(Accuracy(), HasMulticlassValue), isinstance(FBeta(), HasMulticlassValue)
    (True, False)
    """

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Evaluate labels of any number of classes.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True classes.
        labels : array of shape (n_samples,)
            Predicted classes.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The measure.
        """
        ...


@runtime_checkable
class CountsClassTables(Protocol):
    """The multiclass measure is a function of the one-vs-rest tables, along the last axis.

    Examples
    --------
    >>> from metricwise import Accuracy, Averaged, FBeta
    >>> from metricwise.measures import CountsClassTables
    >>> isinstance(Averaged(FBeta()), CountsClassTables), isinstance(Accuracy(), CountsClassTables)
    (True, True)
    """

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any:
        """Evaluate the measure on the tables of all classes.

        Parameters
        ----------
        tp, fp, fn, tn : array of shape (..., n_classes)
            Cells of the tables of one class vs the rest.

        Returns
        -------
        float or array
            The measure, one value for each set of tables.
        """
        ...


class ConfusionRatio(NamedTuple):
    """Matrices A and B: a measure is <A, C> / <B, C> of all confusion matrices C with the same class shares.

    Parameters
    ----------
    numerator, denominator : array of shape (n_classes, n_classes)
        The matrices A and B; one row per true class.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import Accuracy
    >>> Accuracy().confusion_ratio(np.array([0.2, 0.3, 0.5])).numerator.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    numerator: Floats
    denominator: Floats


@runtime_checkable
class CountsConfusion(Protocol):
    """The multiclass measure is a function of the confusion matrix: last axes true class, predicted class.

    ``of_confusion`` takes matrices of counts, weights or shares, which may be stacked. ``confusion_gradient`` takes one
    matrix of shares, which add up to one, and returns the slopes among matrices with the same class shares: a constant
    added to a row of it has no meaning.

    Examples
    --------
    >>> from metricwise import CohenKappa, FBeta
    >>> from metricwise.measures import CountsConfusion
    >>> isinstance(CohenKappa(), CountsConfusion), isinstance(FBeta(), CountsConfusion)
    (True, False)
    """

    def of_confusion(self, matrices: Floats) -> Any:
        """Evaluate confusion matrices.

        Parameters
        ----------
        matrices : array of shape (..., n_classes, n_classes)
            Confusion matrices of counts, weights or shares; one row per true class.

        Returns
        -------
        float or array
            The measure of each matrix.
        """
        ...

    def confusion_gradient(self, matrix: Floats) -> Floats:
        """Return the slopes of the measure at a confusion matrix.

        Parameters
        ----------
        matrix : array of shape (n_classes, n_classes)
            A confusion matrix of shares, which add up to one.

        Returns
        -------
        array of shape (n_classes, n_classes)
            The slopes, up to a constant for each row.
        """
        ...


def needs_whole_matrix(measure: object) -> bool:
    """Return whether a multiclass measure needs more than the one-vs-rest tables.

    Parameters
    ----------
    measure : Measure
        The measure.

    Returns
    -------
    bool
        True if the kind of confusion between two wrong classes counts, not only the table of each class.

    Examples
    --------
    >>> from metricwise import CohenKappa, FBeta
    >>> needs_whole_matrix(CohenKappa("quadratic")), needs_whole_matrix(CohenKappa()), needs_whole_matrix(FBeta())
    (True, False, False)
    """
    return bool(getattr(measure, "needs_whole_matrix", False))


@runtime_checkable
class RatioOfConfusion(Protocol):
    """A ratio of linear functions of the confusion matrix, given the shares of the true classes.

    Examples
    --------
    >>> from metricwise import CohenKappa, GMean
    >>> from metricwise.measures import RatioOfConfusion
    >>> isinstance(CohenKappa(), RatioOfConfusion), isinstance(GMean(), RatioOfConfusion)
    (True, False)
    """

    def confusion_ratio(self, shares: Floats) -> ConfusionRatio:
        """Return the measure as a ratio of linear functions of the confusion matrix.

        Parameters
        ----------
        shares : array of shape (n_classes,)
            Shares of the true classes.

        Returns
        -------
        ConfusionRatio
            The matrices of numerator and denominator.
        """
        ...


@runtime_checkable
class ConcaveInRecalls(Protocol):
    """A concave function of the recalls of all classes, along the last axis; ``counts`` masks those that count.

    Examples
    --------
    >>> from metricwise import FBeta, GMean
    >>> from metricwise.measures import ConcaveInRecalls
    >>> isinstance(GMean(), ConcaveInRecalls), isinstance(FBeta(), ConcaveInRecalls)
    (True, False)
    """

    def of_recalls(self, recalls: Floats, counts: Any) -> Any:
        """Evaluate the measure at recalls.

        Parameters
        ----------
        recalls : array of shape (..., n_classes)
            Recalls of the classes, in [0, 1].
        counts : array of bool
            Which classes count; those without samples do not.

        Returns
        -------
        float or array
            The measure.
        """
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


def loss_size(measure: Any, n_pos: float, n_neg: float) -> float:
    """Return the sum of the absolute terms of the largest loss 1 - measure, which rounding errors are relative to.

    Most losses are at most one. Those of correlations reach two, where all labels are wrong. The loss of a ranking is a
    difference of weights up to both ends of the range of false positive rates, divided by the width of the range; that
    of gains is the difference of their best sum, which is one, and another.

    Examples
    --------
    >>> from metricwise import MCC, FBeta, PartialAuc
    >>> loss_size(FBeta(), 2.0, 3.0), loss_size(MCC(), 2.0, 3.0), loss_size(PartialAuc(0.25, 0.5), 2.0, 3.0)
    (1.0, 2.0, 2.0)
    """
    if isinstance(measure, RanksPairs):
        return measure.roc_region.max_fpr / measure.roc_region.width
    if isinstance(measure, GainsByRank):
        return 2.0
    if isinstance(measure, RestrictsLabellings):
        return 1.0
    tp, fp = np.array([0.0, 0.0, n_pos, n_pos]), np.array([0.0, n_neg, 0.0, n_neg])
    values = np.asarray(measure.value(tp, fp, n_pos - tp, n_neg - fp), dtype=np.float64)
    return float(np.max(np.abs(1.0 - values), initial=1.0))
