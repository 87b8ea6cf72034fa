"""Samples with targets and weights, validated and encoded for training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d

from metricwise._sklearn import check_sample_weight, take_samples
from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.decision import Probe, ScoredSamples
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.out_of_fold import drop_from_splits
from metricwise.decisions.targets import two_classes
from metricwise.decisions.tasks import Task, task_of_classes
from metricwise.measures import Measure


@dataclass(frozen=True)
class TrainingData:
    """Samples with their targets and weights.

    Attributes
    ----------
    X : samples
        Arrays, sparse matrices, data frames or chunks on a cluster.
    y : array
        Targets that classifiers are trained with.
    target : array
        Targets encoded by the task.
    weights : array or None
        Weights of the samples.
    """

    X: Any
    y: Labels
    target: Labels
    weights: Floats | None

    def take(self, samples: Indices) -> TrainingData:
        """Return some of the samples."""
        part = None if self.weights is None else self.weights[samples]
        return TrainingData(take_samples(self.X, samples), self.y[samples], self.target[samples], part)

    @property
    def sample_weights(self) -> Floats:
        """The weight of every sample, one each if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def attach_scores(self, samples: Indices, scores: Floats) -> ScoredSamples:
        """Return targets and weights of samples with their scores."""
        return ScoredSamples(self.target[samples], scores, self.sample_weights[samples])

    def probe(self, samples: Indices, by_folds: Floats, by_final: Floats) -> Probe:
        """Return samples that all models were trained with, given their scores by fold models and the final model."""
        return Probe(self.target[samples], by_folds, by_final, self.sample_weights[samples])


def validate_target(y: Any, who: str) -> Any:
    """Return targets as a column, or as a matrix of 0 and 1 if there is more than one column."""
    _require_target(y, who)
    target = y if sparse.issparse(y) else np.asarray(y)
    is_multilabel = target.ndim == 2 and target.shape[1] > 1
    return validate_label_matrix(target) if is_multilabel else column_or_1d(target, warn=True)


def validate_weights(sample_weight: Any, X: Any) -> Floats | None:
    """Return sample weights, not negative and not all zero; None if there are none."""
    return None if sample_weight is None else check_sample_weight(sample_weight, X)


def validate_two_classes(
    X: Any, y: Any, sample_weight: Any, measure: Measure, pos_label: Any, who: str
) -> tuple[Task, Any, Labels, Floats | None]:
    """Return the task of two classes, samples, targets and weights; ValueError if y has more or fewer classes."""
    _require_target(y, who)
    X, y = indexable(X, np.asarray(y))
    weights = validate_weights(sample_weight, X)
    task = task_of_classes(two_classes(y, weights, who), measure, pos_label)
    return task, X, column_or_1d(y, warn=True), weights


def _require_target(y: Any, who: str) -> None:
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None")


def prepare_data(task: Task, X: Any, y: Labels, weights: Floats | None, cv: Any) -> tuple[TrainingData, Any]:
    """Return the samples that have weight, and the splits among them that ``cv`` stands for."""
    data = TrainingData(X, y, task.encode(y), weights)
    if weights is None or np.all(weights > 0.0):
        return data, cv
    has_weight = weights > 0.0
    return data.take(np.flatnonzero(has_weight)), drop_from_splits(cv, X, y, has_weight)
