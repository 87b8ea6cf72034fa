"""Train the selected candidates, on as many samples as the time budget allows.

Where the rungs have ended before all samples, models are trained on more samples than those that candidates were
compared on, and samples that neither have seen calibrate the models and choose the threshold.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.candidate_training import draw_to_train, limit_scores
from metricwise.estimators.selection.candidate_warnings import record_warnings
from metricwise.estimators.selection.clock import Clock, OutOfTimeError, run_within
from metricwise.estimators.selection.ensemble import AveragedModels, Mixture, best_mixture, drop_unused
from metricwise.estimators.selection.halving import Outcome, SuccessiveHalving
from metricwise.estimators.selection.learner_threads import fit_on_threads, restore_threads
from metricwise.estimators.selection.rungs import Rung, make_held_out_rung

_FARTHEST = 4  # ratio of numbers of samples up to which the time of a training is known from that of fewer samples
_WORTHWHILE = 1.5  # ratio of numbers of samples from which on training again is worth its time
_STEP = 0.8  # between the numbers of samples that are considered


# Final models of candidates, None for one that has none, with their numbers of samples.
Trained = dict[CandidateRun, tuple[Any, int]]


class HeldOut(NamedTuple):
    """Samples that no final model was trained with, and their scores."""

    rung: Rung
    scores: Floats


class FinalModels(NamedTuple):
    """The selected models.

    Attributes
    ----------
    mixture : Mixture
        The candidates that the models are trained by.
    ensemble : AveragedModels
        The models.
    n_samples : int
        The number of samples that the smallest training of them had.
    trained : list
        The final model of each candidate of the mixture; None for one that its fold models represent.
    held_out : HeldOut or None
        What the threshold is chosen on; None for the out-of-fold scores of the mixture.
    """

    mixture: Mixture
    ensemble: AveragedModels
    n_samples: int
    trained: list[Any]
    held_out: HeldOut | None = None

    @property
    def n_held_out(self) -> int:
        """The number of samples that the threshold is chosen on because no final model was trained with them."""
        return 0 if self.held_out is None else self.held_out.scores.shape[0]

    def score_probe(self, halving: SuccessiveHalving) -> Floats:
        """Return scores of the probe, samples that the fold models of the mixture were trained with.

        Fold models that are used as they are get their own scores: they are what the threshold was chosen for. Their
        mean would score a sample by the fold model that has not seen it as well, which is no shift of scores.
        """
        X = take_samples(halving.data.X, self.mixture.runs[0].probe)
        parts = [
            run.probe_scores if model is None else run.calibration(limit_scores(halving.task, halving.prior, model, X))
            for run, model in zip(self.mixture.runs, self.trained, strict=True)
        ]
        return self.mixture.combine(parts)


def keep_affordable(halving: SuccessiveHalving, rung: Rung, mixture: Mixture) -> Mixture:
    """Return the mixture without the candidates for whose training on all samples there is no time.

    More samples gain more than an ensemble does: where the time of such a training is not known, the best candidate is
    trained alone.
    """
    most, size = halving.subsets.most, rung.samples.size
    if size == len(halving.data.y) or halving.schedule.is_stopped:
        return mixture
    is_known = most <= _FARTHEST * size
    while len(mixture.runs) > 1:
        if is_known and halving.schedule.final_limit(mixture.runs, size, most, len(rung.splits)) is not None:
            break
        kept = np.argsort(-mixture.weights)[: len(mixture.runs) - 1 if is_known else 1]
        for number in set(range(len(mixture.runs))).difference(kept):
            mixture.runs[number].drop_for_time("there was no time to train it as well")
        mixture = best_mixture(halving, rung, [mixture.runs[number] for number in kept])
    return mixture


def fit_final(halving: SuccessiveHalving, outcome: Outcome, mixture: Mixture) -> FinalModels:
    """Return the trained models of a mixture.

    They are trained on all samples, or on fewer if the time budget does not allow it. A candidate whose training fails,
    or would not finish, is represented by its fold models, which are trained already. One that has none is dropped, and
    the other finalists make a new mixture.
    """
    rung, trained = outcome.rung, _train(halving, outcome.rung, mixture, {})
    while lost := [run for run in mixture.runs if not _has_model(run, trained)]:
        for run in lost:
            run.drop_untrained()
        finalists = _find_replacements(halving, outcome, lost, trained)
        with record_warnings():
            replacement = best_mixture(halving, rung, finalists)
        for run in replacement.runs:
            if run in lost or run not in mixture.runs:
                run.why_dropped = ""
        mixture = replacement
        trained = _train(halving, rung, mixture, trained)
    drop_unused(outcome.finalists, mixture)
    final = _assemble(halving, mixture, trained)
    if rung.samples.size == len(halving.data.y):
        return final
    held_out = make_held_out_rung(halving.task, halving.data, halving.rule.seed, halving.subsets.held_out)
    if held_out is None:
        return final
    n_threads = halving.schedule.n_threads(held_out.samples.size)
    return run_within(np.inf, partial(_calibrate, halving, held_out, final), n_threads)


def _train(halving: SuccessiveHalving, rung: Rung, mixture: Mixture, trained: Trained) -> Trained:
    """Return the final models of a mixture beside those that are trained already."""
    missing = [run for run in mixture.runs if run not in trained]
    return trained | {run: _fit_run(halving, rung, run, is_only=len(mixture.runs) == 1) for run in missing}


def _has_model(run: CandidateRun, trained: Trained) -> bool:
    return bool(run.models) or (run in trained and trained[run][0] is not None)


def _find_replacements(
    halving: SuccessiveHalving, outcome: Outcome, lost: list[CandidateRun], trained: Trained
) -> list[CandidateRun]:
    """Return finalists to make a mixture of, in place of those that have no model.

    Where there was no time to train some, there is none to train others in their place: only those count that have a
    model. If there are none, the best that has not failed is trained on the samples of the rung, however long it takes,
    and its model is added to ``trained``.

    Raises
    ------
    Exception
        The error of the last training, if that of every finalist has failed.
    """
    left = [run for run in outcome.finalists if run not in trained or _has_model(run, trained)]
    if any(run.failure is None for run in lost):
        left = [run for run in left if _has_model(run, trained)]
    if left:
        return left
    slow = [run for run in outcome.finalists if run.failure is None]
    if not slow:
        failure = lost[-1].failure
        assert failure is not None
        raise failure
    best = max(slow, key=lambda run: run.value)
    trained[best] = _fit_on(halving, best, outcome.rung.samples, np.inf), outcome.rung.samples.size
    return [best]


def _assemble(halving: SuccessiveHalving, mixture: Mixture, trained: Trained) -> FinalModels:
    """Return the models of a mixture, with the number of threads that the user wants."""
    models, calibrations, weights = [], [], []
    for run, weight in zip(mixture.runs, mixture.weights, strict=True):
        model, _ = trained[run]
        own = run.models if model is None else [model]
        for one in own:
            restore_threads(
                halving.task.learners(one), run.candidate.estimator if model is None else run.candidate.final
            )
        models += own
        calibrations += [run.calibration] * len(own)
        weights += [weight / len(own)] * len(own)
    ensemble = AveragedModels(models, calibrations, np.array(weights), halving.prior)
    n_samples = min(trained[run][1] for run in mixture.runs)
    return FinalModels(mixture, ensemble, n_samples, [trained[run][0] for run in mixture.runs])


def _calibrate(halving: SuccessiveHalving, rung: Rung, final: FinalModels) -> FinalModels:
    """Return the models calibrated on samples that they have not seen, with the scores of these samples."""
    data, ensemble, samples = halving.data, final.ensemble, rung.test_samples
    X = take_samples(data.X, samples)
    scores = [limit_scores(halving.task, halving.prior, model, X) for model in ensemble.models]
    calibrations = [halving.task.calibrate(data.attach_scores(samples, one)) for one in scores]
    calibrated = AveragedModels(ensemble.models, calibrations, ensemble.weights, ensemble.prior)
    parts = [calibrate(one) for calibrate, one in zip(calibrations, scores, strict=True)]
    return final._replace(ensemble=calibrated, held_out=HeldOut(rung, calibrated.combine(parts)))


def _fit_run(halving: SuccessiveHalving, rung: Rung, run: CandidateRun, is_only: bool) -> tuple[Any, int]:
    """Return the final model of a candidate, None if its fold models represent it, and its number of samples.

    On many more samples than the rung has, the time of a training is known only roughly. It is therefore trained on
    four times as many samples, then again, as often as there is time: there is always a model of the last training.
    """
    model, n_samples = None, rung.samples.size
    most = rung.samples.size if halving.schedule.is_stopped else halving.subsets.most
    while n_samples < most:
        farthest = min(most, _FARTHEST * n_samples) if is_only else most
        size = _find_affordable(halving, rung, run, n_samples, farthest)
        if size is None or (model is not None and size < _WORTHWHILE * n_samples):
            break
        samples = halving.subsets.draw(size)
        larger = _fit_within(halving, rung, run, samples)
        if larger is None:
            break
        model, n_samples = larger, samples.size
    if model is None:
        model, n_samples = _fit_within(halving, rung, run, rung.samples), rung.samples.size
    return (model, n_samples) if model is not None else (None, min(train.size for train, _ in rung.splits))


def _find_affordable(halving: SuccessiveHalving, rung: Rung, run: CandidateRun, fewest: int, most: int) -> int | None:
    """Return the largest number of samples that there is time to train on, None if it is not above the fewest."""
    size = most
    while size > fewest:
        if halving.schedule.final_limit([run], rung.samples.size, size, len(rung.splits)) is not None:
            return size
        size = int(_STEP * size)
    return None


def _fit_within(halving: SuccessiveHalving, rung: Rung, run: CandidateRun, samples: Indices) -> Any:
    """Return a model of samples, None if its training fails, would not finish in time, or does not."""
    limit = halving.schedule.final_limit([run], rung.samples.size, samples.size, len(rung.splits))
    if limit is None:
        return None
    try:
        return _fit_on(halving, run, samples, limit)
    except OutOfTimeError:
        return None
    except Exception as error:  # learners of other packages have errors of their own
        run.failure = error.with_traceback(None)  # whose frames would keep the samples in memory
        remedy = ", and its models of fewer samples are used" if run.models else ""
        warnings.warn(
            f"training the selected {run.candidate.name} on {samples.size} samples failed{remedy}: {error}",
            stacklevel=2,
        )
        return None


def _fit_on(halving: SuccessiveHalving, run: CandidateRun, samples: Indices, limit: float) -> Any:
    """Return a model of samples; OutOfTimeError if its training takes longer than the limit in seconds."""
    clock, candidate = Clock(None), run.candidate
    chosen = draw_to_train(halving.task, halving.data, candidate.most_samples, halving.rule.seed, samples)
    part, fit = halving.data.take_to_train(chosen), partial(fit_on_threads, halving.task, candidate.final)
    model = run_within(limit, partial(part.fit, fit), halving.schedule.n_threads(samples.size))
    run.record_final_time(clock.seconds(), samples.size)
    run.models = []  # this one represents the candidate
    return model
