"""Base class of classifiers that apply a decision to the scores of a model."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.clusters import load_into_memory
from metricwise.decisions.decision import Decision, Threshold
from metricwise.decisions.prior_shift import PriorEstimate
from metricwise.decisions.task import Task
from metricwise.estimators.parameters import NumericParameters
from metricwise.estimators.summary import ShowsSummary
from metricwise.measures import Measure
from metricwise.measures.base import show_interval, show_value
from metricwise.measures.checks import MOST_COUNTED, as_real, shorten


class ThresholdedClassifier(ShowsSummary, ClassifierMixin, NumericParameters):
    """Predicts by a task and a decision, which subclasses store together with a model that scores samples."""

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=2,
        attributes=(
            "n_features_in_",
            "feature_names_in_",
            "classes_",
            "measure_",
            "expected_score_",
            "expected_score_interval_",
            "_task",
            "_decision",
        ),
        training_parameters=("callback", "verbose"),
    )

    classes_: Labels
    measure_: Measure
    expected_score_: float
    expected_score_interval_: tuple[float, float]
    _task: Task
    _decision: Decision

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Return the scores of samples, without a threshold."""

    def _store_decision(self, task: Task, decision: Decision) -> None:
        self._task, self._decision = task, decision
        self.classes_, self.measure_ = task.classes, task.measure
        self._store_expectation(decision.expected_score, decision.expected_interval)

    def _store_expectation(self, value: float, interval: tuple[float, float]) -> None:
        self.expected_score_ = float(show_value(self.measure_, value, self._n_judged))
        self.expected_score_interval_ = show_interval(self.measure_, interval, self._n_judged)

    @property
    def _n_judged(self) -> float:
        """The weight of the samples that the decision was judged on, for which a total cost is expected."""
        posterior = self._decision.posterior
        return float("nan") if posterior is None else posterior.n_samples

    def _extrapolate_interval(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return the interval of the final model, given that of the models that were judged."""
        return interval

    @property
    def threshold_(self) -> Threshold:
        """The threshold, a probability where the model has probabilities; assign another to predict with it.

        A new threshold is used by all methods, exports and model files until the next `fit`. It applies to all batches,
        and what the constraints or `expected_score_` state of the chosen one is not known of it.
        """
        return self._decision.shown_threshold

    @threshold_.setter
    def threshold_(self, value: Any) -> None:
        check_is_fitted(self, "measure_")
        self._decision = self._decision.replace_threshold(value)
        self._note_new_threshold()

    @property
    def prior_(self) -> PriorEstimate:
        """The class priors that `metricwise.adapt_prior` has adapted the model to; other models have none."""
        check_is_fitted(self, "measure_")
        if self._decision.prior is None:
            raise AttributeError("the model has no prior_: metricwise.adapt_prior returns models that have one")
        return self._decision.prior

    @property
    def calibrated_(self) -> bool:
        """Whether probabilities are calibrated on out-of-fold samples; otherwise they are as good as the learner."""
        check_is_fitted(self, "measure_")
        return self._decision.prior is not None or bool(getattr(self, "calibrate", False))

    def _copy_with(self, decision: Decision) -> Self:
        """Return a copy of the model, with the same learners, that decides in another way."""
        adapted = copy(self)
        adapted._store_decision(self._task, decision)
        return adapted

    def _calibrated_probabilities(self, X: Any) -> Floats:
        """Return the probabilities that the decision makes of scores."""
        scores, link = self._scores(X), self._decision.link
        return self._task.probabilities(scores if link is None else link(scores))

    def _note_new_threshold(self) -> None:
        """Adapt what the model says about itself to a threshold that was set after training."""
        return

    def decision_function(self, X: Any) -> Any:
        """Return scores minus the threshold; the largest, or the sign of the only one, decides.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            Of two classes, ``classes_[1]`` is predicted above zero.
        """
        check_is_fitted(self, "measure_")
        return self._task.orient(self._decision.margins(self._scores(X)))

    def predict(self, X: Any) -> Any:
        """Return labels.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array or CSR matrix of shape (n_samples,) or (n_samples, n_labels)
            Classes, or zeros and ones; a CSR matrix if the labels of training were sparse.
        """
        check_is_fitted(self, "measure_")
        return self._task.labels(self.decision_function(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions.

        Parameters
        ----------
        X : samples
            Samples; their scores are computed if they are a Dask collection.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The measure; less is better if it is a cost.
        """
        check_is_fitted(self, "measure_")
        return self._task.score(
            load_into_memory(y), load_into_memory(self.decision_function(X)), load_into_memory(sample_weight)
        )

    def score_interval(self, n_samples: int | None = None, confidence: float = 0.9) -> tuple[float, float]:
        """Return an interval that contains the measure of new samples with the given probability.

        Parameters
        ----------
        n_samples : int, optional
            Number of new samples; by default infinitely many, of which a total cost is that of as many as in training.
        confidence : float, default=0.9
            The probability.

        Returns
        -------
        tuple of two floats
            The lower and the upper end.

        Raises
        ------
        ValueError
            If ``n_samples`` or ``confidence`` is out of range, or the model holds no posterior.

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
        count = None if n_samples is None else as_real(n_samples, "n_samples")
        if count is not None and not (1.0 <= count <= MOST_COUNTED and count.is_integer()):
            raise ValueError(
                f"n_samples must be 1 or more, a whole number up to {MOST_COUNTED:.0e}, or None for infinitely many, "
                f"got {shorten(n_samples)}"
            )
        share = as_real(confidence, "confidence")
        if not 0.0 < share < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}; write 90 percent as 0.9")
        if self._decision.posterior is None:
            raise ValueError(
                "the model holds no posterior: its file was written before multiclass and multilabel ones were "
                "stored, or its threshold was assigned before it was adapted; read expected_score_interval_, or train "
                "the model again"
            )
        interval = self._extrapolate_interval(
            self._decision.posterior.interval(share, None if count is None else int(count))
        )
        return show_interval(self.measure_, interval, count or self._n_judged)


def has_probabilities(model: Any) -> bool:
    """Return whether the learner of a wrapper has probabilities, or calibration makes some of its scores."""
    decision = getattr(model, "_decision", None)
    is_linked = decision is not None and decision.link is not None
    return is_linked or model.calibrate or hasattr(model.estimator, "predict_proba")
