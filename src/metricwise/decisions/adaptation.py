"""Adapt a decision to other class priors: probabilities, thresholds and the score to expect."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from metricwise._typing import Floats
from metricwise.decisions.adaptation_data import AdaptationData
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.calibrating import ClassCalibration, fit_calibration
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Threshold
from metricwise.decisions.design_effect import GroupedPosterior
from metricwise.decisions.learning_curve import FinalPosterior
from metricwise.decisions.mixture_check import Mixture, is_explained
from metricwise.decisions.prior_shift import (
    PriorEstimate,
    UndeterminedPriorError,
    estimate_shares,
    is_determined,
    limit_shares,
    maximise_likelihood,
    prior_covariance,
)
from metricwise.decisions.task import Task
from metricwise.measures import RocAuc

_REPLICATES = 40  # calibrations of resamples
_MOST_COMPARED = 2000  # new samples whose estimates by several calibrations are compared
_SEED = 0


def note_samples(
    task: Task, decision: Decision, chosen: Threshold, samples: ScoredSamples, sizes: Any = ()
) -> Decision:
    """Return a decision with what its adaptation to other class priors needs; unchanged if its task has none.

    Parameters
    ----------
    task : Task
        The task.
    decision : Decision
        Of the final model.
    chosen : float or array
        The threshold of the fold models, before it was shifted to the final model.
    samples : ScoredSamples
        Out-of-fold samples.
    sizes : sequence of int
        Numbers of samples of the folds, in the order of the samples; none without folds.
    """
    codes = task.strata(samples.target)
    # Nothing is known about a class without out-of-fold samples, such as folds of one's own may leave.
    adapts = task.adapts_to_priors and decision.adapts_to_priors
    if not adapts or np.unique(codes[samples.weights > 0.0]).size < task.classes.size:
        return decision
    moved = decision.threshold - chosen
    data = AdaptationData.of(codes, samples.scores, samples.weights, sizes, moved)
    return replace(decision, adaptation=replace(data, design_effect=_find_design_effect(decision.posterior)))


def _find_design_effect(posterior: Any) -> float:
    """Return how many samples are worth one independent sample: more than one if they are in groups."""
    while isinstance(posterior, FinalPosterior):
        posterior = posterior.of_folds
    return float(posterior.design_effect) if isinstance(posterior, GroupedPosterior) else 1.0


def get_samples(task: Task, data: AdaptationData) -> ScoredSamples:
    """Return stored out-of-fold samples as thresholds are chosen on them."""
    return ScoredSamples(data.codes == 1 if task.is_binary else data.codes, data.scores, data.weights)


def estimate_prior(task: Task, data: AdaptationData, scores: Floats) -> PriorEstimate:
    """Estimate the class priors among unlabelled samples, with intervals.

    The interval accounts for the number of unlabelled samples (Fisher information) and for the calibration, which is
    fitted again, by one step of Newton, on resamples of the out-of-fold samples (a Bayesian bootstrap).

    Parameters
    ----------
    task : Task
        Two or more classes.
    data : AdaptationData
        Out-of-fold samples of the model.
    scores : array
        The model's scores of the unlabelled samples.

    Raises
    ------
    UndeterminedPriorError
        If the samples do not determine the shares.

    Warns
    -----
    UserWarning
        If other class priors do not explain the scores.
    """
    samples, n_samples = get_samples(task, data), len(scores)
    calibration = ClassCalibration.of(fit_calibration(task, samples))
    by_class = ScoredSamples(data.codes, _class_scores(task, data.scores), data.weights)
    columns = _class_scores(task, scores)
    likelihoods = calibration.likelihoods(by_class, columns)
    likely = maximise_likelihood(likelihoods)
    inside = limit_shares(likely, n_samples)
    covariance = prior_covariance(likelihoods, inside / inside.sum())
    changes = _compare_calibrations(by_class, calibration, columns)
    shares, low, high = estimate_shares(likely, covariance, changes, n_samples)
    if n_samples <= 1:  # a single sample has no variance
        low, high = np.zeros_like(low), np.ones_like(high)
    if not is_determined(low, high):
        raise UndeterminedPriorError(_explain_refusal(task, samples, low, high, n_samples), (low, high))
    if not is_explained(Mixture(by_class, data.folds, calibration), columns):
        warnings.warn(
            "the scores of X_new are not those of a mixture of the classes of training: more has changed than the "
            "class priors, and the adapted model may be wrong. Label some of the new samples and train again",
            UserWarning,
            stacklevel=3,
        )
    return make_estimate(task, shares, (low, high), data.prior, n_samples)


def make_estimate(
    task: Task,
    shares: Floats,
    interval: tuple[Floats, Floats],
    training: Floats,
    n_samples: int | None = None,
) -> PriorEstimate:
    """Return class priors as users see them: of two classes, that of the positive one."""
    if not task.is_binary:
        return PriorEstimate(shares, interval, training, n_samples)
    (_, low), (_, high) = interval
    return PriorEstimate(float(shares[1]), (float(low), float(high)), float(training[1]), n_samples)


def _explain_refusal(task: Task, samples: ScoredSamples, low: Floats, high: Floats, n_samples: int) -> str:
    widest = 1 if task.is_binary else int(np.argmax(high - low))
    name = np.asarray(task.positive if task.is_binary else task.classes[widest]).item()  # type: ignore[attr-defined]
    area = ""
    if task.is_binary:
        area = f", and an out-of-fold ROC area of {RocAuc().score(*samples):.2f}"
    return (
        f"X_new does not determine the share of class {name!r}: it may be anything from {low[widest]:.3g} to "
        f"{high[widest]:.3g}, given {n_samples} samples{area}. Pass more samples, use a learner that separates the "
        "classes better, or give the shares: adapt_prior(model, prior=...)"
    )


def _class_scores(task: Task, scores: Floats) -> Floats:
    """Return a column of scores for each class: of two classes, zero and the score."""
    return np.column_stack([np.zeros(len(scores)), scores]) if task.is_binary else scores


def _compare_calibrations(samples: ScoredSamples, calibration: ClassCalibration, scores: Floats) -> Floats:
    """Return by how much the calibrations of resamples change the estimate.

    Parameters
    ----------
    samples : ScoredSamples
        Codes, scores of each class, and weights of out-of-fold samples.
    calibration : ClassCalibration
        Fitted on them.
    scores : array of shape (n_samples, n_classes)
        Scores of the unlabelled samples.
    """
    random = np.random.default_rng(_SEED)
    if len(scores) > _MOST_COMPARED:
        scores = scores[random.choice(len(scores), _MOST_COMPARED, replace=False)]
    own, found = calibration.find_shares(samples, scores), []
    for _ in range(_REPLICATES):
        drawn = samples._replace(weights=samples.weights * random.exponential(size=samples.weights.size))
        found.append(calibration.refit(drawn).find_shares(drawn, scores) - own)
    return np.array(found)


def adapt_decision(task: Task, decision: Decision, rule: ThresholdRule, prior: PriorEstimate) -> Decision:
    """Return a decision for other class priors.

    Probabilities are calibrated out of fold and multiplied by the ratio of new and old shares. The threshold is chosen
    again, on out-of-fold samples with weights by which the classes have the new shares; one that a user has assigned
    stays the same probability.

    Parameters
    ----------
    task : Task
        Two or more classes.
    decision : Decision
        With the data of its adaptation.
    rule : ThresholdRule
        How the threshold is chosen.
    prior : PriorEstimate
        The new shares.

    Raises
    ------
    UnreachableGuaranteeError
        If no threshold keeps the constraints.
    """
    data = decision.adaptation
    assert data is not None
    samples, ratios = get_samples(task, data), _shares(prior.estimate) / data.prior
    calibration = _shift(fit_calibration(task, samples), np.log(ratios))
    if data.is_assigned:
        return _keep_assigned(task, decision, calibration, prior)
    new = ScoredSamples(samples.target, calibration(samples.scores), samples.weights * ratios[data.codes])
    found = task.decide(new, rule, True)
    if data.sizes.size and not task.is_binary:  # one threshold hardly overfits, offsets of several classes do
        found = task.judge(found, new, rule, data.sizes.tolist(), True)
    found = _widen(task, found, new, prior, data)
    low, high = (_pull_back(calibration, end, data.moved) for end in found.interval)
    return replace(
        found,
        threshold=_pull_back(calibration, found.threshold, data.moved),
        interval=(low, high),
        calibration=calibration if task.is_binary else Calibration(),
        link=calibration,
        is_probability=task.is_binary,
        adaptation=data,
        prior=prior,
    )


def _pull_back(calibration: Calibration, threshold: Threshold, moved: Threshold) -> Any:
    """Return the threshold of scores, or offsets of scores with the mean zero: all lines of classes have one slope."""
    found = calibration.invert(threshold) + moved
    return found if np.ndim(found) == 0 else found - np.mean(found)


def _shares(estimate: float | Floats) -> Floats:
    return np.array([1.0 - estimate, estimate]) if np.ndim(estimate) == 0 else np.asarray(estimate)


def _shift(calibration: Calibration, shifts: Floats) -> Calibration:
    """Return a calibration whose log-odds or log-probabilities are shifted by those of the classes."""
    amounts = [shifts[1] - shifts[0]] if len(calibration.lines) == 1 else shifts.tolist()
    lines = zip(calibration.lines, amounts, strict=True)
    return Calibration(tuple(replace(line, intercept=float(line.intercept + amount)) for line, amount in lines))


def _keep_assigned(task: Task, decision: Decision, calibration: Calibration, prior: PriorEstimate) -> Decision:
    """Return the decision with the same threshold as before, now of the adapted probabilities."""
    if not decision.is_probability:
        raise ValueError(
            "the threshold of the model was assigned, and it is not a probability, so that nothing tells how it "
            "depends on the class priors: adapt a model as it was trained, and assign the threshold afterwards"
        )
    unknown = float("nan"), float("nan")
    adapted = replace(
        decision,
        interval=unknown,
        expected_score=float("nan"),
        expected_interval=unknown,
        posterior=None,
        calibration=calibration,
        link=calibration,
        prior=prior,
    )
    return adapted.replace_threshold(decision.shown_threshold)


def _widen(
    task: Task, decision: Decision, samples: ScoredSamples, prior: PriorEstimate, data: AdaptationData
) -> Decision:
    """Return a decision whose expected interval allows for unequal weights, groups and other class priors."""
    weights = samples.weights
    of_weights = max(1.0, float(np.sum(weights**2 / data.weights) / weights.sum()))  # of Kish
    effect = of_weights * data.design_effect
    assert decision.posterior is not None  # every chosen decision has one
    posterior = GroupedPosterior(decision.posterior.thin(effect), effect, decision.expected_score)
    low, high = posterior.interval(n_samples=max(1, round(float(weights.sum()))))
    value = task.value_at(decision, samples)
    own = value(weights)
    others = [value(data.weights * (shares / data.prior)[data.codes]) - own for shares in _other_shares(prior)]
    interval = low + min(0.0, *others), high + max(0.0, *others)
    return replace(decision, posterior=posterior, expected_interval=interval)


def _other_shares(prior: PriorEstimate) -> list[Floats]:
    """Return the shares with each class at either end of its interval, and the others in proportion."""
    own, found = _shares(prior.estimate), []
    for end in prior.interval:
        ends = np.atleast_1d(end)
        for k, share in zip(range(own.size - ends.size, own.size), ends.tolist(), strict=True):
            shares = own * (1.0 - share) / (1.0 - own[k])
            shares[k] = share
            found.append(shares)
    return found
