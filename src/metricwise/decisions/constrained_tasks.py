"""Constraints of multiclass and multilabel tasks: what they add to choosing offsets and thresholds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

from metricwise._typing import Floats, Labels, Mask
from metricwise.decisions.binary import Aim, ThresholdRule, separate_folds
from metricwise.decisions.class_constraints import ClassAim, ClassConstraints, aim_at_classes, refuse_rare
from metricwise.decisions.class_guarantees import (
    choose_constrained_offsets,
    choose_guaranteed_offsets,
    judge_constrained_offsets,
)
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.guarantees import Constraint, UnreachableGuaranteeError
from metricwise.decisions.label_guarantees import (
    choose_constrained_labels,
    choose_guaranteed_labels,
    judge_constrained_labels,
)
from metricwise.decisions.multiclass import choose_offsets, choose_thresholds, judge_offsets, judge_thresholds
from metricwise.decisions.task import Task

Folds = list[tuple[ScoredSamples, ScoredSamples]]


class _ChooseGuaranteed(Protocol):
    def __call__(
        self,
        aim: ClassAim,
        confidence: float,
        rule: ThresholdRule,
        ordering: ScoredSamples,
        testing: ScoredSamples,
        has_probabilities: bool,
    ) -> Decision: ...


class ConstrainedChoice(NamedTuple):
    """How offsets or thresholds are chosen and judged: freely, under constraints, and with a guarantee."""

    choose_freely: Callable[[Any, ThresholdRule, ScoredSamples, bool], Decision]
    judge_freely: Callable[[Any, ThresholdRule, Decision, ScoredSamples, list[int], bool], Decision]
    choose: Callable[[ClassAim, ThresholdRule, ScoredSamples, bool], Decision]
    judge: Callable[[ClassAim, ThresholdRule, Decision, Folds, bool], Decision]
    guarantee: _ChooseGuaranteed


def _judge_thresholds(
    measure: Any,
    rule: ThresholdRule,
    decision: Decision,
    samples: ScoredSamples,
    sizes: list[int],
    has_probabilities: bool,
) -> Decision:
    return judge_thresholds(measure, rule, decision, samples, sizes)  # the decision has lines for scores of any kind


OFFSETS = ConstrainedChoice(
    choose_offsets, judge_offsets, choose_constrained_offsets, judge_constrained_offsets, choose_guaranteed_offsets
)
THRESHOLDS = ConstrainedChoice(
    choose_thresholds, _judge_thresholds, choose_constrained_labels, judge_constrained_labels, choose_guaranteed_labels
)


@dataclass(frozen=True)
class ConstrainedTask(Task):
    """A task of several classes or labels, each of which may have constraints."""

    choice: ClassVar[ConstrainedChoice]

    @property
    @abstractmethod
    def average(self) -> Any:
        """What the measure is of all classes or labels."""

    @abstractmethod
    def columns(self, target: Labels) -> Mask:
        """Return encoded targets as a matrix with a column per class or label."""

    @abstractmethod
    def best_free_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        """Return the measure at the best thresholds or offsets without constraints."""

    @abstractmethod
    def worst_value(self, samples: ScoredSamples) -> Callable[[Floats], float]:
        """Return the measure where no prediction is right."""

    def aim(self, rule: ThresholdRule) -> Aim | None:
        """Return the measure and the constraints, each of one class or label; None without constraints."""
        if not rule.subject_to:
            return None
        return aim_at_classes(self.measure, self.average, rule.subject_to, self.names, self.plural)

    def _class_aim(self, rule: ThresholdRule) -> ClassAim:
        aim = self.aim(rule)
        assert aim is not None  # there are constraints
        return ClassAim(self.average, ClassConstraints.locate(aim.constraints, self.names))

    def guarantee(
        self,
        rule: ThresholdRule,
        confidence: float,
        ordering: ScoredSamples,
        testing: ScoredSamples,
        has_probabilities: bool,
    ) -> Decision:
        """Choose thresholds or offsets whose constraints hold on new samples with a confidence."""
        self.refuse_too_few(rule, confidence, testing.target)
        return self.choice.guarantee(self._class_aim(rule), confidence, rule, ordering, testing, has_probabilities)

    def refuse_too_few(self, rule: ThresholdRule, confidence: float, target: Labels) -> None:
        """Raise if a class or label is too rare for any classifier to pass the test of its constraints."""
        refuse_rare(self._class_aim(rule).constraints, confidence, self.columns(target), self.plural)

    def decide(self, samples: ScoredSamples, rule: ThresholdRule, has_probabilities: bool) -> Decision:
        """Choose thresholds or offsets on out-of-fold scores, under constraints if there are some."""
        if not rule.subject_to:
            return self.choice.choose_freely(self.average, rule, samples, has_probabilities)
        return self.choice.choose(self._class_aim(rule), rule, samples, has_probabilities)

    def judge(
        self,
        decision: Decision,
        samples: ScoredSamples,
        rule: ThresholdRule,
        sizes: list[int],
        has_probabilities: bool,
    ) -> Decision:
        """Return a decision with the score to expect by folds, of the given sizes, that had no part in it."""
        if not rule.subject_to:
            return self.choice.judge_freely(self.average, rule, decision, samples, sizes, has_probabilities)
        folds = list(separate_folds(samples, sizes))
        return self.choice.judge(self._class_aim(rule), rule, decision, folds, has_probabilities)

    def best_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        """Return the measure at the best choice that keeps the constraints, as a function of the weights."""
        if not rule.subject_to:
            return self.best_free_value(samples, rule)
        try:
            decision = self.decide(samples, replace(rule, strategy="max"), True)
        except UnreachableGuaranteeError:
            return self.worst_value(samples)  # no candidate is worse
        return self.value_at(decision, samples)


def refuse_other_class(constraints: list[Constraint], positive: Any) -> None:
    """Raise a ValueError if a constraint names another of two classes than the positive one.

    Examples
    --------
    >>> refuse_other_class([Constraint.of("recall>=0.9 of no")], "yes")
    Traceback (most recent call last):
        ...
    ValueError: of two classes constraints are on the positive one, 'yes', but 'recall >= 0.9 of no' names another: ...
    """
    for one in constraints:
        if one.of_class is not None and str(one.of_class) != str(positive):
            raise ValueError(
                f"of two classes constraints are on the positive one, {positive!r}, but {str(one)!r} names another: "
                "write the recall of the other class as 'specificity' and its precision as 'npv', or set pos_label"
            )
