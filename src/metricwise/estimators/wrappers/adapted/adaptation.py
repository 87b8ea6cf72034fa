"""Train the inputs and the machine that adapts them to a measure, and select the best of them all.

N. Li, I. W. Tsang, Z.-H. Zhou, *Efficient optimization of performance measures by classifier adaptation*, IEEE
Transactions on Pattern Analysis and Machine Intelligence 35, 2013. The score is

    s(x) = w'x + sum_k b_k f_k(x),

with f_k the outputs of the inputs; w and b minimise 1/2 (|w|^2 + |b|^2) + C u R, the objective of the multivariate
support vector machine.

Order of steps (`adapt`):

1. score every sample by copies of the inputs that were trained without it (prefitted inputs score all samples);
2. for every fold, train a machine on the others, and score the samples of the fold;
3. choose the threshold of the machine, and of each input, on out-of-fold scores;
4. select the machine if these make it likely that it is better than the best input, otherwise that input.

The machine of a fold is trained with outputs of models that were trained without this fold, too: each input is also
trained without every pair of folds. Outputs of models that have seen the fold would leak its labels: such a model is
biased against the labels of the samples it was trained without, and a machine that also has their features learns this.
On a problem on which nothing reaches an F1 of 0.21, machines judged that way seemed to reach 0.53.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from metricwise._typing import Floats, Indices
from metricwise.decisions.binary import Aim, ThresholdRule, make_aim
from metricwise.decisions.comparison import CONFIDENCE, Judged, least_gain
from metricwise.decisions.decision import Decision
from metricwise.decisions.executors import LocalExecutor, fit_and_score
from metricwise.decisions.fitting import account_for_groups
from metricwise.decisions.intervals import resampled_interval
from metricwise.decisions.out_of_fold import (
    OutOfFoldScores,
    Splits,
    align_folds,
    collect_scores,
    probe_of_folds,
)
from metricwise.decisions.parallel import run_in_parallel
from metricwise.decisions.scoring import gives_probabilities
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.estimators.wrappers.adapted.adapter import Adapter
from metricwise.estimators.wrappers.adapted.inputs import ADAPTED, Inputs
from metricwise.measures.base import CountsTopSamples
from metricwise.results import DegenerateOptimumWarning, Status

_FEWEST_FOLDS = 3  # since inputs are also trained without two of them


class InputScores(NamedTuple):
    """An input and its scores of the samples.

    Attributes
    ----------
    model : classifier
        The input, trained on all samples (or before).
    out_of_fold : array
        The score of every sample by a model trained without its fold.
    without_fold : list of array
        For every fold, the scores of its training samples by models trained without it and without their own folds.
    probe_of_fold : list of array
        For every fold, scores of the samples of the probe that its model was trained with.
    by_final : array
        Scores of the samples of the probe by ``model``.
    """

    model: Any
    out_of_fold: Floats
    without_fold: list[Floats]
    probe_of_fold: list[Floats]
    by_final: Floats


class Candidate(NamedTuple):
    """The machine or an input, with its out-of-fold scores and the decision on them.

    ``found`` are the scores of fold models; ``by_final`` those of the probe by the model of all samples.
    """

    name: str
    judged: Judged
    found: OutOfFoldScores
    by_final: Floats

    @property
    def expected_score(self) -> float:
        """The measure of out-of-fold samples."""
        return self.judged.decision.expected_score


class Adaptation(NamedTuple):
    """Inputs and machine of all samples, all candidates, and the name and decision of the selected one."""

    models: Inputs
    adapter: Adapter
    candidates: list[Candidate]
    selected: str
    decision: Decision


@dataclass(frozen=True)
class AdaptationPlan:
    """Everything that training needs.

    Attributes
    ----------
    executor : LocalExecutor
        Task, samples for the inputs, and number of jobs.
    features : array, sparse matrix or None
        Features of the machine; None if it has only the inputs.
    inputs : dict
        Classifiers by name, to be trained or trained already (``prefit``).
    machine : MultivariateSVC
        The machine to train, with a threshold of zero.
    cv, seed, prefit
        Folds, seed of folds and resamples, and whether the inputs are trained.
    """

    executor: LocalExecutor
    features: Any
    inputs: Inputs
    machine: MultivariateSVC
    cv: Any
    seed: int
    prefit: bool

    @property
    def aim(self) -> Aim:
        """What thresholds are chosen for."""
        return make_aim(self.executor.task.measure, None)

    def take_features(self, samples: Indices) -> Any:
        """Return the machine's features of some samples."""
        return None if self.features is None else self.features[samples]


class Folds(NamedTuple):
    """Folds, pairs of them without which inputs are trained, and the probe: all of it, and of each fold's model."""

    splits: Splits
    pairs: list[tuple[int, int]]
    probe: Indices
    probe_of_fold: list[Indices]


def adapt(plan: AdaptationPlan) -> Adaptation:
    """Train inputs and machine, compare them, and select the best."""
    folds, data = _make_folds(plan), plan.executor.data
    outputs = _score_inputs(plan, folds)
    candidates = [_judge_input(plan, folds, name, one) for name, one in outputs.items()]
    everything = {name: one.out_of_fold for name, one in outputs.items()}
    adapter = _fit_adapter(plan, np.arange(len(data.y)), everything, is_fold=False)
    selected = best = max(candidates, key=lambda one: one.expected_score)
    if plan.prefit or folds.pairs:
        adapted = _judge_adapter(plan, folds, adapter, outputs)
        candidates.insert(0, adapted)
        if adapter.result.status is not Status.DEGENERATE and _is_better(plan, best, adapted):
            selected = adapted
    else:
        _warn_of_few_folds(best.name)
    probe = data.probe(folds.probe, selected.found.probe_scores, selected.by_final)
    samples, decision = selected.judged
    groups = data.groups_of(selected.found.samples)
    decision = account_for_groups(plan.executor.task, decision, samples, groups, plan.seed).shift_to_final(probe)
    models = {name: one.model for name, one in outputs.items()}
    return Adaptation(models, adapter, candidates, selected.name, decision)


def _make_folds(plan: AdaptationPlan) -> Folds:
    task, data = plan.executor.task, plan.executor.data
    splits = data.split(plan.cv, task.strata(data.target), plan.seed, needed=True)
    if len(splits) < 2:
        raise ValueError(
            f"AdaptedSVC needs folds with samples of both classes, but there are {len(splits)}: set cv to "
            f"{_FEWEST_FOLDS} or more, and collect more samples of a class that has fewer than two distinct ones"
        )
    if not np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(data.y))):
        raise ValueError("cv must test every sample exactly once, as KFold does: each needs an out-of-fold score")
    pairs = list(combinations(range(len(splits)), 2)) if len(splits) >= _FEWEST_FOLDS else []
    probe = task.draw_probe(data.target, plan.seed)
    return Folds(splits, pairs, probe, probe_of_folds(splits, probe))


# -------------------------------------------------------------------------------------------------------------- inputs


def _score_inputs(plan: AdaptationPlan, folds: Folds) -> dict[str, InputScores]:
    if plan.prefit:
        return {name: _score_prefitted(plan, folds, model) for name, model in plan.inputs.items()}
    trainings = list(_trainings(plan, folds))
    jobs = [(plan.executor, model, *training) for model in plan.inputs.values() for training in trainings]
    done = run_in_parallel(_fit_input, jobs, plan.executor.n_jobs, "training")
    each = len(trainings)
    return {name: _collect_input(plan, folds, done[k * each : (k + 1) * each]) for k, name in enumerate(plan.inputs)}


def _score_prefitted(plan: AdaptationPlan, folds: Folds, model: Any) -> InputScores:
    """Return the scores of a classifier that was trained with none of the samples."""
    scores = plan.executor.task.scores(model, plan.executor.data.X)
    without_fold = [scores[train] for train, _ in folds.splits]
    return InputScores(model, scores, without_fold, [scores[seen] for seen in folds.probe_of_fold], scores[folds.probe])


def _trainings(plan: AdaptationPlan, folds: Folds) -> Iterator[tuple[Indices, list[Indices]]]:
    """Yield training samples of an input with those to score: all samples, all but one fold, all but two folds."""
    yield np.arange(len(plan.executor.data.y)), [folds.probe]
    for (train, test), seen in zip(folds.splits, folds.probe_of_fold, strict=True):
        yield train, [test, seen]
    for one, other in folds.pairs:
        (train, first), (others, second) = folds.splits[one], folds.splits[other]
        yield np.intersect1d(train, others), [first, second]


def _fit_input(
    executor: LocalExecutor, estimator: Any, train: Indices, to_score: list[Indices]
) -> tuple[Any, list[Floats]]:
    """Return an input trained on some samples, if that is all of them, and its scores of the given samples."""
    task, data = executor.task, executor.data
    model, scores = fit_and_score(partial(task.fit, estimator), task.scores, data, train, *to_score)
    return model if train.size == len(data.y) else None, scores


def _collect_input(plan: AdaptationPlan, folds: Folds, done: list[tuple[Any, list[Floats]]]) -> InputScores:
    """Put together the scores by the models of one input, in the order of `_trainings`."""
    n_samples, n_folds = len(plan.executor.data.y), len(folds.splits)
    (model, (by_final,)), of_folds, of_pairs = done[0], done[1 : n_folds + 1], done[n_folds + 1 :]
    out_of_fold = np.empty(n_samples)
    without = np.full((n_folds, n_samples), np.nan)
    for (_, test), (_, (scores, _)) in zip(folds.splits, of_folds, strict=True):
        out_of_fold[test] = scores
    for (one, other), (_, (first, second)) in zip(folds.pairs, of_pairs, strict=True):
        without[other, folds.splits[one][1]] = first
        without[one, folds.splits[other][1]] = second
    without_fold = [without[k, train] for k, (train, _) in enumerate(folds.splits)]
    return InputScores(model, out_of_fold, without_fold, [seen for _, (_, seen) in of_folds], by_final)


def _judge_input(plan: AdaptationPlan, folds: Folds, name: str, one: InputScores) -> Candidate:
    results = [(one.out_of_fold[test], seen) for (_, test), seen in zip(folds.splits, one.probe_of_fold, strict=True)]
    return _judge(plan, folds, name, results, one.by_final, gives_probabilities(one.model))


# ------------------------------------------------------------------------------------------------------------- machine


def _judge_adapter(plan: AdaptationPlan, folds: Folds, adapter: Adapter, outputs: dict[str, InputScores]) -> Candidate:
    """Return the machine of all samples with the scores of the machines of the folds."""
    results = []
    for k, (train, test) in enumerate(folds.splits):
        seen = folds.probe_of_fold[k]
        machine = _fit_adapter(plan, train, {name: one.without_fold[k] for name, one in outputs.items()}, is_fold=True)
        scores = machine.scores(
            plan.take_features(test), {name: one.out_of_fold[test] for name, one in outputs.items()}
        )
        of_probe = {name: one.probe_of_fold[k] for name, one in outputs.items()}
        results.append((scores, machine.scores(plan.take_features(seen), of_probe)))
    of_final = {name: one.by_final for name, one in outputs.items()}
    return _judge(plan, folds, ADAPTED, results, adapter.scores(plan.take_features(folds.probe), of_final), False)


def _fit_adapter(plan: AdaptationPlan, samples: Indices, scores: dict[str, Floats], is_fold: bool) -> Adapter:
    """Train a machine on some samples, whose scores by the inputs are given."""
    machine, data, measure = clone(plan.machine), plan.executor.data, plan.executor.task.measure
    weights = data.sample_weights
    if is_fold and isinstance(measure, CountsTopSamples):  # a fold has fewer samples to choose the top k from
        machine.set_params(measure=measure.relative_to(float(weights[data.target].sum())))
    with warnings.catch_warnings():
        # A degenerate machine is not selected, and the machine of all samples warns about slow convergence.
        warnings.simplefilter("ignore", DegenerateOptimumWarning)
        if is_fold:
            warnings.simplefilter("ignore", ConvergenceWarning)
        return Adapter.fit(machine, plan.take_features(samples), scores, data.target[samples], weights[samples])


# ---------------------------------------------------------------------------------------------------------- comparison


def _judge(
    plan: AdaptationPlan,
    folds: Folds,
    name: str,
    results: list[tuple[Floats, Floats]],
    by_final: Floats,
    has_probabilities: bool,
) -> Candidate:
    """Choose the threshold of a candidate on its out-of-fold scores."""
    task, data = plan.executor.task, plan.executor.data
    found = collect_scores(folds.splits, folds.probe, results)
    if plan.aim.table is None and data.has_random_folds:
        codes = task.strata(data.target[found.samples])
        found = found._replace(
            scores=align_folds(folds.splits, found.scores, codes, data.sample_weights[found.samples])
        )
    samples = data.attach_scores(found.samples, found.scores)
    decision = task.decide(samples, ThresholdRule(seed=plan.seed), has_probabilities)
    return Candidate(name, Judged(samples, decision), found, by_final)


def _is_better(plan: AdaptationPlan, best: Candidate, other: Candidate) -> bool:
    """Return whether a candidate is better than the best input out of fold, and likely to be on new samples."""
    if other.expected_score <= best.expected_score:
        return False
    groups = plan.executor.data.groups_of(best.found.samples)
    if plan.aim.table is not None:
        return least_gain(plan.aim.table, best.judged, other.judged, groups) > 0.0
    measure, truth = plan.aim.measure, best.judged.samples.target

    def gain(weights: Floats) -> float:
        before, after = (float(measure.score(truth, one.judged.samples.scores, weights)) for one in (best, other))
        return after - before

    return resampled_interval(gain, best.judged.samples.weights, CONFIDENCE, plan.seed, groups)[0] > 0.0


def _warn_of_few_folds(selected: str) -> None:
    warnings.warn(
        "two folds are too few to judge the adapted machine on samples that its inputs were trained without: the best "
        f"input, {selected!r}, is selected. Set cv to {_FEWEST_FOLDS} or more, and collect more minority samples",
        UserWarning,
        stacklevel=4,
    )
