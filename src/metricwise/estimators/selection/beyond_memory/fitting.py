"""Select on a sample that fits into memory, train on all stored samples, and decide on held-out samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

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
from metricwise.estimators.selection.clock import Clock, OutOfTimeError, run_within
from metricwise.estimators.selection.ensemble import AveragedModels, Mixture
from metricwise.estimators.selection.explanation import explain_guarantee
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.schedule import Schedule
from metricwise.estimators.selection.selecting import Selected
from metricwise.memory import release_freed_memory
from metricwise.progress import Stage

_SHARE_OF_SELECTION = 0.5  # of the time budget, where more samples are trained on afterwards
_SHARE_OF_DECISION = 0.1  # of the time budget, for scores of held-out samples
_STEP = 0.8  # between the numbers of samples that are considered
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


class Trained(NamedTuple):
    """A candidate that was trained on all samples, or as many as fit."""

    run: CandidateRun
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
    parts = divide(task.strata(target), has_weight, count_selected(stored.data), has_guarantee, rule.seed)
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
    of_all, too_slow = _train_on_all(problem, parts, selected, clock, stage)
    held_out = HeldOutSamples(stored, targets, task, rule, selected.halving.prior)
    ensemble = choose_models(held_out, parts.comparing, selected.final.ensemble, [one.model for one in of_all])
    decision = decide_on(held_out, ensemble, parts.judging, parts.testing, confidence)
    mixture = _weigh_runs(selected, of_all, ensemble)
    lines = _explain(problem, parts, of_all, too_slow, ensemble)
    if has_guarantee:
        aim = task.aim(rule)
        assert aim is not None
        lines.append(explain_guarantee(map(str, aim.constraints), confidence, parts.testing.size))
    return FittedBeyondMemory(selected, mixture, ensemble, decision, lines)


def _refuse_weights(weights: Floats | None) -> None:
    if weights is not None and np.unique(weights[weights > 0.0]).size > 1:
        raise ValueError(
            "a guarantee counts samples, so that sample_weight must be the same for all of them (or zero): repeat "
            "samples, drop sample_weight, or set confidence=None to keep constraints on held-out samples without a "
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
) -> tuple[list[Trained], list[CandidateRun]]:
    """Return the selected candidates that can be trained on all samples, trained, and those there was no time for."""
    stored, targets = problem.stored.select(parts.trained, problem.targets)
    room = find_room(problem.stored.data)
    training = FullTraining(stored, targets, problem.task.classes, parts.trained.size, room, problem.rule.seed)
    final = selected.final
    able = [
        (run, run.models[0] if model is None else model)  # of a fold, where there was no time for another
        for run, model in zip(final.mixture.runs, final.trained, strict=True)
        if training.can_train(run.candidate.final)
    ]
    if (booster := _find_booster(training, selected)) is not None:
        able.insert(0, (booster, None))
    if parts.sample.size == parts.trained.size:
        return [], []  # the sample is all there is to learn from
    trained, too_slow = [], []
    for number, (run, model) in enumerate(able):
        left = (clock.left() - _SHARE_OF_DECISION * (clock.budget or 0.0)) / (len(able) - number)
        n_samples = _find_affordable(training, run, parts.sample.size, left)
        if n_samples is None:
            too_slow.append(run)
            continue
        stage.update(f"training {run.candidate.title} on {n_samples:,} samples")
        try:
            fitted = run_within(left, partial(training.fit, run.candidate.final, model, n_samples))
        except OutOfTimeError:
            too_slow.append(run)
            continue
        trained.append(Trained(run, fitted, n_samples))
        release_freed_memory()
    return trained, too_slow


def _find_booster(training: FullTraining, selected: Selected) -> CandidateRun | None:
    """Return the best booster that can be trained on all samples; None if one is selected or there is none.

    Boosters gain most from more samples: one that a few other samples have dropped may be the best of all of them.
    """
    able = [
        run
        for run in selected.outcome.runs
        if run.n_samples > 0 and not run.has_failed and training.is_booster(run.candidate.final)
    ]
    if not able or any(run in selected.final.mixture.runs for run in able):
        return None
    return max(able, key=lambda run: (run.n_samples, run.value))


def _find_affordable(training: FullTraining, run: CandidateRun, fewest: int, seconds: float) -> int | None:
    """Return on how many samples, more than the fewest, there is time to train a candidate; None if on none."""
    size = training.count_samples(run.candidate.final)
    while _MARGIN * run.estimate_final_seconds(size) > seconds:
        size = int(_STEP * size)
        if size <= fewest or not training.takes_part(run.candidate.final):
            return None
    return size


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
    problem: StoredProblem, parts: Parts, of_all: list[Trained], too_slow: list[CandidateRun], ensemble: AveragedModels
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
        lines.append(f"- {one.run.candidate.title} trained on {one.n_samples:,} samples: {use}.")
    lines += [f"- {run.candidate.title}: there was no time to train it on all samples." for run in too_slow]
    n_of_sample = len(used - {id(one.model) for one in of_all})
    if n_of_sample:
        lines.append(f"{n_of_sample} of {len(used)} models are those of the {parts.sample.size:,} samples in memory.")
    lines.append(f"{parts.judging.size:,} other held-out samples choose the threshold and show what to expect.")
    return lines
