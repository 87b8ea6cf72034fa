"""Decisions turn scores into labels: thresholds or offsets, with the score to expect of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from metricwise._state import stored_fields
from metricwise._typing import Floats, Labels
from metricwise.decisions.adaptation_data import AdaptationData
from metricwise.decisions.batch_rule import BatchRule
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.design_effect import GroupedPosterior
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.label_posterior import LabelPosterior
from metricwise.decisions.learning_curve import FinalPosterior
from metricwise.decisions.outcome_posterior import OutcomePosterior
from metricwise.decisions.prior_shift import PriorEstimate
from metricwise.decisions.ranking_posterior import RankingPosterior, rarer_weight
from metricwise.decisions.refitting import refit_shift
from metricwise.decisions.score_reference import ScoreReference
from metricwise.decisions.scoring import log_odds
from metricwise.measures.checks import shorten

_ROUNDING = 1e-12  # relative

Threshold = float | Floats
Posterior = (
    TablePosterior
    | RankingPosterior
    | ConfusionPosterior
    | LabelPosterior
    | OutcomePosterior
    | GroupedPosterior
    | FinalPosterior
)


class ScoredSamples(NamedTuple):
    """Encoded targets, scores and weights of samples; the models that scored them were trained without them.

    The target is a mask of the positives (binary), the codes of the classes (multiclass) or a matrix of booleans with
    a column per label (multilabel).
    """

    target: Labels
    scores: Floats
    weights: Floats


@stored_fields(version=1)
@dataclass(frozen=True)
class Sigmoid:
    """Log-odds of scores: slope * score + intercept, with a slope above zero."""

    slope: float = 1.0
    intercept: float = 0.0

    @classmethod
    def fit(cls, samples: ScoredSamples) -> Sigmoid:
        """Fit log-odds to decision values (Platt 1999); a ranking worse than chance keeps its order."""
        centre = float(np.average(samples.scores, weights=samples.weights))
        spread = float(np.sqrt(np.average((samples.scores - centre) ** 2, weights=samples.weights)))
        if spread <= _ROUNDING * max(abs(centre), 1.0):
            spread = 1.0  # equal scores: their differences must not be magnified
        column = ((samples.scores - centre) / spread)[:, None]
        model = LogisticRegression(C=1e3).fit(column, samples.target, sample_weight=samples.weights)
        slope = max(float(model.coef_[0, 0]), 1e-3) / spread
        return cls(slope, float(model.intercept_[0]) - slope * centre)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of scores."""
        return self.slope * scores + self.intercept

    def score(self, log_odds: float) -> float:
        """Return the score that has the given log-odds."""
        return (log_odds - self.intercept) / self.slope


@stored_fields(version=1)
class Calibration(NamedTuple):
    """Lines that turn the scores of a model into log-odds, one per column; none for log-probabilities."""

    lines: tuple[Sigmoid, ...] = ()

    def __call__(self, scores: Floats) -> Floats:
        """Return the log-odds of scores."""
        if not self.lines:
            return scores
        if scores.ndim == 1:
            return self.lines[0].log_odds(scores)
        return np.column_stack([line.log_odds(column) for line, column in zip(self.lines, scores.T, strict=True)])

    def invert(self, log_odds: Threshold) -> Threshold:
        """Return the scores, one for each line, that have the given log-odds."""
        if np.ndim(log_odds) == 0:
            return self.lines[0].score(float(log_odds))
        return np.array([line.score(one) for line, one in zip(self.lines, np.ravel(log_odds).tolist(), strict=True)])


class Probe(NamedTuple):
    """Samples that all models were trained with: targets, scores by fold models and by the final model, weights."""

    target: Labels
    by_folds: Floats
    by_final: Floats
    weights: Floats

    def shift(self, column: int, threshold: float, line: Sigmoid) -> float:
        """Return by how much to raise the threshold of a column, on the log-odds that a line makes of its scores."""
        target, *scores = (_columns(part)[:, column] for part in (self.target, self.by_folds, self.by_final))
        by_folds, by_final = map(line.log_odds, scores)
        log_odds = line.slope * threshold + line.intercept
        return refit_shift(log_odds, by_folds, by_final, self.weights, rarer_weight(target, self.weights))


@stored_fields(version=3)
@dataclass(frozen=True)
class Decision:
    """Thresholds or offsets of scores, and the score to expect of them.

    Attributes
    ----------
    threshold : float or array
        Binary: the score above which a sample is positive. Multiclass: offsets that are subtracted before scores are
        compared. Multilabel: one threshold per label.
    interval : pair
        Interval of 90 % of the thresholds from resamples; with a guarantee, the thresholds known to keep it.
    expected_score : float
        The measure of out-of-fold samples.
    expected_interval : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    posterior : TablePosterior, RankingPosterior or another posterior, or None
        Posterior from which intervals for any number of new samples are computed; None if that is not stored.
    calibration : Calibration
        Converts scores to log-odds.
    batch : BatchRule or None
        Adapts the threshold to the samples that are predicted together.
    is_probability : bool
        Whether users read and set thresholds as probabilities, of scores that are log-odds or that ``link`` makes
        log-odds of; never so for offsets.
    reference : ScoreReference or None
        With a guarantee, the distribution of the scores of the samples that it was tested on.
    link : Calibration or None
        Makes of scores the log-odds or log-probabilities that users see as probabilities; None where these are the
        model's own.
    adaptation : AdaptationData or None
        What the adaptation to other class priors needs; None if that is not stored.
    prior : PriorEstimate or None
        The class priors that the decision was adapted to; None for those of training.
    """

    threshold: Threshold
    interval: tuple[Threshold, Threshold]
    expected_score: float
    expected_interval: tuple[float, float]
    posterior: Posterior | None = None
    calibration: Calibration = field(default_factory=Calibration)
    batch: BatchRule | None = None
    is_probability: bool = False
    reference: ScoreReference | None = None
    link: Calibration | None = None
    adaptation: AdaptationData | None = None
    prior: PriorEstimate | None = None

    adapts_to_priors: ClassVar[bool] = True  # see `adapt_prior`

    def shift(self, amount: Threshold) -> Decision:
        """Return the decision with thresholds raised by an amount on the scores."""
        low, high = self.interval
        return replace(self, threshold=self.threshold + amount, interval=(low + amount, high + amount))

    def shift_to_final(self, probe: Probe) -> Decision:
        """Return the decision shifted from the fold models to the final model; class offsets stay."""
        lines = self.calibration.lines
        if not lines:
            return self
        thresholds = np.atleast_1d(self.threshold).tolist()
        moves = [probe.shift(k, thresholds[k], line) for k, line in enumerate(lines)]
        amounts = np.array([move / line.slope for move, line in zip(moves, lines, strict=True)])
        moved = self.shift(amounts if np.ndim(self.threshold) else float(amounts[0]))
        rule = self.batch
        return moved if rule is None else replace(moved, batch=replace(rule, threshold=rule.threshold + moves[0]))

    @property
    def shown_threshold(self) -> Threshold:
        """The threshold in the units that users see: a probability if the learner gives probabilities."""
        return self._show(self.threshold)

    @property
    def shown_interval(self) -> tuple[Threshold, Threshold]:
        """The interval of the threshold in the units that users see."""
        low, high = self.interval
        return self._show(low), self._show(high)

    def _show(self, threshold: Threshold) -> Threshold:
        if self.link is not None:  # offsets are shown for the linked scores, too
            linked = self.link(np.atleast_1d(threshold) if np.ndim(threshold) == 0 else np.asarray(threshold)[None])
            threshold = float(linked[0]) if np.ndim(threshold) == 0 else linked[0]
        if not self.is_probability:
            return threshold
        return show_probability(threshold) if isinstance(threshold, float) else np.asarray(expit(threshold))

    def replace_threshold(self, shown: Any) -> Decision:
        """Return the decision with another threshold, in the units that users see; it holds for every batch.

        Parameters
        ----------
        shown : float or array
            The threshold; one per label or class where there are several.
        """
        value = check_threshold(shown, self.threshold, self.is_probability)
        value = _log_odds(value) if self.is_probability else value
        value = value if self.link is None else self.link.invert(value)
        adaptation = None if self.adaptation is None else self.adaptation.assign()
        return replace(self, threshold=value, batch=None, adaptation=adaptation)

    def calibrate(self, calibration: Calibration) -> Decision:
        """Return the decision of a model whose probabilities a calibration makes of scores."""
        return replace(self, link=calibration, is_probability=self.is_probability or bool(self.calibration.lines))

    def margins(self, scores: Floats) -> Floats:
        """Return scores minus the threshold, or minus that of the batch."""
        threshold = self.threshold
        if self.batch is not None and scores.size:
            line = self.calibration.lines[0]
            threshold = line.score(self.batch.threshold_for(line.log_odds(scores)))
        margins: Floats = scores - threshold
        return margins


def show_probability(log_odds: float) -> float:
    """Return the probability that has the given log-odds."""
    return float(expit(log_odds))


def check_threshold(given: Any, present: Threshold, is_probability: bool = False) -> Threshold:
    """Return a threshold that a user sets, in the shape of the present one; ValueError if it does not fit.

    Parameters
    ----------
    given : float or array
        What the user sets; a number stands for all labels if thresholds are probabilities.
    present : float or array
        The threshold that is replaced.
    is_probability : bool
        Whether thresholds are probabilities.

    Examples
    --------
    >>> check_threshold(1.5, 0.2, is_probability=True)
    Traceback (most recent call last):
        ...
    ValueError: threshold_ is a probability, a number from 0 to 1, got 1.5
    """
    try:
        value: Floats = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"threshold_ must be a number, or an array with one per class or label, got {shorten(given)}"
        ) from error
    shape = np.shape(present)
    if value.shape != shape and not (value.ndim == 0 and is_probability):
        wanted = f"an array of shape {shape}, with one per class or label" if shape else "a number"
        raise ValueError(f"threshold_ of this model is {wanted}, got {given!r}")
    if is_probability and not np.all((value >= 0.0) & (value <= 1.0)):
        raise ValueError(f"threshold_ is a probability, a number from 0 to 1, got {given!r}")
    if not np.isfinite(value).all():
        raise ValueError(f"threshold_ must be finite, got {given!r}")
    return np.broadcast_to(value, shape).copy() if shape else float(value)


def _log_odds(probability: Threshold) -> Threshold:
    values = log_odds(np.asarray(probability))
    return values if values.ndim else float(values)


def _columns(values: Labels) -> Labels:
    return values[:, None] if values.ndim == 1 else values
