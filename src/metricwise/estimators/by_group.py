"""Base class of classifiers whose constraints may be by group, with a threshold per group if wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from metricwise._state import StoredState
from metricwise.clusters import load_into_memory
from metricwise.decisions.decision import Threshold
from metricwise.decisions.group_decision import GroupRule
from metricwise.estimators.thresholded import ThresholdedClassifier


class GroupThresholdedClassifier(ThresholdedClassifier):
    """Predicts by a shared threshold, or by one per group of a column."""

    __stored_state__: ClassVar[StoredState] = ThresholdedClassifier.__stored_state__.extend("_group_rule")
    # Groups of constraints mean one thing only, so that they are requested by default.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sensitive_features": True}
    __metadata_request__decision_function: ClassVar[dict[str, Any]] = {"sensitive_features": True}
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"sensitive_features": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sensitive_features": True}

    _group_rule: GroupRule | None = None

    @property
    def threshold_(self) -> Threshold:
        """The threshold, a probability where the model has probabilities; assign another to predict with it.

        A new threshold is used by all methods, exports and model files until the next `fit`. It applies to all batches
        and groups, and what the constraints or `expected_score_` state of the chosen one is not known of it.
        """
        if self._has_group_thresholds:
            raise AttributeError("the model has one threshold per group: read group_thresholds_")
        return self._decision.shown_threshold

    @threshold_.setter
    def threshold_(self, value: Any) -> None:
        check_is_fitted(self, "measure_")
        self._decision = self._decision.replace_threshold(value)
        if self._has_group_thresholds:
            assert self._group_rule is not None
            self._group_rule = replace(self._group_rule, thresholds=None)
        self._note_new_threshold()

    @property
    def group_thresholds_(self) -> dict[Any, float]:
        """The threshold of each group, a probability where the model has probabilities."""
        check_is_fitted(self, "measure_")
        shown = None if self._group_rule is None else self._group_rule.shown_thresholds(self._decision)
        if shown is None:
            raise AttributeError("all groups share one threshold: read threshold_, or train with group_thresholds=True")
        return shown

    @property
    def _has_group_thresholds(self) -> bool:
        return self._group_rule is not None and self._group_rule.thresholds is not None

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """Return scores minus the threshold; the largest, or the sign of the only one, decides.

        Parameters
        ----------
        X : samples
            New samples.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Of two classes, ``classes_[1]`` is predicted above zero.
        """
        check_is_fitted(self, "measure_")
        scores, rule, decision = self._scores(X), self._group_rule, self._decision
        return self._task.orient(
            decision.margins(scores) if rule is None else rule.margins(decision, scores, X, sensitive_features)
        )

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """Return labels.

        Parameters
        ----------
        X : samples
            New samples.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels); a CSR matrix if the labels of training were sparse
        """
        check_is_fitted(self, "measure_")
        return self._task.labels(self.decision_function(X, sensitive_features=sensitive_features))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Return the measure of the predictions.

        Parameters
        ----------
        X : samples
            Samples; their scores are computed if they are a Dask collection.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        """
        check_is_fitted(self, "measure_")
        margins = self.decision_function(X, sensitive_features=sensitive_features)
        return self._task.score(load_into_memory(y), load_into_memory(margins), load_into_memory(sample_weight))
