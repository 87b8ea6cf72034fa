"""Select on a sample that fits into memory, train on all stored samples, and decide on held-out samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from metricwise._typing import Floats
from metricwise.decisions.binary import ThresholdRule, wants_guarantee
from metricwise.decisions.decision import Decision
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.beyond_memory.choosing import HeldOutSamples, choose_models, decide_on
from metricwise.estimators.selection.beyond_memory.learners import FullTraining
from metricwise.estimators.selection.beyond_memory.limits import count_selected, find_room
from metricwise.estimators.selection.beyond_memory.parts import Parts, divide
from metricwise.estimators.selection.beyond_memory.stored import StoredSamples, Targets
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.candidates.boosters import grow_settings
from metricwise.estimators.selection.clock import Clock, OutOfTimeError, run_within
from metricwise.estimators.selection.ensemble import AveragedModels, Mixture
from metricwise.estimators.selection.explanation import explain_guarantee
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.schedule import Schedule
from metricwise.estimators.selection.selecting import Selected
from metricwise.memory import format_megabytes, release_freed_memory
from metricwise.progress import Stage

_SHARE_OF_SELECTION = 0.4  # of the time budget, where more samples are trained on afterwards
_SHARE_OF_DECISION = 0.1  # of the time budget, for scores of held-out samples
_SHARE_OF_BOOSTER = 0.8  # of the time for training on all samples, if there are other candidates to train
_MANY_MORE = 4  # times the samples that candidates are compared on, from which on larger trees are grown
_MARGIN = 1.5  # on the expected time of a training that reads its samples, beyond what was measured in memory

Select = Callable[[Task, TrainingData, ThresholdRule, Profile, Schedule, Stage], Selected]


class StoredProblem(NamedTuple):
    """Stored samples with their targets, and what is predicted for them.

    Attributes
    ----------
    stored, targets
        Samples, and their labels and weights.
    task, rule
        What is predicted, and how thresholds are chosen.
    confidence : float or None
        Confidence of a guarantee, where there are constraints.
    """

    stored: StoredSamples
    targets: Targets
    task: Task
    rule: ThresholdRule
    confidence: float | None


class FittedBeyondMemory(NamedTuple):
    """The selection on the sample, the final mixture and its models, the decision, and lines that explain these."""

    selected: Selected
    mixture: Mixture
    ensemble: AveragedModels
    decision: Decision
    lines: list[str]


class Finalist(NamedTuple):
    """A candidate to be trained on all samples.

    Attributes
    ----------
    run : CandidateRun
        The candidate.
    estimator : classifier
        What is trained.
    model : classifier or None
        Its model of the sample, or of a fold of it; None for a booster, which needs none.
    title : str
        Its name with the settings.
    n_learnt : int
        Number of samples that its model of the sample has learnt from: fewer are not worth a training.
    """

    run: CandidateRun
    estimator: Any
    model: Any
    title: str
    n_learnt: int


class Trained(NamedTuple):
    """A candidate that was trained on all samples, or as many as fit."""

    run: CandidateRun
    title: str
    model: Any
    n_samples: int


def fit_stored(
    problem: StoredProblem, select: Select, clock: Clock, n_jobs: int | None, stage: Stage
) -> FittedBeyondMemory:
    """Return the model of stored samples.

    Parameters
    ----------
    problem : StoredProblem
        The samples.
    select : callable
        Compares candidates on samples in memory; see `selecting.select`.
    clock : Clock
        The time that is left.
    n_jobs : int or None
        Folds trained in parallel.
    stage : Stage
        Shows what is trained.
    """
    stored, targets, task, rule, confidence = problem
    target = task.encode(targets.y)
    has_weight = np.ones(len(targets.y), dtype=np.bool_) if targets.weights is None else targets.weights > 0.0
    has_guarantee = wants_guarantee(task.aim(rule), confidence)
    if has_guarantee:
        _refuse_weights(targets.weights)
    most = count_selected(stored.data, targets.y)
    parts = divide(targets.y, task.strata(target), has_weight, most, has_guarantee, rule.seed)
    if has_guarantee:
        assert confidence is not None
        task.refuse_too_few(rule, confidence, target[parts.testing])
    del target
    is_all = parts.sample.size == parts.trained.size  # nothing else is trained
    share = 1.0 - _SHARE_OF_DECISION if is_all else _SHARE_OF_SELECTION
    limit = None if clock.budget is None else share * clock.budget
    schedule = Schedule(Clock(limit), parts.judging.size + parts.testing.size, n_jobs=n_jobs)
    selected = _select_on_sample(problem, parts, select, schedule, stage)
    release_freed_memory()
    of_all, left_out = _train_on_all(problem, parts, selected, clock, stage)
    held_out = HeldOutSamples(stored, targets, task, rule, selected.halving.prior)
    ensemble = choose_models(held_out, parts.comparing, selected.final.ensemble, [one.model for one in of_all])
    decision = decide_on(held_out, ensemble, parts.judging, parts.testing, confidence)
    mixture = _weigh_runs(selected, of_all, ensemble)
    lines = _explain(problem, parts, of_all, left_out, ensemble)
    if has_guarantee:
        aim = task.aim(rule)
        assert aim is not None
        lines.append(explain_guarantee(map(str, aim.constraints), confidence, parts.testing.size))
    return FittedBeyondMemory(selected, mixture, ensemble, decision, lines)


def _refuse_weights(weights: Floats | None) -> None:
    if weights is not None and np.unique(weights[weights > 0.0]).size > 1:
        raise ValueError(
            "a guarantee counts samples, so that sample_weight must be the same for all of them (or zero): drop "
            "sample_weight, or set confidence=None to keep constraints on held-out samples without a "
            "guarantee"
        )


def _select_on_sample(
    problem: StoredProblem, parts: Parts, select: Select, schedule: Schedule, stage: Stage
) -> Selected:
    """Return the selection on a sample in memory, which is forgotten afterwards."""
    stored, (y, weights), task, rule, _ = problem
    own = None if weights is None else weights[parts.sample]
    X, labels = stored.gather(parts.sample), y[parts.sample]
    data = TrainingData(X, labels, task.encode(labels), own)
    selected = select(task, data, rule, replace(Profile.of(X), is_part=True), schedule, stage)
    selected.halving.data = replace(data, X=None)
    return selected


def _train_on_all(
    problem: StoredProblem, parts: Parts, selected: Selected, clock: Clock, stage: Stage
) -> tuple[list[Trained], list[str]]:
    """Return the selected candidates that can be trained on all samples, trained, and why others are not."""
    if parts.sample.size == parts.trained.size:
        return [], []  # the sample is all there is to learn from
    stored, targets = problem.stored.select(parts.trained, problem.targets)
    room = find_room(problem.stored.data, problem.targets.y)
    training = FullTraining(stored, targets, problem.task.classes, parts.trained.size, room, problem.rule.seed)
    finalists = list_finalists(training, selected, parts.sample.size)
    limit = getattr(problem.stored.data, "memory_limit", 0)
    missing = {one.title: training.count_missing_bytes(one.estimator) for one in finalists}
    left_out = [
        f"- {title}: there was no memory to train it on all samples: that takes memory_limit={text!r}."
        for title, n_bytes in missing.items()
        if n_bytes and (text := format_megabytes(limit + n_bytes))
    ]
    finalists = [one for one in finalists if not missing[one.title]]
    trained = []
    for number, one in enumerate(finalists):
        left = clock.left() - _SHARE_OF_DECISION * (clock.budget or 0.0)
        n_others = len(finalists) - number - 1
        seconds = _divide_time(left, n_others, training.is_booster(one.estimator))
        fitted = _fit_in_time(training, one, seconds, selected.halving.schedule, stage)
        if fitted is None:
            plans = training.plans_its_time(one.estimator)
            what = "no room or time to train it on more" if plans else "no time to train it on all"
            left_out.append(f"- {one.title}: there was {what} samples.")
        else:
            trained.append(Trained(one.run, one.title, *fitted))
            release_freed_memory()
    return trained, left_out


def list_finalists(training: FullTraining, selected: Selected, n_selected: int) -> list[Finalist]:
    """Return the candidates to train on all samples, a booster first: it gains most from more samples.

    Of boosters, one is enough: that of the best settings on the sample. On many more samples it grows larger trees.
    """
    final = selected.final
    able = [
        Finalist(
            run, run.candidate.final, run.models[0] if model is None else model, run.candidate.title, final.n_samples
        )
        for run, model in zip(final.mixture.runs, final.trained, strict=True)  # of a fold, if there is no other
        if training.can_train(run.candidate.final)
    ]
    booster = _find_booster(training, selected)
    if booster is None:
        return able
    others = [one for one in able if not training.is_booster(one.estimator)]
    candidate = booster.candidate
    if training.n_samples >= _MANY_MORE * n_selected:
        settings = grow_settings(candidate.final.package, candidate.settings)
        grown = clone(candidate.final).set_params(settings=settings)
        candidate = replace(candidate, settings=settings, estimator=grown)
    n_learnt = final.n_samples if booster in final.mixture.runs else booster.n_samples
    return [Finalist(booster, candidate.final, None, candidate.title, n_learnt), *others]


def _find_booster(training: FullTraining, selected: Selected) -> CandidateRun | None:
    """Return the best booster that can be trained on all samples.

    The sample alone may have dropped it, or there was no time to try it there.
    """
    able = [run for run in selected.outcome.runs if not run.has_failed and training.is_booster(run.candidate.final)]
    return max(able, key=lambda run: (run.n_samples, np.nan_to_num(run.value, nan=-np.inf)), default=None)


def _divide_time(left: float, n_others: int, is_booster: bool) -> float:
    """Return the seconds of the next training, with more for a booster.

    Examples
    --------
    >>> _divide_time(30.0, 2, False), _divide_time(30.0, 2, True), _divide_time(30.0, 0, False)
    (10.0, 24.0, 30.0)
    """
    if is_booster and n_others:
        return _SHARE_OF_BOOSTER * left
    return left / (n_others + 1)


def _fit_in_time(
    training: FullTraining, finalist: Finalist, seconds: float, schedule: Schedule, stage: Stage
) -> tuple[Any, int] | None:
    """Return a trained candidate with its number of samples; None if there is not enough time."""
    plans = training.plans_its_time(finalist.estimator)
    if not plans and _MARGIN * finalist.run.estimate_final_seconds(training.n_samples) > seconds:
        return None
    stage.update(f"training {finalist.title} on up to {training.n_samples:,} samples")
    fit = partial(training.fit, finalist.estimator, finalist.model, finalist.n_learnt, seconds)
    try:
        return run_within(seconds, fit, schedule.n_threads(training.n_samples))
    except OutOfTimeError:
        return None


def _weigh_runs(selected: Selected, of_all: list[Trained], ensemble: AveragedModels) -> Mixture:
    """Return the candidates in the final ensemble with their weights, models of the sample and of all added up."""
    mixture, final = selected.final.mixture, selected.final
    owners = {id(model): run for run, model in zip(mixture.runs, final.trained, strict=True) if model is not None}
    owners |= {id(one.model): one.run for one in of_all}
    owners |= {id(model): run for run in mixture.runs for model in run.models}
    runs = list(dict.fromkeys([*mixture.runs, *(one.run for one in of_all)]))
    weights = dict.fromkeys(runs, 0.0)
    for model, weight in zip(ensemble.models, ensemble.weights.tolist(), strict=True):
        weights[owners[id(model)]] += weight
    kept = [run for run in runs if weights[run] > 0.0]
    for run in mixture.runs:
        if run not in kept:
            run.why_dropped = "adds nothing on held-out samples"
    for run in kept:
        run.why_dropped = ""
    gain = mixture.gain if kept == mixture.runs else None  # of another ensemble
    return mixture._replace(runs=kept, weights=np.array([weights[run] for run in kept]), gain=gain)


def _explain(
    problem: StoredProblem, parts: Parts, of_all: list[Trained], left_out: list[str], ensemble: AveragedModels
) -> list[str]:
    """Return lines on what was trained on how many samples."""
    where = "on disk" if problem.stored.location == "disk" else "on a cluster"
    used = {id(model) for model in ensemble.models}
    lines = [
        f"The {len(problem.targets.y):,} samples are {where}: candidates are compared on {parts.sample.size:,} of them "
        f"in memory, {parts.trained.size:,} are there to learn from."
    ]
    for one in of_all:
        use = (
            "used" if id(one.model) in used else f"no better on {parts.comparing.size:,} held-out samples, and not used"
        )
        lines.append(f"- {one.title} trained on {one.n_samples:,} samples: {use}.")
    lines += left_out
    n_of_sample = len(used - {id(one.model) for one in of_all})
    if n_of_sample:
        lines.append(f"{n_of_sample} of {len(used)} models are those of the {parts.sample.size:,} samples in memory.")
    lines.append(f"{parts.judging.size:,} other held-out samples choose the threshold and show what to expect.")
    return lines
