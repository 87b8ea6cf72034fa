"""Bounds of every objective that a result may describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from metricwise._typing import Floats
from metricwise.certifying.bounded_problem import BoundedProblem
from metricwise.certifying.data import TrainingData, dense_points
from metricwise.certifying.levels import bound_level
from metricwise.certifying.slack import Slack
from metricwise.certifying.smoothed_labellings import smoothed_labelling
from metricwise.certifying.squares import squared_pairs
from metricwise.measures.base import RestrictsLabellings
from metricwise.measures.ranking_capabilities import find_roc_region
from metricwise.results import Certificate, Objective, Result
from metricwise.rounding import (
    SlackTerms,
    largest_coefficients,
    placing_error,
    replace_nan_bounds,
    slack_dual,
    slack_error,
    squared_pairs_dual,
    squared_pairs_sizes,
    widen_restricted,
    widen_squared_pairs,
)


def compute_bounds(problem: BoundedProblem, result: Result) -> Certificate:
    """Return the bounds of the objective that a result describes."""
    return _BOUNDS[result.problem.objective](problem, result)


def bound_slack(problem: BoundedProblem, result: Result) -> Certificate:
    """Bound 1/2 |w|^2 + C u R(w): above by the weights, below by the witness's combination of labellings."""
    u = float(problem.measure.mistakes_per_loss(problem.n_pos, problem.n_neg))
    slack = Slack(problem.measure, problem.positive, problem.weights, u)
    label = partial(smoothed_labelling, slack) if result.problem.smoothing is not None else None
    return bound_by_witness(problem.data, problem.C * u, slack, partial(_bound_slack_error, slack), result, label)


def bound_by_witness(
    data: TrainingData,
    cost: float,
    slack: Any,
    bound_error: Callable[[Floats, Floats], float],
    result: Result,
    smooth: Callable[[Floats, float], tuple[float, Floats, Floats]] | None = None,
) -> Certificate:
    """Bound 1/2 |w|^2 + cost * slack. Both bounds are widened by the rounding errors of their sums.

    No objective is negative.

    Parameters
    ----------
    data : TrainingData
        The samples.
    cost : float
        Cost of the slack.
    slack : Slack or QuerySlack
        The slack at given scores, and its labellings.
    bound_error : callable
        By how much the slack may differ from that of the exact scores, given the scores and their errors.
    result : Result
        Weights and witness.
    smooth : callable, optional
        Returns the loss, the coefficients and their sizes of a labelling that is smoothed.
    """
    shares = np.asarray(result.witness.shares)
    if np.any(shares < 0.0) or shares.sum() > 1.0 + 1e-9:
        raise ValueError("the model's witness is not a convex combination of labellings: train the model again")
    shares = shares / max(float(shares.sum()), 1.0)
    scores = data.scores(result.weights)
    loss, combined, sizes = 0.0, np.zeros(scores.size), np.zeros(scores.size)
    n_terms = shares.size
    for share, point, table in zip(shares, dense_points(result.witness.points), result.witness.tables, strict=True):
        if smooth is None or result.problem.smoothing is None:
            labelling_loss, c = slack.labelling(data.scores(point), table)
            terms = np.abs(c)
        else:
            labelling_loss, c, terms = smooth(data.scores(point), result.problem.smoothing)
            n_terms = max(n_terms, 8 * c.size)
        loss += share * labelling_loss
        combined += share * c
        sizes += share * terms
    errors = data.rounding_errors(result.weights, cost * combined, cost * sizes, n_terms)
    violation = slack.at(scores) + bound_error(scores, errors.scores)
    upper = 0.5 * (data.square(result.weights) + errors.square) + cost * violation
    square = data.square(data.combine(cost * combined)) + errors.combination
    lower = slack_dual(cost, loss, square, (slack.loss_size, slack.n_copies, shares.size))
    return Certificate(*replace_nan_bounds(upper, lower, violation))


def _bound_slack_error(slack: Slack, scores: Floats, score_errors: Floats) -> float:
    """Return by how much the slack may differ from that of the exact scores."""
    roc_region = find_roc_region(slack.measure)
    largest = largest_coefficients(slack.positive, slack.weights, slack.u, roc_region)
    terms = SlackTerms(slack.loss_size, float(largest @ np.abs(scores)), float(largest @ score_errors), slack.n_copies)
    if slack.rankings is not None:
        n_copies = slack.rankings.n_pos, slack.rankings.n_neg
        terms = terms._replace(search=placing_error(*n_copies, float(np.abs(scores).max())))
    if isinstance(slack.measure, RestrictsLabellings):
        terms = widen_restricted(terms, largest, scores, slack.weight_errors)
    return slack_error(terms, ranks=roc_region is not None)


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
    return Certificate(*replace_nan_bounds(upper, lower, above))


_BOUNDS: dict[Objective, Callable[[BoundedProblem, Result], Certificate]] = {
    Objective.SLACK: bound_slack,
    Objective.SQUARED_PAIRS: bound_squared_pairs,
    Objective.RATIO_LEVEL: bound_level,
}
