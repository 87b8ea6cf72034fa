"""Labels, scores and expectations of a classifier with thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from metricwise._typing import Floats
from metricwise.clusters import at_hand, is_dask
from metricwise.decisions.batch_rule import BatchRule
from metricwise.decisions.binary import Sigmoid
from metricwise.decisions.fitting import Evidence
from metricwise.decisions.label_matrix import returned, validate_label_matrix
from metricwise.decisions.multiclass import averaged
from metricwise.decisions.on_cluster import light_copy
from metricwise.decisions.out_of_fold import binary_scores, class_scores, gives_probabilities
from metricwise.decisions.targets import positive_class
from metricwise.estimators.dask_inputs import lazy_labels, lazy_probabilities, lazy_scores
from metricwise.measures import HasMulticlassValue, Measure


def _learner_has(name: str) -> Any:
    """Return a check whether the wrapped classifier has a method."""

    def check(self: PlugInPrediction) -> bool:
        models = getattr(self, "estimators_", None)
        return hasattr(models[0] if models else getattr(self, "estimator_", self.estimator), name)

    return check


class PlugInPrediction(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Prediction from ``estimator_`` (``estimators_`` for several labels) and ``threshold_``, which subclasses set."""

    estimator: Any
    pos_label: Any
    estimator_: Any
    estimators_: list[Any]
    classes_: NDArray[Any]
    measure_: Measure
    threshold_: Any
    sparse_labels_: bool
    _batch: BatchRule | None
    _sigmoid: Sigmoid
    _held_out: Evidence | None

    def decision_function(self, X: Any) -> Any:
        """Return scores minus `threshold_`; the largest, or the sign of the only one, decides.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Scores are log-odds (log-probabilities for more than two classes) or the learner's decision values. Of two
            classes, ``classes_[1]`` is predicted above zero. Of a Dask collection: one with the same chunks, not
            computed yet.
        """
        check_is_fitted(self, "measure_")
        if is_dask(X):
            return lazy_scores(self._for_chunks(), X)
        if hasattr(self, "estimators_"):
            scores = np.column_stack([binary_scores(model, X, 1) for model in self.estimators_])
            return np.asarray(scores - self.threshold_)
        if self.classes_.size > 2:
            return np.asarray(class_scores(self.estimator_, X, self.classes_) - self.threshold_)
        positive = positive_class(self.classes_, self.pos_label)
        scores = binary_scores(self.estimator_, X, positive)
        margin: Floats = scores - self._threshold_for(scores)
        return margin if positive == self.classes_[1] else -margin

    def _threshold_for(self, scores: Floats) -> float:
        """Return the threshold on scores: the chosen one, or that of the batch."""
        if self._batch is not None and scores.size:
            return float(self._sigmoid.score(self._batch.threshold_for(self._sigmoid.log_odds(scores))))
        return float(logit(self.threshold_)) if gives_probabilities(self.estimator_) else float(self.threshold_)

    def predict(self, X: Any) -> Any:
        """Return labels.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels); a CSR matrix if the labels of training were sparse
            Of a Dask collection: one with the same chunks, not computed yet.
        """
        check_is_fitted(self, "measure_")
        if is_dask(X):
            return lazy_labels(self._for_chunks(), X)
        margin = self.decision_function(X)
        if hasattr(self, "estimators_"):
            return returned((margin > 0.0).astype(np.int8), self.sparse_labels_)
        if margin.ndim == 2:
            return self.classes_[np.argmax(margin, axis=1)]
        positive = positive_class(self.classes_, self.pos_label)
        # A score exactly on the threshold is negative, whichever class that is.
        above = margin > 0.0 if positive == self.classes_[1] else margin >= 0.0
        return self.classes_[above.astype(int)]

    @available_if(_learner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the learner's probabilities.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
            Of a Dask collection: one with the same chunks, not computed yet.
        """
        check_is_fitted(self, "measure_")
        if is_dask(X):
            return lazy_probabilities(self._for_chunks(), X)
        if hasattr(self, "estimators_"):
            return np.column_stack([expit(binary_scores(model, X, 1)) for model in self.estimators_])
        return np.asarray(self.estimator_.predict_proba(X))

    def _for_chunks(self) -> PlugInPrediction:
        """Return what workers need to predict; raise if chunks cannot be predicted one by one."""
        if hasattr(self, "estimators_"):
            raise ValueError(
                "several labels are predicted for samples in memory: use X.compute(), or X.map_blocks(model.predict, "
                "...)"
            )
        if self.classes_.size == 2 and self._batch is not None:
            raise ValueError(
                "threshold='batch' looks at all samples that are predicted together, and those of a Dask collection "
                "are predicted chunk by chunk: use X.compute(), or train with another threshold"
            )
        light: PlugInPrediction = light_copy(self)
        light.estimator_ = light_copy(self.estimator_)
        return light

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions.

        Parameters
        ----------
        X : samples
            Samples; also a Dask collection, whose scores are computed.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        """
        check_is_fitted(self, "measure_")
        y, sample_weight = at_hand(y), at_hand(sample_weight)
        if hasattr(self, "estimators_"):
            found = validate_label_matrix(self.predict(X))
            return float(averaged(self.measure_, "labels").score(validate_label_matrix(y), found, sample_weight))
        y = np.asarray(y)
        if self.classes_.size > 2:
            measure = averaged(self.measure_, "classes")
            score = measure.multiclass_score if isinstance(measure, HasMulticlassValue) else measure.score
            return float(score(y, np.asarray(at_hand(self.predict(X))), sample_weight))
        positive = positive_class(self.classes_, self.pos_label)
        if self.measure_.response == "labels":
            labels = np.asarray(at_hand(self.predict(X)))
            return float(self.measure_.score(y == positive, labels == positive, sample_weight))
        scores = np.asarray(at_hand(self.decision_function(X))) * (1.0 if positive == self.classes_[1] else -1.0)
        return float(self.measure_.score(y == positive, scores, sample_weight))

    def score_interval(self, n_samples: int | None = None, confidence: float = 0.9) -> tuple[float, float]:
        """Return where the measure of new samples lies with the given probability.

        Parameters
        ----------
        n_samples : int, optional
            How many new samples; by default so many that chance has no part in their measure.
        confidence : float, default=0.9
            The probability.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from metricwise import PlugInClassifier
        >>> X, y = make_classification(1000, random_state=0)
        >>> model = PlugInClassifier(LogisticRegression()).fit(X, y)
        >>> few, many = model.score_interval(n_samples=100), model.score_interval()
        >>> few[0] < many[0] and many[1] < few[1]
        True
        """
        check_is_fitted(self, "measure_")
        if self._held_out is None:
            raise ValueError("score_interval is for two classes; see expected_score_interval_ for several")
        return self._held_out.interval(confidence, n_samples)
