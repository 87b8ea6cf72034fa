"""Train for a weighted accuracy where the surrogate of a measure is degenerate, and cut the scores for the measure.

Where positives are rare and the classes overlap, no weights are better than w = 0 for the surrogate of F1 and its like,
and its scores are useless. The hinge loss of a weighted accuracy is not degenerate if the classes weigh about the
same, and its best threshold for the measure is found out of fold. How much a positive should weigh depends on the data:
between equal weights of the classes, which often overrate the positives, and equal weights of the samples, at which the
hinge loss is degenerate, too. So a few ratios compete, out of fold, by the measure itself; and, for measures that set
class weights, the ratio that the measure sets at the best table reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices
from metricwise.decisions.out_of_fold import Splits, score_out_of_fold
from metricwise.designs import Design
from metricwise.estimators.svm.training import (
    BinaryTarget,
    TrainingPlan,
    divide_limits,
    estimate_score_error,
    make_binary_problem,
    score_fold,
    solve,
    threshold_of_scores,
)
from metricwise.inference.threshold import evaluate_threshold_for
from metricwise.measures import Accuracy, contingency_table
from metricwise.results import Fallback, Result, Status
from metricwise.solvers import CuttingPlane, Limits, make_problem
from metricwise.solvers.class_costs import NEEDS, compute_class_costs

# Weights of a positive, as powers of the negatives per positive: at 1 the classes weigh the same.
_EXPONENTS = (1.0, 0.75, 0.5)
_ALIKE = 1.1  # ratio of weights that are not worth another training
_LEAST_SPREAD = 0.1  # of scores, relative to the widest
_LEAST_GAIN = 1e-3  # of the measure, over the best constant prediction
_ENDED = (Status.OPTIMAL, Status.STATIONARY)  # of itself, not by a limit


AccuracyPlan = Callable[[TrainingPlan, Result], TrainingPlan]


def plan_accuracy(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
    """Return the plan that trains for the accuracy, by the same solver, instead of the measure of a plan."""
    return replace(plan, measure=Accuracy(), warm_states=None)


def plan_accuracy_by_cutting_planes(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
    """Return the plan of the accuracy for plans whose solver is made for other problems."""
    return replace(plan_accuracy(plan, degenerate), solver=CuttingPlane(seed=plan.seed), make_problem=make_problem)


class _Judged(NamedTuple):
    """A weight of the positives, with the scores of models trained with it and the measure at their best threshold."""

    positive_weight: float
    samples: Indices
    scores: Floats
    threshold: float
    value: float


def train_weighted_accuracy(
    make_plan: AccuracyPlan,
    plan: TrainingPlan,
    design: Design,
    target: BinaryTarget,
    splits: Splits,
    limits: Limits,
    degenerate: Result,
) -> tuple[Result, float] | None:
    """Return the weights of the best weighted accuracy and their threshold for the measure; None if that is useless.

    Parameters
    ----------
    make_plan : callable
        Makes the plan of the accuracy from that of the measure and its degenerate result.
    plan : TrainingPlan
        The plan whose problem is degenerate.
    design : Design
        All samples.
    target : BinaryTarget
        Positives and weights of the samples.
    splits : list of pairs
        Folds on which weights of the positives are compared; without any, they are compared on training scores.
    limits : Limits
        Of one of the solver runs of the plan, of which there is one per fold and one more.
    degenerate : Result
        The solution for the measure itself.
    """
    weighted = make_plan(plan, degenerate)
    limits = divide_limits(limits, len(_EXPONENTS) + 1)
    n_pos = float(target.weights[target.positive].sum())
    n_neg = float(target.weights.sum()) - n_pos
    judge = partial(_judge, plan, weighted, design, target, splits, limits)
    judged = [judge(weight) for weight in sorted({(n_neg / n_pos) ** exponent for exponent in _EXPONENTS})]
    own = _own_weight(plan, target, _best(judged))
    if own is not None and not any(_are_alike(own, one.positive_weight) for one in judged):
        judged.append(judge(own))
    best = _best(judged)
    if not _beats_constant(plan, target, best):
        return None
    found = _train(weighted, design, _weigh(target, best.positive_weight), limits)
    if found.status is Status.DEGENERATE:
        return None
    status = Status.FALLBACK if found.status in _ENDED else found.status
    return replace(found, status=status, fallback=Fallback(best.positive_weight, degenerate)), best.threshold


def describe_degenerate(measure: str, results: Sequence[Result], remedy: str) -> str | None:
    """Return what to tell about the degenerate problems of a training, all in one message; None if there are none.

    Parameters
    ----------
    measure : str
        Name of the measure.
    results : sequence of Result
        One per binary problem.
    remedy : str
        What to do where there is no fallback; {measure!r} stands for the name of the measure.
    """
    weights = [result.positive_weight for result in results if result.positive_weight is not None]
    n_useless = sum(result.status is Status.DEGENERATE for result in results)
    if not weights and not n_useless:
        return None
    several = f" in {len(weights) + n_useless} of {len(results)} problems" if len(results) > 1 else ""
    message = f"the surrogate of {measure!r} is degenerate on these data{several}: no weights are better than w = 0"
    if weights:
        up_to = "up to " if len(weights) > 1 else ""
        message += (
            f". Scores are therefore trained for the accuracy with {up_to}{max(weights):.3g} times the weight for "
            f"positive samples (result_.status is 'fallback'); the threshold is chosen for {measure!r}. Compare "
            "PlugInClassifier with a LogisticRegression; more features help, and if C is very small, raise it"
        )
    if n_useless:
        whose = f". In {n_useless} of them there is no fallback, and the" if weights else ", so the"
        message += f"{whose} scores carry little information. {remedy.format(measure=measure)}"
    return message


def _best(judged: list[_Judged]) -> _Judged:
    """Return the best of those whose scores are spread: where nearly all are the same, they are degenerate, too."""
    spreads = [float(np.std(one.scores)) for one in judged]
    spread = [one for one, own in zip(judged, spreads, strict=True) if own >= _LEAST_SPREAD * max(spreads)]
    return max(spread, key=lambda one: one.value)


def _beats_constant(plan: TrainingPlan, target: BinaryTarget, best: _Judged) -> bool:
    """Return whether scores are better for the measure than equal ones: a class of hardly any weight has none such."""
    truth, weights = target.positive[best.samples], target.weights[best.samples]
    constant = evaluate_threshold_for(plan.measure, truth, np.zeros(truth.size), weights).value
    return best.value >= constant + _LEAST_GAIN


def _are_alike(weight: float, other: float) -> bool:
    return max(weight, other) <= _ALIKE * min(weight, other)


def _weigh(target: BinaryTarget, positive_weight: float) -> BinaryTarget:
    """Return the target with positives of so many times more weight; the total weight stays."""
    weighted = np.where(target.positive, positive_weight, 1.0) * target.weights
    return replace(target, weights=weighted * (target.weights.sum() / weighted.sum()))


def _judge(
    plan: TrainingPlan,
    weighted: TrainingPlan,
    design: Design,
    target: BinaryTarget,
    splits: Splits,
    limits: Limits,
    positive_weight: float,
) -> _Judged:
    """Return the measure of scores that models with a weight of the positives give to samples they have not seen."""
    heavier, error = _weigh(target, positive_weight), 0.0
    if splits:
        score = partial(score_fold, weighted, design, heavier, limits)
        samples, scores, *_ = score_out_of_fold(score, splits, np.empty(0, dtype=np.int64), n_jobs=1)
    else:
        samples = target.samples
        result = _train(weighted, design, heavier, limits)
        scores, error = weighted.score(result, design.take(samples)), estimate_score_error(design, result)
    threshold = threshold_of_scores(plan, target, samples, scores, error)
    truth, weights = target.positive[samples], target.weights[samples]
    value = evaluate_threshold_for(plan.measure, truth, scores, weights, error).value
    return _Judged(positive_weight, samples, scores, threshold, value)


def _train(weighted: TrainingPlan, design: Design, target: BinaryTarget, limits: Limits) -> Result:
    problem = make_binary_problem(weighted, design, target, target.samples, weighted.measure)
    return solve(weighted, problem, limits)[0]


def _own_weight(plan: TrainingPlan, target: BinaryTarget, best: _Judged) -> float | None:
    """Return the weight of a positive that the measure sets at a table; None if it sets none."""
    if not isinstance(plan.measure, NEEDS):
        return None
    truth, weights = target.positive[best.samples], target.weights[best.samples]
    table = contingency_table(truth, best.scores > best.threshold, weights)
    costs = compute_class_costs(plan.measure, (table.tp, table.fp, table.fn, table.tn))
    return costs.pos / costs.neg if min(costs) > 0.0 else None
