"""Bounds of every objective that a result may describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from metricwise.certifying.bounded_problem import BoundedProblem
from metricwise.certifying.data import dense_points
from metricwise.certifying.levels import bound_level
from metricwise.certifying.slack import Slack
from metricwise.certifying.smoothed_labellings import smoothed_labelling
from metricwise.certifying.squares import squared_pairs
from metricwise.results import Certificate, Objective, Result
from metricwise.rounding import (
    STEPS,
    gamma,
    masses,
    settle,
    slack_error,
    squared_pairs_dual,
    squared_pairs_sizes,
    widen_squared_pairs,
)


def compute_bounds(problem: BoundedProblem, result: Result) -> Certificate:
    """Return the bounds of the objective that a result describes."""
    return _BOUNDS[result.problem.objective](problem, result)


def bound_slack(problem: BoundedProblem, result: Result) -> Certificate:
    """Bound 1/2 |w|^2 + C u R(w): above by the weights, below by the witness's combination of labellings.

    Both are widened by the rounding errors of their sums. No objective is negative.
    """
    data = problem.data
    u = float(problem.measure.mistakes_per_loss(problem.n_pos, problem.n_neg))
    cost = problem.C * u
    slack = Slack(problem.measure, problem.positive, problem.weights, u)
    shares = np.asarray(result.witness.shares)
    if np.any(shares < 0.0) or shares.sum() > 1.0 + 1e-9:
        raise ValueError("the model's witness is not a convex combination of labellings: train the model again")
    shares = shares / max(float(shares.sum()), 1.0)
    find_labelling = slack.labelling
    if result.problem.smoothing is not None:
        find_labelling = partial(smoothed_labelling, slack, smoothing=result.problem.smoothing)
    loss, combined = 0.0, np.zeros(problem.positive.size)
    for share, point, table in zip(shares, dense_points(result.witness.points), result.witness.tables, strict=True):
        labelling_loss, c = find_labelling(data.scores(point), table)
        loss += share * labelling_loss
        combined += share * c
    scores, fpr_range = data.scores(result.weights), getattr(problem.measure, "fpr_range", None)
    errors = data.rounding_errors(result.weights, cost * combined, cost * np.abs(combined), shares.size)
    mass = masses(problem.positive, slack.weights, u, fpr_range)
    violation = slack.at(scores) + slack_error(mass, scores, errors.scores, ranks=fpr_range is not None)
    upper = 0.5 * (data.square(result.weights) + errors.square) + cost * violation
    square = (data.square(data.combine(cost * combined)) + errors.combination) * (1.0 + gamma(STEPS))
    # Coefficients that rounding leaves a little too large belong to no labelling; they count as a larger loss.
    lower = cost * loss * (1.0 - gamma(8 * scores.size)) - 0.5 * square - gamma(8 * scores.size) * cost
    return Certificate(*settle(upper, lower, violation))


def bound_squared_pairs(problem: BoundedProblem, result: Result) -> Certificate:
    """Bound the objective with the mean squared loss of pairs: below by the multipliers that its slopes stand for."""
    data, cost = problem.data, problem.C * float(problem.weights.sum())
    scores = data.scores(result.weights)
    loss, slopes = squared_pairs(scores, problem.positive, problem.weights)
    size, slope_sizes = squared_pairs_sizes(problem.positive, problem.weights, scores)
    errors = data.rounding_errors(result.weights, cost * slopes, cost * slope_sizes, 8 * scores.size)
    above = widen_squared_pairs(loss, problem.positive, problem.weights, errors.scores, size)
    upper = 0.5 * (data.square(result.weights) + errors.square) + cost * above
    square = data.square(data.combine(cost * slopes)) + errors.combination
    lower = squared_pairs_dual(cost, loss, slopes, scores, (size, slope_sizes), square)
    return Certificate(*settle(upper, lower, above))


_BOUNDS: dict[Objective, Callable[[BoundedProblem, Result], Certificate]] = {
    Objective.SLACK: bound_slack,
    Objective.SQUARED_PAIRS: bound_squared_pairs,
    Objective.RATIO_LEVEL: bound_level,
}
