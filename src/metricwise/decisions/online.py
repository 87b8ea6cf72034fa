"""Decisions about the samples of a stream, one after another, for a measure of all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers
from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.online_rule import OnlineRule, evaluate_counts, make_rule, tables_of
from metricwise.decisions.running_calibration import RunningCalibration, limit_log_odds
from metricwise.decisions.running_counts import Forgetting, RunningCounts
from metricwise.decisions.task import Task
from metricwise.measures import CostMatrix

# Shares of the newest rule in the moving averages. A stream that followed the newest alone would, at a kink of the
# measure, predict one class and then the other; predictions for other samples cannot alternate, and average for longer.
_NEWEST_IN_CURRENT, _NEWEST_IN_AVERAGE = 1 / 2, 1 / 8


class Decided(NamedTuple):
    """The decision after some samples, and the values predicted for them, of shape (n_samples, n_parts)."""

    decision: OnlineDecision
    predicted: Integers


@stored_fields(version=1)
@dataclass(frozen=True)
class OnlineDecision:
    """The running counts of a stream and the rules that follow from them.

    Values are 0 and 1 for two classes (1 for the positive) and for each label, and the numbers of more classes.

    Attributes
    ----------
    task : Task
        What is predicted, and the measure of it.
    running : RunningCounts
        Samples by true and predicted value.
    current : OnlineRule
        The rule for the next sample of the stream: a moving average over about 2 renewals.
    average : OnlineRule
        The rule for samples that are not part of the stream, over about 8 renewals: the time in which the samples that
        count more than double.
    calibration : RunningCalibration, optional
        What probabilities are calibrated by, of earlier samples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.decisions.tasks import Binary
    >>> from metricwise.measures import FBeta
    >>> random = np.random.default_rng(0)
    >>> chances = random.beta(0.5, 2.0, size=(5000, 1))
    >>> truth = (random.random((5000, 1)) < chances).astype(int)
    >>> decision = OnlineDecision.start(Binary(np.array([0, 1]), FBeta(), 1))
    >>> decided = decision.observe(chances, truth, np.ones(5000)).decision
    >>> bool(abs(decided.average.thresholds[0] - decided.value / 2) < 0.01)
    True
    """

    task: Task
    running: RunningCounts
    current: OnlineRule
    average: OnlineRule
    calibration: RunningCalibration | None = None

    @classmethod
    def start(cls, task: Task, forgetting: Forgetting | None = None, calibrates: bool = False) -> OnlineDecision:
        """Return the decision before the first sample; it may calibrate the probabilities it is given."""
        several = not task.is_binary and not task.is_multilabel
        shape = (task.classes.size if task.is_multilabel else 1, task.classes.size if several else 2)
        running = RunningCounts.start(*shape, forgetting or Forgetting())
        rule = make_rule(task, running.regularised)
        return cls(task, running, rule, rule, RunningCalibration.start(rule.slopes.size) if calibrates else None)

    def observe(self, probabilities: Floats, truth: Integers, weights: Floats) -> Decided:
        """Predict samples in their order, each given the true values of all samples before it.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_columns)
            Of every class or label; of two classes, that of the positive.
        truth : array of shape (n_samples, n_parts)
            True values.
        weights : array of shape (n_samples,)
            Weights of the samples.
        """
        return self._go_through(probabilities, truth, weights)

    def anticipate(self, probabilities: Floats) -> Decided:
        """Predict samples in their order, each given the samples before it, whose values are expected and not known."""
        return self._go_through(probabilities, None, np.ones(len(probabilities)))

    def _go_through(self, probabilities: Floats, truth: Integers | None, weights: Floats) -> Decided:
        # Of these, only the pending counts change in place.
        running, current, average = self.running.copy(), self.current, self.average
        calibration = None if self.calibration is None else self.calibration.copy()
        given = probabilities if calibration is None else limit_log_odds(probabilities)
        predicted = np.empty((len(probabilities), running.counts.shape[0]), dtype=np.int64)
        start = 0
        while start < len(probabilities):
            own = slice(start, start + running.until_renewal)
            chances = given[own] if calibration is None else calibration(given[own])
            predicted[own] = self.choose(current.gains(chances))
            if truth is None:
                running = running.add_expected(self._chances(chances), predicted[own], weights[own])
            else:
                running = running.add(truth[own], predicted[own], weights[own])
                if calibration is not None:
                    calibration.add(given[own], self._outcomes(truth[own]), weights[own])
            start = own.stop
            if not running.until_renewal:
                if calibration is not None and truth is not None:
                    calibration = calibration.renew(
                        running.forgetting.kept_after(running.position - running.renewed_at)
                    )
                running = running.renew()
                newest = make_rule(self.task, running.regularised)
                current = current.move_towards(newest, _NEWEST_IN_CURRENT)
                average = average.move_towards(newest, _NEWEST_IN_AVERAGE)
        return Decided(OnlineDecision(self.task, running, current, average, calibration), predicted)

    def choose(self, gains: Floats) -> Integers:
        """Return the values of greatest gain, of shape (n_samples, n_parts)."""
        if self.running.counts.shape[1] > 2:
            return np.asarray(np.argmax(gains, axis=1), dtype=np.int64)[:, None]
        return np.asarray(gains > 0.0, dtype=np.int64)

    def calibrate(self, probabilities: Floats) -> Floats:
        """Return probabilities as the rule uses them."""
        return probabilities if self.calibration is None else self.calibration(limit_log_odds(probabilities))

    def _outcomes(self, truth: Integers) -> Integers:
        """Return which columns are true, of shape (n_samples, n_columns)."""
        n_values = self.running.counts.shape[1]
        return np.asarray(truth == np.arange(n_values), dtype=np.int64) if n_values > 2 else truth

    def _chances(self, probabilities: Floats) -> Floats:
        """Return the probabilities of all values, of shape (n_samples, n_parts, n_values)."""
        if self.running.counts.shape[1] > 2:
            return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))[:, None, :]
        return np.stack([1.0 - probabilities, probabilities], axis=-1)

    @property
    def value(self) -> float:
        """The measure of the samples that count, each predicted before its true value was known."""
        return evaluate_counts(self.task, self.running.totals)

    @property
    def weight(self) -> float:
        """The weight of the samples that count."""
        return float(self.running.totals[0].sum())

    def interval(self, confidence: float = 0.9) -> tuple[float, float]:
        """Return an interval for the measure of samples like those that count.

        Raises
        ------
        ValueError
            For several labels, whose joint distribution is not counted, and for a cost matrix.
        """
        if self.task.is_multilabel or isinstance(self.task.measure, CostMatrix):
            raise ValueError("intervals are for measures of classes, not for several labels or a cost matrix")
        totals = self.running.totals * (self.running.effective_size / max(self.weight, 1e-300))
        if self.task.is_binary:
            measure: Any = self.task.measure
            return TablePosterior(measure, (tuple(tables_of(totals)[:, 0].tolist()),)).interval(confidence)
        return ConfusionPosterior(self.task.average, totals).interval(confidence)  # type: ignore[attr-defined]
