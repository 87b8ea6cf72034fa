"""Binary, multiclass and multilabel classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, Labels, Mask
from metricwise.decisions import targets
from metricwise.decisions.binary import (
    Aim,
    ThresholdRule,
    choose,
    choose_guaranteed,
    judge_by_folds,
    make_aim,
    value_of_labels,
)
from metricwise.decisions.class_constraints import ClassConstraints
from metricwise.decisions.class_offsets import best_offsets
from metricwise.decisions.confusion_choice import choose_gains, judge_gains
from metricwise.decisions.constrained_tasks import (
    OFFSETS,
    ConstrainedChoice,
    ConstrainedTask,
    refuse_other_class,
)
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.guarantees import UnreachableGuaranteeError, refuse_too_few
from metricwise.decisions.log_loss import Loss, logistic_loss, softmax_loss
from metricwise.decisions.multiclass import (
    average_measure,
    check_thresholds_serve,
    refuse_other_number,
    value_of_classes,
)
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.decisions.scoring import (
    MOST_CERTAIN,
    binary_scores,
    class_scores,
    gives_probabilities,
    limit_log_odds,
    prior_log_odds,
)
from metricwise.decisions.task import Task
from metricwise.measures import CostMatrix, CountsTable, HasMulticlassValue, Measure, needs_whole_matrix
from metricwise.measures.confusion import count_confusion


@stored_fields(version=1)
@dataclass(frozen=True)
class Binary(Task):
    """One of two classes."""

    positive: Any
    is_binary: ClassVar[bool] = True

    @property
    def points_up(self) -> bool:
        """Whether the positive class is the last, which a decision function above zero stands for in scikit-learn."""
        return bool(self.positive == self.classes[1])

    def describe_positive_class(self, target: Labels) -> str:
        return targets.describe_positive_class(self.positive, float(np.mean(target)), self.measure)

    def share_positive_class(self, estimator: Any) -> Any:
        return targets.share_positive_class(estimator, self.classes, self.positive, self.measure)

    def encode(self, y: Any) -> Mask:
        mask: Mask = np.asarray(y) == self.positive
        return mask

    def strata(self, target: Labels) -> Integers:
        return target.astype(np.int64)

    def scores(self, model: Any, X: Any) -> Floats:
        return binary_scores(model, X, self.classes, self.positive)

    def prior_scores(self, target: Labels, weights: Floats) -> float:
        return float(prior_log_odds(np.average(target, weights=weights), weights.sum()))

    def limit_certainty(self, model: Any, scores: Floats, prior: Any) -> Floats:
        return limit_log_odds(scores, prior) if gives_probabilities(model) else scores

    def calibrate(self, samples: ScoredSamples) -> Calibration:
        return Calibration((Sigmoid.fit(samples),))

    def log_loss(self, samples: ScoredSamples) -> Loss:
        return logistic_loss(*samples)

    def aim(self, rule: ThresholdRule) -> Aim:
        aim = make_aim(self.measure, rule.subject_to)
        refuse_other_class(aim.constraints, np.asarray(self.positive).item())
        return aim

    def guarantee(
        self,
        rule: ThresholdRule,
        confidence: float,
        ordering: ScoredSamples,
        testing: ScoredSamples,
        has_probabilities: bool,
    ) -> Decision:
        return choose_guaranteed(self.aim(rule), confidence, ordering, testing, has_probabilities)

    def refuse_too_few(self, rule: ThresholdRule, confidence: float, target: Labels) -> None:
        refuse_too_few(self.aim(rule).constraints, confidence, target)

    def decide(self, samples: ScoredSamples, rule: ThresholdRule, has_probabilities: bool) -> Decision:
        return choose(self.aim(rule), rule, samples, has_probabilities)

    def judge(
        self,
        decision: Decision,
        samples: ScoredSamples,
        rule: ThresholdRule,
        sizes: list[int],
        has_probabilities: bool,
    ) -> Decision:
        return judge_by_folds(self.aim(rule), rule, decision, samples, sizes)

    def best_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        table = self.aim(rule).table
        if table is None or (self.measure.response == "scores" and not rule.subject_to):
            return self._value_of_scores(samples)
        try:
            threshold = self.decide(samples, rule, True).threshold
        except UnreachableGuaranteeError:
            return value_of_labels(table, samples.target, ~samples.target)  # no candidate is worse
        return value_of_labels(table, samples.target, samples.scores > threshold)

    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        if self.measure.response == "scores":
            return self._value_of_scores(samples)
        return value_of_labels(self.measure, samples.target, samples.scores > decision.threshold)

    def _value_of_scores(self, samples: ScoredSamples) -> Callable[[Floats], float]:
        return lambda weights: float(self.measure.score(samples.target, samples.scores, weights))

    def labels(self, margins: Floats) -> Labels:
        # A score exactly on the threshold is negative, whichever class that is.
        above = margins > 0.0 if self.points_up else margins >= 0.0
        labels: Labels = self.classes[above.astype(int)]
        return labels

    def probabilities(self, scores: Floats) -> Floats:
        chance = np.asarray(expit(scores))
        columns = [1.0 - chance, chance]
        return np.column_stack(columns if self.points_up else columns[::-1])

    def score(self, y: Any, margins: Floats, weights: Any) -> float:
        targets.refuse_unknown_labels(np.asarray(y), self.classes)
        scores = self.orient(margins)  # its own inverse: above zero for positives
        response = scores if self.measure.response == "scores" else scores > 0.0
        return float(self.measure.score(self.encode(y), response, weights))

    def orient(self, margins: Floats) -> Floats:
        return margins if self.points_up else -margins


@stored_fields(version=1)
@dataclass(frozen=True)
class Multiclass(ConstrainedTask):
    """One of more than two classes."""

    choice: ClassVar[ConstrainedChoice] = OFFSETS

    def encode(self, y: Any) -> Integers:
        codes: Integers = np.minimum(np.searchsorted(self.classes, y), self.classes.size - 1)
        return codes

    def strata(self, target: Labels) -> Integers:
        return target

    def scores(self, model: Any, X: Any) -> Floats:
        return class_scores(model, X, self.classes)

    def prior_scores(self, target: Labels, weights: Floats) -> Floats:
        return np.asarray(np.log(np.average(self.columns(target), axis=0, weights=weights)))

    def limit_certainty(self, model: Any, scores: Floats, prior: Any) -> Floats:
        return np.maximum(scores, prior - MOST_CERTAIN) if gives_probabilities(model) else scores

    def calibrate(self, samples: ScoredSamples) -> Calibration:
        return Calibration()

    def log_loss(self, samples: ScoredSamples) -> Loss:
        return softmax_loss(*samples)

    def _uses_gains(self, rule: ThresholdRule) -> bool:
        """Return whether a matrix of gains decides; offsets cannot for measures of the whole confusion matrix."""
        needs_gains = needs_whole_matrix(self.average)
        if needs_gains and rule.strategy not in ("auto", "max", "gains"):  # "max": see `best_value`
            raise ValueError(
                f"{self.measure.name!r} is decided by the expected gain of each class, without thresholds: threshold "
                f"is 'auto' or 'gains', got {rule.strategy!r}"
            )
        return needs_gains or rule.strategy == "gains"

    def _constraints(self, rule: ThresholdRule) -> ClassConstraints | None:
        return self._class_aim(rule).constraints if rule.subject_to else None

    def decide(self, samples: ScoredSamples, rule: ThresholdRule, has_probabilities: bool) -> Decision:
        if self._uses_gains(rule):
            return choose_gains(self.average, self._constraints(rule), rule, samples, has_probabilities)
        return super().decide(samples, rule, has_probabilities)

    def judge(
        self,
        decision: Decision,
        samples: ScoredSamples,
        rule: ThresholdRule,
        sizes: list[int],
        has_probabilities: bool,
    ) -> Decision:
        if self._uses_gains(rule):
            judged: Decision = judge_gains(
                self.average, self._constraints(rule), rule, decision, samples, sizes, has_probabilities
            )
            return judged
        return super().judge(decision, samples, rule, sizes, has_probabilities)

    def refuse_too_few(self, rule: ThresholdRule, confidence: float, target: Labels) -> None:
        if self._uses_gains(rule):
            raise ValueError(
                "constraints hold with a confidence for offsets of the classes only, and a matrix of gains decides "
                "here: set confidence=None, so that they hold on out-of-fold samples, or use threshold='auto' and a "
                "measure of one-vs-rest tables"
            )
        super().refuse_too_few(rule, confidence, target)

    def best_free_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        if self._uses_gains(rule):
            return self.value_at(self.decide(samples, rule, True), samples)
        offsets = best_offsets(self.average.of_tables, *samples).offsets
        return self._value_of(samples, np.argmax(samples.scores - offsets, axis=1))

    def worst_value(self, samples: ScoredSamples) -> Callable[[Floats], float]:
        return self._value_of(samples, (samples.target + 1) % self.classes.size)

    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        return self._value_of(samples, np.argmax(decision.margins(samples.scores), axis=1))

    def _value_of(self, samples: ScoredSamples, predicted: Integers) -> Callable[[Floats], float]:
        return value_of_classes(self.average, samples.target, predicted, self.classes.size)

    def labels(self, margins: Floats) -> Labels:
        labels: Labels = self.classes[np.argmax(margins, axis=1)]
        return labels

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(softmax(scores, axis=1))

    def score(self, y: Any, margins: Floats, weights: Any) -> float:
        targets.refuse_unknown_labels(np.asarray(y), self.classes)
        measure = self.average
        if needs_whole_matrix(measure):  # the order and number of all classes matter, also of those that are absent
            return float(measure.of_confusion(count_confusion(y, self.labels(margins), weights, self.classes)))
        score = measure.multiclass_score if isinstance(measure, HasMulticlassValue) else measure.score
        return float(score(np.asarray(y), self.labels(margins), weights))

    @property
    def average(self) -> Any:
        return average_measure(self.measure, "classes")

    def columns(self, target: Labels) -> Mask:
        columns: Mask = target[:, None] == np.arange(self.classes.size)
        return columns


def make_task(
    y: Labels,
    weights: Floats | None,
    measure: Measure,
    pos_label: Any = None,
    is_sparse: bool = False,
    is_constrained: bool = False,
    label_names: tuple[Any, ...] = (),
) -> Task:
    """Return the task of validated targets; ValueError if the measure does not fit it, or all have one class.

    Parameters
    ----------
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Targets; see `validate_target`.
    weights : array or None
        Samples without weight do not count.
    measure : Measure
        The measure.
    pos_label : label, optional
        The positive class of two; see `choose_positive_class`.
    is_sparse : bool
        Whether predicted label matrices are sparse.
    is_constrained : bool
        Whether thresholds have to keep constraints.
    label_names : tuple
        Names of the labels of multilabel targets; empty for their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> print(make_task(np.array(["no", "yes", "no"]), None, FBeta(), pos_label="yes").positive)
    yes
    """
    if y.ndim == 2:
        check_thresholds_serve(measure, "labels")
        targets.refuse_pos_label(pos_label, f"{y.shape[1]} labels")
        return Multilabel(np.arange(y.shape[1]), measure, is_sparse, label_names)
    classes = targets.classes_of(y, np.ones(len(y)) if weights is None else weights)
    return task_of_classes(classes, measure, pos_label, targets.count_classes(y, classes), is_constrained)


def task_of_classes(
    classes: Labels, measure: Measure, pos_label: Any, counts: list[int], is_constrained: bool = False
) -> Binary | Multiclass:
    """Return the task of two or more classes, given the samples of each."""
    if isinstance(measure, CostMatrix):
        from metricwise.decisions.cost_matrix import make_cost_task  # its task is made of the one above

        targets.refuse_pos_label(pos_label, "a cost matrix")
        if is_constrained:
            raise ValueError(
                "subject_to chooses among thresholds or offsets, and a cost matrix is decided by the expected cost of "
                "each class, without any: leave subject_to out, or use it with a measure such as 'f1_macro'"
            )
        return make_cost_task(classes, measure)
    if classes.size == 2:
        if needs_whole_matrix(measure) and not isinstance(measure, CountsTable):
            raise ValueError(
                f"measure {measure.name!r} is for more than two classes, and y has {classes.tolist()}: make one of the "
                "contingency table with metricwise.contingency_measure"
            )
        positive = targets.choose_positive_class(classes, pos_label, measure, counts, is_constrained=is_constrained)
        return Binary(classes, measure, positive)
    check_thresholds_serve(measure, "classes")
    refuse_other_number(measure, classes.size)
    targets.refuse_pos_label(pos_label, f"{classes.size} classes")
    return Multiclass(classes, measure)
