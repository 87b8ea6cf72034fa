"""Training with class weights that the measure sets, iteration by iteration, each judged on out-of-fold samples.

Order of steps (`fit_iterations`):

1. train without class weights and choose the threshold: this is `PlugInClassifier`;
2. take the class weights at the contingency table of the last iteration (`metricwise.solvers.class_costs`), or at its
   confusion matrix (`multiclass_weights`);
3. train with these weights on the same folds, choose the threshold again in the same way;
4. continue while the measure rises and the class weights change.

The best iteration is selected if out-of-fold samples make a gain over the first likely, otherwise the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Indices, Integers
from metricwise.decisions.adaptation import note_samples
from metricwise.decisions.binary import ThresholdRule, count_table
from metricwise.decisions.calibrating import fit_calibration
from metricwise.decisions.comparison import Judged, least_gain
from metricwise.decisions.decision import Calibration, Decision, Sigmoid, Threshold, show_probability
from metricwise.decisions.executors import LocalExecutor, fit_and_score
from metricwise.decisions.fitting import account_for_groups, account_for_growth
from metricwise.decisions.gain_rules import GainDecision
from metricwise.decisions.out_of_fold import OutOfFoldScores, Splits, score_out_of_fold
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.wrappers.cost_sensitive.learners import can_start_from, fit_from
from metricwise.measures.base import CountsTable, show_value
from metricwise.solvers.amp_problem import ClassCosts
from metricwise.solvers.class_costs import compute_class_costs

ClassWeights = ClassCosts | Floats  # of two classes, or an array with one per class


@stored_fields(version=1)
class Iteration(NamedTuple):
    """The record of one training with class weights, for users.

    Attributes
    ----------
    class_weights : ClassCosts or array of shape (n_classes,)
        Weights of a positive (``pos``) and a negative (``neg``) sample in training; of more than two classes, those of
        the samples of each.
    score : float
        The measure of out-of-fold samples.
    threshold : float or array of shape (n_classes,)
        The threshold chosen: a probability, from which the class weights are removed, or a decision value of models
        trained with these class weights. Of more than two classes, the offsets of the scores.
    """

    class_weights: ClassWeights
    score: float
    threshold: Threshold


class JudgedWeights(NamedTuple):
    """Class weights with the out-of-fold scores of models trained with them, and the decision on these.

    Scores of ``judged`` are log-odds without the class weights, where they are log-odds; ``found`` has those of the
    models.
    """

    class_weights: ClassWeights
    judged: Judged
    found: OutOfFoldScores

    @property
    def expected_score(self) -> float:
        """The measure of out-of-fold samples."""
        return self.judged.decision.expected_score

    @property
    def table(self) -> tuple[float, float, float, float]:
        """The contingency table of the out-of-fold samples."""
        return count_table(float(self.judged.decision.threshold), self.judged.samples)


@dataclass(frozen=True)
class WeightingPlan:
    """What all iterations share.

    Attributes
    ----------
    executor : LocalExecutor
        Task and samples.
    estimator : classifier
        Copies of it are trained.
    rule : ThresholdRule
        How thresholds are chosen.
    has_probabilities : bool
        Whether scores are log-odds.
    cv : int, splitter, iterable or None
        Folds.
    max_iter : int
        Most iterations after the first.
    tol : float
        Iterations end when no class weight changes by more than this share.
    calibrate : bool
        Whether probabilities are calibrated on out-of-fold scores.
    """

    executor: LocalExecutor
    estimator: Any
    rule: ThresholdRule
    has_probabilities: bool
    cv: Any
    max_iter: int
    tol: float
    calibrate: bool = False

    @cached_property
    def folds(self) -> Splits:
        """The folds, the same in all iterations; none, with a warning, if there are too few samples."""
        return self.executor.split(self.cv, self.rule.seed)

    @property
    def splits(self) -> Splits:
        """The folds; without any, all samples are training and test samples."""
        everything = np.arange(len(self.executor.data.y))
        return self.folds or [(everything, everything)]

    @cached_property
    def probe(self) -> Indices:
        """Samples on which the final model is compared with the fold models."""
        return self.executor.task.draw_probe(self.executor.data.target, self.rule.seed)

    def sample_weights(self, class_weights: ClassWeights) -> Floats | None:
        """Return the weights of the samples in training; None if the user gave none and the classes weigh the same."""
        data = self.executor.data
        if min(class_weights) == max(class_weights):
            return data.weights
        if isinstance(class_weights, ClassCosts):
            weights: Floats = data.sample_weights * np.where(data.target, class_weights.pos, class_weights.neg)
            return weights
        return np.asarray(data.sample_weights * class_weights[data.target])

    def log_odds_shift(self, class_weights: ClassWeights) -> Any:
        """Return the shift of log-odds, or of the log-probabilities of each class, that class weights cause."""
        if isinstance(class_weights, ClassCosts):
            return math.log(class_weights.pos / class_weights.neg) if self.has_probabilities else 0.0
        return np.log(class_weights) if self.has_probabilities else np.zeros(class_weights.size)

    @property
    def equal_weights(self) -> ClassWeights:
        """The class weights of the first iteration."""
        task = self.executor.task
        return ClassCosts(1.0, 1.0) if task.is_binary else np.ones(task.classes.size)

    @property
    def judges_by_folds(self) -> bool:
        """Whether each fold is judged by what the others choose; the one threshold of two classes hardly overfits."""
        return bool(self.folds) and not self.executor.task.is_binary


def weigh_two_classes(measure: Any, last: JudgedWeights) -> ClassCosts:
    """Return the class weights that a measure sets at the contingency table of an iteration."""
    return compute_class_costs(measure, last.table)


def fit_iterations(plan: WeightingPlan, weigh: Callable[[JudgedWeights], ClassWeights]) -> list[JudgedWeights]:
    """Train fold models with the class weights of every iteration, and choose its threshold.

    Parameters
    ----------
    plan : WeightingPlan
        What all iterations share.
    weigh : callable
        Returns the class weights that the measure sets after an iteration.
    """
    iterations = [_judge_weights(plan, plan.equal_weights, None)]
    # Without out-of-fold samples, of which the user has been warned, nothing shows whether class weights help.
    while len(iterations) <= (plan.max_iter if plan.folds else 0):
        last = iterations[-1]
        class_weights = weigh(last)
        # A class of weight zero cannot be learnt.
        if min(class_weights) <= 0.0 or _has_converged(last.class_weights, class_weights, plan.tol):
            break
        iterations.append(_judge_weights(plan, class_weights, last.found.kept))
        if iterations[-1].expected_score <= last.expected_score:
            break
    return iterations


def _has_converged(last: ClassWeights, class_weights: ClassWeights, tol: float) -> bool:
    return all(abs(new - old) <= tol * old for old, new in zip(last, class_weights, strict=True))


def _judge_weights(plan: WeightingPlan, class_weights: ClassWeights, starts: Any) -> JudgedWeights:
    data = replace(plan.executor.data, weights=plan.sample_weights(class_weights))
    score_fold = partial(_score_fold, plan.executor.task, plan.estimator, data)
    models = [None] * len(plan.splits) if starts is None else starts
    found = score_out_of_fold(score_fold, plan.splits, plan.probe, plan.executor.n_jobs, models)
    samples = plan.executor.data.attach_scores(found.samples, found.scores - plan.log_odds_shift(class_weights))
    decision = plan.executor.task.decide(samples, plan.rule, plan.has_probabilities)
    if plan.judges_by_folds:
        sizes = list(found.sizes)
        decision = plan.executor.task.judge(decision, samples, plan.rule, sizes, plan.has_probabilities)
    return JudgedWeights(class_weights, Judged(samples, decision), found)


def _score_fold(
    task: Task, estimator: Any, data: TrainingData, train: Indices, test: Indices, seen: Indices, start: Any
) -> tuple[Any, ...]:
    """Return out-of-fold and in-fold scores, and the model if the next iteration can start from it."""
    model, scores = fit_and_score(partial(fit_from, start, estimator), task.scores, data, train, test, seen)
    return *scores, model if can_start_from(model) else None


def select_iteration(measure: CountsTable, iterations: list[JudgedWeights], groups: Integers | None = None) -> int:
    """Return the best iteration if it is likely to gain over the first, else the first."""
    best = int(np.argmax([one.expected_score for one in iterations]))
    gains = best > 0 and least_gain(measure, iterations[0].judged, iterations[best].judged, groups) > 0.0
    return best if gains else 0


def warm_start_path(iterations: list[JudgedWeights]) -> list[JudgedWeights]:
    """Return the iterations that the final model goes through, as the fold models did: all, or only the last."""
    return iterations if iterations[-1].found.kept[0] is not None else iterations[-1:]


def fit_final(plan: WeightingPlan, path: list[JudgedWeights]) -> Any:
    """Train on all samples with the class weights of the last iteration of a path, through those before it."""
    model, data = None, plan.executor.data
    for one in path:
        weighted = replace(data, weights=plan.sample_weights(one.class_weights))
        model = weighted.fit(partial(fit_from, model, plan.estimator))
    return model


def describe_iteration(plan: WeightingPlan, one: JudgedWeights) -> Iteration:
    """Return the record of an iteration for users."""
    threshold = one.judged.decision.threshold
    is_probability = plan.has_probabilities and isinstance(threshold, float)
    shown = show_probability(float(threshold)) if is_probability else threshold
    measure, n_samples = plan.executor.task.measure, float(one.judged.samples.weights.sum())
    score = float(show_value(measure, one.expected_score, n_samples))
    return Iteration(one.class_weights, score, shown)


def decide_for_final(plan: WeightingPlan, one: JudgedWeights, model: Any) -> Decision:
    """Return the decision of an iteration for the scores of the final model, class weights included."""
    shift, data, task = plan.log_odds_shift(one.class_weights), plan.executor.data, plan.executor.task
    groups = data.groups_of(one.found.samples)
    decision = account_for_groups(task, one.judged.decision, one.judged.samples, groups, plan.rule.seed)
    if plan.judges_by_folds:
        freed = one.found._replace(scores=one.judged.samples.scores, probe_scores=one.found.probe_scores - shift)
        decision = account_for_growth(task, data, decision, freed, int(np.count_nonzero(data.sample_weights)))
    elif plan.folds:
        by_final = plan.executor.score(model, one.found.probe) - shift
        probe = data.probe(one.found.probe, one.found.probe_scores - shift, by_final)
        decision = decision.shift_to_final(probe)
    samples, chosen = one.judged.samples, one.judged.decision.threshold + shift
    samples = samples._replace(scores=samples.scores + shift)  # as the final model gives them
    if np.any(shift):
        # Class weights multiply the odds, which probabilities of unweighted samples have to be freed of.
        undo = Calibration(tuple(Sigmoid(1.0, -float(amount)) for amount in np.atleast_1d(shift)))
        decision = _include_weights(decision, shift, undo)
    decision = note_samples(task, decision, chosen, samples, one.found.sizes)
    return decision.calibrate(fit_calibration(task, samples)) if plan.calibrate else decision


def _include_weights(decision: Decision, shift: Any, undo: Calibration) -> Decision:
    """Return a decision about scores that class weights have shifted."""
    if isinstance(decision, GainDecision):
        amounts = zip(decision.calibration.lines, shift.tolist(), strict=True)
        lines = tuple(replace(line, intercept=line.intercept - line.slope * amount) for line, amount in amounts)
        floor = None if decision.floor is None else decision.floor + shift
        return replace(decision, calibration=Calibration(lines), floor=floor, link=undo)
    moved = replace(decision.shift(shift), link=undo)
    return replace(moved, calibration=undo) if np.ndim(shift) == 0 else moved
