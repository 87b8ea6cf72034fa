"""The ensemble: a weighted sum of the scores of candidates, stacked out of fold, or the best candidate alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.decisions.decision import Calibration
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.decisions.out_of_fold import OutOfFoldScores
from metricwise.decisions.task import Task
from metricwise.estimators.selection.candidate_run import CandidateRun, Difference
from metricwise.estimators.selection.candidate_training import limit_scores
from metricwise.estimators.selection.halving import Judge, SuccessiveHalving, middle_of
from metricwise.estimators.selection.rungs import Rung
from metricwise.estimators.selection.stacking import combine_scores, stack_scores


class Mixture(NamedTuple):
    """Candidates with the weights of their scores, their combined out-of-fold scores, and the measure of these.

    ``prior`` has the scores of samples of which nothing is known; see `combine_scores`. ``gain`` is what the ensemble
    gains over the best candidate on the same samples; None for one candidate.
    """

    runs: list[CandidateRun]
    weights: Floats
    prior: Any
    scores: Floats
    value: float
    gain: Difference | None = None

    def combine(self, parts: Sequence[Floats]) -> Floats:
        """Return the combined scores, given the calibrated scores of each candidate."""
        return combine_scores(self.weights, parts, self.prior)

    def out_of_fold_scores(self, rung: Rung) -> OutOfFoldScores:
        """Return the combined scores of a rung's test samples and of its probe."""
        of_probe = self.combine([run.probe_scores for run in self.runs])
        n_trained = float(np.mean([train.size for train, _ in rung.splits]))
        probe = self.runs[0].probe
        return OutOfFoldScores(rung.test_samples, self.scores, probe, of_probe, (), rung.sizes, n_trained)


def best_mixture(halving: SuccessiveHalving, rung: Rung, finalists: list[CandidateRun]) -> Mixture:
    """Return the finalists that an ensemble needs, with their weights, or the best if only that keeps constraints.

    Otherwise the ensemble stays even if the best candidate has more by the measure: that candidate was chosen for it on
    the same samples, which flatters it.
    """
    ranked = sorted(finalists, key=lambda run: -run.value)
    data, samples, prior = halving.data, rung.test_samples, halving.prior
    parts, sample_weights = [run.scores for run in ranked], data.sample_weights[samples]
    weights = stack_scores(halving.task, data.target[samples], sample_weights, parts, prior)
    alone, chosen = _take_alone(ranked[0], prior), np.flatnonzero(weights)
    if chosen.size == 1:
        single = _take_alone(ranked[int(chosen[0])], prior)
        return single if _keeps_constraints(halving, rung, single.scores) else alone
    scores = combine_scores(weights, parts, prior)
    if not _keeps_constraints(halving, rung, scores):
        return alone
    value = _judge(halving, rung, scores)(sample_weights)
    mixture = Mixture([ranked[number] for number in chosen], weights[chosen], prior, scores, value)
    gains = _draw_values(halving, rung, mixture) - _draw_values(halving, rung, alone)
    return mixture._replace(gain=Difference(ranked[0].candidate.title, value - alone.value, middle_of(gains)))


def _take_alone(run: CandidateRun, prior: Any) -> Mixture:
    return Mixture([run], np.ones(1), prior, run.scores, run.value)


def drop_unused(finalists: list[CandidateRun], mixture: Mixture) -> None:
    """Give the finalists that are not in the mixture the reason for it."""
    for run in finalists:
        if run not in mixture.runs and not run.why_dropped:
            run.drop_unneeded()


def _keeps_constraints(halving: SuccessiveHalving, rung: Rung, scores: Floats) -> bool:
    """Return whether some threshold keeps the constraints of the measure or of the user on out-of-fold samples."""
    aim = halving.task.aim(halving.rule)
    if aim is None or not aim.constraints:
        return True
    try:
        halving.task.decide(halving.data.attach_scores(rung.test_samples, scores), halving.rule, True)
    except UnreachableGuaranteeError:
        return False
    return True


def _judge(halving: SuccessiveHalving, rung: Rung, scores: Floats) -> Judge:
    return halving.task.best_value(halving.data.attach_scores(rung.test_samples, scores), halving.rule)


def _draw_values(halving: SuccessiveHalving, rung: Rung, mixture: Mixture) -> Floats:
    return halving.draw_values(_judge(halving, rung, mixture.scores), rung)


@stored_fields(version=1)
@dataclass(frozen=True)
class AveragedModels:
    """Trained models whose calibrated scores are combined.

    Attributes
    ----------
    models : list
        Models trained by `Task.fit`.
    calibrations : list
        Convert the scores of each model to log-odds.
    weights : array
        Weights of the models; those of log-odds need not sum to one.
    prior : float or array
        Log-odds or log-probabilities of the classes, from which probabilities may differ by a limit only.
    """

    models: list[Any]
    calibrations: list[Calibration]
    weights: Floats
    prior: Any

    def scores(self, task: Task, X: Any) -> Floats:
        """Return scores of samples."""
        parts = [
            calibrate(limit_scores(task, self.prior, model, X))
            for model, calibrate in zip(self.models, self.calibrations, strict=True)
        ]
        return self.combine(parts)

    def combine(self, parts: Sequence[Floats]) -> Floats:
        """Return the combined scores, given the calibrated scores of each model."""
        return combine_scores(self.weights, parts, self.prior)
