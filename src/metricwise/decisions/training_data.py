"""Samples with targets, weights and groups, validated and encoded for training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d

from metricwise._sklearn import check_sample_weight, take_samples
from metricwise._typing import Floats, Indices, Integers, Labels
from metricwise.decisions.amounts import attach_amounts
from metricwise.decisions.decision import Probe, ScoredSamples
from metricwise.decisions.groups import validate_groups
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.out_of_fold import Splits, is_given, list_given_splits, make_splits, restrict_splits
from metricwise.decisions.targets import classes_of, count_classes, two_classes
from metricwise.decisions.task import Task
from metricwise.decisions.tasks import task_of_classes
from metricwise.measures import Measure
from metricwise.measures.profit import Amounts
from metricwise.raw_inputs import check_samples, read_labels


class Fit(Protocol):
    """Trains a model on samples; groups are passed where there are some."""

    def __call__(self, X: Any, y: Labels, weights: Floats | None, *, groups: Integers | None = None) -> Any:
        """Return the model."""


@dataclass(frozen=True)
class TrainingData:
    """Samples with their targets, weights and groups.

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
    groups : array of int or None
        Groups of samples that folds and subsets do not divide.
    splits : list or None
        The splits of a user's own ``cv``; None for a number of folds.
    subgroups : array of int of shape (n_samples, n_columns) or None
        The groups that constraints are on, in every column that has some.
    """

    X: Any
    y: Labels
    target: Labels
    weights: Floats | None
    groups: Integers | None = None
    splits: Splits | None = None
    subgroups: Integers | None = None

    def take(self, samples: Indices) -> TrainingData:
        """Return some of the samples, ascending, with the user's splits among them."""
        splits = None if self.splits is None else restrict_splits(self.splits, samples, len(self.y))
        return replace(self.take_to_train(samples), splits=splits)

    def take_to_train(self, samples: Indices) -> TrainingData:
        """Return some of the samples, without splits: a model is trained on all of them. All samples are not copied."""
        if samples.size == len(self.y) and np.array_equal(samples, np.arange(samples.size)):
            return replace(self, splits=None)
        weights = None if self.weights is None else self.weights[samples]
        chosen = take_samples(self.X, samples), self.y[samples], self.target[samples]
        subgroups = None if self.subgroups is None else self.subgroups[samples]
        return TrainingData(*chosen, weights, self.groups_of(samples), subgroups=subgroups)

    def fit(self, fit: Fit) -> Any:
        """Return a model trained on all samples."""
        return fit(self.X, self.y, self.weights, groups=self.groups)

    def split(self, cv: Any, codes: Integers, seed: int, needed: bool = False) -> Splits:
        """Return training and test samples of every fold: the user's own splits, or so many folds; see `make_splits`.

        Parameters
        ----------
        cv : int, splitter, iterable or None
            Number of folds, where the samples have no splits of the user's own.
        codes : array of int
            Codes that folds are stratified by.
        seed : int
            Seeds the folds.
        needed : bool
            Whether the caller reports that there are none.
        """
        if self.splits is not None:
            return self.splits
        return make_splits(cv, self.X, codes, seed, needed, self.groups)

    @property
    def has_random_folds(self) -> bool:
        """Whether folds are random subsets of the samples, and therefore alike."""
        return self.groups is None and self.splits is None

    def groups_of(self, samples: Indices) -> Integers | None:
        """Return the groups of samples, numbered without gaps; None if there are none."""
        return None if self.groups is None else np.unique(self.groups[samples], return_inverse=True)[1].ravel()

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
    y = read_labels(y)
    target = y if sparse.issparse(y) else np.asarray(y)
    is_multilabel = target.ndim == 2 and target.shape[1] > 1
    return validate_label_matrix(target) if is_multilabel else column_or_1d(target, warn=True)


def validate_weights(sample_weight: Any, X: Any) -> Floats | None:
    """Return sample weights, not negative and not all zero; None if there are none."""
    return None if sample_weight is None else check_sample_weight(sample_weight, X)


def validate_two_classes(
    X: Any, y: Any, sample_weight: Any, measure: Measure, pos_label: Any, who: str, is_constrained: bool = False
) -> tuple[Task, Any, Labels, Floats | None]:
    """Return the task of two classes, samples, targets and weights; ValueError if y has more or fewer classes."""
    _require_target(y, who)
    X, y = indexable(check_samples(X), np.asarray(read_labels(y)))
    weights = validate_weights(sample_weight, X)
    classes = two_classes(y, weights, who)
    task = task_of_classes(classes, measure, pos_label, count_classes(y, classes), is_constrained)
    return task, X, column_or_1d(y, warn=True), weights


def validate_classes(X: Any, y: Any, sample_weight: Any, who: str) -> tuple[Any, Labels, Floats | None, Labels]:
    """Return samples, targets, weights and the classes, two or more; ValueError if y has several columns."""
    _require_target(y, who)
    X, y = indexable(check_samples(X), np.asarray(read_labels(y)))
    weights = validate_weights(sample_weight, X)
    if y.ndim == 2 and y.shape[1] > 1:
        two_classes(y, weights, who)  # raises
    labels = column_or_1d(y, warn=True)
    return X, labels, weights, classes_of(labels, np.ones(len(labels)) if weights is None else weights)


def _require_target(y: Any, who: str) -> None:
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None")


def prepare_data(
    task: Task,
    X: Any,
    y: Labels,
    weights: Floats | None,
    cv: Any,
    groups: Any = None,
    subgroups: Integers | None = None,
    amounts: Amounts | None = None,
) -> TrainingData:
    """Return the samples that have weight, with their groups, and the splits if ``cv`` is the user's own.

    A splitter is asked once, for the splits of all samples; subsets use those of their samples. ``subgroups`` are the
    codes of the groups that constraints are on; amounts of the samples travel with the targets.
    """
    codes = validate_groups(groups, len(y))
    splits = None
    if is_given(cv):
        splits = list_given_splits(cv, X, y if y.ndim == 1 else np.zeros(len(y), dtype=np.int64), groups)
    target = task.encode(y) if amounts is None else attach_amounts(task.encode(y), amounts)
    data = TrainingData(X, y, target, weights, codes, splits, subgroups)
    if weights is None or np.all(weights > 0.0):
        return data
    return data.take(np.flatnonzero(weights > 0.0))
