"""The ensemble: the best candidate, or an average of the scores of several, whichever is better out of fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.decisions.decision import Calibration
from metricwise.decisions.out_of_fold import OutOfFoldScores
from metricwise.decisions.task import Task
from metricwise.estimators.selection.candidate_run import CandidateRun, Difference
from metricwise.estimators.selection.halving import Judge, SuccessiveHalving, limit_scores, middle_of
from metricwise.estimators.selection.rungs import Rung


class Mixture(NamedTuple):
    """Candidates with weights that sum to one, their averaged out-of-fold scores, and the measure of these.

    ``gain`` is what an average gains over the best of its candidates on the same samples; None for one candidate.
    """

    runs: list[CandidateRun]
    weights: Floats
    scores: Floats
    value: float
    gain: Difference | None = None

    def average(self, parts: list[Floats]) -> Floats:
        """Return the weighted mean of the calibrated scores of each candidate."""
        return _weighted_mean(self.weights, parts)

    def out_of_fold_scores(self, rung: Rung) -> OutOfFoldScores:
        """Return the averaged scores of a rung's test samples and of its probe."""
        of_probe = self.average([run.probe_scores for run in self.runs])
        n_trained = float(np.mean([train.size for train, _ in rung.splits]))
        probe = self.runs[0].probe
        return OutOfFoldScores(rung.test_samples, self.scores, probe, of_probe, (), rung.sizes, n_trained)


def _weighted_mean(weights: Floats, parts: list[Floats]) -> Floats:
    mean: Floats = np.tensordot(weights, np.array(parts), axes=1)
    return mean


def best_mixture(halving: SuccessiveHalving, rung: Rung, finalists: list[CandidateRun]) -> Mixture:
    """Return the best of the finalists and of the averages of the first two, three, ... of them.

    Averages of equally good models are better than each, and weights that are chosen on few samples are worse than
    equal ones; so weights are equal, and only the number of models is chosen.
    """
    ranked = sorted(finalists, key=lambda run: -run.value)
    best = Mixture(ranked[:1], np.ones(1), ranked[0].scores, ranked[0].value)
    for count in range(2, len(ranked) + 1):
        scores: Floats = np.mean([run.scores for run in ranked[:count]], axis=0)
        value = _judge(halving, rung, scores)(halving.data.sample_weights[rung.test_samples])
        if value >= best.value:
            best = Mixture(ranked[:count], np.full(count, 1.0 / count), scores, value)
    return best if len(best.runs) == 1 else best._replace(gain=_gain(halving, rung, best))


def _judge(halving: SuccessiveHalving, rung: Rung, scores: Floats) -> Judge:
    return halving.task.best_value(halving.data.attach_scores(rung.test_samples, scores), halving.rule)


def _gain(halving: SuccessiveHalving, rung: Rung, mixture: Mixture) -> Difference:
    best = mixture.runs[0]
    single, average = (
        halving.draw_values(_judge(halving, rung, scores), rung) for scores in (best.scores, mixture.scores)
    )
    return Difference(best.candidate.title, mixture.value - best.value, middle_of(average - single))


@stored_fields(version=1)
@dataclass(frozen=True)
class AveragedModels:
    """Trained models whose calibrated scores are averaged.

    Attributes
    ----------
    models : list
        Models trained by `Task.fit`.
    calibrations : list
        Convert the scores of each model to log-odds.
    weights : array
        Weights of the models.
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
        return self.mean(parts)

    def mean(self, parts: list[Floats]) -> Floats:
        """Return the weighted mean of the calibrated scores of each model."""
        return _weighted_mean(self.weights, parts)
