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
    """(a0 + a1 P + a2 N) / (b0 + b1 P + b2 N) of the rates P = tp/n+ and N = tn/n-."""

    a0: float
    a1: float
    a2: float
    b0: float
    b1: float
    b2: float


@runtime_checkable
class Measure(Protocol):
    """A measure of agreement: greater is better. ``response`` is what `score` takes: 0/1 labels or real scores."""

    @property
    def name(self) -> str: ...

    @property
    def response(self) -> Response: ...

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...


@runtime_checkable
class CountsTable(Protocol):
    """The measure is a function of the contingency table, defined on arrays of tables."""

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any: ...


@runtime_checkable
class DeclaresMonotone(Protocol):
    """The measure declares whether more true positives never lower it, and more false positives never raise it."""

    @property
    def monotone(self) -> bool: ...


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
    """The measure declares whether it stays the same when positives and negatives are exchanged."""

    @property
    def symmetric(self) -> bool: ...


def is_symmetric(measure: Measure) -> bool:
    """Whether a measure is declared to be symmetric; one that declares nothing treats the two classes differently.

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
    """

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float: ...


@runtime_checkable
class NeedsConstraint(Protocol):
    """A share that a useless classifier maximises: it is trained for under a constraint on another share only."""

    @property
    def why_not_alone(self) -> str: ...


@runtime_checkable
class IsCost(Protocol):
    """A cost, of which less is better. ``value``, which training maximises, falls with it; users see the cost.

    ``cost_of_value`` returns the cost of ``n_samples`` samples that have the given value.
    """

    def cost_of_value(self, value: Any, n_samples: float) -> Any: ...


@runtime_checkable
class IsTotal(Protocol):
    """A total over the samples, of which more is better, such as a profit: users see the total.

    ``total_of_value`` returns the total of ``n_samples`` samples that have the given value.
    """

    def total_of_value(self, value: Any, n_samples: float) -> Any: ...


@runtime_checkable
class HasMistakeCosts(Protocol):
    """A cost that is linear in the table: what a missed positive and a false alarm add to it, the dearer being 1.

    The hinge loss for it is that of an accuracy whose samples have these weights.
    """

    @property
    def mistake_costs(self) -> tuple[float, float]: ...


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
    """Only labellings with a fixed number of predicted positives count."""

    def predicted_positives(self, n_pos: float, n_samples: float) -> float: ...


@runtime_checkable
class CountsTopSamples(Protocol):
    """The number of predicted positives may be an absolute count, which fits data of one size only."""

    def relative_to(self, n_pos: float) -> Measure:
        """Return the measure with the count as a multiple of the positives, of which there are ``n_pos`` here."""
        ...


class RocRegion(NamedTuple):
    """The region of the ROC curve's unit square that counts: false positive rates in a range, recall from a least one.

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
    """A ranking measure: an average over pairs of a positive and a negative, in a region of the ROC curve's square."""

    @property
    def roc_region(self) -> RocRegion: ...


@runtime_checkable
class GainsByRank(Protocol):
    """A ranking measure that adds up gains of the positives: f(i, k) of the i-th best of them at rank k >= i of all.

    ``rank_gain`` returns f of arrays of i and k. The gains of a perfect ranking, f(i, i), add up to one. Training needs
    two properties more, and checks them unless they are proved:

    - f(i, k) is not negative and does not rise with k;
    - it is convex in k: what is lost by one rank more, f(i, k) - f(i, k + 1), does not rise with k either.

    Then the best number of positives above the j-th best negative never falls with j.
    """

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any: ...


@runtime_checkable
class GradesRelevance(Protocol):
    """A measure of gains by rank that also takes graded relevance, not negative, of which 0 gains nothing.

    Its loss is then a mean of losses of two grades: for each level, samples of that grade or a higher one are the
    positives. ``weigh_levels`` returns the shares of the levels, given the distinct grades above zero, ascending, and
    the number of samples of each or a higher one.
    """

    def rank_gain(self, i: Any, k: Any, n_pos: int) -> Any: ...

    def weigh_levels(self, levels: Floats, counts: Floats) -> Floats: ...


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
    """A ratio of affine functions of the rates, at theta = n-/n+ (pseudo-linear)."""

    def ratio(self, theta: float) -> Ratio: ...


@runtime_checkable
class ConcaveInRates(Protocol):
    """A concave function of the true positive and the true negative rate."""

    def rate_value(self, tpr: Any, tnr: Any) -> Any: ...


class DualRegion(Enum):
    """The slopes (alpha, beta) that a concave function of the rates can have (Narasimhan et al. 2015, Table 1)."""

    POINT = "alpha = beta = 1/2"
    SIMPLEX = "alpha + beta = 1"
    ROOTS = "sqrt(alpha) + sqrt(beta) >= sqrt(2), within radius 2"
    DISC = "alpha^2 + beta^2 <= 1/2"
    HYPERBOLA = "alpha beta >= 1/4"


@runtime_checkable
class HasDualRegion(Protocol):
    """A concave function of the rates whose slopes fill a region that a solver can project onto."""

    @property
    def dual_region(self) -> DualRegion: ...

    def rate_value(self, tpr: Any, tnr: Any) -> Any: ...


@runtime_checkable
class HasMulticlassValue(Protocol):
    """The measure has a multiclass definition that is not an average over one-vs-rest problems."""

    def multiclass_score(self, y: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...


@runtime_checkable
class CountsClassTables(Protocol):
    """The multiclass measure is a function of the one-vs-rest tables, along the last axis."""

    def of_tables(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Any: ...


class ConfusionRatio(NamedTuple):
    """Matrices A and B: a measure is <A, C> / <B, C> of all confusion matrices C with the same class shares."""

    numerator: Floats
    denominator: Floats


@runtime_checkable
class CountsConfusion(Protocol):
    """The multiclass measure is a function of the confusion matrix: last axes true class, predicted class.

    ``of_confusion`` takes matrices of counts, weights or shares, which may be stacked. ``confusion_gradient`` takes one
    matrix of shares, which add up to one, and returns the slopes among matrices with the same class shares: a constant
    added to a row of it has no meaning.
    """

    def of_confusion(self, matrices: Floats) -> Any: ...

    def confusion_gradient(self, matrix: Floats) -> Floats: ...


def needs_whole_matrix(measure: object) -> bool:
    """Whether one-vs-rest tables do not determine a multiclass measure.

    Examples
    --------
    >>> from metricwise import CohenKappa, FBeta
    >>> needs_whole_matrix(CohenKappa("quadratic")), needs_whole_matrix(CohenKappa()), needs_whole_matrix(FBeta())
    (True, False, False)
    """
    return bool(getattr(measure, "needs_whole_matrix", False))


@runtime_checkable
class RatioOfConfusion(Protocol):
    """A ratio of linear functions of the confusion matrix, given the shares of the true classes."""

    def confusion_ratio(self, shares: Floats) -> ConfusionRatio: ...


@runtime_checkable
class ConcaveInRecalls(Protocol):
    """A concave function of the recalls of all classes, along the last axis; ``counts`` masks those that count."""

    def of_recalls(self, recalls: Floats, counts: Any) -> Any: ...


@dataclass(frozen=True)
class Table:
    """A weighted contingency table; the entries may be arrays of one shape."""

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
