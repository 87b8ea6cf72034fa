"""Guarantees of the selected models: samples to test them on, and constraints by group."""

from __future__ import annotations

import numpy as np

from metricwise.decisions.binary import ThresholdRule, wants_guarantee
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.group_decision import GroupDecision, GroupPlan, choose_by_group, guarantee_by_group
from metricwise.decisions.group_fitting import account_for_clusters, attach_groups, refuse_small_halves
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.final_training import FinalModels
from metricwise.estimators.selection.halving import Outcome, SuccessiveHalving
from metricwise.memory import release_freed_memory


def keep_for_testing(
    task: Task,
    data: TrainingData,
    rule: ThresholdRule,
    confidence: float | None,
    n_jobs: int | None,
    by_group: GroupPlan | None,
) -> tuple[TrainingData, TrainingData | None]:
    """Return samples for selection and training, and those to test a guarantee on; None if there is none.

    Parameters
    ----------
    task, data
        Task and samples.
    rule : ThresholdRule
        Has the constraints on all samples.
    confidence : float or None
        Confidence of the guarantee.
    n_jobs : int or None
        Folds trained in parallel.
    by_group : GroupPlan or None
        Has the constraints by group.

    Raises
    ------
    UnreachableGuaranteeError
        If the samples, or those of a group, are too few for any classifier.
    """
    aim = task.aim(rule)
    if by_group is not None:
        by_group.aim(aim)  # raises before training if the measure has no table
    if confidence is None or (by_group is None and not wants_guarantee(aim, confidence)):
        return data, None
    first, second = LocalExecutor(task, data, n_jobs).halve(rule.seed)
    assert aim is not None
    task.refuse_too_few(rule, confidence, second.data.target)
    if by_group is not None:
        refuse_small_halves(by_group.aim(aim), confidence, second.data)
    return first.data, second.data


def list_constraints(task: Task, rule: ThresholdRule, by_group: GroupPlan | None) -> list[str]:
    """Return the constraints of a guarantee as text."""
    if by_group is not None:
        return by_group.describe()
    aim = task.aim(rule)
    return [] if aim is None else [str(one) for one in aim.constraints]


def decide_by_group(
    halving: SuccessiveHalving,
    outcome: Outcome,
    final: FinalModels,
    testing: TrainingData | None,
    confidence: float | None,
    by_group: GroupPlan,
) -> GroupDecision:
    """Choose the thresholds of the final models under constraints by group.

    Parameters
    ----------
    halving, outcome, final
        The selection, its finalists, and their models.
    testing : TrainingData or None
        Samples to test a guarantee on; None if there is none.
    confidence : float or None
        The confidence of the guarantee.
    by_group : GroupPlan
        The constraints by group.
    """
    task, rule, mixture = halving.task, halving.rule, final.mixture
    release_freed_memory()  # of the final training, before all samples are sorted
    rung, scores = final.held_out or (outcome.rung, mixture.scores)
    samples = attach_groups(halving.data, rung.test_samples, scores)
    aim = by_group.aim(task.aim(rule))
    if testing is not None:
        assert confidence is not None
        tested = attach_groups(testing, np.arange(len(testing.y)), final.ensemble.scores(task, testing.X))
        return guarantee_by_group(by_group, aim, confidence, samples, tested, is_probability=True)
    decided = choose_by_group(by_group, aim, samples, has_probabilities=True)
    clusters = halving.data.groups_of(rung.test_samples)
    decided = account_for_clusters(task, decided, samples, clusters, rule.seed)
    found = mixture.out_of_fold_scores(rung) if final.held_out is None else None
    if found is None or not found.probe.size:
        return decided
    by_final = final.score_probe(halving)
    return decided.shift_to_final(halving.data.probe(found.probe, found.probe_scores, by_final))
