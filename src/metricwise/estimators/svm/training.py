"""Solve the binary problems of a classifier and select their thresholds: functions of a plan and the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats, Indices, Integers, Mask
from metricwise.decisions.out_of_fold import Splits, merge_equal_samples, score_out_of_fold, split_samples
from metricwise.designs import Design
from metricwise.designs.kernel import KernelDesign
from metricwise.estimators.svm.kernel import KernelSpace, select_kernel_design
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.estimators.svm.warm_start import WarmState, fingerprint_problem, warm_start
from metricwise.inference import threshold_for
from metricwise.measures import Measure
from metricwise.measures.base import CountsTopSamples, RestrictsLabellings
from metricwise.results import Result, Status
from metricwise.solvers import Limits, make_problem, run
from metricwise.solvers.loop import Callback, Solver

ProblemFactory = Callable[[Design, Mask, Measure, float, Floats], Any]
# Of the plan, the design, the target, the folds, the limits of a solver run and the degenerate result; returns another
# result with its threshold, or None.
FallBack = Callable[..., "tuple[Result, float] | None"]


@dataclass(frozen=True)
class BinaryTarget:
    """Which samples are positive in a binary problem, and how much each counts; those of weight zero are left out."""

    positive: Mask
    weights: Floats

    @property
    def samples(self) -> Indices:
        """The samples with weight."""
        return np.flatnonzero(self.weights > 0.0)


@dataclass(frozen=True)
class TrainingData:
    """Validated samples, for splitters (X, groups) and solvers (design), and the binary problems of their classes."""

    X: Any
    design: Design
    targets: list[BinaryTarget]
    groups: Integers | None = None


def score_by_weights(result: Result, design: Design) -> Floats:
    """Return the scores that the weights of a solution give to the samples of a design."""
    return design.scores_by(result.weights)


@dataclass(frozen=True)
class TrainingPlan:
    """Everything that training needs beside the samples.

    Parameters
    ----------
    measure : Measure
        What to train for.
    C : float
        Cost of one mistake.
    solver : Solver
        Solves the problems of ``make_problem``.
    limits : Limits
        Of the whole call of `fit`; its seconds are divided among the solver runs.
    threshold : {"cv", "train"} or float
        How scores are cut into labels.
    cv : int, splitter, iterable of splits or None
        Folds of the out-of-fold scores.
    seed : int
        Of solver and folds.
    intercept : float
        Size of the constant feature; 0 if there is none.
    callback : callable, optional
        Called with every history entry of the final training.
    make_problem : callable
        Makes the problem of a design, its positives, a measure, C and weights.
    kernel : KernelSpace, optional
        The functions of a kernel, unless scores are linear in the features.
    warm_states : mapping, optional
        Solver states of the last fit by the number of the problem. None: states are neither used nor kept.
    refit : callable, optional
        Improves the solution of a problem in the other half of the time, given the problem, the result and the seconds.
    score : callable
        Scores the samples of a design by a solution.
    checkpoint : TrainingFile, optional
        File from which solver runs are resumed.
    fall_back : callable, optional
        Trains for something else where a problem is degenerate, unless the threshold is given as a number.
    """

    measure: Measure
    C: float
    solver: Solver[Any, Any]
    limits: Limits
    threshold: str | float
    cv: Any
    seed: int
    intercept: float
    callback: Callback | None = None
    make_problem: ProblemFactory = make_problem
    kernel: KernelSpace | None = None
    warm_states: Mapping[int, WarmState] | None = None
    refit: Callable[[Any, Result, float | None], Result] | None = None
    score: Callable[[Result, Design], Floats] = score_by_weights
    checkpoint: TrainingFile | None = None
    fall_back: FallBack | None = None


@dataclass(frozen=True)
class BinaryFit:
    """The solution of a problem, its threshold, and with ``warm_start`` the state to start from next time.

    The problem is a binary one, or that of all classes together, which has one threshold per class.
    """

    result: Result
    threshold: float | Floats
    lacks_folds: bool = False
    warm_state: WarmState | None = None


def fit_binary_problems(plan: TrainingPlan, data: TrainingData) -> list[BinaryFit]:
    """Solve every binary problem and select its threshold; then remove the checkpoint, if there is one."""
    fits = [fit_binary_problem(plan, data, number) for number in range(len(data.targets))]
    if plan.checkpoint is not None:
        plan.checkpoint.finish()
    return fits


def fit_binary_problem(plan: TrainingPlan, data: TrainingData, number: int) -> BinaryFit:
    """Solve one binary problem and select its threshold."""
    target = data.targets[number]
    splits = split_target(plan, data, target) if plan.threshold == "cv" else []
    limits = divide_limits(plan.limits, (len(splits) + 1) * len(data.targets))
    design = _select_design(plan, data.design, target, limits)
    problem = make_binary_problem(plan, design, target, target.samples, plan.measure)
    if plan.warm_states is None:
        result, _ = solve(plan, problem, limits, callback=plan.callback)
        warm_state = None
    else:
        content = fingerprint_problem(
            plan.measure, plan.kernel, plan.intercept, design, target.positive, target.weights
        )
        start = warm_start(plan.solver, problem, plan.warm_states.get(number), content, plan.kernel)
        result, state = solve(plan, problem, limits, start, plan.callback)
        warm_state = WarmState(content, state)
    lacks_folds = plan.threshold == "cv" and not splits
    if result.status is Status.DEGENERATE and plan.fall_back is not None and isinstance(plan.threshold, str):
        instead = plan.fall_back(plan, design, target, splits, limits, result)
        if instead is not None:
            return BinaryFit(*instead, lacks_folds, warm_state)
    threshold = select_threshold(plan, design, target, result, splits, limits)
    return BinaryFit(result, threshold, lacks_folds, warm_state)


def divide_limits(limits: Limits, n_runs: int) -> Limits:
    """Return the limits of one of so many solver runs."""
    return replace(limits, max_seconds=None if limits.max_seconds is None else limits.max_seconds / n_runs)


def split_target(plan: TrainingPlan, data: TrainingData, target: BinaryTarget) -> Splits:
    """Return training and held-out samples of every fold, all with weight; none if the samples are too few."""
    samples, has_weight, positive = target.samples, target.weights > 0.0, target.positive
    if plan.cv is None or isinstance(plan.cv, Integral):
        groups = None if data.groups is None else data.groups[samples]
        found = split_samples(plan.cv, data.design.take(samples), None, positive[samples], plan.seed, groups)
        splits = [(samples[train], samples[test]) for train, test in found]
    else:
        found = split_samples(plan.cv, data.design, data.X, positive, plan.seed, data.groups)
        splits = [(train[has_weight[train]], test[has_weight[test]]) for train, test in found]
    have_both_classes = all(0 < np.count_nonzero(positive[train]) < train.size for train, _ in splits)
    return splits if have_both_classes and any(test.size for _, test in splits) else []


def _select_design(plan: TrainingPlan, design: Design, target: BinaryTarget, limits: Limits) -> Design:
    """Return the features of the samples that a binary problem is linear in."""
    if plan.kernel is None:
        return design
    samples = target.samples
    labels = target.positive[samples]

    def restrict(features: Design) -> Any:
        return plan.make_problem(features.take(samples), labels, plan.measure, plan.C, target.weights[samples])

    return select_kernel_design(plan.kernel, samples, target.positive, plan.solver, restrict, limits, plan.seed)


def make_binary_problem(
    plan: TrainingPlan, design: Design, target: BinaryTarget, samples: Indices, measure: Measure
) -> Any:
    """Return the problem of some samples, equal ones merged."""
    samples, weights = merge_equal_samples(design, samples, target.positive, target.weights)
    return plan.make_problem(design.take(samples), target.positive[samples], measure, plan.C, weights)


def solve(
    plan: TrainingPlan, problem: Any, limits: Limits, start: Any = None, callback: Callback | None = None
) -> tuple[Result, Any]:
    """Return the solution of a problem, independent of the order of its samples, and the state of the solver."""
    if plan.refit is not None:
        limits = divide_limits(limits, 2)
    run_solver = run if plan.checkpoint is None else plan.checkpoint.run
    result, state = run_solver(plan.solver, problem, limits, start, callback)
    if plan.refit is not None:
        result = plan.refit(problem, result, limits.max_seconds)
    return make_portable(result, problem.design), state


def make_portable(result: Result, design: Any) -> Result:
    """Return a result whose weights and witness do not depend on the order of the samples of its problem."""
    weights, points = design.portable(result.weights), result.witness.points
    if not sparse.issparse(points):
        points = np.array([design.portable(point) for point in points]).reshape(len(points), weights.size)
    return replace(result, weights=weights, witness=replace(result.witness, points=points))


def select_threshold(
    plan: TrainingPlan, design: Design, target: BinaryTarget, result: Result, splits: Splits, limits: Limits
) -> float:
    """Return the given threshold, or the best one for out-of-fold scores or, without folds, for training scores."""
    if not isinstance(plan.threshold, str):
        return float(plan.threshold)
    if splits:
        score = partial(score_fold, plan, design, target, limits)
        samples, scores, *_ = score_out_of_fold(score, splits, np.empty(0, dtype=np.int64), n_jobs=1)
        return threshold_of_scores(plan, target, samples, scores)
    scores = plan.score(result, design.take(target.samples))
    return threshold_of_scores(plan, target, target.samples, scores, estimate_score_error(design, result))


def estimate_score_error(design: Design, result: Result) -> float:
    """Return how far apart the training scores of a kernel machine may be by rounding alone; 0 for linear ones.

    New samples have other rounding errors, so these must not decide about the threshold.
    """
    return design.estimate_score_error(result.weights) if isinstance(design, KernelDesign) else 0.0


def threshold_of_scores(
    plan: TrainingPlan, target: BinaryTarget, samples: Indices, scores: Floats, error: float = 0.0
) -> float:
    """Return the best threshold of the scores of some samples; scores that differ by less than ``error`` are equal."""
    positive, weights = target.positive, target.weights
    # The fraction is that of all samples: fewer may be held out.
    fraction = predicted_fraction(plan.measure, float(weights[positive].sum()), float(weights.sum()))
    return threshold_for(plan.measure, positive[samples], scores, weights[samples], fraction, error)


def predicted_fraction(measure: Measure, n_pos: float, n_samples: float) -> float | None:
    """Return the fraction of the samples that a measure wants predicted positive; None if it does not fix it."""
    if not isinstance(measure, RestrictsLabellings):
        return None
    return measure.predicted_positives(n_pos, n_samples) / n_samples


def score_fold(
    plan: TrainingPlan,
    design: Design,
    target: BinaryTarget,
    limits: Limits,
    train: Indices,
    test: Indices,
    seen: Indices,
) -> tuple[Floats, Floats]:
    """Train on one part of the samples; return the scores of held-out samples, and of samples trained on."""
    n_pos = float(target.weights[target.positive].sum())
    measure = plan.measure.relative_to(n_pos) if isinstance(plan.measure, CountsTopSamples) else plan.measure
    result, _ = solve(plan, make_binary_problem(plan, design, target, train, measure), limits)
    in_fold = plan.score(result, design.take(seen)) if seen.size else np.empty(0)
    return plan.score(result, design.take(test)), in_fold
