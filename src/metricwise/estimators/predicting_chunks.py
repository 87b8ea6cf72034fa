"""Predictions of a classifier with a threshold where the chunks of a Dask collection are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from metricwise.clusters import is_dask
from metricwise.decisions.chunk_learners import copy_for_prediction, refuse_batch_rule
from metricwise.estimators.earning import EarningClassifier
from metricwise.estimators.lazy_predictions import lazy_labels, lazy_scores


class ClientOfFit:
    """Has a ``client`` in `fit`: UNUSED only removes what is there, and a subclass may have a fit without a client."""

    __metadata_request__fit: ClassVar[dict[str, None]] = {"client": None}


class PredictsChunks(EarningClassifier):
    """Predicts samples in memory and, lazily, those of Dask collections."""

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
        light._decision = replace(self._decision, posterior=None, adaptation=None)
        return light
