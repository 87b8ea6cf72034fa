"""Binary, multiclass and multilabel classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, LabelMatrix, Labels, Mask
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
from metricwise.decisions.class_offsets import best_offsets
from metricwise.decisions.constrained_tasks import (
    OFFSETS,
    THRESHOLDS,
    ConstrainedChoice,
    ConstrainedTask,
    refuse_other_class,
)
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.guarantees import UnreachableGuaranteeError, refuse_too_few
from metricwise.decisions.label_matrix import restore_sparsity, validate_label_matrix
from metricwise.decisions.log_loss import Loss, logistic_loss, softmax_loss
from metricwise.decisions.multiclass import (
    average_measure,
    check_thresholds_serve,
    choose_label_thresholds,
    value_by_weights,
)
from metricwise.decisions.parallel import run_in_parallel
from metricwise.decisions.scoring import (
    MOST_CERTAIN,
    binary_scores,
    class_scores,
    fit_label,
    gives_probabilities,
    limit_log_odds,
    prior_log_odds,
)
from metricwise.decisions.task import Task
from metricwise.measures import CostMatrix, HasMulticlassValue, Measure


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
        return binary_scores(model, X, self.positive)

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

    def best_free_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        return self._value_at(best_offsets(self.average.of_tables, *samples).offsets, samples)

    def worst_value(self, samples: ScoredSamples) -> Callable[[Floats], float]:
        truth = self.columns(samples.target)
        return value_by_weights(self.average.of_tables, truth, np.roll(truth, 1, axis=1))

    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        return self._value_at(np.asarray(decision.threshold), samples)

    def _value_at(self, offsets: Floats, samples: ScoredSamples) -> Callable[[Floats], float]:
        predicted = np.argmax(samples.scores - offsets, axis=1)
        return value_by_weights(self.average.of_tables, self.columns(samples.target), self.columns(predicted))

    def labels(self, margins: Floats) -> Labels:
        labels: Labels = self.classes[np.argmax(margins, axis=1)]
        return labels

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(softmax(scores, axis=1))

    def score(self, y: Any, margins: Floats, weights: Any) -> float:
        targets.refuse_unknown_labels(np.asarray(y), self.classes)
        measure = self.average
        score = measure.multiclass_score if isinstance(measure, HasMulticlassValue) else measure.score
        return float(score(np.asarray(y), self.labels(margins), weights))

    @property
    def average(self) -> Any:
        return average_measure(self.measure, "classes")

    def columns(self, target: Labels) -> Mask:
        columns: Mask = target[:, None] == np.arange(self.classes.size)
        return columns


@stored_fields(version=2)
@dataclass(frozen=True)
class Multilabel(ConstrainedTask):
    """A set of labels; the model is a list with one classifier per label.

    A label matrix is a decision function, too: it is above zero where a sample has a label.
    """

    is_sparse: bool
    label_names: tuple[Any, ...] = ()
    choice: ClassVar[ConstrainedChoice] = THRESHOLDS
    plural: ClassVar[str] = "labels"
    is_multilabel: ClassVar[bool] = True
    adapts_to_priors: ClassVar[bool] = False

    @property
    def names(self) -> list[Any]:
        return list(self.label_names) or super().names

    def encode(self, y: Any) -> Mask:
        mask: Mask = y == 1
        return mask

    def strata(self, target: Labels) -> Integers:
        return np.zeros(len(target), dtype=np.int64)

    def fit(
        self,
        estimator: Any,
        X: Any,
        y: Labels,
        weights: Floats | None,
        n_jobs: int | None = None,
        groups: Integers | None = None,
    ) -> Any:
        return run_in_parallel(fit_label, [(estimator, X, column, weights, groups) for column in y.T], n_jobs, "label")

    def learners(self, model: Any) -> list[Any]:
        return list(model)

    def scores(self, model: Any, X: Any) -> Floats:
        return np.column_stack([binary_scores(one, X, 1) for one in model])

    def learner_probabilities(self, model: Any, X: Any) -> Floats:
        return np.asarray(expit(self.scores(model, X)))

    def prior_scores(self, target: Labels, weights: Floats) -> Floats:
        return np.asarray(prior_log_odds(np.average(target, axis=0, weights=weights), weights.sum()))

    def limit_certainty(self, model: Any, scores: Floats, prior: Any) -> Floats:
        columns = zip(model, scores.T, prior, strict=True)
        return np.column_stack([limit_log_odds(s, p) if gives_probabilities(one) else s for one, s, p in columns])

    def calibrate(self, samples: ScoredSamples) -> Calibration:
        columns = zip(samples.target.T, samples.scores.T, strict=True)
        labels = [ScoredSamples(truth, scores, samples.weights) for truth, scores in columns]
        return Calibration(
            tuple(Sigmoid.fit(one) if 0 < one.target.sum() < one.target.size else Sigmoid() for one in labels)
        )

    def log_loss(self, samples: ScoredSamples) -> Loss:
        return logistic_loss(*samples)

    def best_free_value(self, samples: ScoredSamples, rule: ThresholdRule) -> Callable[[Floats], float]:
        lines = [Sigmoid()] * samples.scores.shape[1]
        return self._value_at(choose_label_thresholds(self.average, rule, samples, lines).thresholds, samples)

    def value_at(self, decision: Decision, samples: ScoredSamples) -> Callable[[Floats], float]:
        return self._value_at(np.asarray(decision.threshold), samples)

    def worst_value(self, samples: ScoredSamples) -> Callable[[Floats], float]:
        return value_by_weights(self.average.of_tables, samples.target, ~samples.target)

    def columns(self, target: Labels) -> Mask:
        return target

    def _value_at(self, thresholds: Floats, samples: ScoredSamples) -> Callable[[Floats], float]:
        return value_by_weights(self.average.of_tables, samples.target, samples.scores > thresholds)

    def labels(self, margins: Floats | LabelMatrix) -> Any:
        return restore_sparsity((margins > 0.0).astype(np.int8), self.is_sparse)

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(expit(scores))

    def score(self, y: Any, margins: Floats | LabelMatrix, weights: Any) -> float:
        predicted = (margins > 0.0).astype(np.int8)
        return float(self.average.score(validate_label_matrix(y), predicted, weights))

    def refuse_chunks(self) -> None:
        raise ValueError(
            "several labels are predicted for samples in memory: use X.compute(), or X.map_blocks(model.predict, ...)"
        )

    @property
    def average(self) -> Any:
        return average_measure(self.measure, "labels")


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
        return make_cost_task(classes, measure)
    if classes.size == 2:
        positive = targets.choose_positive_class(classes, pos_label, measure, counts, is_constrained=is_constrained)
        return Binary(classes, measure, positive)
    check_thresholds_serve(measure, "classes")
    targets.refuse_pos_label(pos_label, f"{classes.size} classes")
    return Multiclass(classes, measure)
