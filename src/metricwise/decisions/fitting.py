"""Train a classifier and choose its threshold: the steps of one call of `fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Integers
from metricwise.decisions.adaptation import note_samples
from metricwise.decisions.binary import ThresholdRule, wants_guarantee
from metricwise.decisions.calibrating import fit_calibration
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.design_effect import GroupedPosterior, estimate_design_effect
from metricwise.decisions.executors import Executor
from metricwise.decisions.group_decision import GroupRule
from metricwise.decisions.learning_curve import FinalPosterior, bound_growth
from metricwise.decisions.out_of_fold import OutOfFoldScores, align_folds
from metricwise.decisions.scoring import gives_probabilities
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData


@dataclass(frozen=True)
class FitPlan:
    """What training needs beside the samples.

    Attributes
    ----------
    estimator : classifier
        To be trained, or trained already (``prefit``).
    rule : ThresholdRule
        How thresholds are chosen.
    confidence : float or None
        Confidence of the guarantee that constraints hold on new samples; None for no guarantee.
    cv : int, splitter, iterable or None
        Folds.
    prefit : bool
        Whether the classifier is trained already, so that the samples are used for the threshold only.
    calibrate : bool
        Whether probabilities are calibrated on out-of-fold scores.
    """

    estimator: Any
    rule: ThresholdRule
    confidence: float | None
    cv: Any
    prefit: bool = False
    calibrate: bool = False


class FittedModel(NamedTuple):
    """A model and the decision that turns its scores into labels; with constraints by group, what these need."""

    model: Any
    decision: Decision
    group_rule: GroupRule | None = None


def fit_and_decide(executor: Executor, plan: FitPlan) -> FittedModel:
    """Train a model on all samples and choose its thresholds on out-of-fold scores."""
    task, has_probabilities = executor.task, gives_probabilities(plan.estimator)
    aim = task.aim(plan.rule)
    if wants_guarantee(aim, plan.confidence):
        return _fit_with_guarantee(executor, plan)
    model, found = train_and_score(executor, plan)
    samples = executor.data.attach_scores(found.samples, found.scores)
    decision = task.decide(samples, plan.rule, has_probabilities)
    chosen = decision.threshold
    # The one threshold of two classes hardly overfits; the offsets or thresholds of several do.
    if found.sizes and not task.is_binary:
        decision = task.judge(decision, samples, plan.rule, list(found.sizes), has_probabilities)
    decision = account_for_groups(task, decision, samples, executor.data.groups_of(found.samples), plan.rule.seed)
    if found.sizes and not task.is_binary:
        n_samples = int(np.count_nonzero(executor.data.sample_weights))
        decision = account_for_growth(task, executor.data, decision, found, n_samples)
    decision = shift_to_final(executor, decision, model, found)
    decision = note_samples(task, decision, chosen, samples, found.sizes)
    return FittedModel(model, add_calibration(task, plan, decision, samples))


def account_for_groups(
    task: Task, decision: Decision, samples: ScoredSamples, groups: Integers | None, seed: int
) -> Decision:
    """Return a decision whose interval is for new samples of new groups; unchanged without groups.

    Parameters
    ----------
    task : Task
        The task.
    decision : Decision
        Chosen on the samples.
    samples : ScoredSamples
        Out-of-fold samples.
    groups : array of int or None
        The group of each.
    seed : int
        Seeds the resamples.
    """
    if groups is None:
        return decision
    value = task.value_at(decision, samples)
    assert decision.posterior is not None  # every chosen decision has one
    effect = estimate_design_effect(value, samples.weights, groups, task.strata(samples.target), seed)
    posterior = GroupedPosterior(decision.posterior.thin(effect), effect, decision.expected_score)
    interval = posterior.interval(n_samples=max(1, round(float(samples.weights.sum()))))
    return replace(decision, posterior=posterior, expected_interval=interval)


def account_for_growth(
    task: Task, data: TrainingData, decision: Decision, found: OutOfFoldScores, n_samples: int
) -> Decision:
    """Return a decision whose interval allows for a final model that is better than the fold models.

    Parameters
    ----------
    task : Task
        The task.
    data : TrainingData
        The samples.
    decision : Decision
        Chosen on the out-of-fold scores.
    found : OutOfFoldScores
        Scores of the fold models.
    n_samples : int
        Number of samples of the final model.
    """
    is_unseen, is_trained = np.isin(found.samples, found.probe), np.isin(found.probe, found.samples)
    if not is_unseen.any():
        return decision
    trained = data.attach_scores(found.probe[is_trained], found.probe_scores[is_trained])
    unseen = data.attach_scores(found.samples[is_unseen], found.scores[is_unseen])
    value, value_unseen, value_of_all = (
        task.value_at(decision, samples)(samples.weights)
        for samples in (trained, unseen, data.attach_scores(found.samples, found.scores))
    )
    flattered = value_of_all - decision.expected_score  # by thresholds that were chosen on the samples themselves
    extrapolation = bound_growth(value, value_unseen - flattered, share=found.n_trained / n_samples)
    assert decision.posterior is not None  # every chosen decision has one
    return replace(
        decision,
        posterior=FinalPosterior(decision.posterior, extrapolation),
        expected_interval=extrapolation.interval(*decision.expected_interval),
    )


def shift_to_final(executor: Executor, decision: Decision, model: Any, found: OutOfFoldScores) -> Decision:
    """Return the decision shifted from the fold models to the final model, by the probe that all have seen."""
    if not found.probe.size or not decision.calibration.lines:  # class offsets stay
        return decision
    by_final = executor.score(model, found.probe)
    return decision.shift_to_final(executor.data.probe(found.probe, found.probe_scores, by_final))


def train_and_score(executor: Executor, plan: FitPlan) -> tuple[Any, OutOfFoldScores]:
    """Return the model of all samples and out-of-fold scores; of a prefitted model, its scores of all samples."""
    task, data = executor.task, executor.data
    counted = np.flatnonzero(data.sample_weights > 0.0)
    if plan.prefit:
        model = executor.load_prefitted(plan.estimator)
        return model, OutOfFoldScores(counted, executor.score(model, counted))
    splits = executor.split(plan.cv, plan.rule.seed)
    probe = counted[task.draw_probe(data.target[counted], plan.rule.seed)]
    model, found = executor.fit(plan.estimator, splits, probe)
    aim = task.aim(plan.rule)
    if splits and executor.has_random_folds and aim is not None and aim.table is None:
        codes = task.strata(data.target[found.samples])
        found = found._replace(scores=align_folds(splits, found.scores, codes, data.sample_weights[found.samples]))
    return model, found


def _fit_with_guarantee(executor: Executor, plan: FitPlan) -> FittedModel:
    """Train, and order thresholds, on one half of the samples; test them on the other half.

    Where no model is trained, a third of the samples orders thresholds, and two thirds test them.
    """
    assert plan.confidence is not None
    first, second = executor.halve(plan.rule.seed, tests_most=plan.prefit)
    model, found = train_and_score(first, plan)
    ordering = first.data.attach_scores(found.samples, found.scores)
    held_out = np.arange(len(second.data.y))
    testing = second.data.attach_scores(held_out, second.score(model, held_out))
    is_probability = gives_probabilities(plan.estimator)
    decision = executor.task.guarantee(plan.rule, plan.confidence, ordering, testing, is_probability)
    return FittedModel(model, add_calibration(first.task, plan, decision, testing))


def add_calibration(task: Task, plan: FitPlan, decision: Decision, samples: ScoredSamples) -> Decision:
    """Return the decision with calibrated probabilities if the plan asks for them."""
    return decision.calibrate(fit_calibration(task, samples)) if plan.calibrate else decision
