"""Bounds of the level that models of a ratio of rates reach."""

from __future__ import annotations

import numpy as np

from metricwise._typing import Floats
from metricwise.certifying.bounded_problem import BoundedProblem
from metricwise.certifying.data import dense_points
from metricwise.measures.base import HasViolatedLabelling
from metricwise.results import Certificate, Result

_ON_MARGIN = 1e-10


def bound_level(problem: BoundedProblem, result: Result) -> Certificate:
    """Bound 1 minus the regularised ratio of rewards."""
    positive, weights, data = problem.positive, problem.weights, problem.data
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
    rewards = share * np.minimum(sign * data.scores(result.weights), 1.0)
    rates = np.array([1.0, rewards[positive].sum(), rewards[~positive].sum()])
    level = (a @ rates - 0.5 * ridge * result.weights @ result.weights) / (b @ rates)
    violated = np.zeros(positive.size)
    for dual, point in zip(result.witness.shares, dense_points(result.witness.points), strict=True):
        margins = sign * data.scores(point)
        # Samples on the margin may be counted or not, but consistently with training.
        violated += max(float(dual), 0.0) * (margins < 1.0 - _ON_MARGIN * max(1.0, np.abs(margins).max()))
    violated = np.minimum(violated, 1.0) * share
    planes = [data.combine(np.where(kind, sign * violated, 0.0)) for kind in (positive, ~positive)]
    sums = np.array([violated[positive].sum(), violated[~positive].sum()])
    assert result.problem.level is not None
    reach = _reach(a, b, sums, np.array(planes), ridge, result.problem.level)
    return Certificate(float(1.0 - level), 1.0 - reach, float(1.0 - (a @ rates) / (b @ rates)))


def _reach(a: Floats, b: Floats, sums: Floats, planes: Floats, ridge: float, start: float) -> float:
    """Return a level that no weights can exceed.

    Weights of a level above v make numerator - v denominator positive, so v is out of reach if a dual solution shows
    that the largest such difference is not positive. The dual solution keeps the same samples at every level and
    gives each class its cost there, a1 - v b1 or a2 - v b2; its value is then a quadratic function of v.
    """
    gram = planes @ planes.T / (2.0 * ridge)

    def bound(level: float) -> float:
        costs = a[1:] - level * b[1:]
        return float(a.sum() - level * b.sum() - costs @ sums + costs @ gram @ costs)

    quadratic = np.array([bound(-1.0), bound(0.0), bound(1.0)])
    curvature, slope = 0.5 * (quadratic[0] + quadratic[2]) - quadratic[1], 0.5 * (quadratic[2] - quadratic[0])
    roots = np.roots([curvature, slope, quadratic[1]])
    best = float(a.sum() / b.sum())  # the ratio of perfect labels; beyond it, costs may be negative
    if bound(start) <= 0.0:
        return min(start, best)
    return min([float(root.real) for root in roots if root.imag == 0.0 and root.real > start] + [best])
