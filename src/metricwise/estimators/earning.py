"""Base class of classifiers that may decide by what each sample earns."""

from __future__ import annotations

import math
from typing import Any

from sklearn.utils.validation import check_is_fitted

from metricwise._sklearn import count_samples
from metricwise.clusters import load_into_memory
from metricwise.decisions.amounts import find_amounts, list_given
from metricwise.decisions.earnings import Outcomes, collect_outcomes, find_outcomes
from metricwise.decisions.outcome_posterior import OutcomePosterior
from metricwise.decisions.profit import ProfitDecision
from metricwise.decisions.profit_task import ProfitTask
from metricwise.estimators.by_group import GroupThresholdedClassifier
from metricwise.measures.profit import Amounts

_NOTHING_TO_SAVE = (
    "the better constant decision neither earns nor costs anything, so that savings are no share of it: read the "
    "profit, score(X, y)"
)


class EarningClassifier(GroupThresholdedClassifier):
    """Predicts by a task and a decision; for a `Profit` with amounts per sample, by these amounts."""

    def _find_amounts(self, X: Any, given: dict[str, Any]) -> Amounts | None:
        """Return the amounts of samples that a model decides by; None if all samples have the same threshold."""
        if isinstance(self._task, ProfitTask):
            return find_amounts(self._task.measure, X, given, count_samples(X))
        if list_given(given):
            name = list_given(given)[0]
            raise TypeError(
                f"{name}= is an amount per sample, and the model was trained without: train it with "
                f"measure=Profit(...) and fit(X, y, {name}=...), or leave it out"
            )
        return None

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
        """Return scores minus the threshold; the largest, or the sign of the only one, decides.

        Parameters
        ----------
        X : samples
            New samples.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Scores are log-odds (log-probabilities for more than two classes) or the learner's decision values. Of two
            classes, ``classes_[1]`` is predicted above zero.
        """
        check_is_fitted(self, "measure_")
        amounts = self._find_amounts(X, {"tp": tp, "fp": fp, "fn": fn, "tn": tn})
        if amounts is None:
            return super().decision_function(X, sensitive_features=sensitive_features)
        assert isinstance(self._decision, ProfitDecision)
        return self._task.orient(self._decision.margins_of(self._scores(X), amounts))

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
            New samples.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels); a CSR matrix if the labels of training were sparse
        """
        check_is_fitted(self, "measure_")
        given = {"sensitive_features": sensitive_features, "tp": tp, "fp": fp, "fn": fn, "tn": tn}
        return self._task.labels(self.decision_function(X, **given))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> float:
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
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        float
            The measure; for a `Profit` the total profit, for a cost the total cost.
        """
        check_is_fitted(self, "measure_")
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        if self._find_amounts(X, given) is None:
            return super().score(X, y, sample_weight, sensitive_features=sensitive_features)
        return self._collect_outcomes(X, y, sample_weight, given).total

    def savings(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> float:
        """Return what the predictions save beside the better constant decision: 1 - cost / cost of that decision.

        Where the better constant decision earns a profit, this is the gain over it as a share of that profit.

        Parameters
        ----------
        X : samples
            Samples.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            What each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        float
            The savings: 1 if the decisions cost nothing, 0 if they are as good as the better constant decision.

        Raises
        ------
        TypeError
            If the measure is neither a `Profit` nor a `CostMatrix`.
        ValueError
            If the better constant decision neither earns nor costs anything: read `score` instead.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from metricwise import PlugInClassifier, Profit
        >>> X, y = make_classification(1000, weights=[0.9], random_state=0)
        >>> model = PlugInClassifier(LogisticRegression(), Profit(fp=-1, fn=-10)).fit(X, y)
        >>> 0.2 < model.savings(X, y) < 1.0
        True
        """
        check_is_fitted(self, "measure_")
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        found = self._collect_outcomes(X, y, sample_weight, given, sensitive_features).savings
        if math.isnan(found):
            raise ValueError(_NOTHING_TO_SAVE)
        return found

    def savings_interval(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        confidence: float = 0.9,
        sensitive_features: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> tuple[float, float]:
        """Return an interval that contains the savings on samples like these with the given probability.

        Parameters
        ----------
        X : samples
            Samples that the model was not trained with.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        confidence : float, default=0.9
            The probability.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Groups of the samples, for constraints by group; by default columns of X. Needed for thresholds per group.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            What each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        tuple of two floats
            The lower and the upper end.

        Raises
        ------
        TypeError
            If the measure is neither a `Profit` nor a `CostMatrix`.
        ValueError
            If ``confidence`` is not between 0 and 1, or the better constant decision neither earns nor costs anything.
        """
        check_is_fitted(self, "measure_")
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}; write 90 percent as 0.9")
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        found = self._collect_outcomes(X, y, sample_weight, given, sensitive_features)
        if math.isnan(found.savings):
            raise ValueError(_NOTHING_TO_SAVE)
        return found.posterior().savings_interval(confidence)

    @property
    def expected_savings_(self) -> float:
        """The savings of out-of-fold samples, for a `Profit` or a `CostMatrix`; see `savings`."""
        return self._outcomes.savings

    @property
    def expected_savings_interval_(self) -> tuple[float, float]:
        """Interval that contains the savings on as many new samples with probability 0.9."""
        posterior = self._outcomes
        return posterior.savings_interval(n_samples=posterior.n_samples)

    @property
    def _outcomes(self) -> OutcomePosterior:
        posterior = find_outcomes(self._decision.posterior)
        if posterior is None:
            raise AttributeError("savings are those of a model trained for a Profit or a CostMatrix")
        return posterior

    def _collect_outcomes(
        self, X: Any, y: Any, sample_weight: Any, given: dict[str, Any], sensitive_features: Any = None
    ) -> Outcomes:
        """Return what predictions earn, and what constant decisions would."""
        amounts = self._find_amounts(X, given)
        margins = load_into_memory(self.decision_function(X, sensitive_features=sensitive_features, **given))
        return collect_outcomes(self._task, load_into_memory(y), margins, load_into_memory(sample_weight), amounts)
