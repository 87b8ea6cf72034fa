"""Choose between models of the sample and models of all samples, on held-out samples; then the threshold, on others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.adaptation import note_samples
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.calibrating import fit_calibration
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.beyond_memory.stored import StoredSamples, Targets
from metricwise.estimators.selection.candidate_training import limit_scores
from metricwise.estimators.selection.ensemble import AveragedModels
from metricwise.estimators.selection.rungs import make_held_out_rung
from metricwise.estimators.selection.stacking import stack_scores


class HeldOutSamples(NamedTuple):
    """Stored samples that no model has seen, and how they are judged."""

    stored: StoredSamples
    targets: Targets
    task: Task
    rule: ThresholdRule
    prior: Any

    def attach(self, samples: Indices, scores: Floats) -> ScoredSamples:
        """Return the targets and weights of samples with their scores."""
        return self.data(samples).attach_scores(np.arange(samples.size), scores)

    def data(self, samples: Indices) -> TrainingData:
        """Return samples, known by their positions alone, with their targets and weights."""
        y, weights = self.targets
        own = None if weights is None else weights[samples]
        return TrainingData(samples[:, None].astype(np.float64), y[samples], self.task.encode(y[samples]), own)

    def score(self, ensemble: AveragedModels, samples: Indices) -> Floats:
        """Return the scores of ascending samples by an ensemble."""
        return self.stored.score(partial(_score_ensemble, self.task, ensemble), samples)

    def score_models(self, models: Sequence[Any], samples: Indices) -> list[Floats]:
        """Return the scores of ascending samples by every model, read once for all of them."""
        found = self.stored.score(partial(_score_models, self.task, self.prior, list(models)), samples)
        return [np.ascontiguousarray(found[:, number]) for number in range(len(models))]


def _score_ensemble(task: Task, ensemble: AveragedModels, X: Any) -> Floats:
    return ensemble.scores(task, X)


def _score_models(task: Task, prior: Any, models: list[Any], X: Any) -> Floats:
    return np.stack([limit_scores(task, prior, model, X) for model in models], axis=1)


def choose_models(
    held_out: HeldOutSamples, samples: Indices, of_sample: AveragedModels, of_all: Sequence[Any]
) -> AveragedModels:
    """Return the ensemble with the best measure of held-out samples.

    Compared are the ensemble of the sample, every model of all samples alone, and the stacked ensemble of all these
    models: whatever more samples are worth, the result is no worse than what the sample gives, but for chance.

    Parameters
    ----------
    held_out : HeldOutSamples
        The samples, and how they are judged.
    samples : array of int
        Those to compare on.
    of_sample : AveragedModels
        The ensemble of the sample.
    of_all : sequence of models
        Models of all samples; none if no finalist can be trained on them.
    """
    if not of_all:
        return of_sample
    models = [*of_sample.models, *of_all]
    raw = held_out.score_models(models, samples)
    calibrations = [
        *of_sample.calibrations,
        *(held_out.task.calibrate(held_out.attach(samples, scores)) for scores in raw[len(of_sample.models) :]),
    ]
    parts = [calibrate(scores) for calibrate, scores in zip(calibrations, raw, strict=True)]
    unscored = held_out.attach(samples, raw[0])
    stacked = stack_scores(held_out.task, unscored.target, unscored.weights, parts, held_out.prior)
    own = np.append(of_sample.weights, np.zeros(len(of_all)))
    alone = np.eye(len(models))[len(of_sample.models) :]
    best, best_value = own, -np.inf
    for weights in (own, stacked, *alone):
        value = _find_value(held_out, samples, AveragedModels(models, calibrations, weights, held_out.prior), parts)
        if value > best_value:
            best, best_value = weights, value
    kept = np.flatnonzero(best).tolist()
    return AveragedModels(
        [models[k] for k in kept], [calibrations[k] for k in kept], np.asarray(best)[kept], held_out.prior
    )


def _find_value(held_out: HeldOutSamples, samples: Indices, ensemble: AveragedModels, parts: Sequence[Floats]) -> float:
    """Return the measure of an ensemble at its best thresholds; minus infinity if none keeps the constraints."""
    scored = held_out.attach(samples, ensemble.combine(parts))
    aim = held_out.task.aim(held_out.rule)
    if aim is not None and aim.constraints:
        try:
            held_out.task.decide(scored, held_out.rule, True)
        except UnreachableGuaranteeError:
            return -np.inf
    return float(held_out.task.best_value(scored, held_out.rule)(scored.weights))


def decide_on(
    held_out: HeldOutSamples, ensemble: AveragedModels, judging: Indices, testing: Indices, confidence: float | None
) -> Decision:
    """Choose the threshold of an ensemble on samples that had no part in training or in the choice of models.

    Parameters
    ----------
    held_out : HeldOutSamples
        The samples, and how they are judged.
    ensemble : AveragedModels
        The models.
    judging : array of int
        Samples that choose the threshold and estimate the measure.
    testing : array of int
        Samples that a guarantee is tested on; none without one.
    confidence : float or None
        Confidence of the guarantee.
    """
    task, rule, data = held_out.task, held_out.rule, held_out.data(judging)
    rung = make_held_out_rung(task, data, rule.seed, np.arange(judging.size))
    if rung is None:
        raise ValueError(
            f"the {judging.size} held-out samples are too few to choose a threshold: collect more samples of the "
            "minority class, or load the samples if they fit into memory"
        )
    order: Labels = rung.test_samples
    samples = data.attach_scores(order, held_out.score(ensemble, judging)[order])
    if testing.size:
        assert confidence is not None
        tested = held_out.attach(testing, held_out.score(ensemble, testing))
        return task.guarantee(rule, confidence, samples, tested, has_probabilities=True)
    decision = task.judge(task.decide(samples, rule, True), samples, rule, rung.sizes, True)
    chosen = decision.threshold
    if not task.is_binary:  # whose candidates are calibrated one by one
        decision = decision.calibrate(fit_calibration(task, samples))
    return note_samples(task, decision, chosen, samples, rung.sizes)
