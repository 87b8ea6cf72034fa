"""Two classes with amounts per sample: the task of a profit that is no function of the contingency table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, Labels, Mask
from metricwise.decisions.amounts import detach_amounts, find_amounts, is_per_sample, list_given
from metricwise.decisions.binary import Aim, ThresholdRule
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.guarantees import UnreachableGuaranteeError, parse_constraints
from metricwise.decisions.log_loss import Loss
from metricwise.decisions.profit import Money, ProfitDecision, Stakes
from metricwise.decisions.task import Task
from metricwise.decisions.tasks import Binary
from metricwise.measures import Accuracy, Measure
from metricwise.measures.profit import Amounts, Profit, SampleProfit, refuse_certain_decision


@stored_fields(version=1)
@dataclass(frozen=True)
class ProfitTask(Binary):
    """One of two classes, with what each sample earns; targets carry the amounts (`attach_amounts`)."""

    measure: SampleProfit
    adapts_to_priors: ClassVar[bool] = False  # the amounts of the training samples are not kept

    def describe_positive_class(self, target: Labels) -> str:
        return super().describe_positive_class(target["positive"])

    def strata(self, target: Labels) -> Integers:
        return super().strata(target["positive"])

    def prior_scores(self, target: Labels, weights: Floats) -> float:
        return super().prior_scores(target["positive"], weights)

    def calibrate(self, samples: ScoredSamples) -> Calibration:
        return super().calibrate(_without_amounts(samples))

    def log_loss(self, samples: ScoredSamples) -> Loss:
        return super().log_loss(_without_amounts(samples))

    def aim(self, rule: ThresholdRule) -> Aim:
        return Aim(self.measure, self.measure, parse_constraints(rule.subject_to))

    def _money(self, rule: ThresholdRule) -> Money:
        return Money(self.measure, self.aim(rule), rule)

    def decide(self, samples: ScoredSamples, rule: ThresholdRule, has_probabilities: bool) -> Decision:
        return self.decide_weighted(samples, rule, is_weighted=False)

    def decide_weighted(self, samples: ScoredSamples, rule: ThresholdRule, is_weighted: bool) -> ProfitDecision:
        """Choose the shift on scores of models that were trained with or without samples weighted by their gains."""
        return self._money(rule).decide(samples, is_weighted)

    def judge(
        self,
        decision: Decision,
        samples: ScoredSamples,
        rule: ThresholdRule,
        sizes: list[int],
        has_probabilities: bool,
    ) -> Decision:
        return self._money(rule).judge(decision, samples, sizes)

    def guarantee(
        self,
        rule: ThresholdRule,
        confidence: float,
        ordering: ScoredSamples,
        testing: ScoredSamples,
        has_probabilities: bool,
    ) -> Decision:
        return self._money(rule).guarantee(confidence, ordering, testing)

    def refuse_too_few(self, rule: ThresholdRule, confidence: float, target: Labels) -> None:
        super().refuse_too_few(rule, confidence, target["positive"])

    def best_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        stakes = Stakes.of(samples, Sigmoid())
        try:
            return self._value_of_labels(samples, stakes.margins > self._money(rule).choose(stakes).threshold)
        except UnreachableGuaranteeError:
            return lambda weights: 0.0  # no candidate is worse

    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        assert isinstance(decision, ProfitDecision)
        return self._value_of_labels(samples, decision.stakes_of(samples).margins > decision.threshold)

    def _value_of_labels(self, samples: ScoredSamples, predicted: Mask) -> Callable[[Floats], float]:
        truth, amounts = detach_amounts(samples.target)
        earned = amounts.earned(truth, predicted)
        right = np.maximum(amounts.earned(truth, True), amounts.earned(truth, False))
        # Against the right decisions of the same samples, since drawn weights also change what can be earned.
        return lambda weights: 1.0 - float(np.average(right - earned, weights=weights)) / self.measure.stake


def _without_amounts(samples: ScoredSamples) -> ScoredSamples:
    return samples._replace(target=samples.target["positive"])


def weigh_profit(
    task: Task, X: Any, y: Labels, weights: Floats | None, given: Mapping[str, Any]
) -> tuple[Task, Amounts | None]:
    """Return the task of a measure that may be a profit, and the amounts of the samples if they have their own.

    Parameters
    ----------
    task : Task
        The task of the targets and the measure.
    X : samples
        May have the columns of the amounts.
    y : array
        Targets.
    weights : array or None
        Weights of the samples.
    given : dict
        Arrays of amounts by outcome.

    Raises
    ------
    ValueError
        If one decision is right for every sample, or amounts are missing or wrong.
    """
    profit = task.measure
    if not is_per_sample(profit, given):
        if isinstance(profit, Profit):
            refuse_certain_decision(*(float(amount) for amount in (profit.tp, profit.fp, profit.fn, profit.tn)))
        return task, None
    assert isinstance(profit, Profit)
    if not isinstance(task, Binary):
        raise ValueError(
            f"a profit is for two classes, but y has several {task.plural}: use CostMatrix for several classes"
        )
    amounts = find_amounts(profit, X, given, len(y))
    weight = np.ones(len(y)) if weights is None else weights
    refuse_certain_samples(amounts, weight > 0.0)
    scaled = SampleProfit.scale(profit, amounts, task.encode(y), weight, list_given(given))
    return ProfitTask(task.classes, scaled, task.positive), amounts


def learner_measure(task: Task) -> Measure:
    """Return what learners that train for a measure are trained for: decisions by amounts need their ranking only."""
    return Accuracy() if isinstance(task, ProfitTask) else task.measure


def refuse_certain_samples(amounts: Amounts, counts: Any) -> None:
    """Raise a ValueError if for no sample a right decision that depends on its probability earns more than a wrong one.

    Parameters
    ----------
    amounts : Amounts
        What the samples earn.
    counts : array of bool
        Which samples count.
    """
    positive, negative = (part[counts] for part in (amounts.gain_if_positive, amounts.gain_if_negative))
    if np.any((positive > 0.0) & (negative > 0.0)):
        return
    is_inverted = (positive < 0.0) & (negative < 0.0)
    remedy = "tp must exceed fn, and tn must exceed fp, for some of them (costs are negative amounts)"
    if is_inverted.any():
        raise ValueError(
            f"wrong predictions earn more than right ones for {np.count_nonzero(is_inverted)} of {positive.size} "
            f"samples, and right predictions of both classes earn more for none: {remedy}"
        )
    always = int(np.count_nonzero(positive > negative))
    raise ValueError(
        f"the amounts decide for every sample, whatever its probability: predicting positive is always right for "
        f"{always} of {positive.size} samples and predicting negative for the others. {remedy}"
    )
