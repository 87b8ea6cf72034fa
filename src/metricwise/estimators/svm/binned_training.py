"""Train a multivariate support vector machine that sees its scores through histograms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricwise._typing import Floats
from metricwise.designs.remote_design import LabelledData, RemoteDesign
from metricwise.designs.remote_scores import RemoteScores
from metricwise.estimators.svm.training import (
    BinaryFit,
    TrainingPlan,
    divide_limits,
    make_portable,
    predicted_fraction,
)
from metricwise.inference import threshold_for
from metricwise.measures import Measure
from metricwise.oracles.histogram import ClassScores, refine_edges
from metricwise.solvers import run
from metricwise.solvers.binned_problem import BinnedProblem, make_binned_problem

_FINER_THRESHOLDS = 2  # times that bins are made finer around the best threshold


def fit_binned_problems(plan: TrainingPlan, data: LabelledData, labels: Sequence[int], n_bins: int) -> list[BinaryFit]:
    """Solve the problem of each of some labels vs the rest, on samples that stay where they are."""
    limits = divide_limits(plan.limits, len(labels))
    run_solver = run if plan.checkpoint is None else plan.checkpoint.run
    fits = []
    for label in labels:
        samples = RemoteDesign(data, label)
        problem = make_binned_problem(samples, plan.measure, n_bins, plan.C, plan.limits.tol)
        result, state = run_solver(plan.solver, problem, limits, None, plan.callback)
        threshold = plan.threshold
        if isinstance(threshold, str):
            threshold = _select_threshold(plan.measure, problem, state.scores, n_bins)
        samples.drop_scores()
        fits.append(BinaryFit(make_portable(result, samples), float(threshold)))
    if plan.checkpoint is not None:
        plan.checkpoint.finish()
    return fits


def _select_threshold(measure: Measure, problem: BinnedProblem, scores: RemoteScores, n_bins: int) -> float:
    """Return the best threshold between bins of the training scores, which are made finer around it."""
    edges = np.union1d(*problem.oracle.violate(scores).histogram.edges)
    for _ in range(_FINER_THRESHOLDS):
        threshold, bins, change = _select_between_bins(measure, problem.design, scores, edges)
        # The threshold is an edge again, so that it can only be replaced by a better one.
        edges = np.union1d(refine_edges(bins, change, n_bins), np.nextafter(threshold, np.inf))
    return _select_between_bins(measure, problem.design, scores, edges)[0]


def _select_between_bins(
    measure: Measure, samples: RemoteDesign, scores: RemoteScores, edges: Floats
) -> tuple[float, ClassScores, Floats]:
    """Return the best threshold between bins, the bins of all samples, and after which of them labels change."""
    pos, neg = samples.histogram(scores, (edges, edges)).classes
    both = pos.merge(neg)
    filled = np.flatnonzero(both.counts)
    counts = np.concatenate([pos.counts[filled], neg.counts[filled]]).astype(np.float64)
    truth = np.repeat([True, False], filled.size)
    order = np.tile(np.arange(filled.size, dtype=np.float64), 2)
    fraction = predicted_fraction(measure, float(samples.n_pos), float(samples.shape[0]))
    is_filled = counts > 0.0
    between = threshold_for(measure, truth[is_filled], order[is_filled], counts[is_filled], fraction)
    first = int(np.floor(between)) + 1
    change = np.zeros(edges.size)
    if 0 < first < filled.size:
        change[filled[first - 1]] = 1.0
    bins = ClassScores(both.counts.astype(np.float64), both.low, both.low, both.high)
    return _score_between(first, both.low[filled], both.high[filled]), bins, change


def _score_between(first: int, low: Floats, high: Floats) -> float:
    """Return a score below bin ``first`` and not below any score of the bins before it.

    Examples
    --------
    >>> low, high = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    >>> _score_between(1, low, high)
    1.5
    >>> _score_between(0, low, high) < 0.0, _score_between(2, low, high) >= 5.0
    (True, True)
    """
    if first <= 0:
        return float(np.nextafter(low[0], -np.inf))
    if first >= low.size:
        return float(high[-1])
    middle = 0.5 * float(high[first - 1]) + 0.5 * float(low[first])
    return middle if high[first - 1] <= middle < low[first] else float(high[first - 1])
