"""Training with a weight per sample that a profit sets: what a wrong decision about the sample loses.

Two models are judged on the same out-of-fold samples: one trained without such weights, which decides by its
probabilities and the amounts, and one trained with them, whose log-odds contain the amounts already. The latter is
selected if out-of-fold samples make a gain likely.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Integers
from metricwise.decisions.amounts import detach_amounts
from metricwise.decisions.calibrating import fit_calibration
from metricwise.decisions.comparison import CONFIDENCE
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.executors import score_fold
from metricwise.decisions.fitting import FittedModel, account_for_groups
from metricwise.decisions.intervals import resampled_interval
from metricwise.decisions.out_of_fold import OutOfFoldScores, score_out_of_fold
from metricwise.decisions.profit import ProfitDecision
from metricwise.decisions.profit_task import ProfitTask
from metricwise.decisions.scoring import fit_copy
from metricwise.estimators.wrappers.cost_sensitive.iterations import Iteration, WeightingPlan
from metricwise.measures.base import show_value
from metricwise.solvers.amp_problem import ClassCosts


class JudgedCosts(NamedTuple):
    """Sample weights with the out-of-fold scores of models trained with them, and the decision on these."""

    weights: Floats | None
    samples: ScoredSamples
    decision: ProfitDecision
    found: OutOfFoldScores


class FittedCosts(NamedTuple):
    """The selected model, all that were judged, and the number of the selected one."""

    fitted: FittedModel
    judged: list[JudgedCosts]
    best: int


def compute_sample_costs(target: Any, weights: Floats) -> Floats | None:
    """Return weights by what a wrong decision about each sample loses; their mean is that of the given ones.

    A sample for which one decision is always right gets no weight. None if a class has none left, or wrong predictions
    earn more than right ones for some samples.
    """
    truth, amounts = detach_amounts(target)
    positive, negative = amounts.gain_if_positive, amounts.gain_if_negative
    if np.any((positive < 0.0) & (negative < 0.0)):
        return None
    costs = weights * amounts.stakes_of_open(truth)
    if not (costs[truth].any() and costs[~truth].any()):
        return None
    found: Floats = costs * (weights.sum() / costs.sum())
    return found


def fit_sample_costs(plan: WeightingPlan) -> FittedCosts:
    """Train without and with the costs of the samples, and select the better."""
    data = plan.executor.data
    judged = [_judge(plan, data.weights, is_weighted=False)]
    costs = compute_sample_costs(data.target, data.sample_weights)
    # Without out-of-fold samples, of which the user has been warned, nothing shows whether costs help.
    if costs is not None and plan.folds and plan.max_iter > 0:
        judged.append(_judge(plan, costs, is_weighted=True))
    best = _select(judged, data.groups_of(judged[0].found.samples))
    one = judged[best]
    model = replace(data, weights=one.weights).fit(partial(fit_copy, plan.estimator))
    return FittedCosts(FittedModel(model, _decide_for_final(plan, one, model)), judged, best)


def _judge(plan: WeightingPlan, weights: Floats | None, is_weighted: bool) -> JudgedCosts:
    task, data = plan.executor.task, plan.executor.data
    assert isinstance(task, ProfitTask)
    weighted = replace(data, weights=weights)
    score = partial(score_fold, partial(fit_copy, plan.estimator), task.scores, weighted)
    found = score_out_of_fold(score, plan.splits, plan.probe, plan.executor.n_jobs)
    samples = data.attach_scores(found.samples, found.scores)
    return JudgedCosts(weights, samples, task.decide_weighted(samples, plan.rule, is_weighted), found)


def _select(judged: list[JudgedCosts], groups: Integers | None) -> int:
    """Return the second if it is likely to earn more than the first, else the first."""
    if len(judged) == 1:
        return 0
    earned = []
    for one in judged:
        truth, amounts = detach_amounts(one.samples.target)
        stakes = one.decision.stakes_of(one.samples)
        earned.append(amounts.earned(truth, stakes.margins > one.decision.threshold))
    gain = earned[1] - earned[0]

    def mean_gain(weights: Floats) -> float:
        return float(weights @ gain / max(float(weights.sum()), 1e-300))

    return int(resampled_interval(mean_gain, judged[0].samples.weights, CONFIDENCE, groups=groups)[0] > 0.0)


def _decide_for_final(plan: WeightingPlan, one: JudgedCosts, model: Any) -> Decision:
    data = plan.executor.data
    groups = data.groups_of(one.found.samples)
    decision = account_for_groups(plan.executor.task, one.decision, one.samples, groups, plan.rule.seed)
    if one.found.probe.size:
        by_final = plan.executor.score(model, one.found.probe)
        decision = decision.shift_to_final(data.probe(one.found.probe, one.found.probe_scores, by_final))
    if not (plan.calibrate or one.decision.is_weighted):
        return decision
    # A learner of samples weighted by their amounts has no probabilities of the classes otherwise.
    return decision.calibrate(fit_calibration(plan.executor.task, one.samples))


def mean_class_weights(plan: WeightingPlan, one: JudgedCosts) -> ClassCosts:
    """Return the mean weights of a positive and of a negative sample in training."""
    data = plan.executor.data
    truth = data.target["positive"]
    if one.weights is None or one.weights is data.weights:
        return ClassCosts(1.0, 1.0)
    of_samples = data.sample_weights
    return ClassCosts(*(float(one.weights[part].sum() / of_samples[part].sum()) for part in (truth, ~truth)))


def describe_costs(plan: WeightingPlan, one: JudgedCosts) -> Iteration:
    """Return the record of a training for users."""
    n_samples = float(one.samples.weights.sum())
    score = float(show_value(plan.executor.task.measure, one.decision.expected_score, n_samples))
    return Iteration(mean_class_weights(plan, one), score, float(one.decision.threshold))
