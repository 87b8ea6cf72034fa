"""Train one vector of weights per class, all together, and select offsets of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Integers, Labels
from metricwise.decisions.class_offsets import bagged_offsets
from metricwise.decisions.out_of_fold import Splits, merge_equal_samples, score_out_of_fold, split_samples
from metricwise.designs.joint import JointDesign
from metricwise.estimators.svm.training import BinaryFit, TrainingData, TrainingPlan, divide_limits, solve
from metricwise.measures import CountsClassTables, Measure
from metricwise.measures.joint import LargestOfLinearLosses, find_joint_losses
from metricwise.results import Result
from metricwise.solvers import Limits
from metricwise.solvers.joint_problem import make_joint_problem


@dataclass(frozen=True)
class ClassTarget:
    """The classes, which of them every sample has, and how much it counts; those of weight zero are left out."""

    classes: Labels
    codes: Integers
    weights: Floats

    @property
    def samples(self) -> Indices:
        """The samples with weight."""
        return np.flatnonzero(self.weights > 0.0)


def make_class_target(y: Labels, classes: Labels, weights: Floats) -> ClassTarget:
    """Return the target of labels; those without weight may be of other classes."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    return ClassTarget(classes, codes, weights)


def require_joint_losses(measure: Measure) -> LargestOfLinearLosses:
    """Return a measure as one with joint losses; raise a TypeError that names alternatives unless it has them."""
    losses = find_joint_losses(measure)
    if losses is None:
        raise TypeError(
            f"measure {measure.name!r} has no most violated multiclass labelling that can be found: "
            "multi_class='joint' is for 'accuracy', 'balanced_accuracy', 'min_rate', 'f1_micro' and CostMatrix, whose "
            "losses are linear in the confusion matrix or the largest of such losses. Set multi_class='ovr' where the "
            "measure is defined for two classes, or use PlugInClassifier"
        )
    return losses


def check_offsets(measure: Measure, threshold: str | float) -> None:
    """Raise a ValueError if offsets are to be chosen for a measure that they cannot be chosen for."""
    if isinstance(threshold, str) and not isinstance(measure, CountsClassTables):
        raise ValueError(
            f"threshold={threshold!r} chooses offsets of the classes by one-vs-rest tables, which do not determine "
            f"{measure.name!r}: set threshold=0.0, since the machine itself is trained for the costs"
        )


def fit_joint_problem(plan: TrainingPlan, data: TrainingData, target: ClassTarget) -> BinaryFit:
    """Solve the problem of all classes and select their offsets."""
    splits = _split_classes(plan, data, target) if plan.threshold == "cv" else []
    limits = divide_limits(plan.limits, len(splits) + 1)
    result = _solve(plan, data, target, target.samples, limits, callback=plan.callback)
    offsets = _select_offsets(plan, data, target, result, splits, limits)
    return BinaryFit(result, offsets, lacks_folds=plan.threshold == "cv" and not splits)


def _solve(
    plan: TrainingPlan, data: TrainingData, target: ClassTarget, samples: Indices, limits: Limits, callback: Any = None
) -> Result:
    measure = require_joint_losses(plan.measure)
    samples, weights = merge_equal_samples(data.design, samples, target.codes, target.weights)
    codes = target.codes[samples]
    problem = make_joint_problem(data.design.take(samples), codes, measure, plan.C, weights, target.classes)
    return solve(plan, problem, limits, callback=callback)[0]


def _split_classes(plan: TrainingPlan, data: TrainingData, target: ClassTarget) -> Splits:
    """Return training and held-out samples of every fold, all with weight; none if the samples are too few."""
    has_weight = target.weights > 0.0
    kept = np.flatnonzero(has_weight)
    if plan.cv is None or isinstance(plan.cv, int | np.integer):
        groups = None if data.groups is None else data.groups[kept]
        found = split_samples(plan.cv, data.design.take(kept), None, target.codes[kept], plan.seed, groups)
        splits = [(kept[train], kept[test]) for train, test in found]
    else:
        found = split_samples(plan.cv, data.design, data.X, target.codes, plan.seed, data.groups)
        splits = [(train[has_weight[train]], test[has_weight[test]]) for train, test in found]
    have_all_classes = all(np.unique(target.codes[train]).size == target.classes.size for train, _ in splits)
    return splits if have_all_classes and any(test.size for _, test in splits) else []


def _select_offsets(
    plan: TrainingPlan, data: TrainingData, target: ClassTarget, result: Result, splits: Splits, limits: Limits
) -> Floats:
    """Return the given threshold for all classes, or good offsets of out-of-fold or, without folds, training scores."""
    n_classes = target.classes.size
    if not isinstance(plan.threshold, str):
        return np.full(n_classes, float(plan.threshold))
    samples, scores = target.samples, np.empty(0)
    if splits:

        def score_fold(train: Indices, test: Indices, seen: Indices) -> tuple[Floats, Floats]:
            fold = _solve(plan, data, target, train, limits)
            return _score(data, fold, test, n_classes), np.empty((0, n_classes))

        samples, scores, *_ = score_out_of_fold(score_fold, splits, np.empty(0, dtype=np.int64), n_jobs=1)
    else:
        scores = _score(data, result, samples, n_classes)
    measure: Any = plan.measure
    codes, weights = target.codes[samples], target.weights[samples]
    return bagged_offsets(measure.of_tables, codes, scores, weights, plan.seed).offsets


def _score(data: TrainingData, result: Result, samples: Indices, n_classes: int) -> Floats:
    return JointDesign(data.design.take(samples), n_classes).scores(result.weights).reshape(samples.size, n_classes)
