"""Decisions of least expected cost, for several classes with a cost matrix.

Out-of-fold scores are calibrated by one slope and an intercept per class, which minimise the log loss; the class of
least expected cost under these probabilities is predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Labels
from metricwise.decisions import targets
from metricwise.decisions.binary import ThresholdRule, expect, separate_folds
from metricwise.decisions.calibrating import fit_class_calibration
from metricwise.decisions.decision import Calibration, Decision, Probe, ScoredSamples, Sigmoid
from metricwise.decisions.gain_rules import expected_gains
from metricwise.decisions.outcome_posterior import OutcomePosterior, summarize_outcomes
from metricwise.decisions.tasks import Multiclass
from metricwise.measures.checks import check_weights
from metricwise.measures.cost_matrix import CostMatrix


@stored_fields(version=1)
@dataclass(frozen=True)
class CostDecision(Decision):
    """Predicts the class of least expected cost.

    Attributes
    ----------
    costs : array of shape (n_classes, n_classes)
        One row per true class, one column per predicted class.
    """

    costs: Floats | None = None

    def shift_to_final(self, probe: Probe) -> Decision:
        """Return the decision unchanged, as other decisions about several classes stay."""
        return self

    def margins(self, scores: Floats) -> Floats:
        """Return minus the expected cost of predicting each class."""
        assert self.costs is not None
        return expected_gains(self.calibration(scores) - self.threshold, -self.costs)


@stored_fields(version=1)
@dataclass(frozen=True)
class CostTask(Multiclass):
    """One of more than two classes, with the cost of every confusion."""

    measure: CostMatrix
    adapts_to_priors: ClassVar[bool] = False  # a decision of least cost follows from calibrated probabilities

    @property
    def costs(self) -> Floats:
        """The costs in the order of the classes."""
        return self.measure.align(self.classes)

    def decide(self, samples: ScoredSamples, rule: ThresholdRule, has_probabilities: bool) -> Decision:
        if rule.strategy not in ("auto", "expected"):
            raise ValueError(
                f"a cost matrix is decided by the expected cost of each class, without thresholds: threshold is 'auto' "
                f"or 'expected', got {rule.strategy!r}"
            )
        return self._describe(fit_class_calibration(samples).lines, samples)

    def _describe(self, lines: tuple[Sigmoid, ...], samples: ScoredSamples) -> Decision:
        none = np.zeros(self.classes.size)
        calibration, unknown = Calibration(lines), (np.nan, np.nan)
        decision = CostDecision(none, (none, none), np.nan, unknown, calibration=calibration, costs=self.costs)
        predicted = np.argmax(decision.margins(samples.scores), axis=1)
        return expect(decision, self.count(samples.target, predicted, samples.weights), samples.weights)

    def count(self, truth: Labels, predicted: Labels, weights: Floats) -> OutcomePosterior:
        """Return what samples earn by predicted classes, and by constant ones."""
        costs = self.costs
        return summarize_outcomes(-costs[truth, predicted], -costs[truth], weights, 0.0, self.measure.unit)

    def judge(
        self,
        decision: Decision,
        samples: ScoredSamples,
        rule: ThresholdRule,
        sizes: list[int],
        has_probabilities: bool,
    ) -> Decision:
        predicted = np.empty(samples.weights.size, dtype=np.int64)
        for stop, (own, others) in zip(np.cumsum(sizes), separate_folds(samples, sizes), strict=True):
            chosen = decision  # for folds without which a class has no samples
            if np.unique(others.target).size == self.classes.size:
                chosen = self._describe(fit_class_calibration(others).lines, others)
            predicted[stop - own.weights.size : stop] = np.argmax(chosen.margins(own.scores), axis=1)
        return expect(decision, self.count(samples.target, predicted, samples.weights), samples.weights)

    def best_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        return self.value_at(self._describe((), samples), samples)

    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        cost = self.costs[samples.target, np.argmax(decision.margins(samples.scores), axis=1)]
        return lambda weights: 1.0 - float(np.average(cost, weights=weights)) / self.measure.unit

    def score(self, y: Any, margins: Floats, weights: Any) -> float:
        truth = np.asarray(y)
        targets.refuse_unknown_labels(truth, self.classes)
        unknown = np.setdiff1d(truth, self.classes)
        if unknown.size:
            raise ValueError(f"y has the label {unknown.tolist()[0]!r}, which the cost matrix of the model lacks")
        cost = self.costs[self.encode(truth), np.argmax(margins, axis=1)]
        return float(check_weights(weights, truth) @ cost)


def make_cost_task(classes: Labels, measure: CostMatrix) -> CostTask:
    """Return the task of a cost matrix; ValueError if it does not fit the classes, or there are two."""
    costs = measure.align(classes)
    if classes.size == 2:
        (tn, fp), (fn, tp) = (0.0 - costs).tolist()
        raise ValueError(
            f"a cost matrix is for more than two classes; for {classes.tolist()}, with {classes.tolist()[1]!r} as the "
            f"positive class, use Profit(tp={tp:g}, fp={fp:g}, fn={fn:g}, tn={tn:g})"
        )
    return CostTask(classes, measure)
