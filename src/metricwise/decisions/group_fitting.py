"""Train a classifier and choose its thresholds under constraints by group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Integers
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.executors import Executor
from metricwise.decisions.fitting import FitPlan, FittedModel, account_for_groups, add_calibration, train_and_score
from metricwise.decisions.group_aim import GroupAim, GroupedSamples
from metricwise.decisions.group_decision import GroupDecision, GroupPlan, choose_by_group, guarantee_by_group
from metricwise.decisions.group_guarantees import refuse_small_groups
from metricwise.decisions.scoring import gives_probabilities
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData


def fit_by_group(executor: Executor, plan: FitPlan, groups: GroupPlan) -> FittedModel:
    """Train a model and choose thresholds that keep constraints by group.

    Parameters
    ----------
    executor : Executor
        Trains and scores.
    plan : FitPlan
        What training needs. Its constraints on all samples include those that follow from constraints by group.
    groups : GroupPlan
        The constraints by group.

    Raises
    ------
    UnreachableGuaranteeError
        If the constraints cannot be kept; the message names the group.
    """
    aim = groups.aim(executor.task.aim(plan.rule))
    fit = _fit_without_guarantee if plan.confidence is None else _fit_with_guarantee
    model, decided = fit(executor, plan, groups, aim)
    return FittedModel(model, decided.decision, decided.rule)


def _fit_with_guarantee(
    executor: Executor, plan: FitPlan, groups: GroupPlan, aim: GroupAim
) -> tuple[Any, GroupDecision]:
    """Train, and order thresholds, on one half of the samples; test them on the other half.

    Where no model is trained, a third of the samples orders thresholds, and two thirds test them.
    """
    assert plan.confidence is not None
    first, second = executor.halve(plan.rule.seed, tests_most=plan.prefit)
    refuse_small_halves(aim, plan.confidence, second.data)
    model, found = train_and_score(first, plan)
    held_out = np.arange(len(second.data.y))
    ordering = attach_groups(first.data, found.samples, found.scores)
    testing = attach_groups(second.data, held_out, second.score(model, held_out))
    is_probability = gives_probabilities(plan.estimator)
    decided = guarantee_by_group(groups, aim, plan.confidence, ordering, testing, is_probability)
    decision = add_calibration(first.task, plan, decided.decision, testing.samples)
    return model, replace(decided, decision=decision)


def _fit_without_guarantee(
    executor: Executor, plan: FitPlan, groups: GroupPlan, aim: GroupAim
) -> tuple[Any, GroupDecision]:
    """Train on all samples, and choose thresholds that keep the constraints on out-of-fold scores."""
    model, found = train_and_score(executor, plan)
    samples = attach_groups(executor.data, found.samples, found.scores)
    decided = choose_by_group(groups, aim, samples, gives_probabilities(plan.estimator))
    clusters = executor.data.groups_of(found.samples)
    decided = account_for_clusters(executor.task, decided, samples, clusters, plan.rule.seed)
    if found.probe.size:
        by_final = executor.score(model, found.probe)
        decided = decided.shift_to_final(executor.data.probe(found.probe, found.probe_scores, by_final))
    decision = add_calibration(executor.task, plan, decided.decision, samples.samples)
    return model, replace(decided, decision=decision)


def attach_groups(data: TrainingData, samples: Indices, scores: Floats) -> GroupedSamples:
    """Return samples with their scores and with the groups that constraints are on."""
    assert data.subgroups is not None
    return GroupedSamples(data.attach_scores(samples, scores), data.subgroups[samples])


def refuse_small_halves(aim: GroupAim, confidence: float, testing: TrainingData) -> None:
    """Raise before training if a group is too small for the test of any classifier; see `refuse_small_groups`."""
    every = np.arange(len(testing.y))
    refuse_small_groups(aim, confidence, attach_groups(testing, every, np.zeros(every.size)))


def account_for_clusters(
    task: Task, decided: GroupDecision, samples: GroupedSamples, clusters: Integers | None, seed: int
) -> GroupDecision:
    """Return a decision whose interval is for new samples of new clusters, the ``groups`` of `fit`.

    Parameters
    ----------
    task : Task
        The task.
    decided : GroupDecision
        Chosen on the samples.
    samples : GroupedSamples
        Out-of-fold samples.
    clusters : array of int or None
        Samples that folds keep together; None if there are none.
    seed : int
        Seeds the resamples.
    """
    thresholds = decided.rule.thresholds
    if thresholds is None:
        decision = account_for_groups(task, decided.decision, samples.samples, clusters, seed)
        return replace(decided, decision=decision)
    target, scores, weights = samples.samples
    margins = ScoredSamples(target, scores - thresholds[samples.codes[:, 0]], weights)
    judged = account_for_groups(task, replace(decided.decision, threshold=0.0), margins, clusters, seed)
    return replace(decided, decision=replace(judged, threshold=decided.decision.threshold))
