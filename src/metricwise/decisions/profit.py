"""Decisions for a profit with amounts per sample.

A positive sample gains a = tp - fn by being predicted positive, a negative one b = tn - fp by being predicted negative.
With probability p, predicting positive is right if p a > (1 - p) b (Elkan 2001): where both gains are above zero, if
the log-odds exceed log(b / a). The *margin* of a sample is its calibrated log-odds minus log(b / a). Margins are scores
like any other: zero is the best threshold if the probabilities are right, and a common shift, chosen on out-of-fold
samples, corrects them where the profit shows that they are not. The threshold of a sample is thus log(b / a) + shift.

References
----------
Elkan, C. (2001). The foundations of cost-sensitive learning. Proceedings of the 17th International Joint Conference on
Artificial Intelligence, 973-978.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.decisions.amounts import detach_amounts
from metricwise.decisions.binary import Aim, ThresholdRule, choose_constrained, expect, separate_folds
from metricwise.decisions.decision import (
    Calibration,
    Decision,
    Probe,
    ScoredSamples,
    Sigmoid,
    Threshold,
    check_threshold,
)
from metricwise.decisions.guarantees import UnreachableGuaranteeError, find_guaranteed_threshold
from metricwise.decisions.outcome_posterior import OutcomePosterior, summarize_outcomes
from metricwise.decisions.ranking_posterior import rarer_weight
from metricwise.decisions.refitting import refit_shift
from metricwise.decisions.score_reference import ScoreReference
from metricwise.decisions.threshold_choice import ThresholdChoice, resamples
from metricwise.inference.threshold import Candidates
from metricwise.measures.base import CountsTable
from metricwise.measures.profit import Amounts, SampleProfit

CERTAIN = 1e6  # the margin of samples for which one decision is right at any probability
# Standard deviation that shifts of calibrated log-odds are expected to have: what the profit shows of the shift counts
# as much as this prior where it is as uncertain.
_PRIOR_DEVIATION = 0.5
_TAIL = 0.05


def compute_margins(log_odds: Floats, amounts: Amounts, is_weighted: bool = False) -> Floats:
    """Return by how much log-odds exceed those from which on predicting positive is right.

    Parameters
    ----------
    log_odds : array
        Calibrated log-odds of the samples.
    amounts : Amounts
        What they earn.
    is_weighted : bool
        Whether the log-odds are those of samples weighted by their gains, so that they contain log(a / b) already.

    Examples
    --------
    >>> import numpy as np
    >>> amounts = Amounts(tp=np.array([9.0, 1.0]), fp=np.array([-1.0, -9.0]), fn=np.zeros(2), tn=np.zeros(2))
    >>> compute_margins(np.zeros(2), amounts).round(1)
    array([ 2.2, -2.2])
    """
    positive, negative = amounts.gain_if_positive, amounts.gain_if_negative
    is_open = positive * negative > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        start = 0.0 if is_weighted else np.log(np.abs(negative)) - np.log(np.abs(positive))
    # Where wrong predictions earn more, improbable classes are predicted.
    above = np.clip(np.where(positive < 0.0, start - log_odds, log_odds - start), -CERTAIN, CERTAIN)
    return np.where(is_open, above, np.where(positive > negative, CERTAIN, -CERTAIN))


class Stakes(NamedTuple):
    """Margins of samples with what each gains by being predicted positive, given its true class."""

    positive: Mask
    margins: Floats
    gains: Floats
    weights: Floats

    @classmethod
    def of(cls, samples: ScoredSamples, line: Sigmoid, is_weighted: bool = False) -> Stakes:
        """Return the stakes of samples whose targets carry amounts; see `compute_margins`."""
        truth, amounts = detach_amounts(samples.target)
        margins = compute_margins(line.log_odds(samples.scores), amounts, is_weighted)
        gains = np.where(truth, amounts.gain_if_positive, -amounts.gain_if_negative)
        return cls(truth, margins, gains, samples.weights)

    @property
    def candidates(self) -> Candidates:
        """Thresholds of the margins, with gains in place of positives and losses in place of negatives."""
        scale = float(np.max(np.abs(self.gains), initial=0.0)) or 1.0
        return Candidates.of(self.gains > 0.0, self.margins, self.weights * np.abs(self.gains / scale))

    def select(self, samples: Mask) -> Stakes:
        """Return some of the samples."""
        return Stakes(self.positive[samples], self.margins[samples], self.gains[samples], self.weights[samples])


class _Gain:
    """The gain of predicting the samples above a threshold positive, as a function of the table of `Stakes`."""

    def value(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        return np.subtract(tp, fp)


class _KnownValues(NamedTuple):
    """Values of all candidate thresholds, in the place of a function of their tables."""

    values: Floats

    def value(self, *table: Any) -> Any:
        assert np.shape(table[0]) == self.values.shape
        return self.values


def value_candidates(stakes: Stakes) -> CountsTable:
    """Return a measure that has, for the candidates of these samples, the gain of each."""
    gains, losses, _, _ = stakes.candidates.tables()
    return _KnownValues(gains - losses)


def choose_shift(strategy: str, stakes: Stakes, seed: int) -> ThresholdChoice:
    """Choose the shift of the thresholds of all samples on out-of-fold margins.

    Parameters
    ----------
    strategy : {"auto", "max", "bagged", "expected"}
        The shift of the greatest profit ("max"), the mean of those of resamples ("bagged"), none, which trusts the
        probabilities ("expected"), or the second drawn towards none, the more the less the samples show ("auto").
    stakes : Stakes
        Margins and gains.
    seed : int
        Seeds the resamples.
    """
    matters = (np.abs(stakes.margins) < CERTAIN) & (stakes.gains != 0.0) & (stakes.weights > 0.0)
    if strategy == "batch":
        raise ValueError(
            "threshold='batch' needs one threshold for all samples, and a profit with amounts per sample has one for "
            "each: use 'auto', 'bagged', 'max' or 'expected'"
        )
    if not matters.any():
        return ThresholdChoice(0.0, (0.0, 0.0))
    found = stakes.select(matters)
    amounts = found.candidates
    chosen = np.array([amounts.best(amounts.values(_Gain(), *drawn)) for drawn in _resample(found, amounts, seed)])
    shifts = amounts.thresholds(chosen)
    low, high = (float(end) for end in np.quantile(shifts, [_TAIL, 1.0 - _TAIL]))
    shift = 0.0
    if strategy == "max":
        shift = float(amounts.thresholds(amounts.best(amounts.values(_Gain()))))
    elif strategy != "expected":
        mean, variance = float(np.mean(shifts)), float(np.var(shifts))
        trust = 1.0 if strategy == "bagged" else _PRIOR_DEVIATION**2 / (_PRIOR_DEVIATION**2 + variance)
        shift = trust * mean
    return ThresholdChoice(shift, (min(low, shift), max(high, shift)))


def _resample(stakes: Stakes, amounts: Candidates, seed: int) -> Any:
    """Yield gains and losses of each margin in resamples: samples are drawn, each with the whole of its gain."""
    counts = Candidates.of(stakes.gains > 0.0, stakes.margins, stakes.weights)
    scales = [
        np.divide(amount, count, out=np.zeros(count.size), where=count > 0.0)
        for amount, count in ((amounts.positives, counts.positives), (amounts.negatives, counts.negatives))
    ]
    for positives, negatives in resamples(counts, seed):
        yield positives * scales[0], negatives * scales[1]


@stored_fields(version=1)
@dataclass(frozen=True)
class ProfitDecision(Decision):
    """A decision with a threshold per sample: ``threshold`` is the shift of all of them, in log-odds.

    Attributes
    ----------
    is_weighted : bool
        Whether the model was trained with samples weighted by their gains, so that its log-odds contain the amounts.
    """

    is_weighted: bool = False

    def stakes_of(self, samples: ScoredSamples) -> Stakes:
        """Return margins and gains of samples whose targets carry amounts."""
        return Stakes.of(samples, self.line, self.is_weighted)

    def shift_to_final(self, probe: Probe) -> Decision:
        """Return the decision shifted from the fold models to the final model."""
        by_folds, by_final = (
            self.stakes_of(ScoredSamples(probe.target, scores, probe.weights))
            for scores in (probe.by_folds, probe.by_final)
        )
        near = np.abs(by_folds.margins) < CERTAIN
        if not near.any():
            return self
        weights = probe.weights[near]
        rare = rarer_weight(by_folds.positive[near], weights)
        moved = refit_shift(float(self.threshold), by_folds.margins[near], by_final.margins[near], weights, rare)
        return self.shift(moved)

    def replace_threshold(self, shown: Any) -> Decision:
        """Return the decision with another shift of all thresholds, in log-odds."""
        return replace(self, threshold=check_threshold(shown, self.threshold))

    def calibrate(self, calibration: Calibration) -> Decision:
        """Return the decision of a model whose probabilities a calibration makes of scores; the shift stays."""
        return replace(self, link=calibration)

    def _show(self, threshold: Threshold) -> Threshold:
        return threshold

    @property
    def line(self) -> Sigmoid:
        """What makes log-odds of scores."""
        return self.calibration.lines[0]

    def margins_of(self, scores: Floats, amounts: Amounts) -> Floats:
        """Return how far each sample is above its threshold."""
        log_odds = self.line.log_odds(scores)
        margins: Floats = compute_margins(log_odds, amounts, self.is_weighted) - self.threshold
        return margins


class Money(NamedTuple):
    """What a decision for a profit is chosen by: measure, constraints, how to choose."""

    measure: SampleProfit
    aim: Aim
    rule: ThresholdRule

    def decide(self, samples: ScoredSamples, is_weighted: bool = False) -> ProfitDecision:
        """Choose the shift on out-of-fold samples, with a line that makes log-odds of their scores."""
        truth, amounts = detach_amounts(samples.target)
        weights = samples.weights
        if is_weighted:
            stakes = amounts.stakes_of_open(truth)
            weights = weights * stakes * (weights.sum() / float(weights @ stakes))
        line = Sigmoid.fit(ScoredSamples(truth, samples.scores, weights))
        return self.describe(self.choose(Stakes.of(samples, line, is_weighted)), samples, line, is_weighted)

    def choose(self, stakes: Stakes) -> ThresholdChoice:
        """Choose the shift on out-of-fold margins; `UnreachableGuaranteeError` if none keeps the constraints."""
        if not self.aim.constraints:
            return choose_shift(self.rule.strategy, stakes, self.rule.seed)
        scored = ScoredSamples(stakes.positive, stakes.margins, stakes.weights)
        return choose_constrained(self.aim._replace(table=value_candidates(stakes)), scored)

    def describe(
        self, choice: ThresholdChoice, samples: ScoredSamples, line: Sigmoid, is_weighted: bool = False
    ) -> ProfitDecision:
        """Return the decision for a shift with the profit to expect of it."""
        calibration = Calibration((line,))
        unknown = (np.nan, np.nan)
        decision = ProfitDecision(
            choice.threshold, choice.interval, np.nan, unknown, calibration=calibration, is_weighted=is_weighted
        )
        posterior = self.collect(samples, decision.stakes_of(samples).margins > choice.threshold)
        return expect(decision, posterior, samples.weights)  # type: ignore[return-value]

    def collect(self, samples: ScoredSamples, predicted: Mask) -> OutcomePosterior:
        """Return what samples earn by predicted labels, and by constant ones."""
        truth, amounts = detach_amounts(samples.target)
        constant = np.column_stack([amounts.earned(truth, label) for label in (True, False)])
        earned = amounts.earned(truth, predicted)
        return summarize_outcomes(earned, constant, samples.weights, self.measure.best, self.measure.stake)

    def judge(self, decision: Decision, samples: ScoredSamples, sizes: list[int]) -> Decision:
        """Return a decision with the profit to expect from folds, each at the shift that the others choose."""
        assert isinstance(decision, ProfitDecision)
        predicted = np.empty(samples.scores.size, dtype=np.bool_)
        stops = np.cumsum(sizes)
        for stop, size, (own, others) in zip(stops, sizes, separate_folds(samples, sizes), strict=True):
            shift: Threshold = decision.threshold
            if 0 < np.count_nonzero(others.target["positive"]) < others.weights.size:
                # Without the fold, no threshold may keep the constraints: that of all samples then serves.
                with suppress(UnreachableGuaranteeError):
                    shift = self.choose(decision.stakes_of(others)).threshold
            predicted[stop - size : stop] = decision.stakes_of(own).margins > shift
        return expect(decision, self.collect(samples, predicted), samples.weights)

    def guarantee(self, confidence: float, ordering: ScoredSamples, testing: ScoredSamples) -> Decision:
        """Choose a shift whose constraints hold on new samples with a confidence."""
        line = Sigmoid.fit(ordering._replace(target=ordering.target["positive"]))
        ordered, tested = Stakes.of(ordering, line), Stakes.of(testing, line)
        # A margin holds the amounts, too, and is far from all others where these decide: it shows no probability.
        chances = expit(line.log_odds(ordering.scores))
        found = find_guaranteed_threshold(
            value_candidates(ordered), self.aim.constraints, confidence, ordered[:2], tested[:2], chances=chances
        )
        decision = self.describe(ThresholdChoice(found.threshold, found.kept_by), testing, line)
        return replace(decision, reference=ScoreReference.count(ordered.margins, tested.margins))
