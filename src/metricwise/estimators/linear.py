"""Base class of linear classifiers: the binary problems of their classes, scores, labels and the measure."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from metricwise._state import StoredState
from metricwise._typing import Floats, Mask
from metricwise.clusters import is_dask, load_into_memory
from metricwise.decisions.targets import (
    choose_positive_class,
    positive_class,
    positives_of_problems,
    refuse_pos_label,
    refuse_unknown_labels,
)
from metricwise.designs import make_design
from metricwise.estimators.inputs import labels_of, validate_samples
from metricwise.estimators.lazy_predictions import lazy_labels, lazy_scores
from metricwise.estimators.parameters import NumericParameters
from metricwise.estimators.summary import ShowsSummary
from metricwise.measures import HasMulticlassValue, Measure
from metricwise.measures.joint import find_joint_losses
from metricwise.threads import available_threads


class LinearClassifier(ShowsSummary, ClassifierMixin, NumericParameters):
    """Prediction from `coef_`, `intercept_` and `threshold_`; one binary problem, or one per class vs the rest.

    Subclasses have the parameters ``multi_class`` and ``pos_label``, and set `measure_`, `classes_` and `result_`.
    """

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=1,
        attributes=("n_features_in_", "feature_names_in_"),
        training_parameters=("callback", "checkpoint", "verbose"),
    )

    multi_class: str | None
    pos_label: Any
    measure_: Measure
    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats
    threshold_: float | Floats

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.multi_class in ("ovr", "joint")
        return tags

    def _check_positive_class(
        self, measure: Measure, classes: NDArray[Any], counts: list[int], where: str = "y"
    ) -> None:
        """Raise if the positive class of two is not clear, or if one of more than two classes is named as positive."""
        if classes.size == 2:
            choose_positive_class(classes, self.pos_label, measure, counts, where=where)
        else:
            refuse_pos_label(self.pos_label, f"{classes.size} classes")

    def _positives(self, y: NDArray[Any], classes: NDArray[Any]) -> list[Mask]:
        """Return the positives of every binary problem."""
        return [y == label for label in positives_of_problems(classes, self.pos_label, self.multi_class)]

    @property
    def _sign(self) -> float:
        """-1 if the positives of a binary problem are classes_[0], since scores must point to classes_[1]."""
        binary = self.classes_.size == 2
        return -1.0 if binary and positive_class(self.classes_, self.pos_label) == self.classes_[0] else 1.0

    def decision_function(self, X: Any) -> Any:
        """Return scores minus `threshold_`: above zero means ``classes_[1]`` in a binary problem.

        Parameters
        ----------
        X : array, data frame, sparse matrix, samples on disk or Dask collection of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For a Dask collection, a lazy one with the same chunks.
        """
        check_is_fitted(self, "result_")
        if is_dask(X):
            return lazy_scores(self, X)
        scores: Floats = self._raw_scores(X) - self.threshold_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _raw_scores(self, X: Any) -> Floats:
        """Return the scores of every binary problem, one column per problem."""
        X = validate_samples(self, X, reset=False, chunks=True, adds_repeated=True)
        design = make_design(X, threads=available_threads())
        return np.column_stack([design.scores(w) for w in self.coef_]) + self.intercept_

    def predict(self, X: Any) -> Any:
        """Return labels.

        Parameters
        ----------
        X : array, data frame, sparse matrix, samples on disk or Dask collection of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples,)
            For a Dask collection, a lazy one with the same chunks.
        """
        check_is_fitted(self, "result_")
        return lazy_labels(self, X) if is_dask(X) else self._labels(self.decision_function(X))

    def _labels(self, scores: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the measure that the model was trained for, on the given samples.

        For more than two classes it is the measure's own multiclass value where there is one (accuracy, balanced
        accuracy, Matthews' and Cohen's coefficients), else the mean over one-versus-rest problems.

        Parameters
        ----------
        X : array, data frame, sparse matrix, samples on disk or Dask collection of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Their labels. May be left out if X is on disk and has labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The measure; less is better if it is a cost.

        Raises
        ------
        ValueError
            If there are no labels, or some that the model was not trained with.
        """
        y = labels_of(X, y)
        if y is None:
            raise ValueError("score requires the labels of the samples: pass y")
        y, sample_weight = np.asarray(load_into_memory(y)), load_into_memory(sample_weight)
        scores = np.asarray(load_into_memory(self.decision_function(X)))
        refuse_unknown_labels(y, self.classes_)
        labels = self._labels(scores)
        if scores.ndim == 1:
            positive = positive_class(self.classes_, self.pos_label)
            response = self._sign * scores if self.measure_.response == "scores" else labels == positive
            return float(self.measure_.score(y == positive, response, sample_weight))
        if isinstance(self.measure_, HasMulticlassValue):
            return float(self.measure_.multiclass_score(y, labels, sample_weight))
        if find_joint_losses(self.measure_) is not None:
            return float(self.measure_.score(y, labels, sample_weight))
        by_scores = self.measure_.response == "scores"
        values = [
            self.measure_.score(y == label, scores[:, k] if by_scores else labels == label, sample_weight)
            for k, label in enumerate(self.classes_)
        ]
        return float(np.mean(values))
