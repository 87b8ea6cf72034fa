"""Multilabel classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, LabelMatrix, Labels, Mask
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.constrained_tasks import THRESHOLDS, ConstrainedChoice, ConstrainedTask
from metricwise.decisions.decision import Calibration, Decision, ScoredSamples, Sigmoid
from metricwise.decisions.label_matrix import restore_sparsity, validate_label_matrix
from metricwise.decisions.log_loss import Loss, logistic_loss
from metricwise.decisions.multiclass import average_measure, choose_label_thresholds, value_by_weights
from metricwise.decisions.parallel import run_in_parallel
from metricwise.decisions.scoring import binary_scores, fit_label, gives_probabilities, limit_log_odds, prior_log_odds

_CLASSES_OF_LABEL = np.array([0, 1])


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
        return np.column_stack([binary_scores(one, X, _CLASSES_OF_LABEL, 1) for one in model])

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
