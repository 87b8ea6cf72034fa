"""The regularised ratio that AMP maximises: data, coefficients, and the cost-sensitive problem of a challenge level.

With the hinge rewards of scores s = X w, means by weight over the positives and over the negatives,

    P(w) = mean of min(1, s_i),    N(w) = mean of min(1, -s_i),

the objective is to maximise

    M(w) = (a0 + a1 P + a2 N - lambda/2 |w|^2) / (b0 + b1 P + b2 N),    lambda = 1 / (C u),

where the coefficients are scaled so that the denominator is 1 for perfect labels (P = N = 1) and u is the number of
mistakes that a full loss stands for. The regulariser is in the numerator, so that every inner problem has exactly one
solution. At the challenge level v that problem, maximising numerator - v denominator, is

    min 1/2 |w|^2 + p / (lambda n+) sum_pos hinge + q / (lambda n-) sum_neg hinge,    p = a1 - v b1,  q = a2 - v b2,

a support vector machine with class costs. At level 1, the level of perfect labels, the cost of a positive
sample is C u (a1 - b1) / n+, which is C up to one part in u: the cost of one mistake, as everywhere in this library.
For the accuracy the costs are C at every level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.designs import Design
from metricwise.measures import Accuracy
from metricwise.measures.base import HasViolatedLabelling, Measure
from metricwise.measures.rate_capabilities import Ratio, RatioOfRates
from metricwise.oracles.base import Classes
from metricwise.oracles.contingency import AdditiveOracle
from metricwise.results import Certificate
from metricwise.rounding import STEPS, Bounded, affine, gamma, loss_above, mean_reward, ratio_above
from metricwise.solvers.problem import MultivariateProblem

_ROUNDING = 1e-12


@stored_fields(version=1)
class ClassCosts(NamedTuple):
    """The costs of mistakes on positives and on negatives, or the value of a unit of the rates P and N."""

    pos: float
    neg: float


@dataclass(frozen=True)
class LevelRatio:
    """A ratio of the rates, scaled so that the denominator is 1 for perfect labels.

    Parameters
    ----------
    coefficients : Ratio
        The scaled coefficients.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> ratio = make_level_ratio(FBeta(), theta=3.0)
    >>> ratio.first, ratio.best
    (0.0, 1.0)
    >>> ratio.class_costs(0.5)  # for F1 proportional to 2 - v and theta v
    ClassCosts(pos=0.75, neg=0.75)
    """

    coefficients: Ratio

    def numerator(self, tpr: float, tnr: float) -> float:
        """Return a0 + a1 P + a2 N."""
        a0, a1, a2, *_ = self.coefficients
        return a0 + a1 * tpr + a2 * tnr

    def denominator(self, tpr: float, tnr: float) -> float:
        """Return b0 + b1 P + b2 N."""
        *_, b0, b1, b2 = self.coefficients
        return b0 + b1 * tpr + b2 * tnr

    @property
    def first(self) -> float:
        """The level of w = 0, where both rewards are 0."""
        return self.numerator(0.0, 0.0) / self.denominator(0.0, 0.0)

    @property
    def best(self) -> float:
        """The level of perfect labels."""
        return self.numerator(1.0, 1.0)

    def class_costs(self, level: float) -> ClassCosts:
        """Return a1 - v b1 and a2 - v b2 at the level v, with rounding errors set to zero."""
        _, a1, a2, _, b1, b2 = self.coefficients
        values = []
        for a, b in ((a1, b1), (a2, b2)):
            cost = a - level * b
            values.append(0.0 if abs(cost) <= _ROUNDING * (abs(a) + abs(level * b)) else cost)
        return ClassCosts(*values)

    def cost_error(self, level: float) -> float:
        """Return the relative rounding error of the class costs that are not zero."""
        _, a1, a2, _, b1, b2 = self.coefficients
        pairs = zip(self.class_costs(level), ((a1, b1), (a2, b2)), strict=True)
        return max(gamma(STEPS) * (abs(a) + abs(level * b)) / cost for cost, (a, b) in pairs if cost > 0.0)

    def bound_level(self, level: float, missing: float) -> float:
        """Return a level that no weights exceed, given a bound of numerator - v denominator over all weights."""
        sizes = float(np.abs(self.coefficients).sum()) * (1.0 + abs(level))
        # Corners are ratios of costs, and as uncertain as these.
        least = self.least_denominator(level)
        least -= self.cost_error(level) * (sizes + abs(least)) + gamma(STEPS) * sizes
        if not least > 0.0:
            return self.best
        return level + max(missing + gamma(STEPS) * sizes, 0.0) / least

    def least_denominator(self, level: float) -> float:
        """Return a lower bound of the denominator over all weights that reach a level.

        Such weights have p P + q N + a0 - v b0 >= lambda/2 |w|^2 >= 0 and rewards of at most 1: in the plane of the
        rates that is a triangle, and the denominator is least at one of its corners. If a class has no cost, its reward
        may fall without bound.
        """
        a0, _, _, b0, b1, b2 = self.coefficients
        p, q = self.class_costs(level)
        rest = a0 - level * b0
        corners = [self.denominator(1.0, 1.0)]
        if q > 0.0:
            corners.append(self.denominator(1.0, min(-(rest + p) / q, 1.0)))
        elif b2 > 0.0:
            return -np.inf
        if p > 0.0:
            corners.append(self.denominator(min(-(rest + q) / p, 1.0), 1.0))
        elif b1 > 0.0:
            return -np.inf
        return min(corners)


def make_level_ratio(measure: Measure, theta: float) -> LevelRatio:
    """Return the ratio of a measure at theta = n-/n+.

    Raises
    ------
    ValueError
        If a challenge level could ask for fewer correct labels, so that the inner problem is not concave, or if the
        denominator could vanish.
    """
    assert isinstance(measure, RatioOfRates)
    given = measure.ratio(theta)
    size = given.b0 + given.b1 + given.b2
    if not np.all(np.isfinite(given)) or size == 0.0:
        raise ValueError(
            f"measure {measure.name!r} has the ratio {tuple(given)} at theta={theta:g}, but all coefficients must be "
            "finite, and the denominator must not be 0 for perfect labels (b0 + b1 + b2)"
        )
    ratio = LevelRatio(Ratio(*(coefficient / size for coefficient in given)))
    if ratio.coefficients.b0 <= 0.0:
        raise ValueError(
            f"measure {measure.name!r} has a denominator that is not positive at P = N = 0 (theta={theta:g}), from "
            "where AMP starts: multiply the ratio out, or train MultivariateSVC for it"
        )
    _check_concave(measure, ratio, theta)
    if ratio.least_denominator(ratio.first) <= _ROUNDING:
        raise ValueError(
            f"the denominator of measure {measure.name!r} can vanish between w = 0 and perfect labels "
            f"(theta={theta:g}), so that levels mean nothing: train MultivariateSVC for it, or add a small constant to "
            "numerator and denominator"
        )
    return ratio


def _check_concave(measure: Measure, ratio: LevelRatio, theta: float) -> None:
    """Raise ValueError unless the costs are non-negative at both ends, hence at all levels: they are affine in it."""
    for level in (ratio.first, ratio.best):
        p, q = ratio.class_costs(level)
        if p < 0.0 or q < 0.0 or p + q == 0.0:
            raise ValueError(
                f"measure {measure.name!r} pays {p:g} for true positives and {q:g} for true negatives at the level "
                f"{level:g} (theta={theta:g}); AMP needs a measure for which neither is negative at any level between "
                "that of w = 0 and that of perfect labels, and not both are zero: more correct labels must not lower "
                "the measure. MultivariateSVC trains for any measure"
            )


@dataclass(frozen=True)
class AmpProblem:
    """The problem of maximising the regularised ratio; the design has the positives first."""

    design: Design
    n_pos: int
    ratio: LevelRatio
    ridge: float
    weights: Floats

    def rates(self, scores: Floats) -> tuple[float, float]:
        """Return the hinge rewards P and N at given scores."""
        pos, neg = slice(None, self.n_pos), slice(self.n_pos, None)
        tpr = np.average(np.minimum(scores[pos], 1.0), weights=self.weights[pos])
        tnr = np.average(np.minimum(-scores[neg], 1.0), weights=self.weights[neg])
        return float(tpr), float(tnr)

    def level(self, w: Floats, scores: Floats) -> float:
        """Return the regularised ratio at weights with given scores."""
        rates = self.rates(scores)
        numerator = self.ratio.numerator(*rates) - 0.5 * self.ridge * float(w @ self.design.covector(w))
        return numerator / self.ratio.denominator(*rates)

    def prove(self, w: Floats, highest: float) -> Certificate:
        """Return the bounds of 1 - M in exact arithmetic, given a level that no weights exceed."""
        design: Any = self.design
        nothing, margins = np.zeros(self.weights.size), design.scores(w)
        margins[self.n_pos :] *= -1.0
        errors = design.rounding_errors(w, np.zeros(w.size), nothing, 0)
        classes = slice(None, self.n_pos), slice(self.n_pos, None)
        pos, neg = (mean_reward(margins[own], errors.scores[own], self.weights[own]) for own in classes)
        a, b = np.array(self.ratio.coefficients).reshape(2, 3)
        numerator, denominator = affine(a, (pos, neg)), affine(b, (pos, neg))
        penalty = 0.5 * self.ridge * (float(w @ w) + errors.square) * (1.0 + gamma(STEPS))
        level = ratio_above(Bounded(numerator.value - penalty, numerator.error), denominator)
        lower = 1.0 - highest - gamma(STEPS) * (1.0 + abs(highest))
        return Certificate(loss_above(level), lower, loss_above(ratio_above(numerator, denominator)))

    def cost_sensitive(self, level: float) -> MultivariateProblem:
        """Return the inner problem of a challenge level, to be minimised.

        Its objective J makes numerator - v denominator = best - v - lambda J.
        """
        pos_total, neg_total = float(self.weights[: self.n_pos].sum()), float(self.weights[self.n_pos :].sum())
        p, q = self.ratio.class_costs(level)
        weights = self.weights.copy()
        weights[: self.n_pos] *= p / (self.ridge * pos_total)
        weights[self.n_pos :] *= q / (self.ridge * neg_total)
        total = (p + q) / self.ridge
        classes = Classes(self.n_pos, weights.size - self.n_pos, weights, self.design.threads)
        # Not by make_oracle, which refuses classes without weight: F1 gives the negatives none at level 0.
        oracle = AdditiveOracle(1.0 / total, 1.0 / total, classes, total)
        return MultivariateProblem(self.design, oracle, Accuracy(), self.n_pos, total, weights)


def make_amp_problem(
    design: Design, positive: NDArray[np.bool_], measure: Measure, C: float, weights: Floats | None = None
) -> AmpProblem:
    """Return the problem with the positives first and the measure's ratio scaled.

    Parameters
    ----------
    design : Design
        Samples in any order.
    positive : array of bool
        Which samples are positive; both classes must be present.
    measure : Measure
        A ratio of rates.
    C : float
        The cost of one mistake.
    weights : array, optional
        Weights of the samples, above zero.
    """
    indices = np.concatenate([np.flatnonzero(positive), np.flatnonzero(~positive)])
    ordered = np.ones(indices.size) if weights is None else np.asarray(weights, dtype=np.float64)[indices]
    n_pos = int(np.count_nonzero(positive))
    pos_total, neg_total = float(ordered[:n_pos].sum()), float(ordered[n_pos:].sum())
    ratio = make_level_ratio(measure, neg_total / pos_total)
    ridge = 1.0 / (C * _mistakes(measure, ratio, pos_total, neg_total))
    return AmpProblem(design.take(indices), n_pos, ratio, ridge, ordered)


def _mistakes(measure: Measure, ratio: LevelRatio, n_pos: float, n_neg: float) -> float:
    """Return u, from the slope of the ratio at perfect labels if the measure does not define it."""
    if isinstance(measure, HasViolatedLabelling):
        return float(measure.mistakes_per_loss(n_pos, n_neg))
    slope = ratio.class_costs(ratio.best).pos
    if slope == 0.0:
        raise ValueError(
            f"measure {measure.name!r} loses nothing by missing a positive, so the cost of a mistake is undefined: "
            "give it a method mistakes_per_loss(n_pos, n_neg)"
        )
    return n_pos / slope
