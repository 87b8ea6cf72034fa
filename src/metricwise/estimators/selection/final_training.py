"""Train the selected candidates, on as many samples as the time budget allows."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.clock import OutOfTimeError, run_within
from metricwise.estimators.selection.ensemble import AveragedModels, Mixture
from metricwise.estimators.selection.halving import Rung, SuccessiveHalving, limit_scores


class FinalModels(NamedTuple):
    """The selected models.

    Attributes
    ----------
    ensemble : AveragedModels
        The models.
    n_samples : int
        The number of samples that the smallest training of them had.
    trained : list
        The final model of each candidate of the mixture; None for one that its fold models represent.
    """

    ensemble: AveragedModels
    n_samples: int
    trained: list[Any]

    def score_probe(self, halving: SuccessiveHalving, mixture: Mixture) -> Floats:
        """Return scores of the probe, samples that the fold models of the mixture were trained with.

        Fold models that are used as they are get their own scores: they are what the threshold was chosen for. Their
        average would score a sample by the fold model that has not seen it as well, which is no shift of scores.
        """
        X = take_samples(halving.data.X, mixture.runs[0].probe)
        parts = [
            run.probe_scores if model is None else run.calibration(limit_scores(halving.task, halving.prior, model, X))
            for run, model in zip(mixture.runs, self.trained, strict=True)
        ]
        return mixture.average(parts)


def fit_final(halving: SuccessiveHalving, rung: Rung, mixture: Mixture) -> FinalModels:
    """Return the trained models of a mixture.

    They are trained on all samples, or on fewer if the time budget does not allow it. A candidate whose training would
    not finish, or does not, is represented by its fold models, which are trained already.
    """
    samples = _select_samples(halving, rung, mixture)
    trained, models, calibrations, weights, sizes = [], [], [], [], []
    for number, run in enumerate(mixture.runs):
        limit = halving.schedule.final_limit([run], rung.samples.size, samples.size, len(rung.splits))
        model = None if limit is None else _fit_within(halving, run, samples, limit)
        trained.append(model)
        found = run.models if model is None else [model]
        sizes.append(samples.size if model is not None else min(train.size for train, _ in rung.splits))
        models += found
        calibrations += [run.calibration] * len(found)
        weights += [mixture.weights[number] / len(found)] * len(found)
    return FinalModels(AveragedModels(models, calibrations, np.array(weights), halving.prior), min(sizes), trained)


def _select_samples(halving: SuccessiveHalving, rung: Rung, mixture: Mixture) -> Indices:
    """Return all samples if there is time to train on them, otherwise as many as there is time for.

    They are at least those of the last rung, also if the user has ended the selection.
    """
    size, n_samples, n_folds = rung.samples.size, len(halving.data.y), len(rung.splits)
    schedule = halving.schedule
    while n_samples > size and not schedule.is_stopped:
        if schedule.final_limit(mixture.runs, size, n_samples, n_folds) is not None:
            return halving.draw_samples(n_samples)
        n_samples //= 2
    return rung.samples


def _fit_within(halving: SuccessiveHalving, run: CandidateRun, samples: Indices, limit: float) -> Any:
    """Return a model of samples, None if its training does not finish in time."""
    part = halving.data.take_to_train(samples)
    fit = partial(halving.task.fit, run.candidate.final)
    try:
        return run_within(limit, partial(part.fit, fit), halving.schedule.n_threads(samples.size))
    except OutOfTimeError:
        return None
