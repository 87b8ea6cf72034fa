"""Predictions of a classifier with a threshold, in memory and where the chunks of a Dask collection are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from metricwise._typing import Floats
from metricwise.clusters import is_dask
from metricwise.decisions.chunk_learners import copy_for_prediction, refuse_batch_rule
from metricwise.estimators.earning import EarningClassifier
from metricwise.estimators.lazy_predictions import lazy_labels, lazy_probabilities, lazy_scores
from metricwise.estimators.thresholded import has_probabilities


class PredictsByLearner(EarningClassifier):
    """Predicts by the scores of ``estimator_`` and the threshold, or the thresholds of groups."""

    estimator: Any
    estimator_: Any

    def _scores(self, X: Any) -> Floats:
        return self._task.scores(self.estimator_, X)

    def decision_function(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> Any:
        """Return scores minus `threshold_`; the largest, or the sign of the only one, decides.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Scores are log-odds (log-probabilities for more than two classes) or the learner's decision values. Of two
            classes, ``classes_[1]`` is predicted above zero. Of a Dask collection: one with the same chunks, not
            computed yet.
        """
        check_is_fitted(self, "measure_")
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        if is_dask(X) and self._find_amounts(X, given) is None:
            return lazy_scores(self._for_chunks(sensitive_features), X)
        return super().decision_function(X, sensitive_features=sensitive_features, **given)

    def predict(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> Any:
        """Return labels.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels); a CSR matrix if the labels of training were sparse
            For a Dask collection, a lazy one with the same chunks.
        """
        check_is_fitted(self, "measure_")
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        if is_dask(X) and self._find_amounts(X, given) is None:
            return lazy_labels(self._for_chunks(sensitive_features), X)
        return super().predict(X, sensitive_features=sensitive_features, **given)

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
        return self._task.learner_probabilities(self.estimator_, X)

    def _for_chunks(self, sensitive_features: Any = None) -> Self:
        """Return a copy for prediction on workers; raise if chunks cannot be predicted one by one."""
        if sensitive_features is not None:
            raise ValueError(
                "sensitive_features are for samples in memory: use X.compute(), or a Dask data frame that has them as "
                "columns"
            )
        self._task.refuse_chunks()
        refuse_batch_rule(self._decision)
        light: Self = copy_for_prediction(self)
        light.estimator_ = copy_for_prediction(self.estimator_)
        light._decision = replace(self._decision, posterior=None, adaptation=None)
        return light
