"""Predictions by a learner and a threshold, in memory and where the chunks of a Dask collection are."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from metricwise._typing import Floats
from metricwise.clusters import is_dask
from metricwise.decisions.chunk_learners import copy_for_prediction
from metricwise.estimators.lazy_predictions import lazy_probabilities
from metricwise.estimators.predicting_chunks import PredictsChunks
from metricwise.estimators.thresholded import has_probabilities
from metricwise.raw_inputs import check_samples


class PredictsByLearner(PredictsChunks):
    """Predicts by the scores of ``estimator_`` and the threshold, or the thresholds of groups."""

    estimator: Any
    estimator_: Any

    def _scores(self, X: Any) -> Floats:
        return self._task.scores(self.estimator_, check_samples(X))

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the learner's probabilities, calibrated if `calibrated_`.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
            For a Dask collection, a lazy one with the same chunks.
        """
        check_is_fitted(self, "measure_")
        if is_dask(X):
            return lazy_probabilities(self._for_chunks(), X)
        if self._decision.link is not None:
            return self._calibrated_probabilities(X)
        return self._task.learner_probabilities(self.estimator_, check_samples(X))

    def _for_chunks(self, sensitive_features: Any = None) -> Self:
        light = super()._for_chunks(sensitive_features)
        light.estimator_ = copy_for_prediction(self.estimator_)
        return light
