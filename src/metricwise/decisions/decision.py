"""Decisions turn scores into labels: thresholds or offsets, with the score to expect of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from metricwise._state import stored_fields
from metricwise._typing import Floats, Labels
from metricwise.decisions.batch_rule import BatchRule
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.design_effect import GroupedPosterior
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.label_posterior import LabelPosterior
from metricwise.decisions.ranking_posterior import RankingPosterior, rarer_weight
from metricwise.decisions.refitting import refit_shift

Threshold = float | Floats
Posterior = TablePosterior | RankingPosterior | ConfusionPosterior | LabelPosterior | GroupedPosterior


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
        centre, spread = float(samples.scores.mean()), float(samples.scores.std()) or 1.0
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


@stored_fields(version=2)
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
    posterior : TablePosterior, RankingPosterior, ConfusionPosterior, LabelPosterior, GroupedPosterior or None
        Posterior from which intervals for any number of new samples are computed; None if that is not stored.
    calibration : Calibration
        Converts scores to log-odds.
    batch : BatchRule or None
        Adapts the threshold to the samples that are predicted together.
    is_probability : bool
        Whether users read the threshold as a probability, of scores that are log-odds.
    """

    threshold: Threshold
    interval: tuple[Threshold, Threshold]
    expected_score: float
    expected_interval: tuple[float, float]
    posterior: Posterior | None = None
    calibration: Calibration = field(default_factory=Calibration)
    batch: BatchRule | None = None
    is_probability: bool = False

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
    def shown(self) -> Callable[[float], float]:
        """The function that converts a threshold for users: to a probability if the learner gives probabilities."""
        return show_probability if self.is_probability else float

    @property
    def shown_threshold(self) -> Threshold:
        """The threshold in the units that users see."""
        return self.shown(self.threshold) if isinstance(self.threshold, float) else self.threshold

    @property
    def shown_interval(self) -> tuple[Threshold, Threshold]:
        """The interval of the threshold in the units that users see."""
        low, high = self.interval
        return (
            (self.shown(low), self.shown(high)) if isinstance(low, float) and isinstance(high, float) else (low, high)
        )

    def margins(self, scores: Floats, shown_threshold: Threshold) -> Floats:
        """Return scores minus the threshold, given in the units that users see, or minus that of the batch."""
        threshold = shown_threshold
        if self.batch is not None and scores.size:
            line = self.calibration.lines[0]
            threshold = line.score(self.batch.threshold_for(line.log_odds(scores)))
        elif self.is_probability:
            threshold = float(logit(shown_threshold))
        margins: Floats = scores - threshold
        return margins


def show_probability(log_odds: float) -> float:
    """Return the probability that has the given log-odds."""
    return float(expit(log_odds))


def _columns(values: Labels) -> Labels:
    return values[:, None] if values.ndim == 1 else values
