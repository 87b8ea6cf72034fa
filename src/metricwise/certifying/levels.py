"""Bounds of the level that models of a ratio of rates reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._typing import Floats
from metricwise.certifying.bounded_problem import BoundedProblem
from metricwise.certifying.data import dense_points
from metricwise.measures.base import HasViolatedLabelling
from metricwise.results import Certificate, Result
from metricwise.rounding import STEPS, Bounded, affine, gamma, loss_above, mean_reward, ratio_above

_ON_MARGIN = 1e-10


def bound_level(problem: BoundedProblem, result: Result) -> Certificate:
    """Bound 1 minus the regularised ratio of rewards."""
    positive, weights = problem.positive, problem.weights
    data: Any = problem.data  # linear
    sign = np.where(positive, 1.0, -1.0)
    n_pos, n_neg, measure = problem.n_pos, problem.n_neg, problem.measure
    ratio = np.array(measure.ratio(n_neg / n_pos))
    a, b = (ratio / ratio[3:].sum()).reshape(2, 3)
    if isinstance(measure, HasViolatedLabelling):
        mistakes = measure.mistakes_per_loss(n_pos, n_neg)
    else:
        mistakes = n_pos / (a[1] - a.sum() * b[1])
    ridge = 1.0 / (problem.C * float(mistakes))
    share = weights / np.where(positive, n_pos, n_neg)
    level, reward = _bound_ratio(problem, result.weights, (a, b), ridge)
    violated = np.zeros(positive.size)
    for dual, point in zip(result.witness.shares, dense_points(result.witness.points), strict=True):
        margins = sign * data.scores(point)
        # Samples on the margin may be counted or not, but consistently with training.
        violated += max(float(dual), 0.0) * (margins < 1.0 - _ON_MARGIN * max(1.0, np.abs(margins).max()))
    violated = np.minimum(violated, 1.0) * share
    kinds = positive, ~positive
    planes = np.array([data.combine(np.where(kind, sign * violated, 0.0)) for kind in kinds])
    n_terms = positive.size + np.size(result.witness.shares)
    errors = np.array([data.column_errors(np.where(kind, violated, 0.0), n_terms) for kind in kinds])
    sums = np.array([violated[kind].sum() for kind in kinds])
    assert result.problem.level is not None
    reach = _reach(a, b, sums, planes, errors, ridge, result.problem.level, gamma(2 * n_terms + STEPS))
    lower = 1.0 - reach - gamma(STEPS) * (1.0 + abs(reach))
    return Certificate(loss_above(level), lower, loss_above(reward))


def _bound_ratio(problem: BoundedProblem, w: Floats, ratio: tuple[Floats, Floats], ridge: float) -> tuple[float, float]:
    """Return numbers below the regularised ratio of rewards and below the ratio without the regulariser."""
    positive, data = problem.positive, problem.data
    nothing = np.zeros(positive.size)
    errors = data.rounding_errors(w, nothing, nothing, 0)
    margins = np.where(positive, 1.0, -1.0) * data.scores(w)
    pos, neg = (
        mean_reward(margins[kind], errors.scores[kind], problem.weights[kind]) for kind in (positive, ~positive)
    )
    numerator, denominator = (affine(part, (pos, neg)) for part in ratio)
    penalty = 0.5 * ridge * (data.square(w) + errors.square) * (1.0 + gamma(STEPS))
    level = ratio_above(Bounded(numerator.value - penalty, numerator.error), denominator)
    return level, ratio_above(numerator, denominator)


def _reach(
    a: Floats, b: Floats, sums: Floats, planes: Floats, errors: Floats, ridge: float, start: float, relative: float
) -> float:
    """Return a level that no weights can exceed.

    Weights of a level above v make numerator - v denominator positive, so v is out of reach if a dual solution shows
    that the largest such difference is not positive. The dual solution keeps the same samples at every level and
    gives each class its cost there, a1 - v b1 or a2 - v b2; its value is then a quadratic function of v.

    ``errors`` are those of the planes, and ``relative`` is that of the sums; costs are largest at one of the ends.
    """
    gram = planes @ planes.T / (2.0 * ridge)
    best = float(a.sum() / b.sum())  # the ratio of perfect labels; beyond it, costs may be negative
    largest = np.max([np.abs(a[1:]) + abs(level) * np.abs(b[1:]) for level in (start, best)], axis=0)
    sizes, moved = largest @ np.abs(planes), largest @ errors
    squares = float(2.0 * sizes @ moved + moved @ moved + gamma(sizes.size + STEPS) * (sizes @ sizes)) / (2.0 * ridge)
    constants = float(np.abs(a).sum() + max(abs(start), abs(best)) * np.abs(b).sum())
    room = (squares + relative * float(largest @ sums) + gamma(STEPS) * constants) * (1.0 + gamma(STEPS))

    def bound(level: float) -> float:
        costs = a[1:] - level * b[1:]
        return float(a.sum() - level * b.sum() - costs @ sums + costs @ gram @ costs) + room

    best += gamma(STEPS) * constants
    if bound(start) <= 0.0:
        return min(start, best)
    quadratic = np.array([bound(-1.0), bound(0.0), bound(1.0)])
    curvature, slope = 0.5 * (quadratic[0] + quadratic[2]) - quadratic[1], 0.5 * (quadratic[2] - quadratic[0])
    if not np.isfinite(quadratic).all():
        return best
    roots = [float(root.real) for root in np.roots([curvature, slope, quadratic[1]]) if root.imag == 0.0]
    for root in sorted(root for root in roots if root > start):
        for nudge in (0.0, *np.geomspace(1e-16, 1e-6, 11)):  # the root of a difference is itself uncertain
            if bound(root + nudge) <= 0.0:
                return min(root + float(nudge), best)
    return best
